"""Hard factors: a restart has an effect of its own, which all trials up to the next one share. The
unit of replication of a contrast between hard combinations is the block, never the trial."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from plans import plan as make_plan

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.estimate import t_test
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import UNDECIDED, ClaimResult
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, TrialRecord

RUNS = 500
PLAN = make_plan(
    {"pool": ("small", "large"), "sessions": ("1", "4", "16")}, blocks=6, hard=("pool",)
)
HARD = "tps[small] > tps[large] at each sessions"
EASY = "tps[sessions=1] > tps[sessions=4] at each pool"


def restarted(plan: Plan, rng: Generator, restart: float = 0.05) -> list[TrialRecord]:
    """Equal cells: an effect of 10 % a block, an effect a restart, noise of 1 % a trial."""
    mood = {block: rng.normal(0, 0.1) for block in range(1, plan.blocks + 1)}
    server: dict[tuple[int, str], float] = {}
    found = []
    for trial in plan.trials:
        key = (trial.block, plan.cells[trial.cell].hard)
        server.setdefault(key, rng.normal(0, restart))
        rate = 1000 * math.exp(mood[trial.block] + server[key] + rng.normal(0, 0.01))
        metrics = {"transactions_per_s": rate}
        found.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics))
    return found


def judged(plan: Plan, trials: list[TrialRecord]) -> tuple[ClaimResult, ...]:
    claims, _ = verdict.judge(Measured.of(plan, trials))
    return claims


def wrong(claims: tuple[str, ...], seed: int) -> float:
    """Share of runs of equal cells in which something is decided."""
    plan, rng = replace(PLAN, claims=claims), np.random.default_rng(seed)
    decided = 0
    for _ in range(RUNS):
        parts = [part for claim in judged(plan, restarted(plan, rng)) for part in claim.parts]
        decided += any(part.verdict != UNDECIDED for part in parts)
    return decided / RUNS


# 5 % by design; 500 runs have a standard error of 1 %.
@pytest.mark.long
def test_noise_of_restarts_is_not_taken_for_a_hard_factors_effect() -> None:
    assert wrong((HARD,), 61) <= 0.08


@pytest.mark.long
def test_easy_and_hard_contrasts_share_one_error_budget() -> None:
    assert wrong((HARD, EASY), 62) <= 0.08


def test_trials_taken_for_independent_would_see_effects_that_are_not_there() -> None:
    rng, decided = np.random.default_rng(63), 0
    for _ in range(RUNS):
        series = Measured.of(PLAN, restarted(PLAN, rng))
        logs = [
            math.log(left / right)
            for small, large in ((0, 3), (1, 4), (2, 5))
            for left, right in zip(
                series.series(small, "transactions_per_s").values(),
                series.series(large, "transactions_per_s").values(),
                strict=True,
            )
        ]
        decided += t_test(logs, 0.0) <= 0.05
    assert decided / RUNS > 0.15


def test_easy_contrasts_do_not_see_the_restarts() -> None:
    plan = replace(PLAN, claims=(EASY, HARD))
    easy, hard = judged(plan, restarted(plan, np.random.default_rng(64), restart=0.2))

    def width(claim: ClaimResult) -> float:
        estimate = claim.parts[0].estimate
        assert estimate is not None
        assert estimate.ci_low is not None
        assert estimate.ci_high is not None
        return math.log(estimate.ci_high / estimate.ci_low)

    assert width(easy) < 0.1 < width(hard)


def test_a_block_that_was_cut_short_counts_for_no_verdict() -> None:
    """Nor for contrasts of easy factors: an unfinished run is judged at its whole blocks."""
    plan = replace(PLAN, claims=(EASY, HARD))
    trials = restarted(plan, np.random.default_rng(65))[:-1]  # the last of block 6 is missing
    easy, hard = judged(plan, trials)
    assert [part.estimate.n for part in easy.parts if part.estimate] == [5, 5]
    assert [part.estimate.n for part in hard.parts if part.estimate] == [5, 5, 5]
