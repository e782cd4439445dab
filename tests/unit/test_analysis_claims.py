"""Claims on made-up runs whose truth is known."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import plan as make_plan

from dbdyno.analysis import analyse, to_json
from dbdyno.analysis.types import (
    NOT_TESTED,
    PEAK,
    PEAKS,
    RATIO,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    VALUE,
    Findings,
)
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.store.run import Run
from fixtures.schemas import valid

SESSIONS = ("1", "4", "16")
CACHE = {"cache": ("on", "off"), "sessions": SESSIONS}


def records(
    plan: Plan, truth: dict[tuple[str, ...], float], noise: float = 0.01, seed: int = 1, **more: Any
) -> list[TrialRecord]:
    """Trials with throughput `truth[levels]`, times the block's mood, times noise."""
    rng = np.random.default_rng(seed)
    mood = {block: math.exp(rng.normal(0, 0.2)) for block in range(1, plan.blocks + 1)}
    found = []
    for trial in plan.trials:
        levels = tuple(plan.cells[trial.cell].levels.values())
        rate = truth[levels] * mood[trial.block] * math.exp(rng.normal(0, noise))
        metrics = {
            "transactions_per_s": rate,
            "operations_per_s": rate,
            "service_ms_p95": 1e3 / rate,
        }
        found.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics | more))
    return found


QUERY_CACHE = {
    ("on", "1"): 1000.0,
    ("on", "4"): 2500.0,
    ("on", "16"): 1000.0,
    ("off", "1"): 950.0,
    ("off", "4"): 2600.0,
    ("off", "16"): 2900.0,
}


def judged(*claims: str, blocks: int = 6, **changes: Any) -> Findings:
    plan = make_plan(CACHE, blocks=blocks, claims=claims, **changes)
    return checked(plan, records(plan, QUERY_CACHE))


def checked(plan: Plan, trials: list[TrialRecord]) -> Findings:
    """Findings whose JSON fits the schema and holds no number that JSON cannot."""
    findings = analyse(plan, trials)
    value = to_json(findings, plan, {"status": "complete", "versions": {"dbdyno": "0"}})
    valid("result", value)
    assert next(iter(value)) == "schema_version"
    return findings


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
    assert ratio.ratio == pytest.approx(2.9, rel=0.03)  # the block's mood has cancelled
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
    assert f"about {part.blocks_needed} more block" in part.why
    assert part.why.startswith("not known: any ratio from 0.9")
    assert "the claim asks for > 1; about " in part.why
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


def test_void_trials_are_not_used() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    spoilt = {"transactions_per_s": 1.0}
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
    assert any("service_ms_p95 is of 5 of 6 trials" in warning for warning in thin.warnings)
    assert whole.warnings == ()
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
    assert few.parts[0].blocks_needed == 1


def test_a_flat_top_leaves_a_peak_undecided() -> None:
    plan = make_plan({"sessions": ("1", "4", "16")}, blocks=6, claims=("peak(qps, sessions) <= 4",))
    flat = {("1",): 500.0, ("4",): 2000.0, ("16",): 2000.0}
    assert checked(plan, records(plan, flat, noise=0.03)).claims[0].verdict == UNDECIDED


def test_the_answer_is_made_of_numbers() -> None:
    found = judged("qps[off] / qps[on] >= 2.5 at sessions=16")
    first, second = found.answer.split(". ", 1)
    assert first.startswith("Throughput with cache off is 2.9")
    assert "x (" in first
    assert ") that with cache on, at 16 sessions: " in first
    assert first.endswith("operations a second")
    assert second.startswith("Over the 3 levels of sessions the ratio lies between 0.9")
    assert second.endswith("x at 16 sessions.")
    assert found.headline_metric == "operations_per_s"


def test_without_claims_the_largest_difference_leads() -> None:
    found = judged()
    assert found.answer.startswith("Throughput with cache off is 2.9")
    assert found.claims == ()
    rows = [row for row in found.comparisons if row.metric == "transactions_per_s"]
    assert len(rows) == 3 + 2 * 2  # off against on at 3 sessions; 4 and 16 against 1, twice
    assert {row.baseline for row in rows} == {"on", "1"}
    assert all(row.ratio.level == 0.95 for row in rows)


def test_no_difference_is_said_as_one() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    found = checked(plan, records(plan, {("on",): 1000.0, ("off",): 1000.0}, seed=5))
    assert "Throughput with cache off is within 3 % of that with cache on: 1.00x" in found.answer
    assert found.answer.endswith("The claim is undecided.")


def test_what_is_not_known_is_said_before_any_ratio() -> None:
    plan = make_plan(CACHE, blocks=4, claims=("tps[off] > tps[on] at each sessions",))
    found = checked(plan, records(plan, dict.fromkeys(QUERY_CACHE, 900.0), noise=2.0, seed=2))
    first, second = found.answer.split(". ", 1)
    assert first.startswith("It is not known whether throughput with cache off differs from that")
    assert ": anything from " in first
    assert first.endswith("fits the 4 blocks measured")
    assert second == "Of the 3 levels of sessions, none shows a clear difference."
    assert found.claims[0].why.startswith("none of the 3 comparisons is decided; nearest to")


def test_three_engines_are_ranked_with_ties_shown() -> None:
    truth = {
        (engine, sessions): rate * (4 if sessions == "8" else 1)
        for engine, rate in (("a", 300.0), ("b", 1000.0), ("c", 1001.0))
        for sessions in ("1", "8")
    }
    levels = {"engine": ("a", "b", "c"), "sessions": ("1", "8")}
    plan = make_plan(levels, claims=("tps[engine=b] > tps[engine=a] at sessions=8",))
    found = checked(plan, records(plan, truth))
    ranked = found.answer.split(". From best to worst: ")[1]
    assert ranked.startswith("at 8 sessions, ")
    assert ranked.count(" ≈ ") == 2
    assert ranked.count("), a (") == 2
    assert "; at 1 session, " in ranked
    assert ranked.endswith("(≈: cannot be told apart).")
    latency = make_plan(levels, claims=("p95[engine=b] < p95[engine=a] at sessions=8",))
    found = checked(latency, records(latency, truth))
    assert "), a (" in found.answer  # the longest latency is the worst
    order = make_plan({"mode": ("x", "y", "z")}, claims=("status.A[y] > status.A[x]",))
    found = checked(order, records(order, dict.fromkeys([("x",), ("y",), ("z",)], 1.0)))
    assert "From best to worst" not in found.answer  # of a counter nobody knows which way is better


def test_a_level_that_cannot_be_negative_has_no_interval_below_zero() -> None:
    plan = make_plan({"cache": ("on",)}, blocks=3, claims=("tps[cache=on] > 10",))
    wild = [
        trial.replace(metrics={"transactions_per_s": rate})
        for trial, rate in zip(records(plan, {("on",): 1.0}), (9.0, 500.0, 30.0), strict=True)
    ]
    found = checked(plan, wild)
    part = found.claims[0].parts[0]
    assert part.estimate is not None
    assert part.estimate.ci_low == 0.0
    assert found.cells[0].metrics["transactions_per_s"].ci_low == 0.0
    assert part.verdict == UNDECIDED
    assert part.why.startswith("not known: any value from 0 to ")


def test_one_cell_and_nothing_measured() -> None:
    plan = make_plan({"cache": ("on",)}, blocks=3)
    found = checked(plan, records(plan, {("on",): 1234.0}))
    assert found.answer.startswith("Throughput is 1,")
    assert found.comparisons == ()
    nothing = checked(plan, [])
    assert nothing.answer.startswith("Nothing was measured")
    assert "3 of 3 trials are missing" in nothing.warnings[0]


def waiting(plan: Plan, state: str) -> list[TrialRecord]:
    trials = records(plan, {("on",): 1000.0, ("off",): 3000.0})
    stuck = plan.cells[0].groups[0].sessions
    return [
        trial.replace(
            metrics={
                **trial.metrics,
                f"sessions.{state}": stuck * (0.9 if trial.cell == 0 else 0.05),
                "server_cpu_us_per_op": 90.0 if trial.cell == 0 else 30.0,
                "status.Innodb_data_fsyncs": trial.metrics["operations_per_s"]
                * (1.0 if trial.cell == 0 else 0.01),
                "status.Handler_read_key": 7.0 * trial.metrics["operations_per_s"],
            }
        )
        for trial in trials
    ]


def test_why_names_the_wait_then_the_counter_then_the_cpu() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    lock = checked(plan, waiting(plan, "waiting: query cache lock"))
    assert lock.why == (
        "With cache on, 0.9 of 1 session on average wait for “query cache lock”, against 0.05 with"
        " cache off."
    )
    idle = waiting(plan, "idle")
    assert checked(plan, idle).why == (
        "With cache on, Innodb_data_fsyncs per operation: 1, against 0.01 with cache off."
    )
    cpu = [
        trial.replace(
            metrics={n: v for n, v in trial.metrics.items() if not n.startswith("status.")}
        )
        for trial in idle
    ]
    assert checked(plan, cpu).why == (
        "With cache on, an operation takes 90 µs of server CPU, against 30 with cache off."
    )
    assert checked(plan, records(plan, {("on",): 1000.0, ("off",): 3000.0})).why == ""


def test_a_state_never_seen_has_no_sessions() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=4)
    trials = records(plan, {("on",): 1000.0, ("off",): 1000.0})
    counted = [
        trial.replace(
            metrics={
                **trial.metrics,
                "sessions.idle": 1.0,
                **({"sessions.waiting: lock": 4.0} if trial.block == 1 else {}),
            }
        )
        for trial in trials
    ]
    one = checked(plan, counted).cells[0].metrics["sessions.waiting: lock"]
    assert one.values == (4.0, 0.0, 0.0, 0.0)
    assert one.mean == 1.0


def test_defaults_of_two_systems_are_not_a_fair_comparison() -> None:
    import dataclasses

    fair = make_plan({"engine": ("mariadb", "postgres")}, blocks=3)
    truth = {("mariadb",): 1000.0, ("postgres",): 1500.0}
    assert checked(fair, records(fair, truth)).caveat == ""  # one kind: nothing to confuse
    other = dataclasses.replace(
        fair.cells[1],
        targets=(
            dataclasses.replace(fair.cells[1].targets[0], kind="postgres", durability="full"),
        ),
    )
    unfair = dataclasses.replace(fair, cells=(fair.cells[0], other))
    found = checked(unfair, records(unfair, truth))
    assert found.caveat == (
        "This compares mariadb and postgres without fixing durability, isolation and memory: their"
        " defaults differ, so a difference may be the defaults' and not the systems'."
    )
    assert "on postgres" in found.answer


def test_a_plan_that_differs_between_cells_is_flagged() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=3)
    trials = records(plan, {("on",): 1000.0, ("off",): 1000.0})
    same = [
        trial.replace(explain={"workload/point": f"const  rows={trial.cell + 1}"})
        for trial in trials
    ]
    assert not any("EXPLAIN" in warning for warning in checked(plan, same).warnings)
    same[1] = same[1].replace(explain={"workload/point": "ALL rows=100000"})
    assert (
        "the plan of workload/point on mariadb differs between cells (EXPLAIN):"
        " [cache on] and [cache off]"
    ) in checked(plan, same).warnings


def test_a_statement_that_is_written_differently_may_have_another_plan() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=1)
    by_key, by_list = records(plan, {("on",): 1000.0, ("off",): 1000.0})
    by_key = by_key.replace(
        statements={"workload/point": "SELECT c FROM t1 WHERE id = 7 AND c = 'it''s 1'"},
        explain={"workload/point": "const"},
    )
    by_list = by_list.replace(
        statements={"workload/point": "SELECT c FROM t2 WHERE id IN (1, 2)"},
        explain={"workload/point": "range"},
    )
    assert not any("EXPLAIN" in warning for warning in checked(plan, [by_key, by_list]).warnings)
    alike = "SELECT c FROM t9 WHERE id = 70 AND c = 'x'"  # but for its values
    by_range = by_list.replace(statements={"workload/point": alike})
    assert any("EXPLAIN" in warning for warning in checked(plan, [by_key, by_range]).warnings)


def test_warnings_are_counted_not_repeated() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    trials = [
        trial.replace(warnings=(f"generator-bound: {80 + trial.block} %",))
        for trial in records(plan, {("on",): 1000.0, ("off",): 3000.0})
    ]
    found = checked(plan, trials)
    assert found.claims[0].warnings == ("generator-bound: 81 % [12 of 12 trials]",)
    assert found.cells[0].warnings == ("generator-bound: 81 % [6 of 6 trials]",)


def test_a_run_can_be_given_as_it_is(tmp_path: Path) -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=3)
    with Run.create(tmp_path / "run", plan, {"kernel": "6.1"}) as run:
        for record in records(plan, {("on",): 1000.0, ("off",): 3000.0}):
            run.begin(record.id)
            run.complete(record)
        value = to_json(analyse(plan, run.records()), plan, run)
    valid("result", value)
    assert value["run"]["status"] == "running"
    assert value["run"]["environment"] == {"kernel": "6.1"}
    assert value["cells"][1]["metrics"]["transactions_per_s"]["mean"] > 2000


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


def test_counters_explain_only_what_both_sides_count() -> None:
    plan = make_plan({"engine": ("a", "b")}, claims=("tps[engine=b] > tps[engine=a]",))
    trials = [
        trial.replace(
            metrics={**trial.metrics, "status.Handler_read_next": 9e4, "disk.flushes_per_s": 3e3}
            if plan.cells[trial.cell].levels["engine"] == "a"
            else {**trial.metrics, "disk.flushes_per_s": 1.0}
        )
        for trial in records(plan, {("a",): 1000.0, ("b",): 3000.0})
    ]
    assert checked(plan, trials).why.startswith("With a, disk flushes per operation: ")
    grown = make_plan({"sessions": ("1", "8")}, claims=("tps[sessions=8] > tps[sessions=1]",))
    shared = [
        trial.replace(metrics={**trial.metrics, "disk.flushes_per_s": 1000.0})
        for trial in records(grown, {("1",): 100.0, ("8",): 900.0})
    ]
    assert checked(grown, shared).why == ""


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
