"""Cross-checks: sign flips and the BCa bootstrap, against scipy and by what they may not do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import checked, records
from plans import plan as make_plan
from scipy import stats

from dbdyno.analysis.claims import crosscheck
from dbdyno.analysis.claims.bounded import Bounded
from dbdyno.analysis.claims.contrast import Contrast, Interval, LogRatio, Mean, Median
from dbdyno.analysis.claims.crosscheck import bca_interval, checks, sign_flip_p, smallest_p
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.claims.verdict import read
from dbdyno.analysis.types import SUPPORTED, UNDECIDED, Check
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.wording.catalogue import worded

FINITE = st.floats(-5, 5)
SKEWED = tuple(np.random.default_rng(41).lognormal(0.0, 0.6, size=16).tolist())


def against(operator: str, threshold: float, margin: float = 0.0) -> Callable[[Interval], str]:
    return lambda interval: read(interval, operator, threshold, margin)


def made(contrast: Contrast, level: float, answer: Callable[[Interval], str]) -> tuple[Check, ...]:
    return checks(contrast, level, answer(contrast.interval(level)), answer, seed=1)


@given(st.lists(FINITE, min_size=1, max_size=9), FINITE)
def test_every_choice_of_signs_is_counted(values: list[float], null: float) -> None:
    away = [value - null for value in values]
    seen = abs(sum(away)) - 1e-9 * max(map(abs, away))
    signs = list(itertools.product((1, -1), repeat=len(away)))
    sums = [abs(sum(s * x for s, x in zip(choice, away, strict=True))) for choice in signs]
    wanted = sum(total >= seen for total in sums) / len(sums)
    assert sign_flip_p(tuple(values), null, 0) == pytest.approx(wanted, abs=2.0 / 2 ** len(values))
    assert sign_flip_p(tuple(values), null, 0) >= min(1.0, smallest_p(len(values)))


def test_the_permutation_test_is_scipys() -> None:
    values = tuple(np.random.default_rng(42).normal(0.02, 0.04, size=9).tolist())
    theirs = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_p(values, 0.0, 0) == pytest.approx(theirs.pvalue)


def test_many_blocks_are_permuted_at_random_but_alike_each_time() -> None:
    values = tuple(np.random.default_rng(43).normal(0.01, 0.04, size=30).tolist())
    p = sign_flip_p(values, 0.0, 7)
    assert p == sign_flip_p(values, 0.0, 7)
    assert p == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue, abs=0.02)
    assert sign_flip_p((1.0,) * 30, 0.0, 7) == pytest.approx(2e-5, rel=0.01)  # never zero


@pytest.mark.parametrize(
    ("n", "level", "is_made"),
    [(5, 0.95, False), (6, 0.95, True), (6, 0.99, False), (8, 0.99, True)],
)
def test_permutation_is_left_out_where_it_could_never_agree(
    n: int, level: float, is_made: bool
) -> None:
    contrast = LogRatio(tuple(0.1 + 0.001 * i for i in range(n)), 1.0)
    assert bool(made(contrast, level, against(">", 1.0))) == is_made


def test_the_bootstrap_interval_is_scipys() -> None:
    theirs = stats.bootstrap(
        (SKEWED,), np.mean, n_resamples=50_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    ours = bca_interval(SKEWED, 0.95, 2)
    assert not isinstance(ours, str)
    assert ours == pytest.approx((theirs.low, theirs.high), rel=0.01)
    low, high = ours
    assert high - np.mean(SKEWED) > np.mean(SKEWED) - low  # the long tail is above


@given(
    st.lists(FINITE, min_size=2, max_size=20),
    st.sampled_from([0.5, 0.95, 0.999, 0.9999999]),
    st.integers(0, 3),
)
def test_the_bootstrap_gives_an_interval_or_says_why_not(
    values: list[float], confidence: float, seed: int
) -> None:
    found = bca_interval(tuple(values), confidence, seed)
    if isinstance(found, str):
        assert found
        return
    low, high = found
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= low <= high <= max(values) + slack


def test_degenerate_series_say_why_they_have_no_bootstrap_interval() -> None:
    constant = made(LogRatio((0.1,) * 12, 1.0), 0.95, against(">", 1.0))
    assert [check.method for check in constant] == ["permutation", "BCa"]
    assert constant[0].p == pytest.approx(2 / 2**12)
    assert all(check.agrees for check in constant)
    assert "all blocks agree" in worded(constant[1].note)
    assert constant[1].ci_low is None
    fine = made(LogRatio(tuple(SKEWED), 1.0), 1 - 1e-7, against(">", 1.0))
    assert [check.method for check in fine] == ["BCa"]
    assert "resamples" in worded(fine[0].note)


@given(st.lists(FINITE, min_size=3, max_size=14), st.sampled_from([0.95, 0.99]), st.booleans())
def test_checks_never_fail_and_agree_with_what_they_say(
    values: list[float], level: float, equal: bool
) -> None:
    contrast: Contrast = LogRatio(tuple(values), 1.1)
    answer = against("~=", 1.1, 0.5) if equal else against(">", 1.1)
    if equal:
        contrast = Equivalence(LogRatio(tuple(values), 1.1), 0.5)
    verdict = answer(contrast.interval(level))
    for check in checks(contrast, level, verdict, answer, seed=1):
        if check.ci_low is not None and check.ci_high is not None:
            assert check.agrees == (answer((check.ci_low, check.ci_high)) == verdict)
        elif check.p is not None:
            assert 0 < check.p <= 1
            if check.p > 1 - level:
                assert check.agrees == (verdict == UNDECIDED)
        else:
            assert check.note


def test_where_nothing_can_be_checked_nothing_is() -> None:
    logs = tuple(np.linspace(0.1, 0.2, 13).tolist())
    assert made(LogRatio(logs, 0.0), 0.95, against(">", 0.0)) == ()
    assert made(Bounded(LogRatio(logs, 1.0), AT_LEAST), 0.95, against(">", 1.0)) == ()
    assert made(Median(logs, 1.0), 0.95, against(">", 1.0)) == ()
    (only,) = made(Mean(logs, 1.0), 0.95, against("<", 1.0))
    assert only.method == crosscheck.BCA
    assert only.agrees


def test_a_verdict_that_hangs_on_the_method_says_so() -> None:
    # One block far out: t sees noise, signs see that all blocks agree.
    logs = (0.01, 0.011, 0.012, 0.013, 0.014, 0.5)
    (permutation,) = made(LogRatio(logs, 1.0), 0.95, against(">", 1.0))
    assert permutation.p == pytest.approx(2 / 2**6)
    assert not permutation.agrees
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 1000.0}, noise=0.0)
    moved = []
    for record in trials:
        off = plan.cells[record.cell].levels["cache"] == "off"
        away = math.exp(logs[record.block - 1]) if off else 1.0
        metrics = {**record.metrics, "transactions_per_s": 1000.0 * away}
        moved.append(type(record)(**{**record.__dict__, "metrics": metrics}))
    part = checked(plan, moved).claims[0].parts[0]
    assert part.verdict == UNDECIDED
    assert "at 95 %, permutation p 0.031 would decide it" in part.why


def test_where_all_methods_agree_nothing_is_said() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=12, claims=("tps[off] > tps[on]",))
    found = checked(plan, records(plan, {("on",): 1000.0, ("off",): 1200.0}))
    part = found.claims[0].parts[0]
    assert part.verdict == SUPPORTED
    assert [check.method for check in part.checks] == ["permutation", "BCa"]
    assert all(check.agrees for check in part.checks)
    assert "permutation" not in part.why
