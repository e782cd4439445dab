"""Whether `dyno check` finds what is wrong, and is silent of what is not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.proof import runs
from tools.proof.checks import cases, counting, pairs, planted
from tools.proof.checks.counting import Count
from tools.proof.checks.servers import PASSWORD, PASSWORD_VARIABLE, Checked, started
from tools.proof.replica.pair import Pair
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.errors import DynoError
from dbdyno.rules.check.packs import PACKS

ROOT = Path(__file__).resolve().parents[4]
LARGE, SMALL = "16Gi", "100Mi"  # memory of a host: the latter is less than the caches by default
SERVERS: tuple[tuple[str, str | None], ...] = (
    ("mariadb", None),
    ("mariadb", str(ROOT / ".prefix" / "mariadb-11.8" / "usr")),
    ("mysql", None),
    ("postgres", None),
    ("redis", None),
)
QUICK = SERVERS[:1]
_BUDGET = {"mariadb": "mysql", "mysql": "mysql", "postgres": "postgres"}


def measure(effort: Effort) -> Outcome:
    """Real servers, pairs, a data directory, and the cases of all rules."""
    counts: list[Count] = []
    defaults: list[tuple[str, ...]] = []
    notes: list[str] = []
    alarms = 0
    for kind, basedir in QUICK if effort.quick else SERVERS:
        try:
            with started(kind, basedir) as server:
                usual = _check(effort, server.url, "--memory", LARGE)
                defaults.append(_default(server, usual))
                alarms += len(counting.severe(usual))
                counts += _server(effort, server)
        except DynoError as error:
            notes.append(f"{kind} {basedir or ''}: not here ({error.what}).")
    for kind in () if effort.quick else ("mysql", "mariadb"):
        counts += _pair(effort, kind)
    of_cases = cases.counts()
    alarms += counting.total([*counts, *of_cases], "alarms")
    return _outcome(effort, counts, of_cases, defaults, alarms, notes)


def _check(effort: Effort, *arguments: object) -> dict[str, Any]:
    words = ("check", *arguments, "--json")
    login = ("--password-env", PASSWORD_VARIABLE) if "://" in str(arguments[0]) else ()
    said = runs.dyno(effort, *words, *login, codes=(0, 1), env={PASSWORD_VARIABLE: PASSWORD})
    found: dict[str, Any] = json.loads(said)
    return found


def _server(effort: Effort, server: Checked) -> Iterator[Count]:
    """Healthy with the grants and accounts that old articles call wrong, then planted."""
    kind = server.kind
    planted.permit(kind, server.server)
    twin = _check(effort, server.url, "--memory", LARGE)
    if kind == "redis":
        expected = planted.plant_redis(server.server)
    else:
        expected = planted.plant(kind, server.server, planted.statements(kind, PACKS))
        expected.add(f"{_BUDGET[kind]}-memory-budget")
    wrong = _check(effort, server.url, "--memory", LARGE if kind == "redis" else SMALL)
    yield from counting.of_server(server.named, expected, wrong, twin)
    if kind == "mariadb":
        yield from _directory(effort, server)


def _directory(effort: Effort, server: Checked) -> list[Count]:
    """Its data directory: held by the server alone, then by this process too; for its owner, then
    for every account. Only root sees who holds it."""
    if os.geteuid() != 0:
        return []
    directory = Path(str(server.server.rows("SELECT @@datadir")[0][0]))
    options = ("--this-host", "--ignore", "linux-client-file-readable:of this machine's people")
    with ExitStack() as stack:
        for path in (directory, directory.parent):
            stack.callback(path.chmod, path.stat().st_mode & 0o777)
        directory.chmod(0o700)
        twin = _check(effort, directory, *options)
        directory.chmod(0o777)
        directory.parent.chmod(0o711)  # or nobody else would reach it
        stack.enter_context((directory / "ibdata1").open("rb"))
        wrong = _check(effort, directory, *options)
    expected = {"mysql-datadir-two-processes", "linux-data-directory-open"}
    return counting.of_server(f"data directory of {server.named}", expected, wrong, twin)


def _pair(effort: Effort, kind: str) -> list[Count]:
    with Pair(kind, pairs.SETTINGS[kind]) as pair:
        pairs.start(pair, PASSWORD)
        members = (pair.source, pair.replica)
        urls = [f"{kind}://app@127.0.0.1:{one.address['port']}" for one in members]
        options = ("--only", "replication")
        twin = _check(effort, *urls, *options)
        pairs.stray(pair)
        wrong = _check(effort, *urls, *options)
        version = str(pair.source.ask("SELECT VERSION() v")[0]["v"]).partition("-")[0]
    expected = {pairs.RULE[kind], "mysql-replica-writable"}
    return counting.of_server(f"a pair of {kind} {version}", expected, wrong, twin)


def _default(server: Checked, document: dict[str, Any]) -> tuple[str, ...]:
    severe = counting.severe(document)
    counts = document["counts"]
    others = sorted(counting.found(document) - severe)
    return (
        server.named,
        str(len(severe)),
        ", ".join(others) or "none",
        str(counts["fine"]),
        str(counts["not_known"]),
    )


def _outcome(
    effort: Effort,
    counts: Sequence[Count],
    of_cases: Sequence[Count],
    defaults: Sequence[tuple[str, ...]],
    alarms: int,
    notes: Sequence[str],
) -> Outcome:
    real, missed = counting.total(counts, "planted"), counting.total(counts, "missed")
    cased, unseen = counting.total(of_cases, "planted"), counting.total(of_cases, "missed")
    besides = counting.total(counts, "besides")
    head = ("pack", "where", "planted", "found", "found besides", "false alarms on the twin")
    lost = sorted({rule for count in (*counts, *of_cases) for rule in count.missed})
    without = [pack for pack in PACKS if not any(count.pack == pack for count in counts)]
    return Outcome(
        measured=(
            f"{real - missed} of {real} defects of real servers found, and {cased - unseen} of"
            f" {cased} of the rules' own cases; {alarms} false alarms"
        ),
        met=None if effort.quick else missed + unseen + alarms + besides == 0,
        tables=(
            Table("Real servers that are set up wrongly", head, tuple(map(counting.row, counts))),
            Table("The case that each rule comes with", head, tuple(map(counting.row, of_cases))),
            Table(
                "Servers with their defaults",
                ("server", "medium or more", "low and info", "fine", "not known"),
                tuple(defaults),
            ),
        ),
        notes=(
            "A false alarm is a finding of medium severity or more on a healthy server, with its"
            " defaults or with accounts and grants that old articles call wrong; or a rule that"
            " speaks of the twin of its own defect. Found besides: by a rule whose defect was not"
            " planted, and that is silent of the twin.",
            *([f"Missed: {', '.join(lost)}."] if lost else []),
            *([f"No real server was set up wrongly for: {', '.join(without)}."] if without else []),
            *notes,
        ),
    )


ROW = Row(
    name="check",
    claim="`dyno check` finds what is wrong, and only that",
    how=(
        "Servers are set up wrongly on purpose, by statements and files with the rule that must"
        " speak, and checked before and after; and each rule of each pack judges its own case:"
        " a defect and its healthy twin."
    ),
    bar="every planted defect is found; no false alarm",
    measure=measure,
    timed=True,
)
