"""Summaries of made-up runs whose truth is known: the answer, why, and what to beware of."""

import re
from dataclasses import replace
from pathlib import Path

from judging import CACHE, QUERY_CACHE, checked, judged, records
from plans import plan as make_plan

from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import UNDECIDED, Together
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run
from dbdyno.wording.findings import analyse
from dbdyno.wording.headlines.summary_text import metric_words
from fixtures.schemas import valid


def test_the_answer_is_made_of_numbers() -> None:
    found = judged("qps[off] / qps[on] >= 2.5 at sessions=16")
    first, second = found.answer.split(". ", 1)
    assert first.startswith("Cache off executed 2.9")
    assert "as many operations a second as cache on, at 16 sessions (95 % interval 2.8" in first
    assert re.search(r"\): [\d,]+ against [\d,]+$", first)
    assert second.startswith("Over the 3 levels of sessions, the measured ratio runs from 0.9")
    assert second.endswith(" at 16 sessions.")
    assert found.headline_metric == "operations_per_s"


def test_without_claims_the_largest_difference_leads() -> None:
    found = judged()
    assert found.answer.startswith("Cache off committed 2.9")
    assert found.claims == ()
    rows = [row for row in found.comparisons if row.metric == "transactions_per_s"]
    assert len(rows) == 3 + 2 * 2  # off against on at 3 sessions; 4 and 16 against 1, twice
    assert {row.baseline for row in rows} == {"on", "1"}
    assert found.together == Together(14, 1 - 0.05 / 14)  # with those of the 95th percentile
    assert all(row.ratio.level == found.together.level for row in rows)
    assert not any(row.claimed for row in rows)


def test_no_difference_is_said_as_one() -> None:
    plan = make_plan({"cache": ("on", "off")}, blocks=6, claims=("tps[off] > tps[on]",))
    found = checked(plan, records(plan, {("on",): 1000.0, ("off",): 1000.0}, seed=5))
    assert found.answer.startswith(
        "It is not known whether throughput with cache off differs from that with cache on; no"
        " difference above 3 % fits: it was 1.00 times as high (95 % interval 0.98 to 1.02)."
    )
    assert found.answer.endswith("The claim is undecided.")
    plan = replace(plan, claims=())
    found = checked(plan, records(plan, {("on",): 1000.0, ("off",): 1000.0}, seed=5))
    assert "Throughput with cache off is within 3 % of that with cache on: 1.00" in found.answer


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
    assert ranked.endswith("(≈: no significant difference).")
    latency = make_plan(levels, claims=("p95[engine=b] < p95[engine=a] at sessions=8",))
    found = checked(latency, records(latency, truth))
    assert "), a (" in found.answer  # the longest latency is the worst
    order = make_plan({"mode": ("x", "y", "z")}, claims=("status.A[y] > status.A[x]",))
    found = checked(order, records(order, dict.fromkeys([("x",), ("y",), ("z",)], 1.0)))
    assert (
        "From best to worst" not in found.answer
    )  # whether more is better is unknown for a counter


def test_a_level_that_cannot_be_negative_has_no_interval_below_zero() -> None:
    plan = make_plan({"cache": ("on",)}, blocks=3, claims=("retries[cache=on] > 10",))
    wild = [
        trial.replace(metrics={"retries_per_s": rate})
        for trial, rate in zip(records(plan, {("on",): 1.0}), (9.0, 500.0, 30.0), strict=True)
    ]
    found = checked(plan, wild)
    part = found.claims[0].parts[0]
    assert part.estimate is not None
    assert part.estimate.ci_low == 0.0
    assert found.cells[0].metrics["retries_per_s"].ci_low == 0.0
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
    assert checked(plan, idle).why == ""
    assert checked(plan, idle).moved_with == (
        "With cache on, Innodb_data_fsyncs per operation: 1, against 0.01 with cache off."
    )
    cpu = [
        trial.replace(
            metrics={n: v for n, v in trial.metrics.items() if not n.startswith("status.")}
        )
        for trial in idle
    ]
    assert checked(plan, cpu).moved_with == (
        "With cache on, an operation takes 90 µs of server CPU, against 30 with cache off."
    )
    assert checked(plan, records(plan, {("on",): 1000.0, ("off",): 3000.0})).moved_with == ""
    few = make_plan({"cache": ("on", "off")}, blocks=5, claims=("tps[off] > tps[on]",))
    found = checked(few, waiting(few, "waiting: query cache lock"))
    assert (found.why, found.moved_with) == ("", "")


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
    assert found.answer.startswith("Postgres committed ")


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
    alike = "SELECT c FROM t9 WHERE id = 70 AND c = 'x'"  # except for its values
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


def test_counters_explain_only_what_both_sides_count() -> None:
    claims = ("tps[engine=b] > tps[engine=a]",)
    plan = make_plan({"engine": ("a", "b")}, blocks=6, claims=claims)
    trials = [
        trial.replace(
            metrics={**trial.metrics, "status.Handler_read_next": 9e4, "disk.flushes_per_s": 3e3}
            if plan.cells[trial.cell].levels["engine"] == "a"
            else {**trial.metrics, "disk.flushes_per_s": 1.0}
        )
        for trial in records(plan, {("a",): 1000.0, ("b",): 3000.0})
    ]
    assert checked(plan, trials).moved_with.startswith("With a, disk flushes per operation: ")
    grown = make_plan({"sessions": ("1", "8")}, claims=("tps[sessions=8] > tps[sessions=1]",))
    shared = [
        trial.replace(metrics={**trial.metrics, "disk.flushes_per_s": 1000.0})
        for trial in records(grown, {("1",): 100.0, ("8",): 900.0})
    ]
    assert checked(grown, shared).moved_with == ""


def test_what_is_counted_after_a_trial_has_a_noun() -> None:
    lost, unit = metric_words("audit.lost", make_plan(CACHE))
    assert (lost, unit) == ("the number of acknowledged transactions lost in a trial", "")
    assert metric_words("audit.stale_read_max_s", make_plan(CACHE))[0] == "audit.stale_read_max_s"
    assert metric_words("tool.count", make_plan(CACHE)) == ("tool.count", "")
