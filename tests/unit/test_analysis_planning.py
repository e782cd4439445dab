"""Planning from made-up runs whose noise is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from plans import plan as make_plan

from dbdyno.analysis.claims.power import power
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.planning import Planning, costs, floor, noise, to_json
from dbdyno.analysis.planning import blocks as needs
from dbdyno.analysis.planning.types import Criterion, Noise
from dbdyno.errors import DynoError
from dbdyno.plan.types import Plan
from dbdyno.store.metrics.timeseries import TICK_S, Trace
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.planning.power_text import planning_text
from dbdyno.wording.runs import plan_blocks
from fixtures.schemas import valid

METRIC = "transactions_per_s"
CLAIM = "tps[on] > tps[off]"
FACTORS = {"cache": ("off", "on"), "sessions": ("1", "4", "16")}
LENGTH_S = 20.0
THREE = Criterion(math.log1p(0.03), 0.05)


def records(
    plan: Plan, restart: float, trial: float, seed: int = 3, effect: float = 0.0
) -> list[TrialRecord]:
    """Trials with these deviations between starts and between trials."""
    rng = np.random.default_rng(seed)
    starts: dict[tuple[int, str], float] = {}
    found = []
    for one in plan.trials:
        cell = plan.cells[one.cell]
        start = starts.setdefault((one.block, cell.hard), restart * rng.standard_normal())
        log = start + trial * rng.standard_normal()
        log += effect * (cell.levels.get("cache") == "on")
        begun = 1000.0 + 60.0 * one.position
        metrics = {METRIC: 1000 * math.exp(log), "service_ms_p95": math.exp(-log)}
        record = TrialRecord(one.id, one.block, one.cell, COMPLETE, begun, metrics)
        found.append(record.replace(measured_s=LENGTH_S))
    return found


def seconds(deviation: float, correlation: float, seed: int = 5) -> Callable[[str], Trace]:
    """Traces whose one-second throughput has this deviation and first-order autocorrelation."""
    rng = np.random.default_rng(seed)

    def trace(trial: str) -> Trace:
        steps = rng.standard_normal(int(LENGTH_S))
        rates = [steps[0]]
        for step in steps[1:]:
            rates.append(correlation * rates[-1] + math.sqrt(1 - correlation**2) * step)
        ticks = np.repeat(100 * (1 + deviation * np.asarray(rates)), round(1 / TICK_S))
        ends = TICK_S * np.arange(1, len(ticks) + 1)
        return Trace(trial, LENGTH_S, ends, {"workload": ticks})

    return trace


def planned(
    plan: Plan,
    found: list[TrialRecord],
    detect: float = 0.03,
    trace: Callable[[str], Trace | None] = lambda trial: None,
    experiment: Plan | None = None,
) -> Planning:
    result = plan_blocks(experiment or plan, plan, found, trace, detect, 0.8)
    valid("planning", to_json(result))
    return result


# -- components ----------------------------------------------------------------------------------


def test_restarts_and_trials_are_told_apart_by_what_shares_a_start() -> None:
    plan = make_plan(FACTORS, blocks=300, hard=("cache",), claims=(f"{CLAIM} at sessions=1",))
    result = planned(plan, records(plan, restart=0.02, trial=0.01))
    restart, trial = result.components[METRIC]
    assert (restart.name, trial.name) == ("restart", "trial")
    assert restart.deviation == pytest.approx(0.02, rel=0.15)
    assert restart.low < 0.02 < restart.high
    assert trial.deviation == pytest.approx(0.01, rel=0.1)
    assert trial.low < 0.01 < trial.high


def test_without_two_cells_on_one_start_only_the_sum_is_known() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=200, hard=("cache",), claims=(CLAIM,))
    (both,) = planned(plan, records(plan, restart=0.02, trial=0.015)).components[METRIC]
    assert both.name == "restart and trial"
    assert both.deviation == pytest.approx(0.025, rel=0.15)


def test_where_every_trial_restarts_its_servers_nothing_shares_a_start() -> None:
    plan = make_plan(FACTORS, blocks=4, hard=("cache",))
    cells = tuple(replace(c, state=replace(c.state, data="restore")) for c in plan.cells)
    measured = Measured.of(replace(plan, cells=cells), [])
    assert not any(noise.same_start(measured, 0, cell) for cell in range(1, len(cells)))


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_seconds_within_trials_give_the_variance_of_their_mean(correlation: float) -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=200, claims=(CLAIM,))
    result = planned(plan, records(plan, 0, 0.02), trace=seconds(0.05, correlation))
    found = result.seconds[METRIC]
    assert found.deviation == pytest.approx(0.05, rel=0.15)
    assert found.values == LENGTH_S
    second = next(one for one in result.components[METRIC] if one.name == "second")
    assert result.own.duration_s == 30.0
    # The mean of n values of a first-order process: variance s^2 / n (1 + r) / (1 - r).
    ideal = 0.05 / math.sqrt(30) * math.sqrt((1 + correlation) / (1 - correlation))
    assert second.deviation == pytest.approx(ideal, rel=0.25)


def test_a_trial_is_what_its_seconds_do_not_explain() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=200, claims=(CLAIM,))
    inside = 0.05 / math.sqrt(LENGTH_S)
    result = planned(plan, records(plan, 0, math.hypot(0.01, inside)), trace=seconds(0.05, 0.0))
    trial = next(one for one in result.components[METRIC] if one.name == "trial")
    assert trial.deviation == pytest.approx(0.01, rel=0.25)


# -- blocks --------------------------------------------------------------------------------------


def test_blocks_are_the_fewest_with_the_wanted_power() -> None:
    exact = Noise(0.028**2, 1e9, 30.0)
    found = needs.needed(THREE, exact, 30.0, 0.8)
    assert found.low == found.probable == found.high
    assert found.probable is not None
    assert power(math.log1p(0.03), 0.028, found.probable, 0.05) >= 0.8
    assert power(math.log1p(0.03), 0.028, found.probable - 1, 0.05) < 0.8


def test_a_position_that_is_fitted_costs_a_degree_of_freedom() -> None:
    fitted = replace(THREE, covariate=True)
    one, other = (needs.chance(test, 0.028**2, 8) for test in (THREE, fitted))
    assert other == power(THREE.distance, 0.028, 8, 0.05, fitted=2) < one
    assert needs.chance(fitted, 0.028**2, 5) == needs.chance(THREE, 0.028**2, 5)  # too few for it
    assert needs.half_width(fitted, 0.028**2, 8) > needs.half_width(THREE, 0.028**2, 8)


def test_a_small_pilot_gives_a_wide_range() -> None:
    noise_ = Noise(0.028**2, 4, 30.0)
    found = needs.needed(THREE, noise_, 30.0, 0.8)
    assert found.low is not None
    assert found.probable is not None
    assert found.high is not None
    assert found.low < found.probable < found.high
    assert found.high > 2 * found.probable


def test_equality_needs_both_ends_of_its_margin() -> None:
    exact = Noise(0.02**2, 1e9, 30.0)
    one, both = (
        needs.needed(Criterion(0.03, 0.05, equal), exact, 30, 0.8) for equal in (False, True)
    )
    assert both.probable is not None
    assert one.probable is not None
    assert both.probable > one.probable


def test_claims_share_the_error_budget_and_the_neediest_decides() -> None:
    alone = make_plan(FACTORS, blocks=12, claims=(f"{CLAIM} at sessions=1",))
    several = make_plan(FACTORS, blocks=12, claims=(f"{CLAIM} at each sessions",))
    found = records(alone, 0, 0.02)
    one, three = planned(alone, found), planned(several, found)
    assert [part.criterion.alpha for part in three.parts] == [pytest.approx(0.05 / 3)] * 3
    assert one.own.blocks.probable is not None
    assert three.own.blocks.probable is not None
    assert three.own.blocks.probable > one.own.blocks.probable
    assert three.own.blocks.probable == max(part.needed.probable or 0 for part in three.parts)


def test_without_claims_all_levels_are_compared_in_the_leading_metric() -> None:
    plan = make_plan({"sessions": ("1", "4", "16")}, blocks=6)
    texts = [part.text for part in planned(plan, records(plan, 0, 0.02)).parts]
    assert texts == ["tps[4] / tps[1]", "tps[16] / tps[1]"]


def test_a_claim_on_one_number_is_planned_for_its_distance_from_what_it_asks() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=40, claims=("tps[on] > 900",))
    (part,) = planned(plan, records(plan, 0, 0.05)).parts
    assert math.sqrt(part.noise.variance) == pytest.approx(0.05, rel=0.25)
    assert not part.pooled
    assert not part.criterion.covariate


def test_a_pair_that_is_far_noisier_keeps_its_own_noise() -> None:
    plan = make_plan(FACTORS, blocks=20, claims=(f"{CLAIM} at each sessions",))
    found = records(plan, 0, 0.005)
    rng = np.random.default_rng(8)
    wild = [
        one.replace(metrics={METRIC: 1000 * math.exp(rng.normal(0, 0.1))})
        if plan.cells[one.cell].levels["sessions"] == "16"
        else one
        for one in found
    ]
    parts = planned(plan, wild).parts
    assert [part.text for part in parts] == [
        f"{CLAIM} at each sessions (sessions={sessions})" for sessions in (1, 4, 16)
    ]
    assert [part.pooled for part in parts] == [False, False, False]
    assert parts[2].noise.variance > 50 * parts[0].noise.variance


def test_a_difference_that_noise_hides_is_said_and_found_is_false() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=5, claims=(CLAIM,))
    result = planned(plan, records(plan, 0, 0.5), detect=0.001)
    assert not result.found
    text = planning_text(result, "a run")
    assert "more than 1000 blocks" in text
    assert "hides a difference of 0.1 %" in text


def test_two_blocks_are_too_few_to_plan_from() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=2, claims=(CLAIM,))
    with pytest.raises(DynoError, match="2 blocks are too few"):
        planned(plan, records(plan, 0, 0.01))


def test_a_run_of_another_experiment_is_refused() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=5, claims=(CLAIM,))
    other = make_plan({"disk": ("slow", "fast")}, claims=("tps[fast] > tps[slow]",))
    with pytest.raises(DynoError, match="cannot be found in the run"):
        planned(plan, records(plan, 0, 0.01), experiment=other)


# -- the split -----------------------------------------------------------------------------------


def test_noise_between_trials_asks_for_short_ones_and_noise_within_for_long_ones() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=40, claims=(CLAIM,))
    inside = 0.3 / math.sqrt(LENGTH_S)
    between = planned(plan, records(plan, 0, 0.05), trace=seconds(0.002, 0.0))
    within = planned(plan, records(plan, 0, inside), trace=seconds(0.3, 0.0))
    assert between.best.duration_s < 20
    assert within.best.duration_s >= 60
    for result in (between, within):
        assert result.best.total_s[1] == min(s.total_s[1] for s in result.splits if s.total_s[1])
        assert "<- least time" in planning_text(result, "a run")


def test_no_other_duration_is_weighed_where_seconds_are_not_known() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=6, claims=("p95[on] < p95[off]",))
    result = planned(plan, records(plan, 0, 0.02), trace=seconds(0.05, 0.0))
    assert result.splits == (result.own,)
    assert "No other duration is weighed" in planning_text(result, "a run")


def test_what_lies_between_trials_is_what_the_run_took() -> None:
    plan = make_plan({"cache": ("off", "on")}, blocks=6, hard=("cache",))
    found = records(plan, 0, 0.01)  # a trial each 60 s, of which 10 s warm up and 20 s measure
    factor = costs.factor(plan, found)
    assert factor * costs.overhead_s(plan.cells) == pytest.approx(2 * (60 - 10 - LENGTH_S))
    assert costs.block_s(plan, 30.0, factor) == pytest.approx(2 * (10 + 30) + 60)
    assert costs.factor(plan, found[:2]) == 1.0  # one block is too little


# -- the noise floor -----------------------------------------------------------------------------


def test_copies_of_a_cell_give_the_noise_floor() -> None:
    plan = make_plan({"cache": ("off", "on"), "copy": ("first", "second")}, blocks=60)
    cells = plan.cells
    changed = replace(cells[2], warmup_s=11.0), replace(cells[3], warmup_s=12.0)
    plan = replace(plan, cells=(cells[0], cells[1], *changed))
    assert floor.copies(plan) == [(0, 1)]
    (found,) = floor.floors(Measured.of(plan, records(plan, 0, 0.01)), [METRIC])
    assert found.levels == {"cache": "off"}
    assert found.blocks == 60
    assert found.low < found.ratio < found.high
    assert found.deviation == pytest.approx(0.014, rel=0.3)
