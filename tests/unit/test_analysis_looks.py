"""Interim looks at claims after each block: what is decided stays so, and when a run ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import plans
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.claims.interim_looks import Looks as LooksOf
from dbdyno.analysis.claims.stopping import decided
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import REFUTED, SUPPORTED, UNDECIDED, ClaimPart
from dbdyno.experiment.types import Looks
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.wording.catalogue import worded
from dbdyno.wording.findings import analyse
from effort import examples

METRIC = "transactions_per_s"
LOOKS = Looks(4, 12)
CLAIM = f"{METRIC}[on] > {METRIC}[off]"
EQUAL = f"{METRIC}[on] ~= {METRIC}[off] within 3%"


def plan_of(
    *claims: str,
    looks: Looks | None = LOOKS,
    factors: Mapping[str, tuple[str, ...]] | None = None,
) -> Plan:
    made = plans.plan(dict(factors) if factors else None, blocks=12, claims=claims or (CLAIM,))
    return replace(made, looks=looks)


def records(
    plan: Plan, value: Callable[[Mapping[str, str], int], float], blocks: int = 12
) -> list[TrialRecord]:
    """Records of the first blocks; `value` of a cell's levels and the block."""
    return [
        TrialRecord(
            trial.id,
            trial.block,
            trial.cell,
            COMPLETE,
            1.0,
            {METRIC: value(plan.cells[trial.cell].levels, trial.block)},
        )
        for trial in plan.trials
        if trial.block <= blocks
    ]


def noisy(
    seed: int, effect: float, noise: float = 0.02
) -> Callable[[Mapping[str, str], int], float]:
    """Throughputs: `on` is faster by `effect`."""
    drawn = np.exp(np.random.default_rng(seed).normal(0, noise, (13, 2)))

    def value(levels: Mapping[str, str], block: int) -> float:
        on = levels["cache"] == "on"
        return float(1000 * drawn[block, int(on)] * (1 + effect if on else 1))

    return value


def parts(plan: Plan, found: Sequence[TrialRecord]) -> tuple[ClaimPart, ...]:
    return worded(verdict.decide(Measured.of(plan, found)), plan)


@settings(max_examples=examples(60))
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.02, 0.04, 0.08]),
    st.sampled_from(
        [CLAIM, EQUAL, f"{METRIC}[on] / {METRIC}[off] <= 1.02", f"{METRIC}[on] >= 1030"]
    ),
    st.integers(5, 12),
)
@pytest.mark.long
def test_what_is_decided_stays_so_and_p_never_rises(
    seed: int, effect: float, claim: str, change: int
) -> None:
    """Even where the difference turns over in the middle."""
    plan, steady, turned = plan_of(claim), noisy(seed, effect), noisy(seed + 1, -effect)
    found = records(
        plan, lambda levels, block: (steady if block < change else turned)(levels, block)
    )
    before, p = UNDECIDED, 1.0
    for block in range(4, 13):
        (part,) = parts(plan, [one for one in found if one.block <= block])
        assert part.estimate is not None
        assert part.estimate.p is not None
        assert part.estimate.p <= p
        assert before in (UNDECIDED, part.verdict)
        low, high = part.estimate.ci_low, part.estimate.ci_high
        assert part.verdict == verdict.read((low, high), part.operator, part.threshold, part.margin)
        assert low is None or high is None or low <= part.estimate.ratio <= high
        before, p = part.verdict, part.estimate.p


def test_a_single_look_judges_as_a_fixed_number_of_blocks() -> None:
    value = noisy(3, 0.02)
    fixed, one = plan_of(looks=None), plan_of(looks=Looks(12, 12))
    (plain,), (looked,) = parts(fixed, records(fixed, value)), parts(one, records(one, value))
    assert plain.estimate is not None
    assert looked.estimate is not None
    assert looked.verdict == plain.verdict
    assert looked.estimate.ci_low == pytest.approx(plain.estimate.ci_low, rel=1e-4)
    assert looked.estimate.p == pytest.approx(plain.estimate.p, rel=1e-2)


def test_intervals_allow_for_the_looks_and_are_wider_the_earlier() -> None:
    plan, fixed, value = plan_of(), plan_of(looks=None), noisy(5, 0.02)
    ratio = []
    for block in (6, 8, 12):
        found = records(plan, value, block)
        trials = tuple(trial for trial in fixed.trials if trial.block <= block)
        over = replace(fixed, blocks=block, trials=trials)
        (looked,), (plain,) = parts(plan, found), parts(over, found)
        widths = []
        for part in (looked, plain):
            assert part.estimate is not None
            assert part.estimate.ci_low is not None
            assert part.estimate.ci_high is not None
            widths.append(part.estimate.ci_high - part.estimate.ci_low)
        ratio.append(widths[0] / widths[1])
    assert ratio[0] > ratio[1] > ratio[2] > 1


def test_nothing_is_decided_before_the_first_look() -> None:
    plan, value = plan_of(), noisy(1, 9.0)
    for block in range(4):
        found = records(plan, value, block)
        assert decided(plan, found) is None
        assert [part.verdict for part in parts(plan, found)] == [UNDECIDED]
    assert "not judged before 4 blocks are whole" in parts(plan, records(plan, value, 3))[0].why
    assert worded(decided(plan, records(plan, value, 4))) == (
        "Decided after 4 of at most 12 blocks; intervals allow for the one look. The run ends here."
    )


def test_a_block_that_is_not_whole_is_not_looked_at() -> None:
    plan, value = plan_of(), noisy(2, 0.03)
    whole = records(plan, value, 6)
    torn = [*whole, records(plan, value, 7)[-1]]
    assert parts(plan, torn) == parts(plan, whole)


def test_a_fixed_number_of_blocks_is_never_cut() -> None:
    plan = plan_of(looks=None)
    assert decided(plan, records(plan, noisy(1, 9.0), 6)) is None


def test_a_run_goes_on_while_one_part_is_open() -> None:
    plan = plan_of(f"{CLAIM} at each disk", factors={"cache": ("on", "off"), "disk": ("a", "b")})
    clear, equal = noisy(1, 0.5), noisy(2, 0.0)
    found = records(
        plan, lambda levels, block: (clear if levels["disk"] == "a" else equal)(levels, block), 8
    )
    assert [part.verdict for part in parts(plan, found)] == [SUPPORTED, UNDECIDED]
    assert decided(plan, found) is None
    said = analyse(plan, found).looking
    assert said is not None
    assert said.sentence == (
        "After 8 of at most 12 blocks 1 comparison is still open; intervals allow for the 5 looks."
    )


def test_what_cannot_be_judged_does_not_hold_up_the_end() -> None:
    plan = plan_of(CLAIM, f"{METRIC}[on] >= 1")
    found = records(plan, noisy(1, 0.5), 5)
    outage = {"start_s": 1.0, "end_s": 2.0}
    spoilt = [
        one.replace(outages=(outage,)) if (one.block, one.cell) == (2, 1) else one for one in found
    ]
    assert [part.verdict for part in parts(plan, spoilt)] == [UNDECIDED, SUPPORTED]
    assert decided(plan, spoilt)
    alone = plan_of()
    assert "no comparison can be judged" in (worded(decided(alone, spoilt)) or "")


def test_a_void_trial_delays_its_parts_and_breaks_nothing() -> None:
    plan, value = plan_of(), noisy(1, 0.5)
    found = [
        one.replace(status=VOID, void_reason="x", metrics={"x": 1.0})
        if one.id == "b02-t001"
        else one
        for one in records(plan, value, 5)
    ]
    four, five = [one for one in found if one.block <= 4], found
    assert decided(plan, four) is None  # three values
    assert "4 at least for a look" in parts(plan, four)[0].why
    (part,) = parts(plan, five)
    assert part.estimate is not None
    assert (part.verdict, part.estimate.n) == (SUPPORTED, 4)


def test_a_budget_that_ends_the_run_leaves_all_to_the_last_look() -> None:
    value = noisy(4, 0.02)
    whole = plan_of()
    found = records(whole, value, 7)
    trials = tuple(trial for trial in whole.trials if trial.block <= 7)
    cut = replace(whole, blocks=7, trials=trials)
    ended = replace(cut, looks=Looks(4, 12, decided_at=7))
    by_budget, by_verdict, going_on = (parts(one, found)[0] for one in (cut, ended, whole))
    assert by_budget.estimate is not None
    assert by_verdict == going_on
    assert by_verdict.estimate is not None
    assert by_budget.estimate.p is not None
    assert by_verdict.estimate.p is not None
    assert by_budget.estimate.p < by_verdict.estimate.p
    early = replace(cut, blocks=3, trials=tuple(t for t in trials if t.block <= 3))
    (part,) = parts(early, records(early, noisy(4, 0.5), 3))
    assert part.verdict == SUPPORTED  # as of three blocks that were all of the plan


def test_peaks_are_judged_over_looks() -> None:
    levels = {"sessions": ("1", "4", "16")}
    plan = plan_of(f"peak({METRIC}, sessions) <= 4", factors=levels)
    rng = np.random.default_rng(1)
    height = {"1": 500.0, "4": 1000.0, "16": 800.0}
    found = records(
        plan, lambda cell, _: height[cell["sessions"]] * float(np.exp(rng.normal(0, 0.02)))
    )
    ends = [
        block for block in range(4, 13) if parts(plan, _first(found, block))[0].verdict == SUPPORTED
    ]
    assert ends
    assert ends == list(range(ends[0], 13))


def test_steps_are_decided_by_their_signs_and_late() -> None:
    """Unanimous signs: 2 / 2^n must come below what a look may spend for itself."""
    plan = plan_of(
        f"peak({METRIC}, sessions)[on] / peak({METRIC}, sessions)[off] >= 2",
        factors={"cache": ("on", "off"), "sessions": ("1", "8")},
    )
    top = {"on": "8", "off": "1"}
    found = records(
        plan, lambda cell, _: 2000.0 if cell["sessions"] == top[cell["cache"]] else 1000.0
    )
    first = next(
        block for block in range(4, 13) if parts(plan, _first(found, block))[0].verdict == SUPPORTED
    )
    assert 8 <= first <= 11


def test_values_that_never_vary_decide_without_a_number_going_wrong() -> None:
    plan = plan_of(CLAIM, EQUAL)
    found = records(plan, lambda levels, _: 1000.0)
    for block in range(4, 13):
        for part in parts(plan, _first(found, block)):
            assert part.estimate is not None
            assert part.verdict == (SUPPORTED if part.operator == "~=" else REFUTED)


def test_many_planned_blocks_leave_the_first_looks_without_an_interval() -> None:
    plan = replace(plan_of(), looks=Looks(4, 100))
    (part,) = parts(plan, records(plan, noisy(1, 0.5), 4))
    assert part.estimate is not None
    assert (part.verdict, part.estimate.ci_low, part.estimate.ci_high) == (UNDECIDED, None, None)
    assert analyse(plan, records(plan, noisy(1, 0.5), 4)).claims[0].why


def test_looks_are_counted_from_the_first() -> None:
    plan = plan_of(looks=Looks(6, 12))
    measured = Measured.of(plan, records(plan, noisy(1, 0.0), 8))
    assert LooksOf(measured).blocks == (6, 7, 8)
    said = analyse(plan, records(plan, noisy(1, 0.5), 8)).looking
    assert said is not None
    assert (said.taken, said.after, said.decided) == (3, 8, True)


def _first(found: Sequence[TrialRecord], block: int) -> list[TrialRecord]:
    return [one for one in found if one.block <= block]
