"""Claims on made-up runs whose truth is known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import CACHE, QUERY_CACHE, checked, judged, records
from plans import plan as make_plan

from dbdyno.analysis.types import (
    NOT_TESTED,
    PEAK,
    PEAKS,
    RATIO,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    VALUE,
    MoreBlocks,
)
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.wording.findings import analyse


def test_verdicts_on_a_clear_run() -> None:
    found = judged(
        "qps[off] / qps[on] >= 2.5 at sessions=16",
        "qps[off] / qps[on] >= 3.5 at sessions=16",
        "qps[off] / qps[on] >= 2.9 at sessions=16",
        "tps[off] > tps[on] at each sessions",
        "p95[on] < p95[off] at sessions=1",
        "peak(qps, sessions)[on] <= 4",
        "peak(qps, sessions)[off] <= 4",
        "qps[cache=on] <= 5000 at sessions=1",
    )
    verdicts = [claim.verdict for claim in found.claims]
    assert verdicts == [
        SUPPORTED,
        REFUTED,
        UNDECIDED,
        REFUTED,
        SUPPORTED,
        SUPPORTED,
        REFUTED,
        SUPPORTED,
    ]
    assert found.judged
    ratio = found.claims[0].parts[0].estimate
    assert ratio is not None
    assert ratio.ratio == pytest.approx(2.9, rel=0.03)  # the block's effect has cancelled
    assert ratio.n == 6
    assert ratio.level > 0.95
    kinds = [claim.parts[0].kind for claim in found.claims]
    assert kinds == [RATIO, RATIO, RATIO, RATIO, RATIO, PEAK, PEAK, VALUE]
    assert "highest at 4 in 6 of 6 blocks" in found.claims[5].why
    each = found.claims[3]
    assert [part.verdict for part in each.parts] == [REFUTED, SUPPORTED, SUPPORTED]
    assert each.why.startswith("1 of 3 comparisons refutes it; at 1 session: 0.9")


def test_an_open_claim_says_what_it_would_take() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=4, claims=("tps[off] > tps[on]",))
    found = checked(plan, records(plan, {("on",): 1000.0, ("off",): 1030.0}, noise=0.03, seed=3))
    part = found.claims[0].parts[0]
    assert part.verdict == UNDECIDED
    assert part.blocks_needed is not None
    assert part.blocks_needed.high is None  # without a true difference none would do
    assert f"takes from {part.blocks_needed.low} more block" in part.why
    assert " to never, depending on how large the difference truly is" in part.why
    assert part.why.startswith("not known: any ratio from 0.9")
    assert "the claim asks for > 1; to decide it takes from " in part.why
    assert "4 blocks can show only ratios above 1." in part.why


def test_an_effect_below_what_matters_is_said_to_be_small() -> None:
    plan = make_plan(
        {"cache": ("on", "off")},
        blocks=6,
        claims=("tps[off] > tps[on]", "tps[off] >= 0.9 * tps[on]"),
    )
    found = checked(plan, records(plan, {("on",): 1000.0, ("off",): 1010.0}, noise=0.001))
    assert [claim.verdict for claim in found.claims] == [SUPPORTED, SUPPORTED]
    assert found.claims[0].parts[0].small
    assert "real but too small to matter" in found.claims[0].why
    assert "real but too small to matter" in found.answer
    assert not found.claims[1].parts[0].small  # it asserts no effect, so none is too small
    assert found.why == ""


@pytest.mark.parametrize("blocks", [1, 2])
def test_fewer_than_three_blocks_are_never_judged(blocks: int) -> None:
    found = judged("tps[off] > tps[on] at sessions=16", blocks=blocks)
    assert found.claims[0].verdict == UNDECIDED
    assert "too few to judge" in found.claims[0].why
    assert not found.judged
    ratio = found.claims[0].parts[0].estimate
    assert ratio is not None
    assert ratio.ratio == pytest.approx(2.9, rel=0.1)
    assert ratio.ci_low is None


def test_a_quick_run_is_never_judged() -> None:
    found = judged("tps[off] > tps[on] at sessions=16", "qps[on] > 1 at sessions=1", quick=True)
    assert {claim.verdict for claim in found.claims} == {UNDECIDED}
    assert not found.judged
    assert "nothing is judged" in found.answer


def test_a_zero_is_not_estimable() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    trials[2] = trials[2].replace(metrics={"transactions_per_s": 0.0})
    found = checked(plan, trials)
    assert found.claims[0].verdict == UNDECIDED
    why = found.claims[0].why
    assert "not estimable: transactions_per_s is 0 in cache=on, block 2" in why
    assert found.comparisons[0:1] == () or found.comparisons[0].metric != "transactions_per_s"


def test_an_outage_is_not_estimable_unless_it_was_in_the_warm_up() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    warm = {"event": "outage", "start_s": -5.0, "end_s": -1.0}
    trials[3] = trials[3].replace(outages=(warm,))
    assert checked(plan, trials).claims[0].verdict == SUPPORTED
    trials[3] = trials[3].replace(outages=(warm | {"end_s": None},))
    found = checked(plan, trials)
    assert found.claims[0].verdict == UNDECIDED
    assert "not estimable: there was an outage in cache=off, block 2" in found.claims[0].why
    assert any("outages in 1 trial" in warning for warning in found.warnings)


def test_an_outage_after_a_fault_of_the_experiment_is_estimable() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    fault = {"do": "kill", "node": "db", "at_s": 2.0, "begun_s": 2.0}
    for lost_s, verdict in ((2.01, SUPPORTED), (1.5, UNDECIDED)):  # before it: an accident
        lost = {"event": "outage", "start_s": lost_s, "end_s": 3.0}
        trials[3] = trials[3].replace(outages=(lost,), faults=(fault,))
        assert checked(plan, trials).claims[0].verdict == verdict


def test_void_trials_are_in_no_mean() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    spoilt = {"transactions_per_s": 0.9 * trials[0].metrics["transactions_per_s"]}
    trials[0] = trials[0].replace(status=VOID, void_reason="temporary tables", metrics=spoilt)
    found = checked(plan, trials)
    part = found.claims[0].parts[0]
    assert part.verdict == SUPPORTED
    assert part.estimate is not None
    assert part.estimate.n == 5
    assert found.cells[0].trials == 5
    assert any("1 trial void" in w and "temporary tables" in w for w in found.warnings)


@pytest.mark.parametrize(("hard", "blocks"), [((), 4), (("cache",), 3)])
def test_hard_contrasts_use_whole_blocks_only(hard: tuple[str, ...], blocks: int) -> None:
    plan = make_plan(CACHE, blocks=4, hard=hard, claims=("tps[off] > tps[on] at sessions=4",))
    trials = records(plan, QUERY_CACHE)
    cut = trials[:-1]  # the last trial of the last block is missing: cache=off, sessions=16
    part = checked(plan, cut).claims[0].parts[0]
    assert part.estimate is not None
    assert part.estimate.n == blocks


def test_a_cell_that_could_not_be_measured_in_a_block_is_not_judged_by_the_others() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    trials[0] = trials[0].replace(status=VOID, metrics={}, void_reason="the server has gone away")
    claim = checked(plan, trials).claims[0]
    assert claim.verdict == UNDECIDED
    assert "not estimable: no attempt to measure cache=on succeeded in block 1" in claim.why


def test_a_metric_that_is_sometimes_absent_says_so() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("p95[off] < p95[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    trials[0] = trials[0].replace(metrics={"transactions_per_s": 5.0})
    claim = checked(plan, trials).claims[0]
    assert claim.verdict == UNDECIDED, "the slow trial is the one without a percentile"
    assert "not estimable: service_ms_p95 is absent in 1 of 6 blocks (too few" in claim.why
    thin, whole = checked(plan, trials).cells
    assert thin.partial["service_ms_p95"].sentence.startswith("of 5 of 6 trials")
    assert whole.warnings == () and not whole.partial
    nowhere = [record.replace(metrics={"transactions_per_s": 5.0}) for record in trials]
    claim = checked(plan, nowhere).claims[0]
    assert claim.verdict == UNDECIDED
    assert "absent in 6 of 6 blocks" in claim.why


def test_a_sampled_metric_that_is_sometimes_absent_leaves_its_block_out() -> None:
    claim = "server_cpu_us_per_op[off] < server_cpu_us_per_op[on]"
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=(claim,))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    name = "server_cpu_us_per_op"
    trials = [
        one.replace(metrics={**one.metrics, name: 1e6 / one.metrics["transactions_per_s"]})
        for one in trials
    ]
    without = {key: value for key, value in trials[0].metrics.items() if key != name}
    trials[0] = trials[0].replace(metrics=without)
    found = checked(plan, trials).claims[0]
    assert found.verdict == SUPPORTED
    assert "absent in 1 of 6 blocks (not measured there)" in found.why


def test_what_this_machine_lacks_is_not_tested() -> None:
    claim = "tps[off] > tps[on] at sessions=16"
    found = judged(claim, untested={claim: "it needs 16 cores, and this machine has 2"})
    assert found.claims[0].verdict == NOT_TESTED
    assert "16 cores" in found.claims[0].why
    assert found.claims[0].parts == ()


def test_peaks_without_both_sides_are_undecided() -> None:
    found = judged("peak(qps, sessions)[on] <= 64", "peak(qps, sessions)[on] > 64")
    assert [claim.verdict for claim in found.claims] == [UNDECIDED, UNDECIDED]
    assert "only levels <= 64 were tested" in found.claims[0].why
    assert "no levels > 64 were tested" in found.claims[1].why


def test_peaks_are_compared_by_the_sign_test() -> None:
    claim = "peak(qps, sessions)[off] > peak(qps, sessions)[on]"
    found = judged(claim)
    part = found.claims[0].parts[0]
    assert (part.kind, part.verdict) == (PEAKS, SUPPORTED)
    assert part.estimate is not None
    assert (part.estimate.ratio, part.estimate.ci_low, part.estimate.ci_high) == (4.0, 4.0, 4.0)
    few = judged(claim, blocks=5).claims[0]
    assert few.verdict == UNDECIDED
    assert few.parts[0].blocks_needed == MoreBlocks(1, None)


def test_a_flat_top_leaves_a_peak_undecided() -> None:
    plan = make_plan({"sessions": ("1", "4", "16")}, blocks=6, claims=("peak(qps, sessions) <= 4",))
    flat = {("1",): 500.0, ("4",): 2000.0, ("16",): 2000.0}
    assert checked(plan, records(plan, flat, noise=0.03)).claims[0].verdict == UNDECIDED


NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1.0]))


@given(st.lists(NUMBERS, min_size=12, max_size=12))
@settings(deadline=None)
def test_strange_numbers_give_strange_but_valid_results(values: list[float]) -> None:
    plan = make_plan(
        {"cache": ("on", "off")},
        blocks=6,
        claims=("tps[off] > 1.5 * tps[on]", "tps[on] <= 5", "errors[on] <= 0"),
    )
    trials = [
        TrialRecord(
            trial.id,
            trial.block,
            trial.cell,
            COMPLETE,
            0.0,
            {"transactions_per_s": value, "errors_per_s": 0.0},
        )
        for trial, value in zip(plan.trials, values, strict=True)
    ]
    found = checked(plan, trials)
    assert found.claims[2].verdict == UNDECIDED  # none was seen in this time


def test_percentiles_in_one_bucket_are_not_told_apart() -> None:
    claims = ("p95[on] > p95[off]", "p95[on] ~= p95[off] within 3%", "p95[on] <= 10")
    plan = make_plan({"cache": ("on", "off")}, claims=claims, blocks=6)
    same = {"service_ms_p95": 10.0, "transactions_per_s": 100.0}
    trials = [TrialRecord(t.id, t.block, t.cell, COMPLETE, 0.0, same) for t in plan.trials]
    found = analyse(plan, trials).claims
    assert [claim.verdict for claim in found] == [UNDECIDED, SUPPORTED, UNDECIDED]
    estimate = found[0].parts[0].estimate
    assert estimate is not None
    assert (estimate.ci_low, estimate.ci_high) == pytest.approx((1 / 1.01, 1.01))
