"""Where a proof's workload and data come from, as they were typed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dbdyno.cli.logs import workload as logs
from dbdyno.cli.logs.reading import Options
from dbdyno.cli.proving import copying, counting
from dbdyno.cli.terminal import login
from dbdyno.cli.trying import experiment, sent, servers
from dbdyno.cli.trying.tried import as_named
from dbdyno.digest import reading
from dbdyno.execute.control import Interrupted
from dbdyno.experiment import load
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.workloads import mix
from dbdyno.prove.base import Base, base

OLD = "old"  # the class of a statement that is the whole workload


@dataclass(frozen=True)
class Source:
    """The text of an experiment with the workload. `keeps_state`: it is the user's own, whose
    `state` is as wanted."""

    text: str
    keeps_state: bool


def read(typed: Mapping[str, Any], file: Path) -> Base:
    """Today's side. `file`: where the experiment will be. DynoError, UsageError for what gives
    none."""
    source = _workload(typed, file)
    return base(source.text, file, _target(typed, source, file), source.keeps_state)


def beside(typed: Mapping[str, Any], path: Path) -> Path:
    """The file of the experiment: next to the run, or next to the user's own experiment, whose
    paths are relative to its place."""
    own = typed["workload"]
    if own is not None and not typed["dump"] and not typed["on"]:
        return Path(own).with_name(f"{path.name}.yaml")
    return path.with_name(f"{path.name}.yaml")


def _workload(typed: Mapping[str, Any], file: Path) -> Source:
    if typed["every"] is not None and typed["for_"] is None:
        raise click.UsageError("--every is for --for")
    if typed["workload"] is not None and typed["logs"]:
        raise click.UsageError("--log and --workload are two workloads: give one of them")
    if typed["sessions"] is not None and typed["workload"] is not None:
        raise click.UsageError(
            "--sessions is for logs and counts: change the experiment of --workload"
        )
    if typed["workload"] is not None and typed["for_"] is None:
        return Source(Path(typed["workload"]).read_text(encoding="utf-8"), keeps_state=True)
    if typed["for_"] is not None:
        return Source(_of_counts(typed), keeps_state=False)
    if typed["logs"]:
        return Source(_of_logs(typed, file), keeps_state=False)
    olds = {old for old, _ in typed["rewrites"]}
    if len(olds) == 1 and Path(next(iter(olds))).is_file():
        return Source(_alone(typed, next(iter(olds))), keeps_state=False)
    raise click.UsageError(
        "name the workload: --log FILE, --workload FILE.yaml, or --for TIME with --on URL"
    )


def _of_counts(typed: Mapping[str, Any]) -> str:
    written = counting.made(typed)
    if not typed["quiet"]:
        logs.tell(written.coverage)
    return _with_sessions(written.text, typed)


def _of_logs(typed: Mapping[str, Any], file: Path) -> str:
    engine = (("--db", typed["db"]),) if typed["db"] else ()
    url: dict[str, Any] = dict.fromkeys(("for_", "every", *login.NAMES))
    schema_of = typed["on"] if server_url.is_url(typed["on"] or "") else None
    if schema_of:
        url |= login.given(typed)
    options = Options("text", None, engine, url)
    asked = logs.Asked(
        file,
        typed["accepts_censored"],
        typed["accepts_partial"],
        schema_of,
        keeps_paths=False,
        by_user=False,
    )
    try:
        written, code = logs.made([str(log) for log in typed["logs"]], options, asked, paced=False)
    except logs.Interrupted:
        raise Interrupted from None
    if code == reading.INTERRUPTED:
        raise Interrupted
    if not typed["quiet"]:
        logs.tell(written.coverage)
    return _with_sessions(written.text, typed)


def _with_sessions(text: str, typed: Mapping[str, Any]) -> str:
    """As many as were asked for, else those of the workload, at most one a CPU."""

    def sessions(found: re.Match[str]) -> str:
        most = typed["sessions"] or min(int(found[1]), os.cpu_count() or 1)
        return f"    sessions: {most}"

    return re.sub(r"(?m)^    sessions: (\d+)$", sessions, text)


def _alone(typed: Mapping[str, Any], old: str) -> str:
    """A workload that is one statement."""
    variant = sent.read([old], typed["ranges"]).variants[0]
    lines = experiment.variant_lines(_called(variant.options), "  ")
    sessions = typed["sessions"] or 1
    return "\n".join(
        ["targets: {db: {}}", "workload:", "  kind: mix", *lines, f"  sessions: {sessions}", ""]
    )


def _called(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its statement under a name of its own. click.UsageError for a transaction."""
    if "statements" not in options:
        raise click.UsageError("--rewrite takes one statement: a transaction is for --workload")
    return {**options, "statements": {OLD: next(iter(options["statements"].values()))}}


def _target(typed: Mapping[str, Any], source: Source, file: Path) -> dict[str, Any] | None:
    """Keys of the server that is started; None: the experiment's own."""
    on, dump = typed["on"], typed["dump"]
    if (typed["rows"] is not None or typed["way"] == "sample") and not server_url.is_url(on or ""):
        raise click.UsageError("--copy and --rows are for --on URL")
    if on is None and dump is None:
        if not source.keeps_state:
            raise click.UsageError("where are the data? --dump FILE, or --on URL")
        return None
    keys: dict[str, Any] = {}
    if on is None:
        keys["kind"] = _kind(source, file)
    elif server_url.is_url(on):
        keys |= copying.target(typed, file, _statements(typed, source, file))
    else:
        keys |= servers.read([on])[0].keys
    if not typed["settings"]:
        keys["durability"] = "full"
    keys["memory"] = typed["memory"]
    if dump is not None:
        keys["setup"] = {"dump": as_named(dump, file)}
    return keys


def _statements(typed: Mapping[str, Any], source: Source, file: Path) -> list[str]:
    """SQL that will be sent: of the workload, and of the rewrites."""
    kind = server_url.parse(typed["on"]).kinds[0]
    found = base(source.text, file, {"kind": kind}, source.keeps_state)
    sent_ = [sql for group in found.groups for _, sql in mix.statements(group.options)]
    return sent_ + [new.read_text(encoding="utf-8") for _, new in typed["rewrites"]]


def _kind(source: Source, file: Path) -> str:
    if source.text.startswith("targets: {db: {}}"):
        raise click.UsageError("of which server is the dump? --on KIND[=VERSION]")
    target = load(source.text, file=file).cells[0].targets[0]
    url = server_url.parse(target.url) if target.url else None
    return url.kinds[0] if url else target.kind
