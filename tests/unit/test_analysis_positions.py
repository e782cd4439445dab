"""The position in the block as a covariate of a ratio."""

import math
from dataclasses import replace

import numpy as np
import pytest
from plans import plan
from scipy import stats

from dbdyno.analysis.claims import crosscheck, power, verdict
from dbdyno.analysis.claims.contrast import LogRatio
from dbdyno.analysis.estimates.estimate import fit
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import SUPPORTED, UNDECIDED
from dbdyno.experiment.types import Looks
from dbdyno.plan import order
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, TrialRecord

CLAIM = "transactions_per_s[on] > transactions_per_s[off]"
NOISE = (0.004, -0.003, 0.001, -0.005, 0.002, 0.003, -0.004, 0.002, 0.001, -0.002, 0.003, -0.001)


def judged(
    blocks: int,
    slow: float,
    effect: float,
    *,
    balanced: bool = True,
    looks: Looks | None = None,
) -> str:
    """The verdict on `on` as faster by `effect`, where the first trial of a block is slower."""
    made = replace(plan(blocks=blocks, claims=(CLAIM,)), looks=looks)
    if balanced:
        made = replace(made, trials=order.trials(made.cells, blocks, 1))
    measured = Measured.of(made, _records(made, slow, effect))
    (part,) = verdict.decide(measured)
    return part.verdict


def _records(made: Plan, slow: float, effect: float) -> list[TrialRecord]:
    found = []
    for trial in made.trials:
        on = made.cells[trial.cell].levels["cache"] == "on"
        log = effect * on + NOISE[trial.block - 1] * (1 if on else -1)
        log -= slow * (trial.position % 2)
        metrics = {"transactions_per_s": 1000 * math.exp(log)}
        found.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics))
    return found


def test_a_slower_first_trial_is_no_difference_between_cells() -> None:
    assert judged(6, slow=0.05, effect=0.0) == UNDECIDED
    assert judged(3, slow=0.05, effect=0.0) == UNDECIDED
    # What one order for all blocks makes of it, as a run in four of three shuffled blocks had.
    assert judged(3, slow=0.05, effect=0.0, balanced=False) != UNDECIDED


def test_a_difference_is_found_beside_an_effect_of_position_of_its_size() -> None:
    assert judged(6, slow=0.05, effect=0.05) == SUPPORTED
    assert judged(12, slow=0.05, effect=0.05, looks=Looks(4, 12)) == SUPPORTED
    assert judged(5, slow=0.05, effect=0.05) == UNDECIDED  # no covariate: its size is noise


def test_the_fit_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(-3, 4, 9), rng.normal(1, 0.1, 9)
    line, found = stats.linregress(x, y), fit(y, x)
    assert found.mean == pytest.approx(line.intercept)
    assert found.error == pytest.approx(line.intercept_stderr)
    assert (found.slope, found.freedom) == (pytest.approx(line.slope), 7)


@pytest.mark.parametrize(
    ("values", "x"),
    [
        ((0.1, 0.2, 0.15, 0.3), (1, 1, 1, 1)),  # the same in all blocks: not to be distinguished
        ((0.1, 0.2, 0.3), (1, -1, 1)),  # one degree of freedom
        ((0.1, 0.1, 0.1, 0.1), (1, -1, 1, -1)),  # all blocks agree
        ((0.1, 0.2, 0.1, 0.2), (1, -1, 1, -1)),  # leaves no residual
    ],
)
def test_a_covariate_that_tells_nothing_is_not_used(
    values: tuple[float, ...], x: tuple[int, ...]
) -> None:
    assert fit(values, x) == fit(values)


def test_cross_checks_and_power_know_the_covariate() -> None:
    x = (1, -1) * 6
    logs = tuple(0.05 + 0.05 * at + noise for at, noise in zip(x, NOISE, strict=True))
    with_it, without = LogRatio(logs, 1.0, positions=x), LogRatio(logs, 1.0)
    assert with_it.p < 1e-6 < without.p
    p = crosscheck.sign_flip_p(crosscheck.exchangeable(with_it, 0.0), 0.0, 1)
    assert p == pytest.approx(2 / 2**12)
    assert (power.reach(with_it, 0.05) or 0) < (power.reach(without, 0.05) or 0) / 5
    assert with_it.adjusted == pytest.approx([0.05 + one for one in NOISE], abs=0.003)
