"""Void attempts of one side: what is left of it is a selection."""

import pytest
from judging import CACHE, QUERY_CACHE, records
from plans import plan
from scipy import stats

from dbdyno import spec
from dbdyno.analysis import analyse, void_rates
from dbdyno.errors import DynoError
from dbdyno.store.record import VOID, TrialRecord

CLAIM = "transactions_per_s[on] < transactions_per_s[off] at sessions=16"
TEXT = """experiment: demo
question: Which?
targets: {db: {kind: sqlite, isolation: serializable, durability: none}}
workload: {kind: oltp, preset: point_select}
"""


@pytest.mark.parametrize("metric", ["tps", "p95", "errors_per_s", "failed_per_s", "stalled_share"])
def test_outcomes_are_refused_with_place_and_next_step(metric: str) -> None:
    with pytest.raises(DynoError) as caught:
        spec.load(f"{TEXT}require: ['{metric} <= 5']\n")
    assert "about an outcome" in caught.value.what
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (5, 11)
    assert "`claims:`" in (caught.value.fix or "")


def test_surroundings_are_conditions() -> None:
    text = "require: [cpu.steal_percent <= 5, generator.lag_ms_p99 < 1, status.Questions >= 1]\n"
    assert len(spec.load(TEXT + text).require) == 3


@pytest.mark.parametrize(("left", "right"), [((5, 11), (0, 6)), ((3, 9), (1, 7)), ((2, 4), (2, 4))])
def test_the_exact_test_is_scipys(left: tuple[int, int], right: tuple[int, int]) -> None:
    table = [[left[0], left[1] - left[0]], [right[0], right[1] - right[0]]]
    assert void_rates.fisher(left, right) == pytest.approx(stats.fisher_exact(table).pvalue)


@pytest.mark.parametrize(("dropped", "verdict"), [(2, "supported"), (12, "undecided")])
def test_a_claim_says_its_void_attempts_and_is_not_judged_where_they_differ(
    dropped: int, verdict: str
) -> None:
    made = plan(CACHE, blocks=6, claims=(CLAIM,))
    off = next(c.index for c in made.cells if dict(c.levels) == {"cache": "off", "sessions": "16"})
    void = [
        TrialRecord(f"b0{1 + n % 6}-t006", 1 + n % 6, off, VOID, 0.0, {"transactions_per_s": 1.0})
        for n in range(dropped)
    ]
    (claim,) = analyse(made, records(made, QUERY_CACHE), void=void).claims
    assert claim.verdict == verdict
    assert claim.warnings[0].startswith(
        f"0 of 6 attempts of one side were void, {dropped} of {6 + dropped} of the other"
    )
