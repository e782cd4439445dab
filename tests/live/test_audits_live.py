"""Audits of commits against real servers, each beside an independent recount of log and table."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import engine_jobs
import pytest
from engine_jobs import Event, Said
from private_servers import CORE, Bench, binaries, running
from running import (
    Place,
    complete_trials,
    has,
    lost,
    measured,
    result,
    server_of,
    wait_for,
    wait_until_idle,
)

from dbdyno.audit import identities, outcomes
from dbdyno.audit.compare import NodeRows, compare
from dbdyno.audit.findings import Audit
from dbdyno.systems.base import Server
from fixtures.audits import Attempt, recount

pytestmark = pytest.mark.live

DATABASE = "dbdyno"
WRITES = {"tables": 1, "rows": 500, "preset": "write_only"}
SESSIONS = 4
ENOUGH = has(200)

EXPERIMENT = """
experiment: audited
question: Is everything there that was acknowledged?
targets:
  db: {kind: KIND, durability: full}
workload: {kind: oltp, preset: write_only, tables: 1, rows: 500, sessions: 4}
audit: commits
blocks: 1
warmup: 200ms
duration: 60s
interval: 200ms
"""


@contextmanager
def loaded(kind: str) -> Iterator[tuple[Bench, Server]]:
    """A server with the workload's table."""
    with running(kind, tls="off", durability="full") as (bench, server):
        server.create_schema(DATABASE)
        target = server.engine_target(bench.target, bench.resolved, DATABASE)
        plan = engine_jobs.plan(bench.directory.parent, target, "load", options=data(WRITES))
        assert engine_jobs.run(plan).last["event"] == "loaded"
        server.run(DATABASE, identities.CREATE)
        yield bench, server


def data(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "preset"}


def load(
    bench: Bench,
    server: Server,
    directory: Path,
    meanwhile: Callable[[], None] | None = None,
    until: Callable[[Sequence[Event]], bool] = ENOUGH,
    **group: Any,
) -> Said:
    """An audited load of the engine."""
    target = server.engine_target(bench.target, bench.resolved, DATABASE)
    fields = {"options": WRITES, "sessions": SESSIONS, "audit": True, **group}
    said = engine_jobs.run(engine_jobs.plan(directory, target, **fields), meanwhile, until)
    assert said.code == 0, said.last
    return said


def held(server: Server) -> set[Attempt]:
    rows: Sequence[Sequence[Any]] = server.run(
        DATABASE, [f"SELECT session, n, attempt FROM {identities.TABLE}"]
    )
    return {(int(session), int(n), int(attempt)) for session, n, attempt in rows}


def audit(server: Server, directory: Path) -> Audit:
    """The audit, which must agree with the recount."""
    family = type(server).__module__.split(".")[2]
    wait_until_idle(family, lambda sql: server.run(DATABASE, [sql]))
    rows = identities.read(lambda sql: server.run(DATABASE, [sql]), page_rows=1000)
    found = compare(outcomes.read(directory), [0], [[NodeRows("db", rows)]])
    log = (directory / outcomes.LOG).read_bytes()
    expected = recount(log, [[(held(server), True)]])
    assert {name: getattr(found, name) for name in expected} == expected
    return found


@pytest.mark.parametrize("protocol", ["prepared", "text"])
@pytest.mark.parametrize("kind", CORE)
def test_of_a_healthy_server_every_acknowledged_transaction_is_there(
    kind: str, protocol: str, tmp_path: Path
) -> None:
    with running(kind, tls="off", protocol=protocol) as (bench, server):
        server.create_schema(DATABASE)
        target = server.engine_target(bench.target, bench.resolved, DATABASE)
        plan = engine_jobs.plan(bench.directory.parent, target, "load", options=data(WRITES))
        assert engine_jobs.run(plan).last["event"] == "loaded"
        server.run(DATABASE, identities.CREATE)
        said = load(bench, server, tmp_path)
        found = audit(server, tmp_path)
    assert (found.lost, found.resurrected, found.duplicated, found.unlogged) == (0, 0, 0, 0)
    # Those that ended after the measured time are in the audit, too.
    assert found.acknowledged >= said.total["transactions"] > 0
    assert found.nodes[0].rows is not None
    assert found.nodes[0].rows == found.acknowledged + (found.unknown_present or 0)


def test_writes_that_commit_by_themselves_and_arrivals_are_audited(tmp_path: Path) -> None:
    with loaded("mariadb") as (bench, server):
        options = {**WRITES, "preset": "update_index"}
        rate = {"from_per_s": 300.0, "to_per_s": 300.0, "for_s": None}
        arrivals = {"process": "poisson", "steps": [rate]}
        said = load(bench, server, tmp_path, options=options, arrivals=arrivals)
        found = audit(server, tmp_path)
        sessions = {session for session, _, _ in held(server)}
    assert (found.lost, found.resurrected, found.duplicated, found.unlogged) == (0, 0, 0, 0)
    assert found.acknowledged >= said.total["transactions"] > 0
    assert sessions == {0, 1, 2, 3}, "arrivals are spread over the sessions' keys"


def test_rows_deleted_behind_its_back_are_lost_and_no_others(tmp_path: Path) -> None:
    with loaded("mariadb") as (bench, server):
        load(bench, server, tmp_path)
        assert audit(server, tmp_path).lost == 0
        acknowledged = outcomes.read(tmp_path).of(2).acknowledged
        first, _, third, *_ = map(int, outcomes.transactions(acknowledged))
        which = f"session = 2 AND n IN ({first}, {third})"
        server.run(DATABASE, [f"DELETE FROM {identities.TABLE} WHERE {which}", "COMMIT"])
        found = audit(server, tmp_path)
    assert (found.lost, found.resurrected, found.duplicated) == (2, 0, 0)
    assert [(one.session, one.n) for one in found.lost_examples] == [(2, first), (2, third)]
    assert found.first_lost and found.last_lost
    assert 0 < found.first_lost.t_s < found.last_lost.t_s <= engine_jobs.LIMIT_S


@pytest.mark.parametrize("kind", CORE)
def test_a_killed_server_with_full_durability_loses_nothing(kind: str, tmp_path: Path) -> None:
    with loaded(kind) as (bench, server):
        pid = server.pid
        assert pid is not None
        load(bench, server, tmp_path, lambda: os.kill(pid, signal.SIGKILL), lost(SESSIONS))
        assert not server.alive()
        server.stop()
        again = bench.start()
        try:
            found = audit(again, tmp_path)
        finally:
            again.stop()
    assert (found.lost, found.resurrected, found.duplicated) == (0, 0, 0)
    assert found.acknowledged > 0
    assert found.unlogged == 0


def test_a_run_says_what_its_audits_found(there: Place) -> None:
    binaries("mariadb")
    run = there.path / "out"
    dyno = there.start("run", there.experiment(EXPERIMENT.replace("KIND", "mariadb")), "--dir", run)
    assert wait_for(lambda: measured(run / "trials/b01-t001/events.ndjson"))
    os.kill(server_of(there, "mariadbd"), signal.SIGKILL)
    out = there.finish(dyno, lost(SESSIONS))
    assert dyno.returncode == 0, out
    assert "acknowledged transactions is lost" in out
    assert "was started again to be read" in out
    (cell,) = result(run)["cells"]
    assert cell["metrics"]["audit.lost"]["mean"] == 0
    assert cell["metrics"]["audit.acknowledged"]["mean"] > 0
    (record,) = complete_trials(run).values()
    assert b'"restarted": true' in record or b'"restarted":true' in record
    for name in ("report.html", "report.md"):
        assert "Audit of commits" in (run / name).read_text()
    assert there.until_clean() == []


def test_the_cost_of_an_audit_can_be_a_factor(there: Place) -> None:
    binaries("postgres")
    text = EXPERIMENT.replace("KIND", "postgres").replace(
        "audit: commits", "factors: {audit: [off, commits]}"
    )
    done = there.dyno_until(ENOUGH, "run", there.experiment(text), "--dir", "out")
    assert done.returncode == 0, done.stderr
    plain, audited = result(there.path / "out")["cells"]
    assert "audit.lost" not in plain["metrics"]
    assert audited["metrics"]["audit.lost"]["mean"] == 0
    logs = list((there.path / "out" / "trials").glob("*/audit.log"))
    assert len(logs) == 1, "nothing is written without an audit"
