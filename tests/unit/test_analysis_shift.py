"""How the latency curve moved between the two cells of the leading comparison."""

from __future__ import annotations

import math

import numpy as np
import pytest
from judging import records
from plans import plan as make_plan

from dbdyno.analysis.estimates.estimate import t_interval
from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import LatencyShift
from dbdyno.store.metrics.histogram import Histogram, Tagged
from dbdyno.wording.findings import analyse
from fixtures.schemas import valid

TRUTH = {("on",): 1000.0, ("off",): 2000.0}
MS = 1e6


def plan(blocks: int = 6):  # type: ignore[no-untyped-def]
    return make_plan({"cache": ("on", "off")}, blocks=blocks, claims=("tps[on] / tps[off] >= 0.9",))


def shift(
    tail: float = 1.0, body: float = 1.0, count: int = 12_000, blocks: int = 6, ages: int = 0
) -> tuple[LatencyShift | None, dict[str, list[float]]]:
    """Of cell `on` over `off`: its body and its slowest 3 % so many times as long. Also the log
    ratios of p99 and p50, by block."""
    made = plan(blocks)
    trials = records(made, TRUTH)
    rng, logs = np.random.default_rng(4), {}
    for trial in made.trials:
        slower = made.cells[trial.cell].levels["cache"] == "on"
        values = rng.lognormal(math.log(2 * MS), 0.1, count) * math.exp(rng.normal(0, 0.02))
        slow = np.arange(count) < 0.03 * count
        values = np.where(slow, values * 20, values)
        if slower:
            values = values * np.where(slow, tail, body)
        lines = [Tagged("workload", 10.0, 1.0, Histogram.of(values.astype(int).tolist()))]
        if ages and slower:
            lines.append(Tagged("workload/!censored", 10.0, 1.0, Histogram.of([1000] * ages)))
        logs[trial.id] = lines
    found = analyse(made, trials, log=lambda trial: logs[trial])
    valid("result", to_json(found, made, {"status": "complete", "versions": {"dbdyno": "0"}}))
    cells = {made.cells[t.cell].levels["cache"]: {} for t in made.trials}
    for t in made.trials:
        cells[made.cells[t.cell].levels["cache"]][t.block] = logs[t.id][0].histogram
    by_quantile = {
        name: [
            math.log(cells["on"][b].quantile_ns(q) / cells["off"][b].quantile_ns(q))
            for b in sorted(cells["on"])
        ]
        for name, q in (("p99", 0.99), ("p50", 0.5))
    }
    return found.shift, by_quantile


def at(found: LatencyShift, q: float) -> tuple[float, float | None, float | None]:
    [one] = [one for one in found.moved if one.quantile == q]
    return one.ratio, one.ci_low, one.ci_high


def test_a_tail_that_moved_shows_where_it_moved() -> None:
    found, _ = shift(tail=1.5)
    assert found is not None
    assert [one.quantile for one in found.moved] == [0.5, 0.75, 0.9, 0.95, 0.99, 0.999]
    assert (found.kind, found.blocks, found.missing) == ("service", 6, "")
    ratio, low, _ = at(found, 0.99)
    assert low is not None and low > 1.3 and ratio == pytest.approx(1.5, rel=0.05)
    ratio, low, high = at(found, 0.5)
    assert low is not None and high is not None and low < 1 < high


def test_its_ratio_is_that_of_a_claim_and_its_interval_is_adjusted_for_all_percentiles() -> None:
    found, logs = shift(tail=1.2)
    assert found is not None
    assert (found.level, found.level_each) == (0.95, pytest.approx(1 - 0.05 / 6))
    ratio, low, high = at(found, 0.99)
    assert ratio == pytest.approx(math.exp(np.mean(logs["p99"])))
    _, by_t_low, by_t_high = t_interval(tuple(logs["p99"]), found.level_each, math.log1p(0.01))
    assert (low, high) == pytest.approx((math.exp(by_t_low), math.exp(by_t_high)))


def test_percentiles_without_enough_transactions_are_left_out_and_said() -> None:
    found, _ = shift(count=900)
    assert found is not None
    assert [one.quantile for one in found.moved] == [0.5, 0.75, 0.9, 0.95]
    assert found.level_each == pytest.approx(1 - 0.05 / 4)
    assert found.missing == (
        "p99: needs 1,000 transactions a trial, and one has 900;"
        " p99.9: needs 10,000 transactions a trial, and one has 900"
    )


def test_a_side_with_lower_bounds_opens_the_interval() -> None:
    found, _ = shift(ages=30)
    assert found is not None
    [last] = [one for one in found.moved if one.quantile == 0.999]
    assert (last.bound, last.ci_high) == (">=", None) and last.ci_low is not None
    assert [one.bound for one in found.moved[:3]] == ["", "", ""]


def test_two_blocks_are_not_compared() -> None:
    assert shift(blocks=2)[0] is None


def test_all_intervals_together_miss_as_seldom_as_they_say() -> None:
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(400):
        mood = rng.normal(0, 0.05, 6)
        logs = [tuple(mood + rng.normal(0, 0.01 * (k + 1), 6)) for k in range(6)]
        ends = [t_interval(one, 1 - 0.05 / 6)[1:] for one in logs]
        missed += any(not low <= 0 <= high for low, high in ends)
    assert missed <= 0.05 * 400 + 2 * math.sqrt(400 * 0.05 * 0.95)
