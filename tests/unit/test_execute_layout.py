"""The probe for the number of load threads, with an engine that is as fast as the test says."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import plans
import pytest

from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Control
from dbdyno.execute.engine import load_threads
from dbdyno.plan.types import Cell, LoadThreads, Plan, TrialPlan
from dbdyno.store.run import Run

ENGINE = """#!{python}
import json, sys
plan = json.load(sys.stdin)
with open({log!r}, "a") as log:
    log.write(f"{{plan['workers']}} ")
rate = {rates}[str(plan["workers"])]
if rate:
    group = {{"transactions": rate * 2}}
    print(json.dumps({{"event": "end", "measured_s": 2.0, "interrupted": False, "groups": {{"g": group}}}}))
else:
    print(json.dumps({{"event": "failed", "kind": "connection", "what": "no server"}}))
"""  # noqa: E501


class Bench:
    """A run of two cells with four sessions each, and its engine."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rates: object) -> None:
        monkeypatch.setattr(load_threads.os, "sched_getaffinity", lambda pid: {0, 1})
        self.said: list[str] = []
        self.log = tmp_path / "log"
        engine = tmp_path / "engine"
        text = ENGINE.format(python=sys.executable, log=str(self.log), rates=json.dumps(rates))
        engine.write_text(text)
        engine.chmod(0o755)
        made = plans.plan()
        cells = [replace(c, groups=(plans.group(sessions=4),)) for c in made.cells]
        self.plan = replace(made, cells=tuple(cells), generator_cpus=(), server_cpus=())
        self.address: object = {"tcp": {"host": "127.0.0.1", "port": 1}}
        self.engine = engine

    def layout(self, run: Run) -> load_threads.Layout:
        context = ExecutionContext(run, self.engine, Control(self.said.append), self)
        return load_threads.Layout(context, self.request)

    def request(self, cell: Cell, trial: TrialPlan, directory: Path) -> Mapping[str, Any]:
        return {"targets": {"db": {"address": self.address}}}

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None: ...
    def on_event(self, event: Any) -> None: ...
    def on_record(self, record: Any, *, over: bool) -> None: ...

    def say(self, message: str) -> None:
        self.said.append(message)

    def on_failure(self, what: str) -> None:
        self.said.append(what)


def create(tmp_path: Path, plan: Plan) -> Run:
    return Run.create(tmp_path / "run", plan, {})


def test_the_number_that_commits_most_is_found_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, monkeypatch, {"1": 73_600, "2": 93_700})
    found = LoadThreads(4, 2, {"1": 73_600.0, "2": 93_700.0})
    with create(tmp_path, bench.plan) as run:
        probing = bench.layout(run)
        assert probing.probe(run.plan.cells[0], run.plan.trials[0])
        assert not probing.probe(run.plan.cells[1], run.plan.trials[1])
        assert run.plan.probed == (found,)
    assert bench.log.read_text() == "1 2 2 1 1 2 "
    said = (
        "Load threads for 4 sessions: 2, in all cells alike (probe before the first trial:"
        " 73,600/s with 1, 93,700/s with 2)."
    )
    assert bench.said == [said]
    with Run.resume(tmp_path / "run") as resumed:
        assert resumed.plan.probed == (found,) and said in resumed.plan.notes
        assert not bench.layout(resumed).probe(resumed.plan.cells[0], resumed.plan.trials[0])


def test_a_probe_that_fails_leaves_the_number_to_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, monkeypatch, {"1": 0, "2": 0})
    with create(tmp_path, bench.plan) as run:
        probing = bench.layout(run)
        assert probing.probe(run.plan.cells[0], run.plan.trials[0])
        assert not probing.probe(run.plan.cells[1], run.plan.trials[1]), "once is enough"
        assert run.plan.probed == ()
    assert (bench.log.read_text(), bench.said) == ("1 ", [])


def test_servers_elsewhere_have_cpus_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, monkeypatch, {})
    bench.address = {"tcp": {"host": "db1.example.com", "port": 3306}}
    with create(tmp_path, bench.plan) as run:
        assert not bench.layout(run).probe(run.plan.cells[0], run.plan.trials[0])
    assert not bench.log.exists()
