"""How many load threads: when a probe is made, and what comes of it."""

from __future__ import annotations

from dataclasses import replace

import plans
import pytest

from dbdyno.experiment.types import Arrivals, RateStep, Think
from dbdyno.plan import load_threads
from dbdyno.plan.stored import json as plan_json
from dbdyno.plan.types import Cell, LoadThreads, Plan

SESSIONS = 4


def plan(**changes: object) -> Plan:
    """Two cells of four sessions, each measured for three times 30 s."""
    made = plans.plan()
    cells = [replace(c, groups=(plans.group(sessions=SESSIONS),)) for c in made.cells]
    shared = replace(made, cells=tuple(cells), generator_cpus=(), server_cpus=())
    return replace(shared, **changes)  # type: ignore[arg-type]


def test_half_of_the_cpus_and_all_of_them_are_tried() -> None:
    assert load_threads.candidates(2, 64) == (1, 2)
    assert load_threads.candidates(3, 64) == (2, 3)
    assert load_threads.candidates(8, 5) == (4, 5)
    assert load_threads.candidates(8, 4) == (4,)
    assert load_threads.candidates(1, 64) == (1,)


def test_no_candidate_is_always_first() -> None:
    assert load_threads.turns((1, 2)) == [1, 2, 2, 1, 1, 2]


def test_a_probe_is_made_where_the_number_is_open_and_the_run_long_enough() -> None:
    asked = plan()
    cell = asked.cells[0]
    assert load_threads.wants_probe(asked, cell, 2)
    assert not load_threads.wants_probe(asked, cell, 1), "there is one candidate"
    assert not load_threads.wants_probe(replace(asked, load_threads=2), cell, 2)
    assert not load_threads.wants_probe(replace(asked, generator_cpus=(0,)), cell, 2)
    assert not load_threads.wants_probe(replace(asked, quick=True), cell, 2)
    probed = replace(asked, probed=(LoadThreads(SESSIONS, 2, {}),))
    assert not load_threads.wants_probe(probed, cell, 2)
    # 7.8 s are a tenth of 78 s; both cells have as many sessions.
    short = replace(asked, cells=tuple(replace(c, duration_s=12.9) for c in asked.cells))
    assert not load_threads.wants_probe(short, short.cells[0], 2)


def test_nothing_is_written_for_a_probe_where_it_would_stay() -> None:
    """Sessions whose keys count upwards would meet those of the probe, in the trial after it."""
    asked = plan()
    existing = replace(asked.cells[0].targets[0], existing="shop")
    reads = replace(asked.cells[0], targets=(existing,))
    assert load_threads.wants_probe(asked, reads, 2)
    group = replace(reads.groups[0], options={"preset": "write_only"})
    assert not load_threads.wants_probe(asked, replace(reads, groups=(group,)), 2)


STEADY = Arrivals("poisson", (RateStep(None, 100.0, 100.0),))


@pytest.mark.parametrize("paced", [{"arrivals": STEADY}, {"think": Think(0.1)}])
def test_only_closed_loops_are_probed(paced: dict[str, object]) -> None:
    asked = plan(probed=(LoadThreads(SESSIONS, 2, {}),))
    cell = asked.cells[0]
    assert load_threads.asked(asked, cell) == 2
    open_cell = replace(cell, groups=(replace(cell.groups[0], **paced),))  # type: ignore[arg-type]
    assert load_threads.asked(asked, open_cell) == 0
    assert not load_threads.wants_probe(replace(asked, probed=()), open_cell, 2)


def test_all_cells_with_as_many_sessions_get_what_was_found() -> None:
    found = load_threads.best(2, SESSIONS, {1: [70.0, 73.0, 90.0], 2: [93.0, 60.0, 94.0]})
    assert found == LoadThreads(SESSIONS, 2, {"1": 73.0, "2": 93.0})
    asked = plan(probed=(found,))
    assert [load_threads.asked(asked, cell) for cell in asked.cells] == [2, 2]
    more = _with_sessions(asked.cells[0], 64)
    assert load_threads.asked(asked, more) == 0
    assert load_threads.asked(replace(asked, load_threads=3), more) == 3
    assert load_threads.sentence(found) == (
        "Load threads for 4 sessions: 2, in all cells alike (probe before the first trial: 73/s"
        " with 1, 93/s with 2)."
    )


@pytest.mark.parametrize(
    ("sessions", "per_s", "threads"),
    [
        (4, {1: [100.0], 2: [98.0]}, 2),  # few sessions: the engine would choose both CPUs
        (4, {1: [100.0], 2: [97.9]}, 1),
        (64, {1: [98.0], 2: [100.0]}, 1),  # many: one of them
        (64, {1: [97.9], 2: [100.0]}, 2),
        (1, {1: [97.9]}, 1),
    ],
)
def test_two_percent_do_not_change_what_the_engine_would_choose(
    sessions: int, per_s: dict[int, list[float]], threads: int
) -> None:
    assert load_threads.best(2, sessions, per_s).threads == threads


def test_what_was_found_stays_in_the_plan() -> None:
    asked = plan(probed=(LoadThreads(SESSIONS, 2, {"1": 73.0, "2": 93.0}),), load_threads=1)
    assert plan_json.from_json(plan_json.to_json(asked)) == asked
    of_before = plan_json.to_json(asked)
    del of_before["probed"], of_before["load_threads"]
    assert plan_json.from_json(of_before).probed == ()


def _with_sessions(cell: Cell, sessions: int) -> Cell:
    return replace(cell, groups=(plans.group(sessions=sessions),))
