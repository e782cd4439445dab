"""A pilot: short, with a copy of its first cell."""

from __future__ import annotations

from pathlib import Path

from dbdyno.experiment import load
from dbdyno.plan import resolved_claims
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.pilot import Pilot, shorten
from dbdyno.plan.types import Plan

MACHINE = Machine(cores=2, memory_bytes=16 << 30, kernel="", cpu_model="", cpus=(0, 1))
EXPERIMENT = """
experiment: pilot
targets: {{db: {{kind: sqlite, durability: none}}}}
workload: {{kind: oltp, preset: point_select, rows: 10{more}}}
factors:
  cache:
    small: {{db.memory: 8Mi}}
    large: {{db.memory: 64Mi}}
  sessions: [1, 2]
warmup: 1s
duration: 30s
budget: 1h
trials: {{min: 4, max: 20, until: decided}}
claims:
  - tps[large] > tps[small] at each sessions
  - tps[large] ~= tps[small] within 5% at sessions=1
"""


def pilot(tmp_path: Path, asked: Pilot, more: str = "") -> Plan:
    file = tmp_path / "pilot.yaml"
    file.write_text(EXPERIMENT.format(more=more))
    return make(shorten(load(file), asked), MACHINE)


def test_a_pilot_is_short_has_fixed_blocks_and_its_first_cell_twice(tmp_path: Path) -> None:
    plan = pilot(tmp_path, Pilot(4, 5.0))
    assert (plan.blocks, plan.looks, plan.budget_s) == (4, None, None)
    assert len(plan.cells) == 5
    assert {cell.duration_s for cell in plan.cells} == {5.0}
    assert {cell.warmup_s for cell in plan.cells} == {1.0}
    first, twin = plan.cells[0], plan.cells[-1]
    assert first.levels | {"copy": "second"} == twin.levels
    assert (first.hard, first.data_key) == (twin.hard, twin.data_key)
    assert not plan.factors[-1].hard
    assert plan.claims[0] == "tps[large] > tps[small] at each sessions, copy=first"
    assert plan.untested == {}
    compared = [part for claim in resolved_claims(plan) for part in claim.parts]
    assert len(compared) == 3
    for part in compared:
        assert part.right is not None
        assert {plan.cells[side.cell or 0].levels["copy"] for side in (part.left, part.right)} == {
            "first"
        }


def test_without_copies_the_cells_are_the_experiment_s(tmp_path: Path) -> None:
    plan = pilot(tmp_path, Pilot(3, 5.0, copies=False))
    assert len(plan.cells) == 4
    assert [factor.name for factor in plan.factors] == ["cache", "sessions"]


def test_a_pilot_is_never_longer_than_the_experiment(tmp_path: Path) -> None:
    assert {cell.duration_s for cell in pilot(tmp_path, Pilot(3, 90.0)).cells} == {30.0}


def test_a_schedule_of_rates_keeps_its_length(tmp_path: Path) -> None:
    steps = ", rate: [{for: 10s, at: 50/s}, {for: 20s, at: 100/s}]"
    assert {cell.duration_s for cell in pilot(tmp_path, Pilot(3, 5.0), steps).cells} == {30.0}
