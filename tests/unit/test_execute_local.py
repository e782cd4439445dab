"""The order of work in a run: which servers each trial meets, when a run ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import plans
import pytest

from dbdyno.execute import fleet, local
from dbdyno.execute.control import Control
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run
from dbdyno.systems.base import TargetPlan


class Silent:
    """A listener that only remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None: ...
    def on_event(self, event: Any) -> None: ...
    def on_record(self, record: TrialRecord, *, over: bool) -> None: ...

    def say(self, message: str) -> None:
        self.said.append(message)


class World:
    """Trials that measure nothing but remember what they were pointed at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.asked: list[tuple[int, int, str]] = []  # block, cell, protocol
        self.starts = 0
        world = self

        class Trial:
            def __init__(self, run: Run, servers: fleet.Fleet, *_: object) -> None:
                self.run, self.servers = run, servers

            def measure(self, cell: Cell, trial: TrialPlan, cpus: object) -> TrialRecord:
                self.run.begin(trial.id)
                target = self.servers.members["db"].engine_target()
                world.asked.append((trial.block, cell.index, target["protocol"]))
                return TrialRecord(trial.id, trial.block, cell.index, COMPLETE, 1.0, {})

        def snapshot(self: fleet.Fleet, member: object, cell: Cell) -> Path:
            world.starts += 1
            empty = tmp_path / "snapshot"
            empty.mkdir(exist_ok=True)
            return empty

        monkeypatch.setattr(local, "Trial", Trial)
        monkeypatch.setattr(fleet.Fleet, "_snapshot", snapshot)
        monkeypatch.setattr(fleet.Fleet, "_settle", lambda self: None)

    def execute(self, plan: Plan) -> str:
        with Run.create(self.tmp_path / "run", plan, {}) as run:
            control = Control(lambda message: None)
            execution = local.LocalExecution(run, Path("engine"), control, Silent(), self.tmp_path)
            status = execution.execute()
            run.set_status(status)
            return status


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    return World(monkeypatch, tmp_path)


def of_null(plan: Plan, protocols: dict[int, str]) -> Plan:
    cells = tuple(
        replace(cell, targets=(TargetPlan("db", "null", protocol=protocols[cell.index]),))
        for cell in plan.cells
    )
    return replace(plan, cells=cells)


def test_cells_that_share_a_server_keep_their_own_connections(world: World) -> None:
    protocols = {0: "prepared", 1: "text"}
    plan = of_null(plans.plan({"protocol": ("prepared", "text")}), protocols)
    assert world.execute(plan) == "complete"
    assert [protocol for _, _, protocol in world.asked] == ["prepared", "text"] * 3
    assert world.starts == 3  # once a block: an easy factor starts no servers
