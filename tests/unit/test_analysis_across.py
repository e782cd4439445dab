"""Runs side by side: what is refused, listed, judged, and how often it errs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import plans
import pytest
from apart import NORMAL, P95, TPS, past, run
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs import comparability, result
from dbdyno.analysis.between_runs.judging import ALPHA, a_month, budget
from dbdyno.analysis.between_runs.level import apart
from dbdyno.analysis.between_runs.level import past as level_of
from dbdyno.analysis.between_runs.run_summary import Reduced
from dbdyno.analysis.between_runs.types import BETTER, NOT_CLEAR, SUSPECTED, WORSE
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Setup
from dbdyno.plan.types import Imported, Plan
from dbdyno.report.between_runs.comparison import compared_text
from dbdyno.store.record import TrialRecord
from dbdyno.wording import runs as worded_runs
from dbdyno.wording.catalogue import worded
from fixtures.printed import printed
from fixtures.schemas import valid


def test_two_runs_alone_give_ratios_marked_unblocked_and_no_verdict() -> None:
    compared = worded_runs.compare(run(1), run(2, 1.08))
    assert [(row.metric, row.cells) for row in compared.rows] == [
        *((TPS, 2), (TPS, 1), (TPS, 1)),
        *((P95, 2), (P95, 1), (P95, 1)),
    ]
    assert [round(row.ratio or 0, 3) for row in compared.rows] == [*[1.08] * 3, *[0.926] * 3]
    assert {row.verdict for row in compared.rows} == {""}
    assert "not one experiment" in compared.unjudged
    shown = printed(compared_text(compared, plans.plan()))
    assert (
        "B is 1.08 times as fast as A (mean over 2 cells; unblocked; spread between runs not known)"
        in shown
    )
    assert "No verdict" in shown
    assert valid("compare", result.compared_json(compared))["judged"] is False


def test_claims_stand_with_the_verdicts_of_both_runs() -> None:
    claim, equal, new = "tps[off] > tps[on]", "tps[off] ~= tps[on] within 3%", "tps[on] > 0"
    before = replace(plans.plan(blocks=4, claims=(claim, equal)), claim_words={claim: "Off <wins>"})
    now = replace(before, claims=(claim, equal, new))
    a, b = ({"on": 1000.0, "off": off} for off in (2000.0, 500.0))
    claims = worded_runs.claims(measured(before, a), measured(now, b))
    compared = replace(worded_runs.compare(run(1), run(2)), claims=claims)
    shown = " ".join(printed(compared_text(compared, now)).split())
    assert f"Supported in A, refuted in B: Off <wins> ({claim})" in shown
    assert f"Refuted in both: {equal}" in shown
    assert f"Supported in B: {new}" in shown
    assert [(one["a"], one["b"]) for one in result.compared_json(compared)["claims"]] == [
        ("supported", "refuted"),
        ("refuted", "refuted"),
        (None, "supported"),
    ]
    valid("compare", result.compared_json(compared))


def measured(plan: Plan, tps: dict[str, float]) -> Measured:
    """What a run measured whose cells have this throughput, with a little noise by block."""
    rng = np.random.default_rng(1)
    return Measured.of(
        plan,
        [
            TrialRecord(
                id=trial.id,
                block=trial.block,
                cell=trial.cell,
                status="complete",
                started_unix_s=0.0,
                metrics={
                    TPS: tps[plan.cells[trial.cell].levels["cache"]] * rng.lognormal(sigma=0.01)
                },
                outages=(),
                targets={},
            )
            for trial in plan.trials
        ],
    )


def test_what_may_change_is_listed_and_never_refused() -> None:
    settings_changed = plans.plan()
    cells = tuple(
        replace(cell, targets=(replace(cell.targets[0], config={"a": 2}),))
        for cell in settings_changed.cells
    )
    later = run(
        2,
        plan=replace(settings_changed, cells=cells, seed=7, blocks=3, claims=(), question="?"),
        environment={"kernel": "6.8"},
        version="11.8",
    )
    compared = worded_runs.compare(run(1), later)
    assert compared.changed == (
        "db.a: 1 -> 2",
        "db.b: null -> not set",
        "db.version: 10.11 -> 11.8",
        "kernel: 6.1 -> 6.8",
    )
    assert len(compared.rows) == 6 and not compared.left_out


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"duration_s": 60.0}, "duration_s: 30.0 -> 60.0"),
        ({"warmup_s": 1.0}, "warmup_s: 10.0 -> 1.0"),
        ({"sessions": 2}, "groups.workload.sessions: 1 -> 2"),
        ({"options": {"preset": "point_select", "rows": 7}}, "groups.workload.options.rows"),
        ({"durability": "none"}, 'targets.db.durability: null -> "none"'),
        ({"isolation": "serializable"}, "targets.db.isolation"),
    ],
)
def test_what_was_asked_must_be_the_same(changed: dict[str, Any], named: str) -> None:
    plan = plans.plan()
    cells = []
    for cell in plan.cells:
        of_cell = {k: v for k, v in changed.items() if k in ("duration_s", "warmup_s")}
        of_group = {k: v for k, v in changed.items() if k in ("sessions", "options")}
        of_target = {k: v for k, v in changed.items() if k in ("durability", "isolation")}
        groups = (replace(cell.groups[0], **of_group),)
        targets = (replace(cell.targets[0], **of_target),)
        cells.append(replace(cell, groups=groups, targets=targets, **of_cell))
    with pytest.raises(DynoError, match="did not measure the same thing") as refused:
        worded_runs.compare(run(1), run(2, plan=replace(plan, cells=tuple(cells))))
    assert named in refused.value.cause


def test_cells_without_counterpart_are_listed_and_the_others_compared() -> None:
    wide = plans.plan({"cache": ("on", "off", "huge")})
    compared = worded_runs.compare(run(1), run(2, plan=wide))
    assert {one.what: one.why for one in compared.left_out} == {"cache=huge": "only in r2"}
    assert len(compared.rows) == 6
    reverse = worded_runs.compare(run(1, plan=wide), run(2))
    assert reverse.left_out[0].why == "only in r1"


def test_the_order_of_factors_does_not_matter() -> None:
    one = plans.plan({"a": ("1", "2"), "b": ("x", "y")})
    other = plans.plan({"b": ("x", "y"), "a": ("1", "2")})
    assert comparability.fingerprint(one) == comparability.fingerprint(other)
    assert len(worded_runs.compare(run(1, plan=one), run(2, plan=other)).rows) == 10


def test_another_machine_is_refused_unless_asked_for_and_then_not_judged() -> None:
    other = run(8, environment={"cpu_model": "Another", "cores": 4})
    with pytest.raises(DynoError, match="cores: 8 -> 4; cpu_model: Example -> Another"):
        worded_runs.compare(run(1), other)
    compared = worded_runs.compare(past()[-1], other, past(), anyway=True)
    assert not compared.judged and "another one" in compared.unjudged
    assert any("another machine" in warning for warning in compared.warnings)


def test_a_little_other_memory_is_the_same_machine() -> None:
    worded_runs.compare(run(1), run(2, environment={"memory_bytes": int((16 << 30) * 0.99)}))
    with pytest.raises(DynoError, match="memory_bytes"):
        worded_runs.compare(run(1), run(2, environment={"memory_bytes": 8 << 30}))


def test_another_kind_of_system_needs_all_words_fixed() -> None:
    fixed = {"durability": "full", "isolation": "read_committed", "memory_bytes": 1 << 30}

    def of(kind: str, **words: Any) -> Plan:
        plan = plans.plan(kind=kind)
        cells = tuple(
            replace(cell, targets=(replace(cell.targets[0], **words),)) for cell in plan.cells
        )
        return replace(plan, cells=cells)

    with pytest.raises(DynoError) as refused:
        worded_runs.compare(run(1, plan=of("mariadb")), run(2, plan=of("postgres")))
    assert "durability, isolation and memory_bytes left to their defaults" in refused.value.cause
    compared = worded_runs.compare(
        run(1, plan=of("mariadb", **fixed)), run(2, plan=of("postgres", **fixed))
    )
    assert "db.kind: mariadb -> postgres" in compared.changed


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (run(1), run(1), "the same run"),
        (run(1, plan=plans.plan(quick=True)), run(2), "quick"),
        (run(1), run(2, blocks_done=0), "no complete block"),
        (
            run(1),
            run(2, plan=replace(plans.plan(), imported=Imported(("sysbench",), False))),
            "another tool",
        ),
        (run(1, metrics={"x": 1.0}), run(2, metrics={"x": 1.0}), "no metric in common"),
    ],
)
def test_what_says_nothing_is_refused(a: Reduced, b: Reduced, why: str) -> None:
    with pytest.raises(DynoError, match=why):
        worded_runs.compare(a, b)


def test_zeros_and_outages_have_no_ratio_and_say_so() -> None:
    compared = worded_runs.compare(run(1), run(2, metrics={TPS: 0.0, P95: 1.0}))
    assert [row.ratio for row in compared.rows[:2]] == [None, None]
    assert "B: transactions_per_s is 0 in block 1" in compared.rows[0].problem
    out = worded_runs.compare(run(1, outages=[{"start_s": 1.0, "end_s": 2.0}]), run(2))
    assert all("there was an outage" in row.problem for row in out.rows)
    valid("compare", result.compared_json(out))
    assert "not estimable" in printed(compared_text(out, plans.plan()))


def test_only_complete_blocks_count() -> None:
    plan = plans.plan(blocks=6)
    cut = run(2, plan=plan, blocks_done=2)
    assert cut.blocks == 2 and worded(cut.short) == "only 2 of 6 blocks complete"
    compared = worded_runs.compare(run(1, plan=plan), cut)
    assert any("only 2 of 6" in warning for warning in compared.warnings)


def test_the_setup_counts_by_what_the_files_held() -> None:
    def of(path: str, content: str) -> Plan:
        plan = plans.plan()
        setup = Setup(dump=path, hashes={path: content})
        cells = tuple(
            replace(cell, targets=(replace(cell.targets[0], setup=setup),)) for cell in plan.cells
        )
        return replace(plan, cells=cells)

    worded_runs.compare(run(1, plan=of("/a.sql", "x")), run(2, plan=of("/b.sql", "x")))
    with pytest.raises(DynoError, match="same thing"):
        worded_runs.compare(run(1, plan=of("/a.sql", "x")), run(2, plan=of("/a.sql", "y")))


def test_a_setup_whose_files_are_not_known_counts_by_their_names() -> None:
    plan = plans.plan()
    setup = Setup(dump="path-1", template="path-2", sql=("path-3",))
    cells = tuple(
        replace(cell, targets=(replace(cell.targets[0], setup=setup),)) for cell in plan.cells
    )
    unknown = replace(plan, cells=cells)
    worded_runs.compare(run(1, plan=unknown), run(2, plan=unknown))


def test_metrics_can_be_chosen_and_a_wrong_name_is_an_error() -> None:
    asked = ["tps"]
    compared = worded_runs.compare(run(1, asked_for=asked), run(2, asked_for=asked))
    assert {row.metric for row in compared.rows} == {TPS}
    with pytest.raises(DynoError, match="no metric"):
        run(1, asked_for=["speed"])


# -- with a history


def test_a_slower_run_is_suspected_and_a_second_one_confirms_it() -> None:
    history = past()
    first, second = run(9, 0.8), run(10, 0.81)
    compared = worded_runs.compare(history[-1], first, history)
    assert {row.verdict for row in compared.rows} == {SUSPECTED}
    assert len(compared.suspected) == 6 and not compared.regressions
    assert compared.before == tuple(f"r{day}" for day in range(1, 8))
    shown = printed(compared_text(compared, plans.plan()))
    assert "Suspected in 6 of 6 rows, by the 7 runs before B (r1 to r7)" in shown
    assert valid("compare", result.compared_json(compared))["suspected"] == 6
    again = worded_runs.compare(first, second, [*history, first])
    assert {row.verdict for row in again.rows} == {WORSE} and len(again.regressions) == 6
    assert valid("compare", result.compared_json(again))["regressions"] == 6
    recovered = worded_runs.compare(first, run(10, 1.0), [*history, first])
    assert {row.verdict for row in recovered.rows} == {NOT_CLEAR}


def test_a_past_outlier_hides_no_regression() -> None:
    levels = [1.0, 1.02, 0.8, 1.01, 0.99, 1.0]
    compared = worded_runs.judge(run(9, 0.8), past(levels), matters=0.05)
    assert compared and len(compared.suspected) == 6
    last = worded_runs.judge(run(9, 0.8), past([*levels[:2], *levels[3:], 0.8]), matters=0.05)
    assert last and len(last.regressions) == 6, "the second one of two"


def test_a_loss_that_could_not_have_been_seen_does_not_pass() -> None:
    noisy = past([1.0, 1.1, 0.92, 1.05, 0.93, 1.08, 0.96])
    compared = worded_runs.judge(run(9), noisy, matters=0.05)
    assert compared and not compared.suspected
    assert "a change of 5 % would have been missed in 6 of 6 rows" in worded_runs.failing(compared)
    wide = worded_runs.judge(run(9), noisy, matters=2.0)
    assert wide and not worded_runs.failing(wide)


def test_a_creep_is_seen_against_the_reference_and_not_against_the_last_runs() -> None:
    noise = np.random.default_rng(3).normal(scale=0.015, size=24)
    levels = [math.exp(noise[day] - 0.01 * max(0, day - 6)) for day in range(24)]
    *earlier, now = [run(day, level) for day, level in enumerate(levels, start=1)]
    compared = worded_runs.judge(now, earlier, matters=0.03)
    assert compared and compared.regressions
    for row in compared.regressions:
        assert row.estimate and row.reference
        assert abs(row.reference.ratio - 1) > abs(row.estimate.ratio - 1)
    named = worded_runs.judge(now, earlier, matters=0.03, reference=[earlier[-2]])
    assert named and named.reference == ("r22",) and not named.regressions


def test_a_reference_of_another_plan_is_refused() -> None:
    other = run(3, plan=longer())
    with pytest.raises(DynoError, match="r3 is no reference for r9: it is not of the same plan"):
        worded_runs.judge(run(9), past(), reference=[other])


def longer() -> Plan:
    plan = plans.plan()
    return replace(plan, cells=tuple(replace(cell, duration_s=60.0) for cell in plan.cells))


def test_the_level_is_cut_where_it_changed() -> None:
    rng = np.random.default_rng(5)
    logs = [*rng.normal(scale=0.01, size=12), *rng.normal(-0.2, 0.01, size=12)]
    known = level_of(logs, 0.05, 0.03)
    assert [len(one) for one in known.stretches] == [12, 12]
    shift = known.last(-0.2)
    assert shift and abs(shift.difference) < 0.02 and shift.error < 0.02
    assert known.reference("higher") == pytest.approx(tuple(logs[:5]))


def test_the_error_budget_shrinks_as_a_history_grows() -> None:
    assert budget(5) == budget(6) == ALPHA
    assert budget(60) == pytest.approx(ALPHA / 10)
    assert a_month(60) == pytest.approx((0.075, 0.0375))


def test_what_stands_apart_is_told_by_the_spread_of_all() -> None:
    assert apart([1.0, 1.01, 0.99, 0.8, 1.0, 1.005]) == [False] * 3 + [True] + [False] * 2
    assert not any(apart([1.0] * 6))


def test_an_equal_run_is_not_clear_and_a_faster_one_better() -> None:
    history = past()
    same = worded_runs.judge(run(9, 1.01), history)
    faster = worded_runs.judge(run(9, 1.3), history)
    assert same and {row.verdict for row in same.rows} == {NOT_CLEAR}
    assert faster and {row.verdict for row in faster.rows} == {BETTER}
    assert not faster.regressions and same.a == "r7"


def test_a_clear_but_small_loss_is_no_regression() -> None:
    history = past([1.0, 1.0001, 0.9999, 1.0001, 1.0, 0.9999])
    slower = run(9, 0.98)
    for matters, regressions in ((0.03, 0), (0.01, 6)):
        compared = worded_runs.compare(history[-1], slower, history, matters=matters)
        assert {row.verdict for row in compared.rows} == {SUSPECTED}
        assert len(compared.suspected) == regressions


def test_what_moves_all_of_many_cells_is_seen() -> None:
    plan = plans.plan({"cache": tuple(f"c{number}" for number in range(20))})
    noise = np.random.default_rng(1).normal(scale=0.02, size=7)
    history = [run(day, float(np.exp(noise[day])), plan=plan) for day in range(6)]
    compared = worded_runs.judge(run(9, 0.88 * float(np.exp(noise[5])), plan=plan), history)
    assert compared
    verdicts = {(row.cells, row.verdict) for row in compared.rows}
    assert verdicts == {(20, SUSPECTED), (1, NOT_CLEAR)}
    assert {round(row.estimate.level, 4) for row in compared.rows if row.estimate} == {
        0.9875,  # two metrics share one half of the budget, their cells the other
        round(1 - 0.025 / 40, 4),
    }


def test_rows_over_all_cells_leave_out_those_that_some_run_lacks() -> None:
    plan = plans.plan({"cache": ("a", "b", "c")})
    history = [run(day, level, plan=plan) for day, level in enumerate(NORMAL)]
    hurt = {key: dict(values) for key, values in history[2].values.items()}
    cell = (("cache", "b"),)
    hurt[cell] = {name: replace(value, problem="hurt") for name, value in hurt[cell].items()}
    history[2] = replace(history[2], values=hurt)
    compared = worded_runs.judge(run(9, plan=plan), history)
    assert compared and [row.cells for row in compared.rows] == [2, 1, 1, 1, 2, 1, 1, 1]
    assert [bool(row.estimate) for row in compared.rows[:4]] == [True, True, False, True]


def test_four_earlier_runs_are_too_few() -> None:
    compared = worded_runs.judge(run(9, 0.5), past(NORMAL[:4]))
    assert compared and not compared.judged
    assert "4 earlier runs of the same plan" in worded_runs.failing(compared)
    five = worded_runs.judge(run(9, 0.5), past(NORMAL[:5]))
    assert five and five.judged


def test_only_runs_of_the_plan_on_the_machine_before_b_count_each_once() -> None:
    history = past()
    copy = replace(history[0], name="a copy")
    later = run(20, 0.1)
    other_plan = run(8, plan=plans.plan({"cache": ("on",)}))
    elsewhere = run(8, environment={"cores": 2})
    cut = run(8, plan=plans.plan(blocks=3), blocks_done=1)
    compared = worded_runs.compare(
        history[-1], run(9), [*history, copy, later, other_plan, elsewhere, cut]
    )
    assert compared.before == tuple(f"r{day}" for day in range(1, 8))
    assert sorted(one.why for one in compared.left_out) == [
        "another machine: cores: 2 -> 8",
        "only 1 of 3 blocks complete",
    ]


def test_a_that_is_not_older_is_no_base() -> None:
    history = past()
    compared = worded_runs.compare(run(30), run(9), history)
    assert "r30 is not older than r9" in compared.unjudged


def test_a_run_measured_under_two_kernels_is_not_judged() -> None:
    mixed = run(9, sessions=[{"kernel": "6.1"}, {"kernel": "6.8"}])
    compared = worded_runs.compare(past()[-1], mixed, past())
    assert "kernel: 6.1 -> 6.8" in compared.unjudged


def test_an_outage_in_the_history_leaves_the_spread_unknown() -> None:
    history = [*past(), run(8, outages=[{"start_s": 0.0, "end_s": None}])]
    compared = worded_runs.compare(history[0], run(9), history)
    assert not compared.judged and "take that run out" in compared.unjudged
    assert worded_runs.failing(compared)


def test_identical_earlier_runs_leave_the_spread_unknown() -> None:
    compared = worded_runs.judge(run(9, 1.1), past([1.0] * 6))
    assert compared and "alike to the last digit" in compared.unjudged


def test_no_earlier_run_at_all_is_said() -> None:
    assert worded_runs.judge(run(1), []) is None
    assert between_runs.predecessors(run(1), []) == []


# -- the interval


def test_the_interval_stands_on_recursive_residuals() -> None:
    # Residuals of 0, 1, 0, 2: 1 / sqrt(2), -0.5 / sqrt(1.5), (5 / 3) / sqrt(4 / 3).
    known = level_of([0.0, 1.0, 0.0, 2.0], 0.05, 0.0)
    shift = known.last(1.0)
    assert shift and shift.freedom == 3
    squares = 1 / 2 + 0.25 / 1.5 + (25 / 9) / (4 / 3)
    assert shift.error == pytest.approx(math.sqrt(squares / 3) * math.sqrt(4 / 3))
    low, high = shift.interval(0.95)
    assert low is not None and high is not None and shift.p == 1.0
    assert math.log(high) == pytest.approx(3.1824463 * shift.error)
    assert math.log(low) == pytest.approx(-math.log(high))


DRIFTS = [0.6, *(pytest.param(drift, marks=pytest.mark.long) for drift in (0.0, 0.9))]


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("runs", [6, pytest.param(12, marks=pytest.mark.long)])
def test_an_equal_run_is_called_so(drift: float, runs: int) -> None:
    rng = np.random.default_rng([int(drift * 10), runs])
    wrong = 0
    for _ in range(500):
        levels = rng.normal(size=runs + 1)
        for i in range(1, runs + 1):
            levels[i] = drift * levels[i - 1] + math.sqrt(1 - drift**2) * levels[i]
        shift = level_of(levels[:-1], 0.01, 0.0).last(float(levels[-1]))
        wrong += shift is not None and shift.p < 0.05
    assert wrong / 500 < 0.1


finite = st.floats(-700, 700, allow_nan=False)


@given(st.lists(finite, min_size=3, max_size=30), finite, st.floats(0.5, 0.9999))
def test_any_run_gives_an_interval_around_its_ratio(
    before: list[float], now: float, level: float
) -> None:
    known = level_of(before, 0.01, 0.0)
    for found in (known.last(now), known.against(before[:2], now)):
        if found is None or abs(found.difference) > 700:
            continue
        low, high = found.interval(level)
        assert 0 <= found.p <= 1
        assert (low is None or low <= found.centre * (1 + 1e-9)) and low != math.inf
        assert high is None or high >= found.centre * (1 - 1e-9)
