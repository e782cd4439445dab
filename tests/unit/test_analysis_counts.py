"""Claims on counts of what must not happen: one trial with any, zeros in all, zeros in one cell."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import checked
from plans import plan as plain

from dbdyno.analysis import single_values
from dbdyno.analysis.claims import verdict
from dbdyno.analysis.claims.counts import AnyCount, TrialShare
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import REFUTED, SUPPORTED, UNDECIDED, ClaimPart, Findings
from dbdyno.experiment.claims import metrics
from dbdyno.plan.types import Plan
from dbdyno.report import layout
from dbdyno.report.sections.verdicts import claims as section
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.wording.findings import analyse

LOST, NONE = "audit.lost", "audit.lost[on] < 1"


def make_plan(*factors: Any, **named: Any) -> Plan:
    """A plan whose cells are audited."""
    made = plain(*factors, **named)
    return replace(made, cells=tuple(replace(cell, audit="commits") for cell in made.cells))


def records(plan: Plan, values: Sequence[Sequence[float]], metric: str = LOST) -> list[TrialRecord]:
    """Trials whose cell c has values[c] by block."""
    return [
        TrialRecord(
            one.id,
            one.block,
            one.cell,
            COMPLETE,
            0.0,
            {
                "transactions_per_s": 9.0,
                "audit.acknowledged": 1000.0,
                metric: values[one.cell][one.block - 1],
            },
            measured_s=60.0,
        )
        for one in plan.trials
    ]


def found(*claims: str, on: Sequence[float], off: Sequence[float] = ()) -> Findings:
    plan = make_plan({"cache": ("on", "off")}, blocks=len(on), claims=claims)
    return checked(plan, records(plan, (on, off or on)))


def part_of(claim: str, on: Sequence[float], off: Sequence[float] = ()) -> ClaimPart:
    (part,) = found(claim, on=on, off=off).claims[0].parts
    return part


@pytest.mark.parametrize("values", [(3,), (0, 2), (0, 0, 1), (5, 9, 7), (0,) * 9 + (1,)])
def test_one_trial_with_any_is_an_answer(values: tuple[float, ...]) -> None:
    for claim, answer in (
        ("audit.lost[on] < 1", REFUTED),
        ("audit.lost[on] <= 0", REFUTED),
        ("audit.lost[on] >= 1", SUPPORTED),
        ("audit.lost[on] > 0", SUPPORTED),
    ):
        part = part_of(claim, values)
        assert (part.verdict, part.kind) == (answer, "any")
        assert part.estimate is not None
        assert (part.estimate.ratio, part.estimate.p) == (max(values), None)
        assert "is enough" in part.why


def test_few_zeros_are_undecided_and_say_what_they_bound() -> None:
    part = part_of(NONE, (0, 0, 0))
    assert part.verdict == UNDECIDED
    assert part.why.startswith("none in 3 trials: up to 63.2 % of such trials may have any")
    assert "of 3,000 acknowledged transactions at most 1 in 1,001 if they come one by one" in (
        part.why
    )
    assert "2 more blocks without any" in part.why
    assert part_of(NONE, (0, 0)).verdict == UNDECIDED  # too few to judge


def test_zeros_support_none_with_the_bound_in_the_verdict() -> None:
    part = part_of(NONE, (0,) * 6)
    assert part.verdict == SUPPORTED
    assert part.why.startswith("none in 6 trials: at most 39.3 % of such trials have any")
    assert "1 in 2,003" in part.why
    assert part_of(NONE, (0,) * 4).verdict == UNDECIDED  # 6.25 %


def test_zeros_never_refute_that_there_is_some_and_cost_the_others_nothing() -> None:
    part = part_of("audit.lost[on] >= 1", (0,) * 20)
    assert part.verdict == UNDECIDED
    assert "up to 13.9 % of such trials may have any" in part.why
    assert "no number of trials without any shows that there are none" in part.why
    three = ("audit.lost[on] >= 1", "audit.lost[off] >= 1", NONE)
    assert found(*three, on=(0,) * 5, off=(0,) * 5).claims[2].verdict == SUPPORTED


def test_several_comparisons_share_one_budget_and_the_claim_says_the_bound() -> None:
    text = "audit.lost < 1 at each cache"
    assert found(text, on=(0,) * 5, off=(0,) * 5).claims[0].verdict == UNDECIDED  # 3.1 % of 2.5 %
    claim = found(text, on=(0,) * 6, off=(0,) * 6).claims[0]
    assert claim.verdict == SUPPORTED
    assert claim.why.startswith("none in 6 trials: at most 45.9 % of such trials have any")
    both = found("audit.lost[on] < 1 and audit.lost[off] >= 1", on=(0,) * 6, off=(0, 1) * 3)
    assert both.claims[0].why.startswith(
        "both comparisons support it; audit.lost[on]: none in 6 trials: at most 39.3 %"
    )
    assert found(text, on=(0,) * 6, off=(0, 0, 0, 0, 0, 4)).claims[0].verdict == REFUTED


@pytest.mark.parametrize("n", range(3, 12))
def test_none_is_supported_wrongly_at_most_at_the_level_of_all_claims(n: int) -> None:
    """Three cells, in each of which half of the trials lose something: all patterns of cells that
    happened to lose nothing, with their chances."""
    levels = ("a", "b", "c")
    plan = make_plan({"cache": levels}, blocks=n, claims=("audit.lost < 1 at each cache",))
    wrong, seen = 0.0, 0
    for lucky in itertools.product((True, False), repeat=3):
        values = [(0.0,) * n if one else (0.0,) * (n - 1) + (7.0,) for one in lucky]
        parts = verdict.decide(Measured.of(plan, records(plan, values)))
        chance = 1.0
        for one in lucky:
            chance *= 0.5**n if one else 1 - 0.5**n
        assert [part.verdict == REFUTED for part in parts] == [not one for one in lucky]
        if any(part.verdict == SUPPORTED for part in parts):
            wrong, seen = wrong + chance, seen + 1
    assert wrong <= 0.05
    assert (seen > 0) == (
        n >= 6
    )  # also of one: those that are certain leave it no more than a third


def test_what_never_happens_is_never_refuted() -> None:
    for n in range(1, 12):
        assert part_of(NONE, (0,) * n).verdict != REFUTED


def test_a_limit_is_one_for_each_trial() -> None:
    part = part_of("audit.lost[on] < 100", (0, 3, 2, 4, 0, 12))
    assert (part.verdict, part.kind) == (SUPPORTED, "any")
    assert part.why == (
        "< 100 in all of 6 trials, 12 in the worst: at most 39.3 % of such trials do not meet it"
        " (confidence 95 %)"
    )
    over = part_of("audit.lost[on] < 100", (0, 365, 2))
    assert over.verdict == REFUTED
    assert over.why == "not < 100 in 1 of 3 trials, 365 in the worst: one is enough"
    few = part_of("audit.lost[on] <= 12", (0, 12, 3))
    assert few.verdict == UNDECIDED
    assert "2 more blocks that meet it" in few.why
    both = found("audit.lost[on] < 1", "audit.lost[on] < 100", on=(0, 5, 0, 0, 0, 0, 0))
    assert [claim.verdict for claim in both.claims] == [REFUTED, SUPPORTED]


def test_tables_have_no_interval_of_a_mean_of_bursts() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=4)
    measured = Measured.of(plan, records(plan, ((5.0, 365.0, 0.0, 30.0), (0.0,) * 4)))
    cell = single_values.estimate(measured, 0, LOST)
    assert (cell.mean, cell.ci_low, cell.ci_high) == (100.0, None, None)
    assert cell.values == (5.0, 365.0, 0.0, 30.0)


def test_at_least_so_many_asks_for_the_mean() -> None:
    assert part_of("audit.lost[on] >= 10", (12, 0, 0)).kind == "value"
    assert part_of("audit.lost[on] >= 10", (5000.0, 5100.0, 4900.0, 5050.0)).verdict == SUPPORTED


def test_which_claims_ask_whether_there_is_any() -> None:
    for operator, threshold in (("<", 1), ("<=", 0), (">=", 1), (">", 0), ("<", 0.5), ("<=", 0.9)):
        assert metrics.asks_any(LOST, operator, threshold)
        assert not metrics.asks_any("transactions_per_s", operator, threshold)
    for operator, threshold in (("<", 100), ("<=", 7)):  # a limit
        assert metrics.asks_any(LOST, operator, threshold)
    for operator, threshold in ((">=", 2), (">=", 0), (">", 1), ("<", 0), ("~=", 0.5)):
        assert not metrics.asks_any(LOST, operator, threshold)


def test_which_metrics_are_counts() -> None:
    counts = {one.name for one in metrics.METRICS if metrics.is_count(one.name)}
    assert {LOST, "audit.violations", "routing.misrouted", "routing.stale_reads"} <= counts
    assert counts.isdisjoint(
        {"audit.acknowledged", "audit.judged", "audit.stale_read_max_s", "routing.stale_ms_max"}
    )
    assert counts.isdisjoint({"errors_per_s", "outage_s", "routing.statements", "rpo_s"})


def test_a_loss_counts_in_an_unfinished_run_and_at_the_first_block() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=8, claims=(NONE,))
    every = records(plan, ((1.0,) * 8, (0.0,) * 8))
    early = [one for one in every if one.block == 1]
    assert analyse(plan, early).claims[0].verdict == REFUTED
    none = [one.replace(metrics={**one.metrics, LOST: 0.0}) for one in every if one.block <= 5]
    assert analyse(plan, none).claims[0].verdict == SUPPORTED  # looks at zeros cost nothing
    few = [one for one in none if one.block <= 4]
    assert analyse(plan, few).claims[0].verdict == UNDECIDED


def test_a_loss_in_a_void_attempt_has_happened_too() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=(NONE,))
    kept = records(plan, ((0.0,) * 6, (0.0,) * 6))
    first = kept[0]
    void = first.replace(status=VOID, metrics={**first.metrics, LOST: 2.0})
    assert analyse(plan, kept, void=[void]).claims[0].verdict == REFUTED


def test_a_quick_run_is_not_judged() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=1, claims=(NONE,), quick=True)
    assert analyse(plan, records(plan, ((3.0,), (0.0,)))).claims[0].verdict == UNDECIDED


MORE = "audit.lost[on] > audit.lost[off]"


def test_counts_with_zeros_are_compared_by_trials() -> None:
    part = part_of(MORE, (4, 700, 9, 31, 2, 5), (0,) * 6)
    assert (part.verdict, part.kind) == (SUPPORTED, "share")
    assert part.left == "trials in which audit.lost[on] > audit.lost[off]"
    assert part.why.startswith("it holds in 6 of 6 trials, which is more than half of them")
    few = part_of(MORE, (4, 700, 9), (0,) * 3)
    assert few.verdict == UNDECIDED
    assert "3 more blocks that go as most of these did would decide it" in few.why


def test_equal_zeros_hold_where_the_comparison_does() -> None:
    assert part_of(MORE, (0,) * 6, (0,) * 6).verdict == REFUTED
    assert part_of("audit.lost[on] <= audit.lost[off]", (0,) * 6, (0,) * 6).verdict == SUPPORTED
    factor = part_of("audit.lost[on] >= 10 * audit.lost[off]", (40, 50, 60, 70, 80, 90), (0, 1) * 3)
    assert factor.verdict == SUPPORTED
    assert factor.left == "trials in which audit.lost[on] >= 10 * audit.lost[off]"


def test_counts_above_zero_keep_their_ratio_and_equality_has_none() -> None:
    assert part_of(MORE, (4, 7, 9), (1, 2, 3)).kind == "ratio"
    equal = part_of("audit.lost[on] ~= audit.lost[off] within 5%", (4, 7, 9), (0, 2, 3))
    assert equal.estimate is None
    assert "is 0 in" in equal.why


@given(st.integers(0, 30), st.integers(1, 30), st.floats(0.001, 0.2))
def test_interval_and_p_of_a_share_agree(hits: int, n: int, alpha: float) -> None:
    one = TrialShare(min(hits, n), n)
    low, high = one.interval(1 - alpha)
    assert low is not None and high is not None
    if abs(one.p - alpha) > 1e-9:
        assert (low <= 0.5 <= high) == (one.p > alpha)


@given(st.integers(1, 40), st.floats(1e-6, 0.2))
def test_interval_and_p_of_zeros_agree(n: int, alpha: float) -> None:
    one = AnyCount((0.0,) * n, 1.0)
    if abs(one.p - alpha) > 1e-9:
        assert (one.interval(1 - alpha) == (0.0, 0.0)) == (one.p < alpha)
        more = one.blocks_needed(alpha)
        assert AnyCount((0.0,) * (n + more), 1.0).p <= alpha * (1 + 1e-9)


def views(findings: Findings, plan: Plan) -> list[section.ClaimView]:
    return section.views(plan, findings, layout.choose(plan, findings))


def test_the_report_shows_counts_as_counts() -> None:
    claims = (NONE, "audit.lost[off] >= 1", MORE)
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=claims)
    findings = checked(plan, records(plan, ((0.0,) * 6, (0.0, 3.0, 0.0, 12.0, 0.0, 1.0))))
    shown: list[Any] = [view.parts[0] for view in views(findings, plan)]
    assert [one.ratio for one in shown] == [
        "none in 6 trials",
        "12 in the worst of 6 trials",
        "0 of 6 trials",
    ]
    assert [one.interval for one in shown] == ["", "", ""]
    assert shown[0].words == "none in 6 trials, against < 1"
    assert shown[2].words == "0 of 6 trials, against more than 50 %"
