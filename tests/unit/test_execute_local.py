"""The order of work in a run: which servers each trial meets, when a run ends."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import plans
import pytest

from dbdyno.errors import DynoError
from dbdyno.execute import local
from dbdyno.execute.budget import Budget
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Control
from dbdyno.execute.hooks.hooks import Hooks
from dbdyno.execute.servers import pool
from dbdyno.execute.servers.external import ExternalServers
from dbdyno.execute.servers.snapshots import Snapshot, Snapshots
from dbdyno.execute.timeline import Moment, Timeline
from dbdyno.experiment.types import Looks
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

    def on_failure(self, what: str) -> None:
        self.said.append(what)


class World:
    """Trials that measure nothing but remember what they were pointed at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.asked: list[tuple[int, int, str]] = []  # block, cell, protocol
        self.starts = 0
        self.trial_s = 10.0
        self.to_probe: set[int] = set()  # cells whose number of load threads is open
        world = self

        class Trial:
            def __init__(
                self,
                context: ExecutionContext,
                servers: pool.ServerPool,
                hooks: Hooks,
                explained: set[int],
            ) -> None:
                self.run, self.servers, self.hooks = context.run, servers, hooks

            def probe(self, cell: Cell, trial: TrialPlan) -> bool:
                new = cell.index in world.to_probe
                world.to_probe -= {cell.index}
                return new

            def measure(self, cell: Cell, trial: TrialPlan) -> TrialRecord:
                target = self.servers.deployments["db"].engine_targets()["db"]
                world.asked.append((trial.block, cell.index, target["protocol"]))
                self.within(self.hooks.during_trial(trial, cell))
                return TrialRecord(trial.id, trial.block, cell.index, COMPLETE, 1.0, {})

            def within(self, moments: list[Moment]) -> None:
                """A trial of `world.trial_s` that takes no time."""
                timeline = Timeline(
                    (), moments, now=lambda: 0.0, wait=lambda _, s: s >= world.trial_s
                )
                timeline.on_event({"event": "ready", "measure_unix_s": 0.0})
                timeline.close()
                timeline.check()

        def snapshot(self: Snapshots, deployment: object, cell: Cell) -> Snapshot:
            world.starts += 1
            empty = tmp_path / "snapshot"
            empty.mkdir(exist_ok=True)
            return Snapshot(empty, "dbdyno")

        monkeypatch.setattr(local, "Trial", Trial)
        monkeypatch.setattr(Snapshots, "of", snapshot)
        monkeypatch.setattr(pool.ServerPool, "_settle", lambda self: None)

    def execute(self, plan: Plan, decided: Callable[[Run], str | None] = lambda run: None) -> str:
        with Run.create(self.tmp_path / "run", plan, {}) as run:
            return self.go_on(run, decided)

    def go_on(self, run: Run, decided: Callable[[Run], str | None] = lambda run: None) -> str:
        self.control = Control(lambda message: None)
        context = ExecutionContext(
            run, Path("engine"), self.control, Silent(), self.tmp_path, decided
        )
        status = local.LocalExecution(context).execute()
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


@pytest.mark.parametrize(("data", "starts"), [("reuse", 3), ("restore", 7)])
def test_a_trial_after_a_probe_starts_from_what_its_state_asks_for(
    world: World, data: str, starts: int
) -> None:
    plan = of_null(plans.plan({"protocol": ("prepared", "text")}), {0: "prepared", 1: "text"})
    state = replace(plan.cells[0].state, data=data)
    plan = replace(plan, cells=tuple(replace(cell, state=state) for cell in plan.cells))
    world.to_probe = {0}
    assert world.execute(plan) == "complete"
    assert world.starts == starts  # restored: once a trial, and once after the probe


def test_levels_are_left_and_external_servers_restored_whatever_cannot_be_stopped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[str] = []

    def stop(self: pool.ServerPool) -> None:
        if left or not world.asked:
            return
        left.append("servers")
        raise DynoError("a volume cannot be unmounted")

    def restored(self: ExternalServers) -> list[str]:
        left.append("external servers")
        return ["a setting was not put back"]

    monkeypatch.setattr(pool.ServerPool, "stop", stop)
    monkeypatch.setattr(ExternalServers, "close", restored)
    monkeypatch.setattr(local.Hooks, "leave_levels", lambda self: left.append("levels"))
    with pytest.raises(DynoError, match="cannot be unmounted"):
        world.execute(of_null(plans.plan(blocks=1), {0: "text", 1: "text"}))
    assert left == ["servers", "external servers", "levels"]


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.loaded_s = 0.0

    def budget(self, limit_s: float | None, spent_s: float = 0.0) -> Budget:
        return Budget(limit_s, spent_s, lambda: self.loaded_s, lambda: self.now_s)


def test_a_block_begins_only_if_it_would_end_within_the_budget() -> None:
    clock = Clock()
    budget = clock.budget(100)
    assert budget.holds_another()
    clock.now_s, clock.loaded_s = 150, 30  # 50 s, of which 30 s loaded what is needed once
    assert budget.holds_another()
    clock.now_s = 180  # 80 s gone, and a block takes 30 s
    assert not budget.holds_another()


def test_earlier_processes_have_spent_their_part_of_the_budget() -> None:
    assert Clock().budget(100, spent_s=99).holds_another()
    assert not Clock().budget(100, spent_s=101).holds_another()
    assert Clock().budget(None, spent_s=1e9).holds_another()


def test_a_run_over_its_budget_ends_with_whole_blocks_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = iter([True, True, False])
    monkeypatch.setattr(Budget, "holds_another", lambda self: next(asked))
    plan = replace(of_null(plans.plan(), {0: "text", 1: "text"}), budget_s=60.0)
    assert world.execute(plan) == "complete"
    run = Run.open(world.tmp_path / "run")
    assert (run.status, run.plan.blocks) == ("complete", 2)
    assert [trial.id for trial in run.plan.trials] == [record.id for record in run.records()]
    assert "budget of 60 s" in run.plan.notes[-1]


class Judge:
    """Decides after so many blocks, and notes after which it was asked."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.asked: list[int] = []

    def __call__(self, run: Run) -> str | None:
        self.asked.append(len(run.records()) // len(run.plan.cells))
        return "All is decided." if self.asked[-1] >= self.after else None


def looked(blocks: int = 5) -> Plan:
    plan = of_null(plans.plan(blocks=blocks), {0: "text", 1: "text"})
    return replace(plan, looks=Looks(4, blocks))


def test_a_run_ends_after_the_whole_block_that_decides(world: World) -> None:
    judge = Judge(after=3)
    assert world.execute(looked(), judge) == "complete"
    assert judge.asked == [1, 2, 3]
    run = Run.open(world.tmp_path / "run")
    assert (run.status, run.plan.blocks) == ("complete", 3)
    assert [trial.id for trial in run.plan.trials] == [record.id for record in run.records()]
    assert run.plan.notes[-1] == "All is decided."
    assert run.plan.looks == Looks(4, 5, decided_at=3)


def test_the_last_block_needs_no_look(world: World) -> None:
    judge = Judge(after=5)
    assert world.execute(looked(), judge) == "complete"
    assert judge.asked == [1, 2, 3, 4]
    run = Run.open(world.tmp_path / "run")
    assert (run.plan.blocks, run.plan.looks) == (5, Looks(4, 5))


def test_a_resumed_run_goes_on_looking(world: World) -> None:
    """Stopped between two blocks: the last look is taken again, with what is on disk."""
    interrupted = Judge(after=9)

    def stop(run: Run) -> str | None:
        if len(interrupted.asked) == 1:
            world.control._on_signal(signal.SIGINT, None)
        return interrupted(run)

    assert world.execute(looked(), stop) == "interrupted"
    assert interrupted.asked == [1, 2]
    judge = Judge(after=3)
    with Run.resume(world.tmp_path / "run", {}) as run:
        assert world.go_on(run, judge) == "complete"
    assert judge.asked == [2, 3]
    with Run.resume(world.tmp_path / "run", {}) as run:  # ended: nothing to do, nothing to ask
        assert world.go_on(run, judge) == "complete"
        assert (run.plan.blocks, run.plan.looks) == (3, Looks(4, 5, decided_at=3))
    assert judge.asked == [2, 3]


def test_a_decision_comes_before_the_budget(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter([True, True, False])
    monkeypatch.setattr(Budget, "holds_another", lambda self: next(asked))
    assert world.execute(looked(), Judge(after=2)) == "complete"
    run = Run.open(world.tmp_path / "run")
    assert run.plan.looks == Looks(4, 5, decided_at=2)


def test_the_first_block_runs_whatever_the_budget(world: World) -> None:
    plan = replace(of_null(plans.plan(), {0: "text", 1: "text"}), budget_s=0.0)
    assert world.execute(plan) == "complete"
    assert {block for block, _, _ in world.asked} == {1}


def test_a_trial_that_stays_void_is_over_after_three_attempts(world: World) -> None:
    plan = replace(of_null(plans.plan(blocks=1), {0: "text", 1: "text"}), require=("x > 1",))
    assert world.execute(plan) == "complete"
    assert [cell for _, cell, _ in world.asked] == [0, 0, 0, 1, 1, 1]
    run = Run.open(world.tmp_path / "run")
    assert [record.status for record in run.records()] == ["void", "void"]
    assert len(run.voided()) == 4
