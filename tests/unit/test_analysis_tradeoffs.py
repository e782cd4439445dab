"""Trade-offs: cells that no other one is shown to beat on two metrics."""

from __future__ import annotations

import numpy as np
import pytest
from plans import plan as make_plan

from dbdyno.analysis.types import TradeOff
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.findings import analyse


def found(
    points: dict[str, tuple[float, float | None]],
    *,
    blocks: int = 6,
    noise: float = 0.01,
    seed: int = 1,
) -> TradeOff | None:
    """Of cells with these throughputs and p99."""
    rng = np.random.default_rng(seed)
    plan = make_plan({"engine": tuple(points)}, blocks=blocks)
    records = []
    for trial in plan.trials:
        tps, p99 = points[plan.cells[trial.cell].levels["engine"]]
        a, b = np.exp(noise * rng.standard_normal(2))
        metrics = {"transactions_per_s": tps * a}
        if p99 is not None:
            metrics["service_ms_p99"] = p99 * b
        records.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics))
    return analyse(plan, records).tradeoff


def test_what_is_worse_on_both_is_beaten_and_what_trades_is_not() -> None:
    seen = found({"fast": (2000.0, 20.0), "quick": (1000.0, 5.0), "poor": (800.0, 8.0)})
    assert seen is not None and seen.judged
    assert seen.metrics == ("transactions_per_s", "service_ms_p99")
    assert [point.beaten_by for point in seen.points] == [None, None, 1]
    assert seen.sentence == (
        "2 of 3 cells are not shown to be beaten by another one on both tps and p99 ms:"
        " fast and quick."
    )


def test_cells_without_one_of_the_metrics_are_not_counted() -> None:
    seen = found(
        {"fast": (2e3, 20.0), "quick": (1e3, 5.0), "poor": (800.0, 8.0), "few": (3e3, None)}
    )
    assert seen is not None
    assert [point.cell for point in seen.points] == [0, 1, 2]
    assert seen.sentence.startswith("2 of the 3 cells with both metrics are not shown")


@pytest.mark.long
def test_equal_cells_are_rarely_called_beaten() -> None:
    same = dict.fromkeys(("a", "b", "c", "d"), (1000.0, 10.0))
    runs = [found(same, noise=0.05, seed=seed) for seed in range(60)]
    wrong = sum(
        any(point.beaten_by is not None for point in one.points) for one in runs if one is not None
    )
    assert wrong <= 5


def test_two_cells_and_no_blocks_are_no_trade_off() -> None:
    assert found({"a": (1.0, 1.0), "b": (2.0, 2.0)}) is None
    few = found({"a": (1.0, 3.0), "b": (2.0, 2.0), "c": (3.0, 4.0)}, blocks=2)
    assert few is not None and not few.judged
    assert [point.beaten_by for point in few.points] == [1, None, None]
    assert few.sentence.startswith("By the means alone (not judged: no intervals), none beats 2")
