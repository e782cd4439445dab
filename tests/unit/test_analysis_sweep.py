"""Sweeps: peaks with the levels that do not differ significantly from them, knees, and how far
limits apply."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import checked
from plans import plan as make_plan

from dbdyno.analysis.sweeps import best_levels
from dbdyno.analysis.sweeps.knee import growth, knee
from dbdyno.analysis.types import Sweep
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, TrialRecord
from effort import examples

SESSIONS = ("1", "4", "16", "64")


def closed_system(sessions: float, demand: float = 0.008, bottleneck: float = 0.001) -> float:
    """Throughput that the asymptotes bound: N / D below the knee D / Dmax, 1 / Dmax above."""
    return min(sessions / demand, 1 / bottleneck)


def trials(
    plan: Plan,
    truth: dict[tuple[str, ...], float],
    noise: float = 0.01,
    seed: int = 1,
    latency: dict[tuple[str, ...], float] | None = None,
) -> list[TrialRecord]:
    rng = np.random.default_rng(seed)
    mood = {block: math.exp(rng.normal(0, 0.1)) for block in range(1, plan.blocks + 1)}
    found = []
    for trial in plan.trials:
        levels = tuple(plan.cells[trial.cell].levels.values())
        rate = truth[levels] * mood[trial.block] * math.exp(rng.normal(0, noise))
        p95 = (latency or truth)[levels] * math.exp(rng.normal(0, noise))
        metrics = {"transactions_per_s": rate, "service_ms_p95": p95}
        found.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics))
    return found


def sweep_of(
    rates: list[float], *, blocks: int = 6, noise: float = 0.01, claims: tuple[str, ...] = ()
) -> Sweep:
    levels = SESSIONS[: len(rates)]
    plan = make_plan({"sessions": levels}, blocks=blocks, claims=claims)
    truth = {(level,): rate for level, rate in zip(levels, rates, strict=True)}
    (found,) = checked(plan, trials(plan, truth, noise)).sweeps
    return found


def test_a_system_with_one_bottleneck_has_its_knee_where_the_asymptotes_meet() -> None:
    found = sweep_of([closed_system(float(level)) for level in SESSIONS], blocks=8)
    assert found.peak in found.peak_levels
    assert found.peak_levels == (16.0, 64.0)
    assert found.knee is not None
    assert found.knee_low is not None
    assert found.knee_high is not None
    assert found.knee_low < 8.0 < found.knee_high
    assert found.knee_high - found.knee_low < 1
    assert found.sentence.startswith("Throughput grows to ")
    assert "from 16 on more sessions add nothing significant" in found.sentence
    assert "the knee is at 8." in found.sentence or "the knee is at 7." in found.sentence


def test_a_peak_says_what_is_above_it() -> None:
    found = sweep_of([1000.0, 2500.0, 1900.0, 1000.0])
    assert (found.peak, found.peak_levels) == (4.0, (4.0,))
    assert found.sentence.startswith("Throughput is highest at 4 sessions; above 4 it is lower; ")


def test_what_still_grows_has_neither_peak_nor_knee_within_the_levels() -> None:
    found = sweep_of([100.0, 400.0, 1600.0, 6500.0])
    assert found.peak_levels == (64.0,)
    assert found.knee is None
    assert "the highest level tested" in found.sentence
    assert found.knee_low == pytest.approx(64.0, rel=0.01)  # at least
    assert "still growing at 64 sessions (a doubling added " in found.sentence
    assert "so no knee is seen; it is at 6" in found.sentence
    assert found.sentence.endswith(" at least.")


def test_what_grows_ever_less_has_no_knee_before_it_is_flat() -> None:
    rates = [level / (1 + 0.02 * (level - 1)) for level in (1.0, 4.0, 16.0, 64.0)]
    found = sweep_of(rates, noise=0.03)
    assert (found.knee, found.knee_high) == (None, None)
    assert found.knee_low is not None and 20 < found.knee_low < 28.4
    assert "still growing at 64 sessions" in found.sentence


def test_what_is_too_noisy_to_be_flat_has_no_knee() -> None:
    found = sweep_of([closed_system(float(level)) for level in SESSIONS], blocks=3, noise=0.3)
    assert found.knee is None
    assert "still growing" not in found.sentence


def test_lines_have_no_knee_and_flat_tops_have_theirs() -> None:
    rng = np.random.default_rng(53)
    loads = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

    def seen(truth: list[float]) -> tuple[int, int]:
        flat = covered = 0
        for _ in range(300):
            logs = (np.log(truth)[:, None] + rng.normal(0, 0.03, size=(7, 6))).tolist()
            if growth(logs, loads).is_flat:
                found = knee(logs, loads, best_levels(logs)[0])
                assert found is not None
                flat, covered = flat + 1, covered + (found[1] <= max(truth) <= found[2])
        return flat, covered

    assert seen(list(loads))[0] == 0
    assert seen([load / (1 + 0.02 * (load - 1)) for load in loads])[0] == 0
    flat, covered = seen([min(load, 20.0) for load in loads])
    assert flat > 270
    assert covered / flat == pytest.approx(0.95, abs=0.04)


def test_a_top_that_falls_has_the_best_level_for_its_ceiling() -> None:
    logs = [[math.log(rate) + wobble for wobble in (-0.01, 0.0, 0.01)] for rate in (1, 4, 8, 6)]
    logs[3] = logs[3][1:] + logs[3][:1]
    found = knee(logs, (1.0, 4.0, 16.0, 64.0), 2)
    assert found is not None and found[0] == pytest.approx(8.0)


def test_a_flat_line_has_no_best_level_and_no_knee() -> None:
    found = sweep_of([1000.0] * 4, noise=0.03)
    assert found.peak_levels == (1.0, 4.0, 16.0, 64.0)
    assert found.knee is None
    assert (
        "does not differ significantly between the 4 levels from 1 session to 64 sessions"
        in found.sentence
    )
    assert "no knee is seen: already 1 session may be the best" in found.sentence


def test_a_constant_series_is_no_obstacle() -> None:
    found = sweep_of([100.0, 300.0, 300.0], noise=0.0)
    assert found.peak_levels == (4.0, 16.0)
    assert found.knee == pytest.approx(3.0)


def test_sweeps_stand_for_each_combination_of_other_levels() -> None:
    plan = make_plan({"cache": ("on", "off"), "sessions": SESSIONS[:3]}, blocks=5)
    truth = {
        (cache, level): closed_system(float(level)) * (2 if cache == "on" else 1)
        for cache in ("on", "off")
        for level in SESSIONS[:3]
    }
    found = checked(plan, trials(plan, truth)).sweeps
    assert [dict(one.at) for one in found] == [{"cache": "on"}, {"cache": "off"}]
    assert [one.cells for one in found] == [(0, 1, 2), (3, 4, 5)]


def test_a_factor_that_is_no_load_has_a_peak_but_no_knee() -> None:
    plan = make_plan({"pool": ("1", "2", "4")}, blocks=5)
    truth = {("1",): 100.0, ("2",): 200.0, ("4",): 200.0}
    (found,) = checked(plan, trials(plan, truth)).sweeps
    assert found.knee is None
    assert "knee" not in found.sentence
    assert "from 2 on higher levels add nothing" in found.sentence


def test_another_groups_load_makes_no_knee() -> None:
    plan = make_plan(
        {"writers.sessions": ("1", "4", "16")},
        blocks=4,
        groups=("readers", "writers"),
        claims=("readers.tps[16] < readers.tps[1]",),
    )
    rates = {"1": 100.0, "4": 390.0, "16": 400.0}
    some = [
        TrialRecord(
            trial.id,
            trial.block,
            trial.cell,
            COMPLETE,
            0.0,
            {
                "readers.transactions_per_s": rates[
                    plan.cells[trial.cell].levels["writers.sessions"]
                ]
            },
        )
        for trial in plan.trials
    ]
    (found,) = checked(plan, some).sweeps
    assert found.metric == "readers.transactions_per_s"
    assert found.knee is None
    assert found.sentence == (
        "Throughput of readers is highest at 16 sessions, the highest level tested, so that it may"
        " be higher beyond."
    )


def test_levels_are_sorted_and_two_are_too_few() -> None:
    plan = make_plan({"sessions": ("16", "1", "4")}, blocks=4)
    truth = {("1",): 100.0, ("4",): 300.0, ("16",): 310.0}
    (found,) = checked(plan, trials(plan, truth)).sweeps
    assert found.cells == (1, 2, 0)
    two = make_plan({"sessions": ("1", "4")}, blocks=4)
    assert checked(two, trials(two, truth)).sweeps == ()


@pytest.mark.parametrize(
    ("blocks", "zero", "said"),
    [
        (2, False, "2 blocks with all levels are too few (3 at least)"),
        (1, False, "1 block with all levels is too few"),
        (4, True, "transactions_per_s is zero in some block at level 16"),
    ],
)
def test_what_cannot_be_judged_says_why_and_leaves_all_levels_open(
    blocks: int, zero: bool, said: str
) -> None:
    plan = make_plan({"sessions": ("1", "4", "16")}, blocks=blocks)
    rates = {("1",): 100.0, ("4",): 300.0, ("16",): 0.0 if zero else 310.0}
    (found,) = checked(plan, trials(plan, rates)).sweeps
    assert said in found.sentence
    assert found.peak_levels == (1.0, 4.0, 16.0)
    assert found.knee is None


def test_a_level_that_was_never_measured_leaves_the_sweep_open() -> None:
    plan = make_plan({"sessions": ("1", "4", "16")}, blocks=4)
    rates = {("1",): 100.0, ("4",): 300.0, ("16",): 310.0}
    some = [one for one in trials(plan, rates) if one.cell != 2]
    (found,) = checked(plan, some).sweeps
    assert "0 blocks with all levels are too few" in found.sentence
    assert checked(plan, []).sweeps == ()


def test_a_quick_run_has_no_sweeps() -> None:
    plan = make_plan({"sessions": ("1", "4", "16")}, blocks=4, quick=True)
    rates = {("1",): 100.0, ("4",): 300.0, ("16",): 310.0}
    assert checked(plan, trials(plan, rates)).sweeps == ()


LATENCY = {("1",): 2.0, ("4",): 5.0, ("16",): 20.0, ("64",): 80.0}


@pytest.mark.parametrize(
    ("limit", "holds", "broken", "said"),
    [
        (10.0, 4.0, 16.0, "holds up to 4 sessions and is broken from 16 sessions on"),
        (
            20.0,
            4.0,
            64.0,
            "holds up to 4 sessions, is broken from 64 sessions on and is open at 16",
        ),
        (100.0, 64.0, None, "holds at every level, up to 64 sessions"),
        (1.0, None, 1.0, "is broken at every level, from 1 session on"),
        (2.0, None, 4.0, "is broken from 4 sessions on and is open at 1"),
    ],
)
def test_limits_hold_up_to_a_level(
    limit: float, holds: float | None, broken: float | None, said: str
) -> None:
    plan = make_plan({"sessions": SESSIONS}, blocks=6, claims=(f"p95 <= {limit} at sessions=4",))
    rates = {(level,): closed_system(float(level)) for level in SESSIONS}
    (found,) = checked(plan, trials(plan, rates, noise=0.02, latency=LATENCY)).sweeps
    (told,) = found.limits
    assert (told.holds_to, told.broken_at) == (holds, broken)
    assert told.sentence == f"`service_ms_p95 <= {limit:g}` {said}"


@pytest.mark.long
def test_the_best_level_is_rarely_left_out() -> None:
    rng = np.random.default_rng(51)
    truth = np.log([1.0, 1.9, 2.5, 2.5, 2.4])[:, None]  # two are best
    runs = (truth + rng.normal(0.0, 0.03, size=(1500, 5, 6))).tolist()
    missed = sum(2 not in best_levels(run)[1] for run in runs)
    assert missed / 1500 <= 0.06
    left_out = sum(0 not in best_levels(run)[1] for run in runs)
    assert left_out / 1500 > 0.99


LOGS = st.lists(st.floats(-300, 300), min_size=4, max_size=4)


@given(st.lists(LOGS, min_size=1, max_size=6))
def test_the_best_is_always_among_the_best(logs: list[list[float]]) -> None:
    peak, alike = best_levels(logs)
    assert peak in alike
    assert list(alike) == sorted(set(alike))


@given(LOGS, LOGS, st.floats(0.1, 1000))
def test_a_knee_is_finite_or_none(first: list[float], best: list[float], load: float) -> None:
    found = knee([first, best, best], (load, 2 * load, 4 * load), 1)
    if found is not None:
        centre, low, high = found
        assert low <= centre * (1 + 1e-9)
        assert centre <= high * (1 + 1e-9)
        assert math.isfinite(high)


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.just(0.0), st.floats(0, 1e12)), min_size=4, max_size=4),
        min_size=3,
        max_size=4,
    )
)
def test_any_numbers_make_a_sentence(values: list[list[float | None]]) -> None:
    plan = make_plan(
        {"sessions": SESSIONS[: len(values)]}, blocks=4, claims=("p95 <= 5 at sessions=1",)
    )
    some = []
    for trial in plan.trials:
        rate = values[trial.cell][trial.block - 1]
        metrics = {} if rate is None else {"transactions_per_s": rate, "service_ms_p95": rate}
        some.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics))
    for found in checked(plan, some).sweeps:
        assert found.peak in found.peak_levels
        assert found.sentence.endswith(".")
        assert "nan" not in json.dumps(found.sentence)


def test_what_grows_by_more_than_the_load_and_then_falls_has_no_knee() -> None:
    found = sweep_of([100.0, 2000.0, 8000.0, 6000.0])
    assert found.knee is None and found.peak == 16.0
    assert "up to 16 sessions it grows by more than the load" in found.sentence
    assert "still in proportion" not in found.sentence
