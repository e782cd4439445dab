"""A question of one line: its experiment is written, made to fit the time, and run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbdyno import kinds
from dbdyno.cli.running.before.installed import described, missing
from dbdyno.cli.running.before.placed import placed
from dbdyno.cli.running.carry_out import Manner, begun, carried_out
from dbdyno.cli.running.detail import detail
from dbdyno.cli.running.watching.text import duration
from dbdyno.cli.terminal import login, output
from dbdyno.cli.trying import experiment, sent, servers, timing
from dbdyno.cli.trying.experiment import Try
from dbdyno.cli.trying.sent import Sent
from dbdyno.cli.trying.servers import Server
from dbdyno.cli.trying.timing import Times
from dbdyno.errors import DynoError
from dbdyno.execute.engine import job
from dbdyno.experiment import load, load_seeded, workloads
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.types import Plan
from dbdyno.store.naming import unnamed
from dbdyno.systems.process.scratch import scratch_root

_FIRST = Times(3, 0.5, 1.0, 0.2, 0.0, fits=True)  # until a plan says what time there is
_ROWS = {"oltp": "rows", "kv": "records"}  # what --rows is called


def tried(
    what: tuple[str, ...],
    places: tuple[str, ...],
    sessions: tuple[int, ...],
    total_s: float,
    blocks: int | None,
    tables: int | None,
    rows: int | None,
    setup: Path | None,
    ranges: tuple[str, ...],
    write_to: tuple[str, ...],
    directory: Path | None,
    scratch: Path | None,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    **typed: Any,
) -> int:
    """What `dyno try` does; its exit code."""
    from dbdyno.report import Report  # here: scipy comes with it

    manner = Manner(detail(verbose=verbose, quiet=quiet), as_json=as_json, answer=Report.short)
    sending = sent.read(what, ranges)
    on = servers.read(places or (_default(sending),), _login(typed, places))
    _refuse_unguarded(sending, on, setup, write_to)
    name = f"try-{'sql' if sending.is_sql else sending.kind}"
    path = directory or unnamed(name)
    file = path.with_name(f"{path.name}.yaml")
    arguments = login.without_commands(sys.argv[1:])
    asked = Try(
        name,
        f"dyno {shlex.join(arguments)}" if arguments[:1] == ["try"] else "dyno try",
        sending,
        on,
        sessions,
        _sizes(sending, tables, rows),
        "" if setup is None else as_named(setup, file),
        write_to,
    )
    text = experiment.text(asked, file, _FIRST, None)
    if not dry_run:
        job.find()
        _write(file, text, over=False)
    try:
        plan = _plan(text, file, write_to)
    except DynoError:
        if dry_run:
            click.echo(text, nl=False)  # what the error points into
        raise
    times = timing.choose(plan, total_s, blocks)
    text = experiment.text(asked, file, times, total_s if times.fits else None)
    if dry_run:
        click.echo(text, nl=False)
        return 0
    _write(file, text, over=True)
    _announce(file, plan, times, total_s)
    loaded = load_seeded(file)
    with placed(loaded):
        plan = make(loaded, Machine.read(), available=missing, write_to=write_to)
        scratch = scratch_root(scratch)
        facts = described(plan, scratch)
        with begun(file, plan, facts, path) as created:
            return carried_out(created, scratch, manner)


def _login(typed: Mapping[str, Any], places: Sequence[str]) -> dict[str, Any]:
    """Keys of the targets that are reached by a URL. Files are where the user is, not where the
    experiment will be. click.UsageError without such a target."""
    found = login.given(typed)
    if found and not any("://" in place for place in places):
        raise click.UsageError("passwords and TLS are of a server's URL: --on URL")
    for name in ("password_file", "server_public_key"):
        if found.get(name, "get") != "get":
            found[name] = str(Path(found[name]).expanduser().absolute())
    if (mode := str(found.get("tls", ""))).startswith("ca:"):
        found["tls"] = f"ca:{Path(mode[3:]).expanduser().absolute()}"
    return found


def _default(sending: Sent) -> str:
    """The first kind that can do it, which needs no server."""
    needs = set(workloads.of(sending.kind).needs)
    return next(name for name, kind in kinds.KINDS.items() if needs <= {*kind.capabilities})


def _plan(text: str, file: Path, write_to: Sequence[str]) -> Plan:
    """The plan of an experiment that is not run yet."""
    loaded = load(text, file=file)
    with placed(loaded):
        return make(loaded, Machine.read(), available=missing, write_to=write_to)


def _announce(file: Path, plan: Plan, times: Times, total_s: float) -> None:
    click.echo(f"experiment: {file}", err=True)
    if not times.fits:
        click.echo(
            f"{len(plan.cells)} variants do not fit into {duration(total_s)}: it takes about"
            f" {duration(times.total_s)}; fewer of them, or a longer --time, measure more exactly",
            err=True,
        )


def _sizes(sending: Sent, tables: int | None, rows: int | None) -> dict[str, Any]:
    """Options of the workload. click.UsageError for one that it does not have."""
    found = {}
    if tables is not None:
        if sending.kind != "oltp":
            raise click.UsageError("--tables is for oltp: give tables of your own with --setup")
        found["tables"] = tables
    if rows is not None:
        if sending.kind not in _ROWS:
            raise click.UsageError("--rows is for oltp and kv: give rows of your own with --setup")
        found[_ROWS[sending.kind]] = rows
    return found


def as_named(path: Path, file: Path) -> str:
    """The path as an experiment in `file` names it: from its place, unless that is far away."""
    here, there = Path.cwd(), path.resolve()
    near = there.is_relative_to(here) and file.parent.resolve().is_relative_to(here)
    return os.path.relpath(there, file.parent.resolve()) if near else str(there)


def _refuse_unguarded(
    sending: Sent, on: Sequence[Server], setup: Path | None, write_to: Sequence[str]
) -> None:
    """DynoError for statements that may change what is not dbdyno's: sessions are kept from writing
    in a schema that the URL names, and else have one of dbdyno's own, which may be left."""
    external = [one for one in on if one.url is not None]
    if setup is not None and not sending.is_sql:
        raise click.UsageError(f"--setup is for statements: {sending.kind} makes tables of its own")
    if not sending.is_sql or not sending.changes_data() or setup is not None:
        return
    for one in external:
        if one.url is not None and one.url.schema is None:
            raise DynoError(
                f"a statement may change data, and the URL of {one.level} names no schema",
                cause="without a schema nothing keeps it from writing into somebody's tables",
                fix="use a statement that only reads; or end the URL in a schema and allow it:"
                " --write-to SCHEMA; or make tables with --setup FILE.sql",
            )


def _write(file: Path, text: str, *, over: bool) -> None:
    """Writes the experiment; another file of its name is left alone."""
    with output.explained(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("w" if over else "x", encoding="utf-8") as out:
                out.write(text)
        except FileExistsError:
            raise DynoError(
                f"{file} already exists",
                cause="an earlier try had the same --dir",
                fix="give another --dir, or remove the file",
            ) from None
