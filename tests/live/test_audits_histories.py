"""Audits of histories against real servers: each level of isolation shows what it permits, and
nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import engine_jobs
import pytest
from private_servers import CORE, Bench, binaries, running
from running import Place, complete_trials, has, result, wait_until_idle

from dbdyno import kinds
from dbdyno.audit.histories import append, bank, log, register, tables
from dbdyno.audit.histories.findings import Findings
from dbdyno.systems.base import Server

pytestmark = pytest.mark.live

DATABASE = "dbdyno"
DATA: Mapping[str, Mapping[str, Any]] = {
    "register": {"keys": 4},
    "append": {"rows": 2000, "lists": 4},
    "bank": {"accounts": 4, "balance": 100},
}
# Options that are not of the data.
LOAD = {"lists"}
ENOUGH = 2000  # transactions, in which sessions meet often


@contextmanager
def loaded(kind: str, *workloads: str) -> Iterator[tuple[Bench, Server]]:
    """A server with the tables of workloads."""
    with running(kind, tls="off", durability="none") as (bench, server):
        if kinds.of(kind).speaks_sql:
            server.create_schema(DATABASE)
        for workload in workloads:
            options = {name: each for name, each in DATA[workload].items() if name not in LOAD}
            plan = engine_jobs.plan(
                *(bench.directory.parent, target(bench, server), "load"),
                workload=workload,
                options=options,
            )
            assert engine_jobs.run(plan).last["event"] == "loaded"
        yield bench, server


def target(bench: Bench, server: Server, isolation: str | None = None) -> dict[str, Any]:
    """Of the engine's plan. Redis has no schema."""
    plan = replace(bench.target, isolation=isolation)
    database = DATABASE if kinds.of(plan.kind).speaks_sql else ""
    return dict(server.engine_target(plan, bench.system.resolve(plan), database))


def ask(server: Server) -> tables.Ask:
    return lambda sql: server.run(DATABASE, [sql])


def history(
    bench: Bench, server: Server, directory: Path, workload: str, isolation: str | None, **more: Any
) -> log.History:
    """Of one load, on data that is set back before it."""
    if kinds.of(bench.target.kind).speaks_sql:
        server.run(DATABASE, [tables.reset(workload, balance=100)[0]])
    directory.mkdir()
    plan = engine_jobs.plan(
        *(directory, target(bench, server, isolation)),
        workload=workload,
        sessions=8,
        history=True,
        options={**DATA[workload], **more},
    )
    said = engine_jobs.run(plan, until=has(ENOUGH))
    assert said.code == 0, said.last
    assert said.total["transactions"] > 50
    if kinds.of(bench.target.kind).speaks_sql:
        wait_until_idle("postgres" if bench.target.kind == "postgres" else "mysql", ask(server))
    return log.read(directory)


def lists(server: Server, made: log.History) -> Findings:
    return append.check(made, [0], [append.ListNode(tables.lists(ask(server), page=100))])


NEVER = ("dirty_reads", "intermediate_reads", "circular_information", "g0", "lost", "resurrected")
# (kind, level): what it shows, and what it does not.
SHOWS = {
    ("mariadb", "read_committed"): (("lost_update", "read_skew"), ()),
    ("mariadb", "repeatable_read"): (("lost_update",), ()),
    ("mariadb", "serializable"): ((), ("lost_update", "read_skew", "write_skew")),
    ("postgres", "read_committed"): (("lost_update", "read_skew"), ()),
    ("postgres", "repeatable_read"): (("write_skew",), ("lost_update", "read_skew")),
    ("postgres", "serializable"): ((), ("lost_update", "read_skew", "write_skew")),
}


@pytest.mark.parametrize("kind", CORE)
def test_each_level_shows_the_anomalies_that_it_permits_and_no_others(
    kind: str, tmp_path: Path
) -> None:
    with loaded(kind, "append") as (bench, server):
        for (of, level), (shown, absent) in SHOWS.items():
            if of != kind:
                continue
            found = lists(server, history(bench, server, tmp_path / level, "append", level))
            found = replace(found, permitted=kinds.of(kind).permitted(level))
            counts = found.counts
            assert all(counts[name] for name in shown), (level, counts)
            assert not any(counts[name] for name in (*absent, *NEVER)), (
                level,
                counts,
                found.examples,
            )
            assert counts["incompatible_orders"] == 0, (level, counts, found.examples)
            assert set(found.examples) == {name for name, count in counts.items() if count}
            assert found.violations == 0, (level, counts)
            assert found.judged > 100


def test_dirty_reads_of_read_uncommitted(tmp_path: Path) -> None:
    with loaded("mariadb", "append") as (bench, server):
        made = history(bench, server, tmp_path / "load", "append", "read_uncommitted")
        counts = lists(server, made).counts
    assert counts["intermediate_reads"] or counts["dirty_reads"], counts
    assert counts["circular_information"], counts


CONSTANT = {"mariadb": "serializable", "postgres": "repeatable_read"}
WRONG = {"mariadb": "repeatable_read", "postgres": "read_committed"}


@pytest.mark.parametrize("kind", CORE)
def test_the_sum_is_constant_where_the_level_guarantees_it(kind: str, tmp_path: Path) -> None:
    with loaded(kind, "bank") as (bench, server):
        for level, is_constant in ((CONSTANT[kind], True), (WRONG[kind], False)):
            made = history(bench, server, tmp_path / level, "bank", level)
            held = bank.BankNode(tables.balances(ask(server)))
            found = bank.check(made, [0], bank.Bank(4, 100), [held])
            assert (found.counts["wrong_sums"] == 0) is is_constant, (level, found)
            assert found.counts["diverged"] == 0
            assert found.judged > 20


@pytest.mark.parametrize("kind", [*CORE, "redis"])
def test_registers_of_one_server_are_linearizable(kind: str, tmp_path: Path) -> None:
    with loaded(kind, "register") as (bench, server):
        swaps = {"compare_and_set": 0.5} if kinds.of(kind).speaks_sql else {}
        made = history(bench, server, tmp_path / "load", "register", None, **swaps)
        found = register.check(made, [0])
        assert found.counts == dict.fromkeys(register.COUNTS, 0), found
        assert found.judged > 500
        verbs = set(made.records["verb"].tolist())
        assert verbs >= ({log.READ, log.WRITE, log.SWAP} if swaps else {log.READ, log.WRITE})


def test_a_value_changed_behind_its_back_is_found(tmp_path: Path) -> None:
    with loaded("postgres", "register") as (bench, server):

        def change() -> None:  # again and again: sessions may write all of them before they read
            for _ in range(20):
                changed = f"UPDATE {tables.REGISTER} SET content = '0000000000000000007'"
                server.run(DATABASE, [changed])

        server.run(DATABASE, [tables.reset("register")[0]])
        plan = engine_jobs.plan(
            *(tmp_path, target(bench, server)),
            workload="register",
            sessions=4,
            history=True,
            options=DATA["register"],
        )
        assert engine_jobs.run(plan, change, has(ENOUGH)).code == 0
    found = register.check(log.read(tmp_path), [0])
    assert found.counts["unwritten_reads"] > 0
    assert found.counts["not_linearizable"] > 0


REUSED = """
experiment: reused
question: Are registers of Redis judged where data is reused?
targets: {db: {kind: redis, durability: none}}
workload: {kind: register, keys: 4, sessions: 4}
audit: register
state: {data: reuse}
blocks: 2
warmup: 100ms
duration: 60s
interval: 100ms
"""


def test_registers_of_redis_are_set_back_where_data_is_reused(there: Place) -> None:
    """Sessions write the same values in each trial: those of the first would be read in the second
    before they are written."""
    binaries("redis")
    done = there.dyno_until(has(ENOUGH), "run", there.experiment(REUSED), "--dir", "out")
    assert done.returncode == 0, done.stderr
    trials = complete_trials(there.path / "out").values()
    assert len(trials) == 2
    for metrics in (json.loads(trial)["metrics"] for trial in trials):
        assert metrics["audit.judged"] > 100
        assert metrics["audit.violations"] == metrics["audit.unwritten_reads"] == 0


RUN = """
experiment: histories
question: What does repeatable read permit?
targets: {db: {kind: postgres, isolation: repeatable_read, durability: none}}
workload: {kind: append, rows: 2000, lists: 4, sessions: 8}
audit: append
blocks: 1
warmup: 200ms
duration: 60s
interval: 200ms
"""


def test_a_run_reports_anomalies_and_what_is_permitted(there: Place) -> None:
    binaries("postgres")
    done = there.dyno_until(has(ENOUGH), "run", there.experiment(RUN), "--dir", "out")
    assert done.returncode == 0, done.stderr
    (cell,) = result(there.path / "out")["cells"]
    metrics = {name: value["mean"] for name, value in cell["metrics"].items()}
    assert metrics["audit.write_skew"] > 0
    assert metrics["audit.lost_update"] == metrics["audit.violations"] == 0
    assert "in write skew (G2-item) (permitted)" in done.stdout
    assert "Nothing that the isolation level does not permit was found" in done.stdout
    (trial,) = complete_trials(there.path / "out").values()
    assert b'"check":"append"' in trial.replace(b" ", b"")
    for name in ("report.html", "report.md"):
        assert "Audit of histories" in (there.path / "out" / name).read_text()
    assert there.until_clean() == []


REPLICA = """
experiment: replicas
question: How old is what a replica answers?
targets:
  db: {kind: postgres, durability: none, topology: {kind: replicas, network: {delay: 20ms}}}
groups:
  writers: {kind: register, keys: 4, read: 0, sessions: 2}
  readers: {kind: register, keys: 4, write: 0, sessions: 2, route: replicas}
audit: register
blocks: 1
warmup: 200ms
duration: 60s
interval: 200ms
"""


def test_reads_of_a_replica_are_stale_and_have_an_age(there: Place) -> None:
    binaries("postgres")
    enough = has(5 * ENOUGH, intervals=5)
    done = there.dyno_until(enough, "run", there.experiment(REPLICA), "--dir", "out")
    assert done.returncode == 0, done.stderr
    (cell,) = result(there.path / "out")["cells"]
    metrics = {name: value["mean"] for name, value in cell["metrics"].items()}
    assert metrics["audit.stale_reads"] > 0
    assert metrics["audit.not_linearizable"] == 4
    assert 0.0 < metrics["audit.stale_read_max_s"] < 60.0
    assert "old)" in done.stdout
    assert there.until_clean() == []


KILLED = """
experiment: killed
question: Are lists whole after a crash?
targets: {db: {kind: postgres, durability: full, isolation: serializable}}
workload: {kind: append, rows: 2000, lists: 4, sessions: 4}
audit: append
faults: [{at: 1s, do: kill}]
blocks: 1
warmup: 200ms
duration: 2s
interval: 200ms
"""


def test_after_a_crash_what_recovery_brings_back_is_judged(there: Place) -> None:
    # InnoDB lets others read a commit before it is durable: a crash may show that as a dirty read.
    binaries("postgres")
    done = there.dyno("run", there.experiment(KILLED), "--dir", "out")
    assert done.returncode == 0, done.stderr
    (cell,) = result(there.path / "out")["cells"]
    metrics = {name: value["mean"] for name, value in cell["metrics"].items()}
    assert metrics["audit.lost"] == metrics["audit.violations"] == 0
    assert metrics["audit.judged"] > 0
    assert there.until_clean() == []
