"""Unusual blocks of a ratio: named, and no verdict changed."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from plans import plan
from scipy import integrate, stats

from dbdyno.analysis.between_blocks import statistics
from dbdyno.analysis.types import Findings
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.findings import analyse

FACTORS = {"cache": ("off", "on")}
FASTER = "transactions_per_s[on] > transactions_per_s[off]"
# Standard normal scores in an order without trend, outlier or autocorrelation.
CALM = (0.3, -0.9, 1.2, -0.3, 0.9, -1.2, 0.1, -0.5, 0.6)


def found(
    uneven: Callable[[int], float],
    blocks: int = 9,
    claims: Sequence[str] = (FASTER,),
    noise: Sequence[float] = CALM,
    **changes: bool,
) -> Findings:
    """A run of which `on` is 1.3 times as fast as `off`, times exp(uneven(block)), at 2 % noise."""
    made = plan(FACTORS, blocks=blocks, claims=tuple(claims), **changes)
    records = []
    for trial in made.trials:
        on = made.cells[trial.cell].levels["cache"] == "on"
        log = math.log(1.3) + 0.02 * noise[trial.block - 1] + uneven(trial.block) if on else 0.0
        metrics = {"transactions_per_s": 1000.0 * math.exp(log)}
        records.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics))
    return analyse(made, records)


def test_an_outlier_block_is_named_with_its_ratio() -> None:
    findings = found(lambda block: math.log(1.5) if block == 4 else 0.0)
    (claim,) = findings.claims
    said = (
        "block 4: its ratio of 1.94x is far from the others' 1.30x"
        " (outlier at 95 % over all blocks and claims)"
    )
    assert claim.uneven == (said,)
    assert claim.verdict == "supported"
    assert claim.warnings == (said,)
    assert f"{FASTER}: {said}" in findings.warnings


def test_a_verdict_that_hangs_on_one_block_says_so_and_stays() -> None:
    (claim,) = found(lambda block: math.log(0.5) if block == 4 else 0.0, blocks=6).claims
    assert claim.verdict == "undecided"
    assert claim.uneven[0].startswith("block 4: its ratio of 0.65x is far from the others' 1.3")
    assert claim.uneven[1:] == ("the verdict hangs on block 4: without it the claim is supported",)


def test_a_claim_that_another_part_refutes_does_not_hang_on_the_block() -> None:
    refuted = f"transactions_per_s[on] / transactions_per_s[off] >= 9 and {FASTER}"
    (claim,) = found(lambda block: math.log(0.5) if block == 4 else 0.0, claims=(refuted,)).claims
    assert claim.verdict == "refuted"
    assert len(claim.uneven) >= 1
    assert not any("hangs" in said for said in claim.uneven)


@pytest.mark.parametrize(("way", "ends"), [(1, "rises from 1.1"), (-1, "falls from 1.5")])
def test_a_trend_is_named_with_its_ends(way: int, ends: str) -> None:
    (claim,) = found(lambda block: way * 0.04 * (block - 5)).claims
    (said,) = claim.uneven
    assert said.startswith(f"block 1 to block 9: the ratio {ends}")
    assert "trend at 95 %" in said


def test_neighbours_that_are_alike_are_named() -> None:
    (claim,) = found(
        lambda block: 0.2 if block in (5, 6, 7, 8) else 0.0,
        blocks=12,
        noise=(*CALM, 0.2, -0.4, 0.5),
    ).claims
    (said,) = claim.uneven
    assert said.startswith("block 1 to block 12: neighbouring blocks have similar ratios (lag-1")


def test_without_claims_the_leading_comparison_is_looked_at() -> None:
    findings = found(lambda block: math.log(0.5) if block == 2 else 0.0, blocks=6, claims=())
    assert findings.warnings == (
        "block 2: its ratio of 0.64x of cache on to cache off in transactions_per_s is far from the"
        " others' 1.30x (outlier at 95 % over all blocks and claims)",
        "the answer hangs on block 2: without it the ratio is clear",
    )
    turned = found(lambda block: math.log(0.95 / 1.3) if block < 5 else 0.2, blocks=6, claims=())
    assert not any("hangs" in said for said in turned.warnings)


@pytest.mark.parametrize("claims", [(FASTER,), ()])
def test_even_blocks_few_blocks_and_quick_runs_say_nothing(claims: tuple[str, ...]) -> None:
    def off(block: int) -> float:
        return math.log(0.5) if block == 2 else 0.0

    assert found(lambda _: 0.0, claims=claims).warnings == ()
    assert found(off, blocks=4, claims=claims).warnings == ()
    assert found(off, claims=claims, quick=True).warnings == ()
    assert found(off, claims=claims).warnings


def test_blocks_that_agree_but_for_one_say_nothing_of_the_noise() -> None:
    """Whole numbers do so: what is one off is no outlier."""
    assert found(lambda block: 0.1 if block == 4 else 0.0, noise=[0.0] * 9).warnings == ()


def test_independent_noise_is_left_alone() -> None:
    rng = np.random.default_rng(18)
    assert found(lambda _: 0.0, noise=rng.standard_normal(9).tolist()).warnings == ()


def test_the_outliers_p_is_that_of_a_regression_with_a_dummy_for_the_block() -> None:
    logs = [0.1, 0.12, 0.5, 0.09, 0.14, 0.07]
    others = [one for one in logs if one != 0.5]
    t = (0.5 - np.mean(others)) / (np.std(others, ddof=1) * math.sqrt(1 + 1 / 5))
    assert statistics.outlier(logs) == (2, pytest.approx(6 * 2 * stats.t.sf(t, 4)))


def test_the_trends_p_is_that_of_a_straight_line() -> None:
    blocks, logs = (1, 2, 4, 5, 6), (0.1, 0.15, 0.12, 0.3, 0.28)
    line = stats.linregress(blocks, logs)
    assert statistics.trend(blocks, logs) == pytest.approx((line.slope, line.pvalue))


def test_the_autocorrelations_p_is_its_exact_distribution() -> None:
    weights = np.array([0.7, -0.2, -0.5, 0.1])

    def inside(u: float) -> float:
        theta = np.arctan(weights * u).sum() / 2
        return float(np.sin(theta) / (u * np.prod((1 + (weights * u) ** 2) ** 0.25)))

    exact = 0.5 + integrate.quad(inside, 0, np.inf, limit=500)[0] / math.pi
    assert statistics._positive(weights) == pytest.approx(exact, abs=1e-8)
    # Two positive and two negative of one size: as likely above zero as below.
    assert statistics._positive(np.array([1.0, 1.0, -1.0, -1.0])) == pytest.approx(0.5)
    rng = np.random.default_rng(1)
    ps = [
        statistics.neighbours(range(1, 7), rng.standard_normal(6).tolist())[1] for _ in range(400)
    ]
    assert stats.kstest(ps, "uniform").pvalue > 0.01


def test_blocks_next_to_a_missing_one_are_no_neighbours() -> None:
    logs = [0.0, 0.1, 0.3, 0.2, 0.4]
    assert statistics.neighbours((1, 3, 5, 7, 9), logs) == (0.0, 1.0)
    assert statistics.neighbours((1, 2, 3, 4, 5), logs)[0] == pytest.approx(0.1)
