"""Judges facts as it was asked for, and draws what was found."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from dbdyno.cli import unprivileged
from dbdyno.cli.checking import statements
from dbdyno.cli.logs.reading import Progress
from dbdyno.cli.terminal import output
from dbdyno.errors import DynoError
from dbdyno.execute.needle import needle
from dbdyno.experiment.targets import server_url
from dbdyno.facts import document as facts_document
from dbdyno.facts import targets
from dbdyno.facts.fact import EITHER, Facts
from dbdyno.facts.host import reading
from dbdyno.facts.servers import validated
from dbdyno.facts.targets import Asked
from dbdyno.report.check import document, page, text
from dbdyno.rules.check import judging
from dbdyno.rules.check.judging import Judged
from dbdyno.rules.check.packs import OVERVIEWS, PACKS, RULES
from dbdyno.store.text import files

BASELINE = "dbdyno check baseline"


@contextmanager
def progress() -> Iterator[Progress]:
    """How far reading is; the line is gone afterwards."""
    shown = Progress()
    try:
        yield shown
    finally:
        shown.end()


def packs(only: Sequence[str]) -> set[str]:
    """Those of the rules that were asked for."""
    chosen = [rule for rule in RULES if not only or any(judging.named(rule, one) for one in only)]
    return {rule.pack for rule in chosen}


def read(targets_: Sequence[str], asked: Asked) -> list[tuple[str, list[Facts]]]:
    """Facts of each target and, where it was asked for, of this machine about it."""
    alone = [(target, _facts_of(target, asked)) for target in targets_]
    found = statements.with_classes(alone, asked)
    return [(target, _completed(target, several, asked)) for target, several in found]


def _completed(target: str, found: list[Facts], asked: Asked) -> list[Facts]:
    """With what this machine's programs and files say."""
    if targets.is_file(target) and found:
        _refuse_idle(found, target, asked)
        if asked.server is not None:
            server = asked.server
            found = [validated.ask(one, server) if _is_option_file(one) else one for one in found]
    if not asked.this_host:
        return found
    _refuse_other_hosts(target, found)
    return [*found, *(reading.read(one) for one in found if one.source in reading.OF)]


def _refuse_other_hosts(target: str, found: Sequence[Facts]) -> None:
    """DynoError for a server elsewhere, and for facts that were collected elsewhere."""
    if server_url.is_url(target):
        is_here = server_url.parse(target, for_check=True).on_this_machine
    else:
        is_here = all(one.subject == str(Path(target)) for one in found)
    if not is_here or not any(one.source in reading.OF for one in found):
        raise DynoError(
            f"{target} is no server of this machine",
            cause="`--this-host` looks at files, accounts and processes of the machine that it"
            " runs on",
            fix="run dyno on the server's host; name its URL on loopback, its configuration or its"
            " data directory",
        )


def _facts_of(target: str, asked: Asked) -> list[Facts]:
    """Facts of a target alone. A file may be a stranger's: as root, an account that owns nothing
    parses it, and only values come back. It sees the file's directory, for what it includes; of a
    bundle, the file alone."""
    if not targets.is_file(target):
        return targets.read(target, asked)
    path = Path(target)
    seen = path if path.suffix == ".json" else path.parent
    made = unprivileged.reading(
        lambda: facts_document.document(targets.read(target, asked)), [path, seen]
    )
    return facts_document.parse(made, target)


def with_needle(targets_: Sequence[str], found: Sequence[Facts], asked: Asked) -> list[Facts]:
    """The facts, with what a value shows that is written to the one server and looked for in the
    one directory. DynoError if these are not of one server, or it does not take the value."""
    url = next(filter(server_url.is_url, targets_))
    server = next(one for one in found if one.is_server)
    directory = next(one for one in found if one.source == "directory")
    named = server.get("setting.datadir")
    if named is not None and Path(named.text).resolve() != Path(directory.subject).resolve():
        raise DynoError(
            f"{directory.subject} is not the data directory of {server.subject}: that is"
            f" {named.text}",
            cause="another server's directory, or a server on another machine",
            fix="run dyno check on the server's machine, with the directory of SELECT @@datadir",
        )
    late = needle.facts(url, asked.credentials, asked.tls, server, directory)
    return [late if one is directory else one for one in found]


def _refuse_idle(found: Sequence[Facts], target: str, asked: Asked) -> None:
    """DynoError for an engine or a server's program that does not fit the file."""
    engines = {one.engine for one in found}
    if asked.engine and asked.engine not in engines:
        raise DynoError(
            f"{target} is a file of {', '.join(sorted(engines))}, not of {asked.engine}",
            cause="`--engine` names another",
            fix="correct it, or say what the file is: --as",
        )
    if asked.server is not None and not any(map(_is_option_file, found)):
        raise DynoError(f"{target} is no my.cnf: `--server` is for those", fix="remove --server")


def _is_option_file(facts: Facts) -> bool:
    return facts.source == "file" and {*facts.engine.split("|")} <= {*EITHER.split("|")}


def judged(
    facts: Sequence[Facts], only: Sequence[str], ignore: Mapping[str, str], baseline: Path | None
) -> Judged:
    """DynoError for a rule that is not there, or a file that is no baseline."""
    known = {rule.id for rule in RULES}
    for named in (*(one for one in only if "*" not in one and one not in PACKS), *ignore):
        if named not in known:
            raise DynoError(
                f"there is no rule `{named}`",
                cause="a misspelt name, or a rule of another version",
                fix=f"packs are {', '.join(PACKS)}; the reference lists all rules",
            )
    for pattern in only:
        if not any(judging.named(rule, pattern) for rule in RULES):
            raise DynoError(f"`--only {pattern}` is no rule and no pack", fix="see the reference")
    return judging.judge(
        facts,
        RULES,
        only=only,
        ignore=ignore,
        baseline=_fingerprints(baseline),
        overviews=OVERVIEWS,
    )


def drawn(found: Judged, form: str, columns: int) -> str:
    """In one of the forms."""
    if form == "json":
        return json.dumps(document.document(found), indent=1, allow_nan=False) + "\n"
    if form == "markdown":
        return text.markdown(found)
    if form == "sarif":
        return document.draw_sarif(found, RULES)
    console = Console(file=io.StringIO(), width=columns, highlight=False)
    with console.capture() as capture:
        console.print(text.text(found))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def write_page(found: Judged, path: Path) -> None:
    """The page, whole or not at all."""
    output.put(page.page(found), path, "page")


def write_baseline(found: Judged, path: Path) -> None:
    """All findings, also those that were known."""
    listed = [
        {
            "rule": one.rule,
            "subject": one.subject,
            "about": one.found.about,
            "fingerprint": judging.fingerprint(one),
        }
        for one in (*found.findings, *found.known)
    ]
    whole = {"format": BASELINE, "schema_version": 1, "findings": listed}
    output.put(json.dumps(whole, indent=1) + "\n", path, "baseline")


def _fingerprints(path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    raw = files.read_json(path)
    try:
        if raw["format"] != BASELINE:
            raise ValueError
        return frozenset(str(one["fingerprint"]) for one in raw["findings"])
    except (KeyError, TypeError, ValueError):
        raise DynoError(
            f"{path} is no baseline",
            cause="another file was named",
            fix="write one: dyno check TARGET --write-baseline FILE",
        ) from None
