"""Intervals, tests, Holm's procedure and power, against scipy.stats and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from dbdyno.analysis.claims import power
from dbdyno.analysis.claims.contrast import Best, Contrast, LogRatio, Mean, Median, Welch
from dbdyno.analysis.claims.holm import ALPHA, holm
from dbdyno.analysis.claims.verdict import read
from dbdyno.analysis.estimates.estimate import t_interval, t_test
from dbdyno.analysis.types import REFUTED, SUPPORTED, UNDECIDED, MoreBlocks

VALUES = st.lists(st.floats(0.5, 2.0), min_size=3, max_size=12)
OPERATORS = st.sampled_from([">", ">=", "<", "<="])


@given(VALUES, st.sampled_from([0.8, 0.95, 0.99]))
def test_the_t_interval_is_scipys(values: list[float], confidence: float) -> None:
    mean, low, high = t_interval(values, confidence)
    assert mean == pytest.approx(np.mean(values))
    if np.std(values) > 1e-9:
        expected = stats.ttest_1samp(values, 0.0).confidence_interval(confidence)
        assert (low, high) == pytest.approx((expected.low, expected.high))
        assert t_test(values, 1.0) == pytest.approx(stats.ttest_1samp(values, 1.0).pvalue)


def test_identical_values_leave_no_doubt() -> None:
    assert t_interval([0.1] * 6, 0.95)[1:] == pytest.approx((0.1, 0.1), abs=1e-15)
    assert t_test([0.1] * 6, 0.1) == pytest.approx(1.0) or t_test([0.1] * 6, 0.1) == 0.0
    assert t_test([2.0, 2.0, 2.0], 2.0) == 1.0
    assert t_test([2.0, 2.0, 2.0], 1.0) == 0.0


def test_identical_readings_are_known_as_well_as_they_were_read() -> None:
    assert t_interval([5.0, 5.0, 5.0], 0.95, grain=0.05) == (5.0, 4.95, 5.05)
    assert t_test([5.0, 5.0, 5.0], 5.04, grain=0.05) == 1.0
    assert t_test([5.0, 5.0, 5.0], 5.06, grain=0.05) == 0.0
    varying = [5.0, 5.1, 5.2]  # what varies by more than the grain shows it itself
    assert t_interval(varying, 0.95, grain=0.05) == t_interval(varying, 0.95)


@pytest.mark.parametrize("bad", [[], [1.0], [1.0, math.nan], [1.0, math.inf]])
def test_an_interval_refuses_what_it_cannot_use(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"at least 2|finite"):
        t_interval(bad, 0.95)


@given(st.lists(st.integers(1, 6).map(float), min_size=3, max_size=14))
def test_the_median_interval_is_the_sign_tests(values: list[float]) -> None:
    contrast = Median(tuple(values), 3.5)  # never on a value: no ties
    above = sum(value > 3.5 for value in values)
    assert contrast.p == pytest.approx(stats.binomtest(above, len(values)).pvalue)
    low, high = contrast.interval(0.95)
    excluded = low is not None and high is not None and not low <= 3.5 <= high
    assert excluded == (contrast.p <= 0.05)


def test_six_blocks_that_agree_are_enough_for_one_sign_test() -> None:
    assert Median((4.0,) * 6, 8.0).interval(0.95) == (4.0, 4.0)
    assert Median((4.0,) * 5, 8.0).interval(0.95) == (None, None)


@pytest.mark.parametrize(
    ("interval", "operator", "verdict"),
    [
        ((1.1, 1.2), ">", SUPPORTED),
        ((1.0, 1.2), ">", UNDECIDED),
        ((1.0, 1.2), ">=", SUPPORTED),
        ((0.8, 0.9), ">", REFUTED),
        ((0.8, 1.0), ">", REFUTED),
        ((0.8, 1.0), ">=", UNDECIDED),
        ((0.8, 0.9), "<", SUPPORTED),
        ((0.8, 1.0), "<=", SUPPORTED),
        ((0.8, 1.0), "<", UNDECIDED),
        ((1.0, 1.2), "<", REFUTED),
        ((1.1, None), ">", SUPPORTED),
        ((None, None), "<", UNDECIDED),
        ((None, 0.9), "<", SUPPORTED),
    ],
)
def test_a_verdict_is_read_off_the_interval(
    interval: tuple[float | None, float | None], operator: str, verdict: str
) -> None:
    assert read(interval, operator, 1.0) == verdict


@st.composite
def families(draw: st.DrawFn) -> list[tuple[Contrast, str]]:
    """Up to eight contrasts of mixed kinds, some clear and some not."""
    found: list[tuple[Contrast, str]] = []
    for _ in range(draw(st.integers(1, 8))):
        values = tuple(draw(VALUES))
        shift = draw(st.sampled_from([0.0, 0.0, 0.5, 3.0]))
        threshold = draw(st.floats(0.7, 1.4))
        kind = draw(st.sampled_from([LogRatio, Mean, Median]))
        if kind is LogRatio:
            values = tuple(math.log(value) + shift for value in values)
        else:
            values = tuple(value + shift for value in values)
        found.append((kind(values, threshold), draw(OPERATORS)))
    return found


@given(families())
def test_holm_verdict_and_interval_agree(family: list[tuple[Contrast, str]]) -> None:
    contrasts = [contrast for contrast, _ in family]

    def decides(index: int, interval: tuple[float | None, float | None]) -> bool:
        return read(interval, family[index][1], contrasts[index].threshold) != UNDECIDED

    adjusted = holm(contrasts, decides)
    # The textbook's step-down on p alone.
    m = len(contrasts)
    order = sorted(range(m), key=lambda i: contrasts[i].p)
    rejected: set[int] = set()
    for rank, index in enumerate(order):
        if contrasts[index].p > ALPHA / (m - rank):
            break
        rejected.add(index)
    for index, (contrast, operator) in enumerate(family):
        low, high = adjusted[index].interval
        assert 0.95 - 1e-12 <= adjusted[index].level <= 1 - ALPHA / m + 1e-12
        verdict = read((low, high), operator, contrast.threshold)
        left = low is not None and low > contrast.threshold
        right = high is not None and high < contrast.threshold
        wanted = left if operator in (">", ">=") else right
        opposite = right if operator in (">", ">=") else left
        touches = contrast.threshold in (low, high)  # a point or a step right on the threshold
        if not touches:
            assert (verdict == SUPPORTED) == wanted
            assert (verdict == REFUTED) == opposite
        near = abs(contrast.p * (m - len(rejected)) - ALPHA) < 1e-9
        if not touches and not near:
            assert (verdict != UNDECIDED) == (index in rejected)


def _family_wise(rng: np.random.Generator, effect: float, noise: float) -> tuple[float, float]:
    """Share of 2,000 runs (6 blocks, 5 claims) with any decision, and share of claims decided."""
    runs, claims, blocks = 2000, 5, 6
    data = rng.normal(effect, noise * math.sqrt(2), size=(runs, claims, blocks))
    any_decided = decided = 0
    for run in data:
        contrasts = [LogRatio(tuple(values), 1.0) for values in run.tolist()]
        verdicts = [
            read(one.interval, ">", 1.0)
            for one in holm(contrasts, lambda _, found: read(found, ">", 1.0) != UNDECIDED)
        ]
        settled = sum(verdict != UNDECIDED for verdict in verdicts)
        any_decided += settled > 0
        decided += sum(verdict == SUPPORTED for verdict in verdicts)
    return any_decided / runs, decided / (runs * claims)


@pytest.mark.long
def test_nothing_against_nothing_is_rarely_called_a_difference() -> None:
    family_wise, _ = _family_wise(np.random.default_rng(20), effect=0.0, noise=0.02)
    # 5 % by design; 2,000 runs have a standard error of 0.5 %.
    assert family_wise <= 0.06
    assert family_wise >= 0.03  # and the procedure is not asleep


@pytest.mark.long
def test_five_percent_at_two_percent_noise_is_mostly_found() -> None:
    # Each cell's throughput has 2 % noise, so a log ratio has 2.8 %.
    _, found = _family_wise(np.random.default_rng(21), effect=math.log(1.05), noise=0.02)
    assert found > 0.75


def test_a_flat_top_is_not_taken_for_a_peak_on_the_side_with_more_levels() -> None:
    rng = np.random.default_rng(22)
    wrong = 0
    for run in rng.normal(0.0, 0.03, size=(1000, 6, 6)).tolist():
        inside, outside = run[:1], run[1:]
        best = Best(tuple(map(tuple, inside)), tuple(map(tuple, outside)))
        wrong += read(best.interval(0.95), ">", 1.0) != UNDECIDED
    assert wrong / 1000 <= 0.06


def test_a_real_peak_is_found() -> None:
    rng = np.random.default_rng(23)
    truth = np.log([1.0, 1.8, 2.5, 2.3, 1.5])[:, None]
    found = 0
    for run in (truth + rng.normal(0.0, 0.02, size=(300, 5, 6))).tolist():
        best = Best(tuple(map(tuple, run[:3])), tuple(map(tuple, run[3:])))
        found += read(best.interval(0.95), ">", 1.0) == SUPPORTED
    assert found / 300 > 0.9


@given(
    st.lists(st.lists(st.floats(-1, 1), min_size=5, max_size=5), min_size=2, max_size=6),
    st.integers(1, 5),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_the_interval_of_the_best_agrees_with_its_p(
    levels: list[list[float]], cut: int, confidence: float
) -> None:
    cut = min(cut, len(levels) - 1)
    rows = [tuple(level) for level in levels]
    best = Best(tuple(rows[:cut]), tuple(rows[cut:]))
    low, high = best.interval(confidence)
    assert low is not None
    assert high is not None
    assert low <= best.centre * (1 + 1e-9)
    assert best.centre <= high * (1 + 1e-9)
    if abs(best.p - (1 - confidence)) > 1e-9 and 1.0 not in (low, high):
        assert (low > 1 or high < 1) == (best.p <= 1 - confidence)


def test_power_is_the_noncentral_t() -> None:
    critical = stats.t.ppf(0.975, 5)
    expected = 1 - stats.nct.cdf(critical, 5, 0.05 / 0.03 * math.sqrt(6))
    assert power.power(0.05, 0.03, 6, 0.05) == pytest.approx(expected)
    assert power.power(0.05, 0.0, 6, 0.05) == 1.0
    assert power.power(0.0, 0.0, 6, 0.05) == 0.0


def test_the_blocks_that_are_asked_for_would_be_enough() -> None:
    contrast = LogRatio((0.02, 0.03, 0.012, 0.026), 1.0)
    more = power.blocks_needed(contrast, 0.001)  # undecided there, at 95 % it is not
    assert more is not None
    assert more.low is not None
    assert more.high is not None
    weakest, strongest = power.effects(contrast.fit, 4, 0.0)
    for blocks, effect in ((more.low, strongest), (more.high, weakest)):
        assert power.power(effect, 1.0, 4 + blocks, 0.001) >= power.POWER
        assert blocks == 1 or power.power(effect, 1.0, 3 + blocks, 0.001) < power.POWER


@pytest.mark.parametrize("freedom", [1, 2, 3, 11])
def test_the_interval_is_known_where_the_series_of_scipy_is_not(freedom: int) -> None:
    shares = [power._centrality(freedom, t, 0.975) / t for t in (20.0, 50.0, 200.0)]
    assert all(math.isfinite(share) for share in shares)
    # Far out both ends are quantiles of S, whatever t is: P(t S < c) = share.
    _, high = (power._centrality(freedom, 200.0, share) for share in (0.975, 0.025))
    quantile = math.sqrt(float(special.chdtri(freedom, 0.025)) / freedom)
    assert high / 200.0 == pytest.approx(quantile, rel=0.01)


def test_effects_have_the_interval_of_the_noncentral_t() -> None:
    values = (0.01, 0.03, -0.02, 0.02)
    t = float(np.mean(values) / np.std(values, ddof=1) * 2)
    low, high = (2 * effect for effect in power.effects(LogRatio(values, 1.0).fit, 4, 0.0))
    assert stats.nct.cdf(t, 3, low) == pytest.approx(0.975, abs=1e-5)
    assert stats.nct.cdf(t, 3, high) == pytest.approx(0.025, abs=1e-5)
    mirrored = power.effects(LogRatio(tuple(-value for value in values), 1.0).fit, 4, 0.0)
    assert [2 * effect for effect in mirrored] == pytest.approx([-high, -low])


def test_where_there_may_be_no_effect_no_number_of_blocks_is_promised() -> None:
    none_seen = power.blocks_needed(LogRatio((0.02, -0.02, 0.01, -0.01), 1.0), 0.05)
    assert none_seen is not None
    assert none_seen.low is not None
    assert none_seen.high is None
    assert power.blocks_needed(Median((1.0, 4.0, 4.0), 2.0), 0.05) == MoreBlocks(None, None)
    assert power.blocks_needed(Median((4.0, 4.0, 4.0), 2.0), 0.05) == MoreBlocks(3, None)


@given(VALUES.filter(lambda values: np.std(values) > 1e-6), st.sampled_from([0.05, 0.01]))
def test_the_detectable_effect_is_detected(values: list[float], alpha: float) -> None:
    delta = power.detectable(values, alpha)
    deviation = float(np.std(values, ddof=1))
    assert power.power(delta, deviation, len(values), alpha) == pytest.approx(0.8, abs=1e-3)


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=9),
    st.lists(st.floats(-3, 3), min_size=2, max_size=9),
    st.floats(0.5, 2),
)
def test_two_samples_are_judged_as_scipy_does(
    left: list[float], right: list[float], threshold: float
) -> None:
    assume(np.ptp(left) > 1e-3)
    assume(np.ptp(right) > 1e-3)
    ours = Welch(tuple(left), tuple(right), threshold)
    shifted = np.array(left) - math.log(threshold)
    theirs = stats.ttest_ind(shifted, right, equal_var=False)
    assert ours.n == min(len(left), len(right))
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
    low, high = theirs.confidence_interval(0.9)
    ends = [math.exp(end + math.log(threshold)) for end in (low, high)]
    assert ours.interval(0.9) == pytest.approx(ends, rel=1e-6)


def test_two_samples_without_spread_leave_no_doubt() -> None:
    same = Welch((1.0, 1.0, 1.0), (1.0, 1.0), 1.0)
    assert (same.p, same.interval(0.95)) == (1.0, (1.0, 1.0))
    other = Welch((2.0, 2.0), (1.0, 1.0), 1.0)
    assert other.p == 0.0
    assert other.interval(0.95) == pytest.approx((math.e, math.e))
