"""Servers that die, hang and talk rubbish in mid-trial: outages and errors on record, the rest of
the run goes on, nothing hangs and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import engine_jobs
import pytest
from ending import lines
from private_servers import CORE, binaries, running
from refusals import plain_words
from running import (
    Event,
    Place,
    complete_trials,
    has,
    lost,
    measured,
    result,
    server_of,
    wait_for,
)
from spoiling_proxy import proxy

pytestmark = pytest.mark.live

Served = tuple[Any, dict[str, Any]]  # a server, and how the engine reaches it

EXPERIMENT = """\
experiment: dying
targets:
  db: {kind: KIND}
workload: {kind: oltp, preset: point_select, tables: 1, rows: 500}
factors:
  sessions: [1, 2]
blocks: 3
warmup: 0s
duration: 60s
interval: 100ms
claims: ["tps[sessions=2] >= 0.01 * tps[sessions=1]"]
"""


@contextmanager
def served(kind: str) -> Iterator[Served]:
    with running(kind, tls="off") as (bench, server):
        server.create_schema("dbdyno")
        target = server.engine_target(bench.target, bench.resolved, "dbdyno")
        loaded = engine_jobs.run(engine_jobs.plan(bench.directory.parent, target, "load"))
        assert loaded.last["event"] == "loaded", loaded.last
        yield server, target


@pytest.fixture(scope="module", params=CORE)
def lasting(request: pytest.FixtureRequest) -> Iterator[Served]:
    """A server for tests that leave it alive."""
    with served(request.param) as made:
        yield made


def processes_of(pid: int) -> list[int]:
    """A server's process and all below it: PostgreSQL has one a connection."""
    found = [pid]
    for one in found:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            for task in Path(f"/proc/{one}/task").glob("*/children"):
                found += [int(child) for child in task.read_text().split()]
    return found


def send(pid: int, number: signal.Signals) -> None:
    for one in processes_of(pid):
        with suppress(ProcessLookupError):
            os.kill(one, number)


def missed(events: Sequence[Event]) -> bool:
    """Whether a deadline passed."""
    return any(one["event"] == "error" and one["code"] == "deadline" for one in events)


def last_commits(events: Sequence[Event]) -> int:
    """Transactions of the last interval."""
    intervals = [one for one in events if one["event"] == "interval"]
    return int(intervals[-1]["groups"]["g"]["transactions"])


@pytest.mark.parametrize(("kind", "program"), [("mariadb", "mariadbd"), ("postgres", "postgres")])
def test_a_run_goes_on_behind_a_killed_server(there: Place, kind: str, program: str) -> None:
    binaries(kind)
    run = there.path / "out"
    dyno = there.start("run", there.experiment(EXPERIMENT.replace("KIND", kind)), "--dir", run)
    first = run / "trials/b01-t001/events.ndjson"
    assert wait_for(lambda: measured(first))
    os.kill(server_of(there, program), signal.SIGKILL)
    assert wait_for(lambda: lost(1)(lines(first)))
    out = there.finish(dyno, has(20))
    assert dyno.returncode == 0, out
    plain_words(out)
    records = {name: json.loads(text) for name, text in complete_trials(run).items()}
    assert len(records) == 6
    hit = records.pop("b01-t001")
    assert hit["status"] == "complete"
    assert hit["outages"]
    assert all(outage["cause"] and outage["start_s"] >= 0 for outage in hit["outages"])
    events = (run / "trials/b01-t001/events.ndjson").read_text()
    assert '"event":"outage"' in events
    assert '"event":"end"' in events
    for record in records.values():  # each from a fresh server
        assert (record["status"], record["outages"]) == ("complete", [])
        assert record["metrics"]["transactions_per_s"] > 0
    claim = result(run)["claims"][0]
    assert claim["verdict"] not in ("supported", "refuted")
    assert "outage" in json.dumps(claim), claim
    assert "outage" in (run / "report.md").read_text()
    assert there.until_clean() == []


@pytest.mark.parametrize("kind", CORE)
def test_a_killed_server_is_an_outage(kind: str, tmp_path: Path) -> None:
    with served(kind) as (server, target):
        said = engine_jobs.run(
            engine_jobs.plan(tmp_path, target),
            lambda: os.kill(server.pid, signal.SIGKILL),
            lost(2),
        )
        assert said.code == 0, said.last
        outages = said.of("outage")
        assert {outage["session"] for outage in outages} == {0, 1}
        assert all(outage["end_s"] is None for outage in outages[-2:])
        assert all(outage["cause"] for outage in outages)
        assert said.of("interval")[-1]["groups"]["g"]["lost"] == 2
        assert said.total["transactions"] > 0
        assert not server.alive()


def test_a_server_that_hangs_for_a_while_misses_deadlines(lasting: Served, tmp_path: Path) -> None:
    server, target = lasting
    heard: list[Event] = []

    def pause() -> None:
        send(server.pid, signal.SIGSTOP)
        wait_for(lambda: missed(heard))
        send(server.pid, signal.SIGCONT)

    def works_again(events: Sequence[Event]) -> bool:
        since = next((n for n, one in enumerate(events) if missed([one])), len(events))
        return has(1, intervals=1)(events[since:])

    plan = engine_jobs.plan(tmp_path, target, deadline_s=0.5)
    said = engine_jobs.run(plan, pause, works_again, heard)
    assert said.code == 0, said.last
    assert said.total["errors"]["deadline"] >= 1
    assert said.total["error_latency"]["max_ns"] >= 0.5e9  # counts with its age
    assert any(event["code"] == "deadline" and event["message"] for event in said.of("error"))
    assert said.last.get("asked")  # and it works again
    assert server.alive()


def test_a_server_that_hangs_for_good_does_not_hold_the_trial_up(
    lasting: Served, tmp_path: Path
) -> None:
    server, target = lasting
    plan = engine_jobs.plan(tmp_path, target, deadline_s=0.5)
    try:
        said = engine_jobs.run(
            plan,
            lambda: send(server.pid, signal.SIGSTOP),
            lambda events: missed(events) and last_commits(events) == 0,
        )
    finally:
        send(server.pid, signal.SIGCONT)
    assert said.code == 0, said.last
    assert said.total["errors"].get("deadline", 0) >= 1
    assert said.last.get("asked") and last_commits(said.events) == 0  # the rest had no answer
    assert wait_for(server.alive)


@pytest.mark.parametrize("tls", ["off", "require"])
@pytest.mark.parametrize("protocol", ["prepared", "text"])
def test_rubbish_is_an_outage_and_no_crash(
    lasting: Served, tmp_path: Path, protocol: str, tls: str
) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    server, target = lasting
    heard: list[Event] = []
    with proxy(target, seed) as between:

        def rubbish() -> None:
            between.rubbish()
            wait_for(lambda: lost(1)(heard))
            between.honest()

        through = between.target(target, protocol=protocol, tls=tls)
        plan = engine_jobs.plan(tmp_path, through, deadline_s=0.5)
        said = engine_jobs.run(plan, rubbish, lambda events: last_commits(events) > 0, heard)
    assert said.code == 0, said.last
    assert said.total["transactions"] > 0
    outages = said.of("outage")
    assert outages, said.text[-3000:]
    assert all(outage["cause"] for outage in outages)
    assert sum(said.total["errors"].values()) >= 1
    assert server.alive()


def test_rubbish_for_good_ends_with_the_trial(lasting: Served, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    with proxy(lasting[1], seed) as between:
        plan = engine_jobs.plan(tmp_path, between.target(lasting[1]), deadline_s=0.5)
        said = engine_jobs.run(plan, between.rubbish, lost(1))
    assert said.code == 0, said.last
    assert said.of("interval")[-1]["groups"]["g"]["lost"] >= 1
    assert any(outage["end_s"] is None for outage in said.of("outage"))


def test_a_connection_that_is_cut_is_an_outage_that_ends(lasting: Served, tmp_path: Path) -> None:
    """The proxy closes what is open, and lets new connections through no more."""
    with proxy(lasting[1]) as between:
        plan = engine_jobs.plan(tmp_path, between.target(lasting[1]))
        said = engine_jobs.run(plan, between.close, lost(2))
    assert said.code == 0, said.last
    assert {outage["session"] for outage in said.of("outage")} == {0, 1}
    assert lasting[0].alive()
