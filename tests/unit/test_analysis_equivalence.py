"""Equality within a margin: two one-sided tests, as an interval that lies within two ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from judging import checked, records
from plans import plan as make_plan
from scipy import stats

from dbdyno.analysis.claims import power
from dbdyno.analysis.claims.bounded import Bounded
from dbdyno.analysis.claims.contrast import LogRatio, Mean, Welch
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.claims.holm import holm
from dbdyno.analysis.claims.verdict import read
from dbdyno.analysis.types import REFUTED, SUPPORTED, UNDECIDED
from dbdyno.experiment.claims.grammar import EQUAL, within
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST

VALUES = st.lists(st.floats(0.8, 1.3), min_size=3, max_size=10)
MARGINS = st.sampled_from([0.01, 0.03, 0.1, 0.5])


def equal_logs(values: list[float], margin: float) -> Equivalence:
    return Equivalence(LogRatio(tuple(map(math.log, values)), 1.0), margin)


@given(VALUES, MARGINS)
def test_p_is_that_of_two_one_sided_tests(values: list[float], margin: float) -> None:
    assume(np.ptp(values) > 1e-3)
    contrast = equal_logs(values, margin)
    logs, (low, high) = np.log(values), map(math.log, within(1.0, margin))
    above = stats.ttest_1samp(logs, low, alternative="greater").pvalue
    below = stats.ttest_1samp(logs, high, alternative="less").pvalue
    if low <= logs.mean() <= high:
        assert contrast.p == pytest.approx(2 * max(above, below), rel=1e-6)
    else:
        assert contrast.p == pytest.approx(2 * (1 - max(above, below)), rel=1e-6, abs=1e-12)


@st.composite
def contrasts(draw: st.DrawFn) -> Equivalence:
    values, margin = tuple(draw(VALUES)), draw(MARGINS)
    threshold = draw(st.sampled_from([0.9, 1.0, 1.02, 1.2]))
    kind = draw(st.sampled_from(["ratio", "mean", "welch", "least", "most"]))
    logs = tuple(map(math.log, values))
    if kind == "mean":
        return Equivalence(Mean(values, threshold), margin)
    if kind == "welch":
        other = tuple(map(math.log, draw(VALUES)))
        return Equivalence(Welch(logs, other, threshold), margin)
    ratio = LogRatio(logs, threshold)
    if kind == "ratio":
        return Equivalence(ratio, margin)
    return Equivalence(Bounded(ratio, AT_LEAST if kind == "least" else AT_MOST), margin)


@given(contrasts(), st.sampled_from([0.8, 0.95, 0.999]))
def test_interval_and_p_decide_alike(contrast: Equivalence, confidence: float) -> None:
    interval, ends = contrast.interval(confidence), contrast.ends
    near = [b for b in interval if b is not None and min(abs(b - end) for end in ends) < 1e-9]
    assume(not near and abs(contrast.p - (1 - confidence)) > 1e-9)
    verdict = read(interval, EQUAL, contrast.threshold, contrast.margin)
    assert (verdict != UNDECIDED) == (contrast.p < 1 - confidence)
    inside = ends[0] <= contrast.centre <= ends[1]
    assert verdict in (UNDECIDED, SUPPORTED if inside else REFUTED)


@given(st.lists(contrasts(), min_size=1, max_size=6))
def test_verdicts_of_several_equalities_agree_with_their_intervals(
    family: list[Equivalence],
) -> None:
    def decides(index: int, interval: tuple[float | None, float | None]) -> bool:
        one = family[index]
        return read(interval, EQUAL, one.threshold, one.margin) != UNDECIDED

    for one in holm(family, decides):
        assert 0.95 - 1e-12 <= one.level < 1
        assert 0 <= one.p <= 1


def test_a_lower_bound_may_refute_equality_but_never_support_it() -> None:
    tight = tuple(math.log(value) for value in (1.00, 1.001, 0.999, 1.0005))
    least = Equivalence(Bounded(LogRatio(tight, 1.0), AT_LEAST), 0.1)
    assert read(least.interval(0.95), EQUAL, 1.0, 0.1) == UNDECIDED
    high = Equivalence(Bounded(LogRatio(tuple(x + 1 for x in tight), 1.0), AT_LEAST), 0.1)
    assert read(high.interval(0.95), EQUAL, 1.0, 0.1) == REFUTED
    low = Equivalence(Bounded(LogRatio(tuple(x - 1 for x in tight), 1.0), AT_LEAST), 0.1)
    assert read(low.interval(0.95), EQUAL, 1.0, 0.1) == UNDECIDED  # the truth may be higher
    assert low.p == 1.0


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([1.0] * 4, SUPPORTED), ([1.02] * 4, SUPPORTED), ([1.04] * 4, REFUTED), ([0.5] * 4, REFUTED)],
)
def test_constant_series_are_decided_by_where_they_stand(values: list[float], verdict: str) -> None:
    contrast = equal_logs(values, 0.03)
    assert read(contrast.interval(0.95), EQUAL, 1.0, 0.03) == verdict
    assert contrast.p == 0.0


def test_cells_that_differ_by_the_margin_are_rarely_called_equal() -> None:
    rng = np.random.default_rng(31)
    edge = math.log(1.03)
    runs = rng.normal(edge, 0.02, size=(2000, 6)).tolist()
    wrong = sum(
        read(LogRatio(tuple(run), 1.0).interval(0.95), EQUAL, 1.0, 0.03) == SUPPORTED
        for run in runs
    )
    assert wrong / 2000 <= 0.035  # 2.5 % by design


@given(VALUES, MARGINS, st.sampled_from([0.05, 0.01]))
def test_the_blocks_asked_for_would_show_equality(
    values: list[float], margin: float, alpha: float
) -> None:
    contrast = equal_logs(values, margin)
    more = power.blocks_needed(contrast, alpha)
    assert more is not None
    known = [one for one in (more.low, more.high) if one is not None]
    assert known == sorted(known)
    assert all(1 <= one < power.BLOCKS_MAX for one in known)
    assert more.high is None or more.low is not None
    seen = power.reach(contrast, alpha)
    assert seen is None or seen >= 0


def test_the_smallest_margin_is_the_one_that_would_be_shown() -> None:
    rng = np.random.default_rng(32)
    sample = rng.normal(0.0, 0.02, size=6)
    sample = (sample - sample.mean()) / sample.std(ddof=1) * 0.02
    seen = power.reach(Equivalence(LogRatio(tuple(sample.tolist()), 1.0), 0.01), 0.05)
    assert seen is not None
    runs = rng.normal(0.0, 0.02, size=(2000, 6)).tolist()
    shown = sum(
        read(LogRatio(tuple(run), 1.0).interval(0.95), EQUAL, 1.0, seen) == SUPPORTED
        for run in runs
    )
    assert shown / 2000 == pytest.approx(0.8, abs=0.04)


def test_of_a_number_the_nearer_end_counts() -> None:
    values = (4.9, 5.0, 5.1, 5.05, 4.95)
    seen = power.reach(Equivalence(Mean(values, 5.0), 0.1), 0.05)
    away = power.detectable(values, 0.05, 0.9)
    assert seen == pytest.approx(away / (5 - away))
    assert 5.0 / (1 + (seen or 0)) == pytest.approx(5.0 - away)
    assert power.reach(Equivalence(Mean((0.0, 100.0, 0.0), 5.0), 0.1), 0.05) is None


def test_so_few_blocks_and_so_many_claims_that_nothing_can_be_shown_still_end() -> None:
    assert power.detectable([0.0, 0.1, 0.2], 1e-9) == math.inf
    assert power.reach(LogRatio((0.0, 0.1, 0.2), 1.0), 1e-9) is None


def test_the_answer_says_that_cells_are_equal_where_the_claim_does() -> None:
    plan = make_plan(
        {"cache": ("on", "off")},
        blocks=6,
        claims=("tps[on] ~= tps[off] within 4%",),
        matters=0.0,
    )
    found = checked(plan, records(plan, {("on",): 1000.0, ("off",): 1000.0}))
    assert found.claims[0].verdict == SUPPORTED
    assert "is within 4 % of that with cache off" in found.answer
    assert found.why == ""


def test_open_parts_of_every_kind_say_what_the_run_could_have_shown() -> None:
    plan = make_plan(
        {"cache": ("on", "off"), "sessions": ("1", "4", "16")},
        blocks=5,
        claims=(
            "tps[cache=on] >= 1000 at sessions=1",
            "tps[on] > tps[off] at sessions=1",
            "peak(tps, sessions)[on] <= 4",
        ),
    )
    truth = {(cache, level): 1000.0 for cache in ("on", "off") for level in ("1", "4", "16")}
    value, ratio, peak = checked(plan, records(plan, truth, noise=0.05)).claims
    for claim in (value, ratio, peak):
        assert claim.verdict == UNDECIDED
        assert claim.parts[0].detectable is not None
    assert "can show only values above 1," in value.why
    assert "can show only ratios above 1." in ratio.why
    assert "can show only a best level that is 1." in peak.why


def test_claims_of_equality_in_a_run() -> None:
    plan = make_plan(
        {"cache": ("on", "off"), "sessions": ("1", "4")},
        blocks=6,
        claims=(
            "tps[on] ~= tps[off] within 5% at each sessions",
            "tps[on] ~= tps[off] within 5% at sessions=1",
            "tps[on] ~= 1.3 * tps[off] at sessions=4 within 5%",
            "tps[off] ~= tps[on] within 1% at sessions=1",
            "p95[on] ~= 1 within 50% at sessions=1",
        ),
    )
    truth = {("on", "1"): 1000.0, ("off", "1"): 1001.0, ("on", "4"): 2600.0, ("off", "4"): 2000.0}
    found = checked(plan, records(plan, truth, noise=0.008))
    assert [claim.verdict for claim in found.claims] == [
        REFUTED,
        SUPPORTED,
        SUPPORTED,
        UNDECIDED,
        SUPPORTED,
    ]
    each, same, ahead, close, value = found.claims
    assert [part.verdict for part in each.parts] == [SUPPORTED, REFUTED]
    assert "the whole interval is outside 0.9524x to 1.05x (1x within 5 %)" in each.why
    assert "the whole interval lies in 0.9524x to 1.05x (1x within 5 %)" in same.why
    assert "(1.3x within 5 %)" in ahead.why
    part = close.parts[0]
    assert (part.margin, part.operator) == (pytest.approx(0.01), EQUAL)
    assert "the claim asks for 1x within 1 % (0.9901x to 1.01x)" in part.why
    assert "6 blocks can show equality only within " in part.why
    assert part.detectable is not None
    assert part.detectable > 0.01
    assert not any(part.small for claim in found.claims for part in claim.parts)
    assert value.parts[0].kind == "value"
