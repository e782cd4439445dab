"""Which nodes faults strike, what a nemesis draws, and signals to whole trees of processes."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import plans
import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.faulting.strike import Strike, chosen, planned
from dbdyno.execute.faulting.trial_faults import TrialFaults
from dbdyno.execute.timeline import TrialVoid
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import nemesis
from dbdyno.faults.base import Direct, Node
from dbdyno.faults.limit import Limit
from dbdyno.hosts.base import began_ticks
from dbdyno.systems.process import tree

ROLES = {"db": "primary", "db.2": "replica", "db.3": "replica"}
NEMESIS = Fault(
    *(5.0, "nemesis", ("any",), "db", 30.0),
    every_s=3.0,
    hold_s=2.0,
    of=("kill", "pause", "restart"),
)


def strike(*nodes: str) -> Fault:
    return Fault(1.0, "kill", nodes, "db")


def test_roles_names_and_any() -> None:
    draw = random.Random(1)
    assert chosen(strike("primary"), ROLES, draw) == ["db"]
    assert chosen(strike("db.3", "db"), ROLES, draw) == ["db.3", "db"]
    assert chosen(strike("db", "primary"), ROLES, draw) == ["db"]
    drawn = {chosen(strike("any"), ROLES, random.Random(seed))[0] for seed in range(30)}
    assert drawn == set(ROLES)
    drawn = {chosen(strike("replica"), ROLES, random.Random(seed))[0] for seed in range(30)}
    assert drawn == {"db.2", "db.3"}
    with pytest.raises(TrialVoid, match="no node is primary"):
        chosen(strike("primary"), {"db": "down"}, draw)


def test_a_nemesis_is_a_function_of_the_seed() -> None:
    found = nemesis.drawn(NEMESIS, 7, 0)
    assert found == nemesis.drawn(NEMESIS, 7, 0)
    assert found != nemesis.drawn(NEMESIS, 8, 0)
    assert found != nemesis.drawn(NEMESIS, 7, 1)


@pytest.mark.parametrize("seed", range(20))
def test_faults_of_a_nemesis_follow_each_other_within_its_time(seed: int) -> None:
    end_s = 5.0
    for one in nemesis.drawn(NEMESIS, seed, 0):
        assert one.do in NEMESIS.of
        assert one.nodes == ("any",)
        assert one.at_s >= end_s - 1e-3
        end_s = one.at_s + 2.0
        assert one.for_s == (None if one.do == "restart" else 2.0)
    assert end_s <= 35.0 + 1e-3


def test_a_nemesis_strikes_the_nodes_that_are_asked_for() -> None:
    found = nemesis.drawn(replace(NEMESIS, nodes=("primary",)), 1, 0)
    assert found
    assert {one.nodes for one in found} == {("primary",)}


def test_a_fault_waits_for_an_end_that_was_due_before_it() -> None:
    node = Node("db", object(), "dbdyno")  # type: ignore[arg-type]
    stop = Strike(1, replace(strike("db"), do="stop", for_s=1.0), node)
    later = Strike(2, replace(strike("db"), at_s=2.5), node)
    assert not stop.must_end_before(later), "it has not begun"
    stop.begun_s = 1.0
    assert stop.must_end_before(later), "it is still being begun"
    stop.in_force_s = 2.4
    assert stop.must_end_before(later)
    assert not stop.must_end_before(replace(later, node=Node("db.2", object(), "dbdyno")))  # type: ignore[arg-type]
    assert not stop.must_end_before(replace(later, fault=strike("db"))), "it strikes meanwhile"
    stop.undone_s = 2.6
    assert not stop.must_end_before(later)


def test_a_trial_has_what_its_nemesis_draws() -> None:
    plan = plans.plan()
    cell = replace(plan.cells[0], faults=(strike("db"), NEMESIS))
    trial = plan.trials[0]
    found = planned(cell, trial)
    assert [one.fault for one in found] == [strike("db"), *nemesis.drawn(NEMESIS, trial.seed, 1)]
    assert [one.after for one in found] == [None, None, *range(1, len(found) - 1)]
    assert [one.is_drawn for one in found] == [False, *[True] * (len(found) - 1)]


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child in a session of its own, and a grandchild."""
    script = "setsid sh -c 'sleep 600 & wait' & wait"
    with subprocess.Popen(["sh", "-c", script]) as process:
        deadline = time.monotonic() + 120
        while len(list(tree.below(process.pid))) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        yield process
        for pid in (*tree.below(process.pid), process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)


def states(pids: list[int]) -> set[str]:
    return {tree.state(pid) for pid in pids}


def until(pids: list[int], wanted: str) -> bool:
    deadline = time.monotonic() + 120
    while not states(pids) <= set(wanted) and time.monotonic() < deadline:
        time.sleep(0.01)
    return states(pids) <= set(wanted)


def test_a_pause_reaches_the_whole_tree_and_ends_for_all(
    family: subprocess.Popen[bytes],
) -> None:
    pids = [family.pid, *tree.below(family.pid)]
    assert len(pids) == 3
    descriptor = os.pidfd_open(family.pid)
    tree.pause(family.pid, descriptor)
    assert until(pids, "T")
    tree.resume(family.pid, descriptor)
    assert until(pids, "SR")
    os.close(descriptor)


def test_a_kill_reaches_the_whole_tree(family: subprocess.Popen[bytes]) -> None:
    pids = [family.pid, *tree.below(family.pid)]
    descriptor = os.pidfd_open(family.pid)
    tree.kill(family.pid, descriptor)
    assert until(pids, "ZX")
    assert family.wait(120) == -9
    os.close(descriptor)


def test_groups_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    ticks = began_ticks(os.getpid())
    mine = f"dyno-fault-{os.getpid()}-{ticks}-00000000"
    gone = f"dyno-fault-{os.getpid()}-{ticks + 1}-00000000"
    others = "dyno-fault-x"
    for name in (mine, gone, others):
        (tmp_path / "cpu" / "some" / name).mkdir(parents=True)
    Limit(tmp_path).recover()
    left = {path.name for path in (tmp_path / "cpu" / "some").iterdir()}
    assert left == {mine, others}


class Frozen:
    """A server that a step was asked of; it may refuse in its client library's own way."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.resumed = False

    def resume(self) -> None:
        if self.error:
            raise self.error
        self.resumed = True


def test_what_one_server_refuses_leaves_the_others_to_be_undone(tmp_path: Path) -> None:
    plan = plans.plan()
    run = SimpleNamespace(trial_dir=lambda name: tmp_path, path=tmp_path)
    context: Any = SimpleNamespace(control=SimpleNamespace(stop_now=False), run=run)
    faults = TrialFaults(context, plan.cells[0], plan.trials[0], {}, Direct())
    fine, wrong = Frozen(), Frozen(RuntimeError("no connection"))
    for number, server in enumerate((fine, wrong), 1):
        struck: Any = server
        fault = Fault(1.0, "pause", ("db",), "db")
        node = Node("db", struck, "", is_fenced=lambda: False)
        faults._strikes.append(Strike(number, fault, node, begun_s=1.0, in_force_s=1.0))
    assert faults.heal() == (
        "`pause` of `db` at 1 s was not undone: `db`: RuntimeError: no connection",
    )
    assert fine.resumed


def test_a_node_that_was_detached_and_not_brought_back_voids_the_trial(tmp_path: Path) -> None:
    plan = plans.plan()
    run = SimpleNamespace(trial_dir=lambda name: tmp_path, path=tmp_path)
    context: Any = SimpleNamespace(control=SimpleNamespace(stop_now=False), run=run)

    def rejoin(*what: Any) -> str:
        raise DynoError("no space is left")

    def detached(operations: Any) -> TrialFaults:
        faults = TrialFaults(context, plan.cells[0], plan.trials[0], {}, Direct())
        server: Any = Frozen()
        node = Node("db.2", server, "", operations=operations)
        fault = Fault(1.0, "detach", ("db.2",), "db")
        faults._strikes.append(Strike(1, fault, node, begun_s=1.0, in_force_s=1.0))
        return faults

    wrong: Any = SimpleNamespace(rejoin=rejoin, work=lambda *what: nullcontext())
    faults = detached(wrong)
    [said] = faults.heal()
    assert faults.broken == said == "`detach` of `db.2` at 1 s was not undone: no space is left"
    fine: Any = SimpleNamespace(rejoin=lambda *what: "it follows", work=wrong.work)
    faults = detached(fine)
    assert (faults.heal(), faults.broken) == ((), "")
