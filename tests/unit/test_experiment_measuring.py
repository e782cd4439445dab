"""`duration: {until: steady}` and `sampling`: what may be written, and what it means."""

from __future__ import annotations

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Cell
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Plan

HEAD = "experiment: x\ntargets: {db: {kind: sqlite}}\nworkload: {kind: oltp}\n"
STEADY = "matters: 3%\nduration: {until: steady, max: 5m}\n"


def cells(text: str) -> tuple[Cell, ...]:
    return load(HEAD + text).cells


def planned(text: str, *, quick: bool = False) -> Plan:
    machine = Machine(cores=2, memory_bytes=1 << 34, kernel="6", cpu_model="c", cpus=(0, 1))
    return make(load(HEAD + text), machine, quick=quick)


def test_a_length_stays_a_length() -> None:
    [cell] = cells("duration: 5s\n")
    assert (cell.duration_s, cell.until_steady, cell.sampling_s) == (5.0, False, 1.0)


def test_until_steady_has_a_limit() -> None:
    [cell] = cells(STEADY)
    assert (cell.duration_s, cell.until_steady) == (300.0, True)


def test_levels_may_patch_both() -> None:
    found = cells(
        "matters: 3%\nfactors:\n  how: {fixed: {}, open: {duration: {until: steady, max: 4m}}}\n"
        "  sampling: [200ms, off]\n"
    )
    assert [(c.duration_s, c.until_steady, c.sampling_s) for c in found] == [
        (30.0, False, 0.2),
        (30.0, False, None),
        (240.0, True, 0.2),
        (240.0, True, None),
    ]
    assert [c.duration_s for c in cells(STEADY + "factors: {duration.max: [3m, 4m]}\n")] == [
        180,
        240,
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("duration: {until: steady, max: 5m}\n", 4, 11, "needs `matters`"),
        ("matters: 3%\nduration: {max: 5m}\n", 5, 1, "`duration.until` is missing"),
        ("matters: 3%\nduration: {until: steady}\n", 5, 1, "`duration.max` is missing"),
        ("matters: 3%\nduration: {until: warm, max: 5m}\n", 5, 19, "cannot be `warm`"),
        ("matters: 3%\nduration: {until: steady, max: 5}\n", 5, 32, "with its unit"),
        ("matters: 3%\nduration: {until: steady, max: 8s}\n", 5, 11, "no room"),
        ("matters: 3%\nduration: {until: steady, max: 100s}\n", 5, 11, "no room"),
        ("matters: 3%\nduration: {until: steady, max: 5m, min: 1s}\n", 5, 11, "too short"),
        ("matters: 3%\nduration: {until: steady, max: 9s, min: 5s}\n", 5, 11, "no room"),
        ("duration: 30\n", 4, 11, "with its unit"),
        ("sampling: 10ms\n", 4, 11, "between 100ms and 1h"),
        ("sampling: none\n", 4, 11, "duration"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(
    text: str, line: int, column: int, word: str
) -> None:
    with pytest.raises(DynoError, match=word) as caught:
        load(HEAD + text)
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (line, column)


@pytest.mark.parametrize(
    ("key", "loop"), [("rate", "rate: 100/s"), ("find", "find: {rate: max, while: 'p99 < 20'}")]
)
def test_open_loops_are_refused_with_the_reason(key: str, loop: str) -> None:
    text = f"experiment: x\ntargets: {{db: {{kind: sqlite}}}}\nworkload: {{kind: oltp, {loop}}}\n"
    with pytest.raises(DynoError, match=f"has a `{key}`") as caught:
        load(text.replace("p99", "response_ms_p99") + STEADY)
    assert "is its rate" in caught.value.cause


def test_a_quick_run_measures_a_fixed_time() -> None:
    plan = planned(STEADY, quick=True)
    assert not any(cell.until_steady for cell in plan.cells)
    assert any("steady or not" in note for note in plan.notes)


def test_the_estimate_is_between_steady_at_once_and_never() -> None:
    plan = planned(STEADY + "blocks: 3\nwarmup: 0s\n")
    cost = estimate.of(plan)
    assert cost.trials_end_early
    assert cost.total_s - cost.total_s_min == pytest.approx(3 * (300 - 120))
    assert not estimate.of(planned("duration: 5s\n")).trials_end_early


def test_a_plan_says_where_nothing_is_sampled() -> None:
    [note] = [n for n in planned("factors: {sampling: [1s, off]}\n").notes if "Sampling" in n]
    assert "1 of 2 cells (sampling=off)" in note
    assert not any("Sampling" in note for note in planned("sampling: 100ms\n").notes)


@pytest.mark.parametrize(
    ("duration", "interval_s"),
    [("500ms", 0.1), ("900ms", 0.1), ("150ms", 0.1), ("1s", 1.0), ("3s", 1.0), ("1m", 1.0)],
)
def test_the_interval_fits_a_short_trial(duration: str, interval_s: float) -> None:
    text = (
        "experiment: short\nquestion: x\ntargets: {db: {kind: sqlite, isolation: serializable,"
        " memory: 64Mi}}\nworkload: {kind: oltp, rows: 1000}\n"
    )
    assert load(f"{text}duration: {duration}\n").cells[0].interval_s == pytest.approx(interval_s)
    with pytest.raises(DynoError, match="longer than `duration`"):
        load(f"{text}duration: 500ms\ninterval: 1s\n")
