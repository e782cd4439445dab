"""Redaction: a run full of planted names and literals, of which nothing may be left anywhere."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plans
import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment.types import About, Hook, Hooks, LevelHooks, Setup, Target
from dbdyno.plan.types import Against, Plan
from dbdyno.report import Report
from dbdyno.share import bundle, redact
from dbdyno.share.redact import aliases
from dbdyno.share.redact.plan import RULES
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run
from dbdyno.wording.findings import analyse
from fixtures.schemas import valid

SECRETS = (
    "zebra",  # the customer
    "Quillfeather",  # the author
    "db1.prod.zebra-bank",
    "10.20.30.40",
    "fd00:1:2:3:4:5:6:7",
    "appuser7",
    "shopschema",
    "ledger_entries",
    "iban",
    "DE89370400440532013000",
    "4711081500",
    "hunter2",
    "/srv/vault",
    "walter",
    "restore-snapshot.sh",
    "Frankfurt",
    "meridian",
    "a remark in a comment",
    "gazelle",  # where a base's run lies
    "kingfisher",  # in a claim's words
)

SPEC = """\
# a remark in a comment, of Zebra
experiment: move
author: Una Quillfeather
customer: Zebra Bank AG
context: the data centre in Frankfurt
notes: ask walter
question: Should Zebra move db1.prod.zebra-bank.example to 10.20.30.40?
hooks: {before_run: /srv/vault/restore-snapshot.sh --to meridian}
targets:
  db:
    kind: mariadb
    url: mysql://appuser7@db1.prod.zebra-bank.example:3307/shopschema
    password_file: /srv/vault/hunter2
    data: {existing: shopschema}
    host: ssh://walter@meridian
    session: ["SET SESSION sql_log_bin = 0"]
    config: {max_connections: 100, hostname: meridian}
    setup:
      dump: /srv/vault/dump.sql
      tables:
        ledger_entries: {rows: 10, columns: {iban: {type: char(22), text: "DE89-Frankfurt"}}}
groups:
  readers:
    kind: mix
    sessions: 4
    params: {iban: {values: [DE89370400440532013000, Frankfurt]}}
    statements:
      find_one:
        sql: "SELECT * FROM ledger_entries WHERE iban = :iban AND n > 4711081500"
        weight: 2
factors:
  place:
    zebra-west: {db.url: "mysql://appuser7@10.20.30.40/shopschema"}
    other: {apply: "ssh walter@meridian reboot"}
claims:
  - {claim: "tps[zebra-west] > tps[other]", say: the move pays for kingfisher}
  - tps[zebra-west] ~= 1.1 * tps[other] within 90%
"""

CLAIMS = ("tps[zebra-west] > tps[other]", "tps[zebra-west] ~= 1.1 * tps[other] within 90%")

SQL = (
    "SELECT * FROM shopschema.ledger_entries"
    " WHERE iban = 'DE89370400440532013000' AND n > 4711081500"
)

EXPLAIN = (
    "Index Scan using ledger_entries_iban_key on ledger_entries"
    "  (cost=0.42..8.44 rows=1 width=121)\n"
    "  Index Cond: (iban = 'DE89370400440532013000'::bpchar)\n"
    "  Filter: (n > 4711081500)"
)

FAILURE = "Duplicate entry 'DE89370400440532013000' for key 'iban' of walter@10.20.30.40"


def planted(path: Path) -> Run:
    """A finished run in which everything that can hold a name holds one."""
    base = plans.plan({"place": ("zebra-west", "other")}, claims=CLAIMS)
    target = Target(
        "db",
        "mariadb",
        config={"max_connections": 100, "hostname": "meridian", "datadir": "/srv/vault/data"},
        url="mysql://appuser7@db1.prod.zebra-bank.example:3307/shopschema",
        read_urls=("mysql://appuser7@[fd00:1:2:3:4:5:6:7]:3307/shopschema",),
        existing="shopschema",
        host="ssh://walter@meridian",
        basedir="/srv/vault/mariadb",
        session=("SET @who = 'walter'",),
        setup=Setup(
            dump="/srv/vault/dump.sql",
            tables={"ledger_entries": {"columns": {"iban": {"text": "DE89-Frankfurt"}}}},
            after=(SQL,),
        ),
    )
    options = {
        "params": {"iban": {"values": ["DE89370400440532013000", "Frankfurt"]}},
        "statements": {"find_one": {"sql": SQL, "weight": 2}},
    }
    cells = tuple(
        dataclasses.replace(
            cell,
            targets=(dataclasses.replace(target, config={"hostname": f"meridian-{cell.index}"}),),
            groups=(dataclasses.replace(cell.groups[0], options=options, workload="mix"),),
        )
        for cell in base.cells
    )
    command = Hook("/srv/vault/restore-snapshot.sh --to meridian", on="ssh://walter@meridian")
    plan = dataclasses.replace(
        base,
        cells=cells,
        name="move",
        question="Should Zebra move db1.prod.zebra-bank.example to 10.20.30.40?",
        about=About("Una Quillfeather", "Zebra Bank AG", "in Frankfurt", "ask walter"),
        hooks=Hooks(
            before_run=(command,), levels={"place": {"other": LevelHooks(apply=(command,))}}
        ),
        notes=(
            "The schema shopschema on db1.prod.zebra-bank.example is read only.",
            "Since runs/gazelle was measured dump.sql has changed.",
        ),
        spec_text=SPEC,
        against=Against("place", "other", "zebra-west", "the run runs/gazelle", SPEC, 0.03),
        claim_words={CLAIMS[0]: "the move pays for kingfisher"},
    )
    environment = {
        "kernel": "6.1.0-zebra",
        "cores": 8,
        "scratch": "/srv/vault/scratch",
        "systems": {"mariadb at db1.prod.zebra-bank.example": "10.11.14"},
        "node": "meridian",
        "checks": [
            {
                "check": "other_load",
                "state": "found",
                "what": "other processes use 1 of 8 CPUs (most: zebra-backup 1.00)",
                "effect": "trials run slower",
                "cure": "stop them",
            }
        ],
        "host": {"db": "ssh://walter@meridian"},
    }
    run = Run.create(path, plan, environment)
    for trial in plan.trials:
        place = run.begin(trial.id)
        events = [
            {"event": "ready", "connect_s": 0.1, "measure_unix_s": 1.0},
            {"event": "statement", "group": "workload", "class": "find_one", "sql": SQL},
            {"event": "error", "t_s": 1.0, "group": "workload", "code": "1062", "message": FAILURE},
            {"event": "warning", "message": f"the server said: '{FAILURE}'"},
        ]
        (place / "events.ndjson").write_text("".join(json.dumps(e) + "\n" for e in events))
        (place / "metrics.ndjson").write_text(
            '{"t_s": 1.0, "length_s": 1.0, "source": "status", "gap": "no answer of meridian"}\n'
        )
        (place / "engine.log").write_text(FAILURE)
        run.complete(
            TrialRecord(
                id=trial.id,
                block=trial.block,
                cell=trial.cell,
                status="complete",
                started_unix_s=1.0 + trial.position,
                metrics={"transactions_per_s": 100.0 + 50 * trial.cell + trial.block},
                warnings=(f"readers lost db1.prod.zebra-bank.example: {FAILURE}",),
                outages=({"group": "workload", "start_s": 0.1, "end_s": 0.2, "cause": FAILURE},),
                faults=(
                    {"do": "kill", "node": "db", "at_s": 1.0, "begun_s": 1.0, "problem": FAILURE},
                    {
                        "do": "partition",
                        "node": "db",
                        "at_s": 1.0,
                        "begun_s": 1.0,
                        "links": "db <> db1.prod.zebra-bank.example",
                    },
                ),
                roles=({"t_s": 1.5, "node": "db", "change": "failed", "said": FAILURE},),
                statements={"workload/find_one": SQL},
                explain={"workload/find_one": EXPLAIN},
                targets={
                    "db": {
                        "kind": "mariadb",
                        "version": "10.11.14-zebra",
                        "settings": {
                            "hostname": f"meridian{trial.cell}",
                            "datadir": "/srv/vault/data",
                            "init_connect": "SET @who = 'walter'",
                            "innodb_flush_method": "O_DIRECT",
                            "report_user": "appuser7",
                            "wsrep_cluster_address": "gcomm://10.20.30.40",
                            "sort_buffer_size": f"{262144 * (trial.cell + 1)}",
                        },
                        "asked": {"hostname": "meridian"},
                        "session_sql": ["SET @who = 'walter'"],
                        "words": [
                            {"word": "memory: 64 MiB", "settings": {}, "note": "as on meridian"}
                        ],
                        "network_of_nodes": {"delay_s": 0.005, "said": "as on meridian"},
                        "where": "rack 4 in Frankfurt",
                    }
                },
            )
        )
    run.set_status("complete", command=["dyno", "run", "/srv/vault/move.yaml"])
    run.close()
    return Run.open(path)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return planted(tmp_path / "run")


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret.casefold() in text.casefold()]


def written(directory: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield path.relative_to(directory).as_posix(), path.read_text()


def shared(run: Run, to: Path) -> Run:
    to.mkdir()
    return redact.redacted(run, to)


def test_nothing_planted_is_left_in_any_file(run: Run, tmp_path: Path) -> None:
    made = shared(run, tmp_path / "made")
    Report(made, analyse(made.plan, made.records())).write()
    found = {name: leaks(text) for name, text in written(made.path) if leaks(text)}
    assert found == {}
    assert {"report.html", "report.md", "result.json"} <= {name for name, _ in written(made.path)}
    assert leaks((run.path / "manifest.json").read_text())  # the original is as it was


def test_a_redacted_bundle_holds_nothing_either(run: Run, tmp_path: Path) -> None:
    made = shared(run, tmp_path / "made")
    bundle.pack(made, tmp_path / "b.zip", redacted=True)
    (tmp_path / "elsewhere").mkdir()
    bundle.unpack(tmp_path / "b.zip", tmp_path / "elsewhere")
    files = dict(written(tmp_path / "elsewhere"))
    assert files
    assert [name for name, text in files.items() if leaks(text)] == []
    assert not any("engine.log" in name or "aliases" in name for name in files)


def test_a_redacted_manifest_fits_its_schema(run: Run, tmp_path: Path) -> None:
    made = shared(run, tmp_path / "made")
    valid("manifest", json.loads((made.path / "manifest.json").read_text()))


def test_what_the_run_says_stays(run: Run, tmp_path: Path) -> None:
    made = shared(run, tmp_path / "made")
    before, after = analyse(run.plan, run.records()), analyse(made.plan, made.records())
    assert [c.verdict for c in before.claims] == [c.verdict for c in after.claims]
    assert [c.metrics for c in before.cells] == [c.metrics for c in after.cells]
    record = made.records()[0]
    assert record.metrics == run.records()[0].metrics
    settings = record.targets["db"]["settings"]
    assert settings["innodb_flush_method"] == "O_DIRECT"
    assert (
        settings["sort_buffer_size"]
        == run.records()[0].targets["db"]["settings"]["sort_buffer_size"]
    )
    assert "(cost=0.42..8.44 rows=1 width=121)" in record.explain["workload/find_one"]
    assert record.statements["workload/find_one"].startswith("SELECT * FROM schema-")


def test_a_name_has_one_alias_everywhere(run: Run, tmp_path: Path) -> None:
    made = shared(run, tmp_path / "made")
    host = made.plan.cells[0].targets[0].url.split("@")[1].split(":")[0]  # type: ignore[union-attr]
    customer = made.plan.about.customer
    assert host in made.plan.question and customer in made.plan.question
    assert host in made.plan.spec_text
    assert f"{customer}-west" in made.plan.factors[0].levels
    assert f"{customer}-west" in made.plan.claims[0]
    assert made.plan.claims[1].endswith("~= 1.1 * tps[other] within 90%")


def test_two_reports_of_a_run_agree_and_the_table_is_private(run: Run, tmp_path: Path) -> None:
    first, second = shared(run, tmp_path / "a"), shared(run, tmp_path / "b")
    assert dict(written(first.path)) == dict(written(second.path))
    table = run.path / aliases.FILE
    assert table.stat().st_mode & 0o077 == 0
    assert json.loads(table.read_text())["aliases"]["user"]["appuser7"].startswith("user-")


def test_every_text_of_a_plan_has_a_rule() -> None:
    """A new field of a plan is a decision, not an accident."""

    def texts_of(kind: Any, place: str, seen: set[str]) -> Iterator[str]:
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            if kind.__name__ not in seen:
                seen.add(kind.__name__)
                for name, hint in typing.get_type_hints(kind).items():
                    yield from texts_of(hint, f"{kind.__name__}.{name}", seen)
        elif kind is str:
            yield place
        else:
            for argument in typing.get_args(kind):
                yield from texts_of(argument, place, seen)

    refused = {  # whole texts go, on purpose
        *("Credentials.env", "Credentials.file", "Credentials.command"),
        *("Credentials.defaults_group", "Credentials.server_public_key"),
    }
    keys_only = {"Target.config", "Target.options", "Setup.tables", "GroupPlan.options"}
    keys_only |= {"Router.config"}
    keys_only |= {"Prices.levels", "Hooks.levels", "Setup.hashes", "LoadThreads.per_s"}
    assert set(texts_of(Plan, "", set())) - set(RULES) - refused - keys_only == set()


def test_an_alias_is_never_a_name_of_the_run(tmp_path: Path) -> None:
    run = planted(tmp_path / "run")
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["plan"]["notes"].append("the replica is called host-1, its user User-1")
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    made = shared(Run.open(run.path), tmp_path / "made")
    given = json.loads((run.path / aliases.FILE).read_text())["aliases"]
    assert "host-1" not in given["host"].values()
    assert "user-1" not in given["user"].values()
    assert leaks(made.plan.notes[0]) == []


def test_a_stored_alias_that_has_become_a_name_is_refused(run: Run, tmp_path: Path) -> None:
    table = {"version": 1, "aliases": {"host": {"meridian": "host-1"}}}
    (run.path / aliases.FILE).write_text(json.dumps(table))
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["plan"]["notes"].append("beside host-1")
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DynoError, match=r"host-1 is also a real name"):
        shared(Run.open(run.path), tmp_path / "made")


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"version": 1, "aliases": {"host": {"a": "host-1", "b": "host-1"}}}, "to two names"),
        ({"version": 1, "aliases": {"host": {"a": "db1.example.com"}}}, "not a table of aliases"),
        ({"version": 1, "aliases": {"planet": {"a": "planet-1"}}}, "not a table of aliases"),
        ({"version": 2, "aliases": {}}, "not a table of aliases"),
        ([], "not a table of aliases"),
    ],
)
def test_a_table_that_was_edited_is_refused(run: Run, tmp_path: Path, table: Any, why: str) -> None:
    (run.path / aliases.FILE).write_text(json.dumps(table))
    with pytest.raises(DynoError, match=why):
        shared(run, tmp_path / "made")


def test_levels_that_would_read_the_same_are_refused(tmp_path: Path) -> None:
    base = plans.plan({"place": ("db9.example.com", "DB9.example.com")})
    run = Run.create(tmp_path / "run", base, {})
    run.close()
    with pytest.raises(DynoError, match=r"same: db9\.example\.com, DB9\.example\.com"):
        shared(Run.open(tmp_path / "run"), tmp_path / "made")
