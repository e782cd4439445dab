"""Claims whose comparisons are joined by `and`: better on one metric, not worse on another."""

from __future__ import annotations

import pytest
from plans import plan as make_plan

from dbdyno.analysis.types import ClaimResult
from dbdyno.errors import DynoError
from dbdyno.experiment.claims.parser import parse, parse_bare_condition
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.findings import analyse

NOISE = (-0.01, 0.004, 0.0, 0.008, -0.003, 0.002)
CLAIM = "tps[on] > tps[off] and p99[on] <= 1.03 * p99[off]"


def judged(claim: str, on: tuple[float, float], off: tuple[float, float]) -> ClaimResult:
    """Throughput and p99 of the cells with the cache on, and off."""
    plan = make_plan({"cache": ("on", "off")}, blocks=len(NOISE), claims=(claim,))
    found = []
    for trial in plan.trials:
        cell = plan.cells[trial.cell].levels["cache"]
        tps, p99 = on if cell == "on" else off
        wobble = 1 + NOISE[trial.block - 1] * (1 if cell == "on" else -1)
        metrics = {"transactions_per_s": tps * wobble, "service_ms_p99": p99 * wobble}
        found.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics))
    return analyse(plan, found).claims[0]


def test_comparisons_are_joined_by_and() -> None:
    claim = parse(f"{CLAIM} at sessions=16 and cache=on, each engine")
    assert (claim.left.text, claim.operator, claim.threshold) == ("tps[on]", ">", 1.0)
    (further,) = claim.further
    assert (further.left.text, further.operator, further.threshold) == ("p99[on]", "<=", 1.03)
    assert [one.level for one in claim.at] == ["16", "on"] and claim.each[0].factor == "engine"
    assert further.at == claim.at and not further.further


def test_within_belongs_to_the_comparison_before_it() -> None:
    claim = parse("tps[on] ~= tps[off] within 2% and p99[on] ~= p99[off] within 5%")
    assert (claim.margin, claim.further[0].margin) == (0.02, 0.05)
    late = parse("tps[on] > tps[off] and p99[on] ~= p99[off] at sessions=1 within 5%")
    assert (late.margin, late.further[0].margin) == (0.0, 0.05)
    with pytest.raises(DynoError, match="needs a margin"):
        parse("tps[on] ~= tps[off] and p99[on] ~= p99[off] within 5%")


def test_a_condition_joins_nothing() -> None:
    with pytest.raises(DynoError, match="not a condition on one metric"):
        parse_bare_condition("errors_per_s <= 1 and p99 <= 5")


@pytest.mark.parametrize(
    ("on", "off", "verdict"),
    [
        ((1200.0, 10.0), (1000.0, 10.0), "supported"),
        ((1200.0, 11.0), (1000.0, 10.0), "refuted"),
        ((900.0, 10.0), (1000.0, 10.0), "refuted"),
        ((1200.0, 10.3), (1000.0, 10.0), "undecided"),
    ],
)
def test_all_must_hold(on: tuple[float, float], off: tuple[float, float], verdict: str) -> None:
    found = judged(CLAIM, on, off)
    assert found.verdict == verdict
    assert [part.left for part in found.parts] == ["tps[on]", "p99[on]"]
    assert "at :" not in found.why and "at ," not in found.why


def test_the_comparison_that_refutes_is_named() -> None:
    why = judged(CLAIM, (1200.0, 11.0), (1000.0, 10.0)).why
    assert why.startswith("1 of 2 comparisons refutes it; p99[on]: 1.1")
