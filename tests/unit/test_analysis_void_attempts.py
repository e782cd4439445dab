"""Void attempts: what was measured of them counts, what failed is compared by its rate."""

from dataclasses import replace

import pytest
from judging import CACHE, QUERY_CACHE, records
from plans import plan
from scipy import stats

from dbdyno.analysis.claims.contrast import LogRatio
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import ClaimResult
from dbdyno.analysis.void_attempts import rates
from dbdyno.analysis.void_attempts.readings import Both
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.plan.types import Plan
from dbdyno.store.record import ELSEWHERE, VOID, TrialRecord
from dbdyno.wording.findings import analyse

CLAIM = "transactions_per_s[on] < transactions_per_s[off] at sessions=16"
RATE = "transactions_per_s"
TEXT = """experiment: demo
question: Which?
targets: {db: {kind: sqlite, isolation: serializable, durability: none}}
workload: {kind: oltp, preset: point_select}
"""


@pytest.mark.parametrize("metric", ["tps", "p95", "errors_per_s", "failed_per_s", "stalled_share"])
def test_outcomes_are_refused_with_place_and_next_step(metric: str) -> None:
    with pytest.raises(DynoError) as caught:
        load(f"{TEXT}require: ['{metric} <= 5']\n")
    assert "about an outcome" in caught.value.what
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (5, 11)
    assert "`claims:`" in (caught.value.fix or "")


def test_surroundings_are_conditions() -> None:
    text = "require: [cpu.steal_percent <= 5, generator.lag_ms_p99 < 1, status.Questions >= 1]\n"
    assert len(load(TEXT + text).require) == 3


@pytest.mark.parametrize(("left", "right"), [((5, 11), (0, 6)), ((3, 9), (1, 7)), ((2, 4), (2, 4))])
def test_the_exact_test_is_scipys(left: tuple[int, int], right: tuple[int, int]) -> None:
    table = [[left[0], left[1] - left[0]], [right[0], right[1] - right[0]]]
    assert rates.fisher(left, right) == pytest.approx(stats.fisher_exact(table).pvalue)


def _plan(blocks: int = 6) -> Plan:
    return plan(CACHE, blocks=blocks, claims=(CLAIM,))


def _void(made: Plan, blocks: range, metrics: dict[str, float], reason: str = "") -> list:  # type: ignore[type-arg]
    """Void attempts at the side that wins, one in each of `blocks`."""
    off = next(c.index for c in made.cells if dict(c.levels) == {"cache": "off", "sessions": "16"})
    at = {trial.block: trial for trial in made.trials if trial.cell == off}
    return [TrialRecord(at[b].id, b, off, VOID, 0.0, metrics, void_reason=reason) for b in blocks]


def _judged(made: Plan, void: list[TrialRecord]) -> ClaimResult:
    (claim,) = analyse(made, records(made, QUERY_CACHE), void=void).claims
    return claim


def test_without_void_attempts_nothing_changes() -> None:
    made = _plan()
    assert Measured.of(made, records(made, QUERY_CACHE)).attempted is None


@pytest.mark.parametrize(("failed", "verdict"), [(2, "supported"), (12, "undecided")])
def test_attempts_that_failed_are_compared_by_their_rates(failed: int, verdict: str) -> None:
    made = _plan()
    void = [one for _ in range(failed // 2) for one in _void(made, range(1, 3), {})]
    claim = _judged(made, void)
    assert claim.verdict == verdict
    assert claim.warnings[0].startswith(
        f"0 of 6 attempts of one side were void without a measurement, {failed} of {6 + failed} of"
    )


def test_a_claim_that_holds_only_without_the_void_attempts_is_open() -> None:
    made = _plan()
    plain, claim = _judged(made, []), _judged(made, _void(made, range(1, 4), {RATE: 500.0}))
    assert (plain.verdict, claim.verdict) == ("supported", "undecided")
    (before,), (part,) = plain.parts, claim.parts
    assert before.estimate is not None
    assert part.estimate is not None
    assert part.estimate.ratio == before.estimate.ratio
    assert (part.estimate.ci_low or 9) <= (before.estimate.ci_low or 0)
    assert (part.estimate.ci_high or 0) > 1 > (before.estimate.ci_high or 9)
    assert claim.warnings[0] == (
        "0 of 6 attempts of one side and 3 of 9 attempts of the other were void though measured: a"
        " verdict must hold with their values and without them"
    )


def test_a_claim_that_holds_either_way_is_decided() -> None:
    made = _plan()
    assert _judged(made, _void(made, range(1, 7), {RATE: 2900.0})).verdict == "supported"


def test_the_first_attempt_counts_and_not_the_second() -> None:
    made = _plan(3)
    void = [*_void(made, range(1, 4), {RATE: 2900.0}), *_void(made, range(1, 4), {RATE: 1.0})]
    attempted = Measured.of(made, records(made, QUERY_CACHE), void).attempted
    assert attempted is not None
    assert set(attempted.series(void[0].cell, RATE).values()) == {2900.0}


def test_a_trial_whose_attempts_were_all_void_has_a_value_in_one_reading_only() -> None:
    made = _plan(3)
    found = [
        one.replace(status=VOID) if one.block == 2 else one for one in records(made, QUERY_CACHE)
    ]
    measured = Measured.of(made, found)
    assert measured.attempted is not None
    assert list(measured.series(0, RATE)) == [1, 3]
    assert list(measured.attempted.series(0, RATE)) == [1, 2, 3]
    assert list(measured.attempted.until(2).series(0, RATE)) == [1, 2]
    assert list(measured.until(1).attempted.series(0, RATE)) == [1]  # type: ignore[union-attr]


def test_what_another_environment_measured_is_no_attempt() -> None:
    made = _plan()
    void = _void(made, range(1, 4), {RATE: 500.0}, f"{ELSEWHERE}kernel 6.1")
    assert _judged(made, void) == _judged(made, [])


def test_comparisons_of_other_cells_are_left_alone() -> None:
    made = replace(_plan(), claims=(CLAIM.replace("16", "4"),))
    assert _judged(made, _void(made, range(1, 4), {RATE: 500.0})) == _judged(made, [])


def test_runs_with_looks_are_read_both_ways() -> None:
    made = plan(CACHE, blocks=6, claims=(CLAIM,))
    found = [one for one in records(made, QUERY_CACHE) if one.block <= 5]  # unfinished
    void = _void(made, range(1, 4), {RATE: 500.0})
    verdicts = [analyse(made, found, void=some).claims[0].verdict for some in ([], void)]
    assert verdicts == ["supported", "undecided"]


def test_p_is_the_larger_one_of_two_that_agree() -> None:
    one, other = LogRatio((0.1, 0.12, 0.11), 1.0), LogRatio((0.1, 0.2, 0.05), 1.0)
    against = LogRatio((-0.1, -0.12, -0.11), 1.0)
    both = Both(one, other, (1.0,))
    assert both.p == other.p > one.p
    assert both.least_sure is other
    assert both.interval(0.95) == other.interval(0.95)
    assert Both(one, against, (1.0,)).p == 1.0
    assert Both(one, against, (1.0,)).interval(0.95) == (
        against.interval(0.95)[0],
        one.interval(0.95)[1],
    )
