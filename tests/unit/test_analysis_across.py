"""Runs beside each other and over time: what is refused, listed, judged, and how often it errs."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import plans
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from dbdyno.analysis import across
from dbdyno.analysis.across import likeness, result
from dbdyno.analysis.across.reduced import Reduced
from dbdyno.analysis.across.spread import RunRatio, deviation
from dbdyno.analysis.across.types import BETTER, NOT_CLEAR, WORSE
from dbdyno.errors import DynoError
from dbdyno.plan.types import Imported, Plan
from dbdyno.report.across import compared_text
from dbdyno.report.charts.trend import trend_chart
from dbdyno.report.history import history_text
from dbdyno.report.history_page import history_page
from dbdyno.report.sparkline import sparkline
from dbdyno.spec.types import Setup
from dbdyno.store.record import TrialRecord

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {"kernel": "6.1", "cpu_model": "Example", "cores": 8, "memory_bytes": 16 << 30}
TPS, P95 = "transactions_per_s", "service_ms_p95"
DAY_S = 86_400.0
NORMAL = (1.0, 1.02, 0.99, 1.01, 0.98, 1.0, 1.015)  # runs of a history, about 1.5 % apart


def run(
    day: int,
    level: float = 1.0,
    *,
    plan: Plan | None = None,
    blocks_done: int | None = None,
    environment: dict[str, Any] | None = None,
    version: str = "10.11",
    metrics: dict[str, float] | None = None,
    outages: Sequence[dict[str, Any]] = (),
    asked_for: Sequence[str] = (),
    sessions: Sequence[dict[str, Any]] = (),
) -> Reduced:
    """A run on a day, `level` times as fast as the usual one."""
    plan = plan or plans.plan()
    done = plan.blocks if blocks_done is None else blocks_done
    records = [
        TrialRecord(
            id=trial.id,
            block=trial.block,
            cell=trial.cell,
            status="complete",
            started_unix_s=day * DAY_S,
            metrics=metrics
            or {TPS: level * 1000.0 * (trial.cell + 1) * (1 + trial.block / 100), P95: 4 / level},
            outages=tuple(outages) if trial.block == 1 else (),
            targets={"db": {"version": version}},
        )
        for trial in plan.trials
        if trial.block <= done
    ]
    manifest = {
        "created_unix_s": day * DAY_S,
        "environment": {**ENVIRONMENT, **(environment or {})},
        "sessions": [{"environment": {**ENVIRONMENT, **one}} for one in sessions],
    }
    status = "complete" if done == plan.blocks else "interrupted"
    return across.reduce(plan, records, manifest, f"r{day}", status, asked_for)


def past(levels: Sequence[float] = NORMAL) -> list[Reduced]:
    return [run(day, level) for day, level in enumerate(levels, start=1)]


def text(renderable: Any) -> str:
    console = Console(width=100, color_system=None, highlight=False, file=io.StringIO())
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


def valid(name: str, value: Any) -> Any:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
    json.dumps(value, allow_nan=False)
    jsonschema.validate(value, schema)
    return value


# -- two runs


def test_two_runs_alone_give_ratios_marked_unblocked_and_no_verdict() -> None:
    compared = across.compare(run(1), run(2, 1.08))
    assert [(row.metric, row.cells) for row in compared.rows] == [
        *((TPS, 2), (TPS, 1), (TPS, 1)),
        *((P95, 2), (P95, 1), (P95, 1)),
    ]
    assert [round(row.ratio or 0, 3) for row in compared.rows] == [*[1.08] * 3, *[0.926] * 3]
    assert {row.verdict for row in compared.rows} == {""}
    assert "not one experiment" in compared.unjudged
    shown = text(compared_text(compared, plans.plan()))
    assert (
        "B is 1.08 times as fast as A (mean over 2 cells; unblocked; spread between runs not known)"
        in shown
    )
    assert "No verdict" in shown
    assert valid("compare", result.compared_json(compared))["judged"] is False


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
    compared = across.compare(run(1), later)
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
        across.compare(run(1), run(2, plan=replace(plan, cells=tuple(cells))))
    assert named in refused.value.cause


def test_cells_without_counterpart_are_listed_and_the_others_compared() -> None:
    wide = plans.plan({"cache": ("on", "off", "huge")})
    compared = across.compare(run(1), run(2, plan=wide))
    assert {one.what: one.why for one in compared.left_out} == {"cache=huge": "only in r2"}
    assert len(compared.rows) == 6
    reverse = across.compare(run(1, plan=wide), run(2))
    assert reverse.left_out[0].why == "only in r1"


def test_the_order_of_factors_does_not_matter() -> None:
    one = plans.plan({"a": ("1", "2"), "b": ("x", "y")})
    other = plans.plan({"b": ("x", "y"), "a": ("1", "2")})
    assert likeness.fingerprint(one) == likeness.fingerprint(other)
    assert len(across.compare(run(1, plan=one), run(2, plan=other)).rows) == 10


def test_another_machine_is_refused_unless_asked_for_and_then_not_judged() -> None:
    other = run(8, environment={"cpu_model": "Another", "cores": 4})
    with pytest.raises(DynoError, match="cores: 8 -> 4; cpu_model: Example -> Another"):
        across.compare(run(1), other)
    compared = across.compare(past()[-1], other, past(), anyway=True)
    assert not compared.judged and "another one" in compared.unjudged
    assert any("another machine" in warning for warning in compared.warnings)


def test_a_little_other_memory_is_the_same_machine() -> None:
    across.compare(run(1), run(2, environment={"memory_bytes": int((16 << 30) * 0.99)}))
    with pytest.raises(DynoError, match="memory_bytes"):
        across.compare(run(1), run(2, environment={"memory_bytes": 8 << 30}))


def test_another_kind_of_system_needs_all_words_fixed() -> None:
    fixed = {"durability": "full", "isolation": "read_committed", "memory_bytes": 1 << 30}

    def of(kind: str, **words: Any) -> Plan:
        plan = plans.plan(kind=kind)
        cells = tuple(
            replace(cell, targets=(replace(cell.targets[0], **words),)) for cell in plan.cells
        )
        return replace(plan, cells=cells)

    with pytest.raises(DynoError) as refused:
        across.compare(run(1, plan=of("mariadb")), run(2, plan=of("postgres")))
    assert "durability, isolation and memory_bytes left to their defaults" in refused.value.cause
    compared = across.compare(
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
        across.compare(a, b)


def test_zeros_and_outages_have_no_ratio_and_say_so() -> None:
    compared = across.compare(run(1), run(2, metrics={TPS: 0.0, P95: 1.0}))
    assert [row.ratio for row in compared.rows[:2]] == [None, None]
    assert "B: transactions_per_s is 0 in block 1" in compared.rows[0].problem
    out = across.compare(run(1, outages=[{"start_s": 1.0, "end_s": 2.0}]), run(2))
    assert all("there was an outage" in row.problem for row in out.rows)
    valid("compare", result.compared_json(out))
    assert "not estimable" in text(compared_text(out, plans.plan()))


def test_only_complete_blocks_count() -> None:
    plan = plans.plan(blocks=6)
    cut = run(2, plan=plan, blocks_done=2)
    assert cut.blocks == 2 and cut.short == "only 2 of 6 blocks complete"
    compared = across.compare(run(1, plan=plan), cut)
    assert any("only 2 of 6" in warning for warning in compared.warnings)


def test_the_setup_counts_by_what_the_files_held() -> None:
    def of(path: str, content: str) -> Plan:
        plan = plans.plan()
        setup = Setup(dump=path, hashes={path: content})
        cells = tuple(
            replace(cell, targets=(replace(cell.targets[0], setup=setup),)) for cell in plan.cells
        )
        return replace(plan, cells=cells)

    across.compare(run(1, plan=of("/a.sql", "x")), run(2, plan=of("/b.sql", "x")))
    with pytest.raises(DynoError, match="same thing"):
        across.compare(run(1, plan=of("/a.sql", "x")), run(2, plan=of("/a.sql", "y")))


def test_metrics_can_be_chosen_and_a_wrong_name_is_an_error() -> None:
    asked = ["tps"]
    compared = across.compare(run(1, asked_for=asked), run(2, asked_for=asked))
    assert {row.metric for row in compared.rows} == {TPS}
    with pytest.raises(DynoError, match="no metric"):
        run(1, asked_for=["speed"])


# -- with a history


def test_a_slower_run_is_worse_where_the_spread_is_known() -> None:
    history = past()
    compared = across.compare(history[-1], run(9, 0.8), history)
    assert {row.verdict for row in compared.rows} == {WORSE}
    assert len(compared.regressions) == 6 and not across.failing(compared)
    assert compared.before == tuple(f"r{day}" for day in range(1, 8))
    shown = text(compared_text(compared, plans.plan()))
    assert "Worse in 6 of 6 rows, by the spread between 7 runs before B (r1 to r7)" in shown
    assert valid("compare", result.compared_json(compared))["regressions"] == 6


def test_an_equal_run_is_not_clear_and_a_faster_one_better() -> None:
    history = past()
    same = across.judge(run(9, 1.01), history)
    faster = across.judge(run(9, 1.3), history)
    assert same and {row.verdict for row in same.rows} == {NOT_CLEAR}
    assert faster and {row.verdict for row in faster.rows} == {BETTER}
    assert not faster.regressions and same.a == "r7"


def test_a_clear_but_small_loss_is_no_regression() -> None:
    history = past([1.0, 1.0001, 0.9999, 1.0001, 1.0, 0.9999])
    slower = run(9, 0.98)
    for matters, regressions in ((0.03, 0), (0.01, 6)):
        compared = across.compare(history[-1], slower, history, matters=matters)
        assert {row.verdict for row in compared.rows} == {WORSE}
        assert len(compared.regressions) == regressions


def test_what_moves_all_of_many_cells_is_seen() -> None:
    plan = plans.plan({"cache": tuple(f"c{number}" for number in range(20))})
    noise = np.random.default_rng(1).normal(scale=0.02, size=7)
    history = [run(day, float(np.exp(noise[day])), plan=plan) for day in range(6)]
    compared = across.judge(run(9, 0.83 * float(np.exp(noise[5])), plan=plan), history)
    assert compared
    verdicts = {(row.cells, row.verdict) for row in compared.rows}
    assert verdicts == {(20, WORSE), (1, NOT_CLEAR)}
    assert {round(row.estimate.level, 4) for row in compared.rows if row.estimate} == {
        *(0.9875, 0.975),
        round(1 - 0.025 / 40, 4),
    }


def test_rows_over_all_cells_leave_out_those_that_some_run_lacks() -> None:
    plan = plans.plan({"cache": ("a", "b", "c")})
    history = [run(day, level, plan=plan) for day, level in enumerate(NORMAL)]
    hurt = {key: dict(values) for key, values in history[2].values.items()}
    cell = (("cache", "b"),)
    hurt[cell] = {name: replace(value, problem="hurt") for name, value in hurt[cell].items()}
    history[2] = replace(history[2], values=hurt)
    compared = across.judge(run(9, plan=plan), history)
    assert compared and [row.cells for row in compared.rows] == [2, 1, 1, 1, 2, 1, 1, 1]
    assert [bool(row.estimate) for row in compared.rows[:4]] == [True, True, False, True]


def test_four_earlier_runs_are_too_few() -> None:
    compared = across.judge(run(9, 0.5), past(NORMAL[:4]))
    assert compared and not compared.judged
    assert "4 earlier runs of the same plan" in across.failing(compared)
    five = across.judge(run(9, 0.5), past(NORMAL[:5]))
    assert five and five.judged


def test_only_runs_of_the_plan_on_the_machine_before_b_count_each_once() -> None:
    history = past()
    copy = replace(history[0], name="a copy")
    later = run(20, 0.1)
    other_plan = run(8, plan=plans.plan({"cache": ("on",)}))
    elsewhere = run(8, environment={"cores": 2})
    cut = run(8, plan=plans.plan(blocks=3), blocks_done=1)
    compared = across.compare(
        history[-1], run(9), [*history, copy, later, other_plan, elsewhere, cut]
    )
    assert compared.before == tuple(f"r{day}" for day in range(1, 8))
    assert sorted(one.why for one in compared.left_out) == [
        "another machine: cores: 2 -> 8",
        "only 1 of 3 blocks complete",
    ]


def test_a_that_is_not_older_is_no_base() -> None:
    history = past()
    compared = across.compare(run(30), run(9), history)
    assert "r30 is not older than r9" in compared.unjudged


def test_a_run_measured_under_two_kernels_is_not_judged() -> None:
    mixed = run(9, sessions=[{"kernel": "6.1"}, {"kernel": "6.8"}])
    compared = across.compare(past()[-1], mixed, past())
    assert "kernel: 6.1 -> 6.8" in compared.unjudged


def test_an_outage_in_the_history_leaves_the_spread_unknown() -> None:
    history = [*past(), run(8, outages=[{"start_s": 0.0, "end_s": None}])]
    compared = across.compare(history[0], run(9), history)
    assert not compared.judged and "take that run out" in compared.unjudged
    assert across.failing(compared)


def test_identical_earlier_runs_leave_the_spread_unknown() -> None:
    compared = across.judge(run(9, 1.1), past([1.0] * 6))
    assert compared and "alike to the last digit" in compared.unjudged


def test_no_earlier_run_at_all_is_said() -> None:
    assert across.judge(run(1), []) is None
    assert across.predecessors(run(1), []) == []


# -- the interval


def test_the_interval_for_neighbours_stands_on_successive_differences() -> None:
    # Steps 1, -1, 2: e^2 = 6 / 3; t(0.975; 3) = 3.1824.
    found = RunRatio((0.0, 1.0, 0.0, 2.0), 3, 2.0)
    assert found.error == pytest.approx(math.sqrt(2))
    low, high = found.interval(0.95)
    assert low is not None and high is not None
    assert math.log(high) == pytest.approx(3.1824463 * math.sqrt(2))
    assert math.log(low) == pytest.approx(-math.log(high))
    assert found.p == 1.0


def test_the_interval_for_an_older_run_stands_on_the_spread_of_all() -> None:
    found = RunRatio((0.0, 1.0, 0.0, 2.0), 0, 1.0)
    assert found.error == pytest.approx(math.sqrt(2 * np.var([0, 1, 0, 2], ddof=1)))
    assert found.centre == pytest.approx(math.e)


def errs(drift: float, runs: int, a: int, count: int = 4000) -> float:
    """How often an equal run is called different at 5 %. `drift`: correlation of neighbours; 1: a
    random walk."""
    rng = np.random.default_rng([int(drift * 10), runs, a + 100])
    noise = rng.normal(size=(count, runs + 1))
    if drift == 1:
        levels = noise.cumsum(axis=1)
    else:
        levels = noise.copy()
        for i in range(1, runs + 1):
            levels[:, i] = drift * levels[:, i - 1] + math.sqrt(1 - drift**2) * noise[:, i]
    wrong = sum(RunRatio(tuple(one[:-1]), a % runs, one[-1]).p < 0.05 for one in levels.tolist())
    return wrong / count


@pytest.mark.parametrize("drift", [0.0, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("runs", [5, 12])
def test_neighbours_that_are_equal_are_called_so_under_any_drift(drift: float, runs: int) -> None:
    assert errs(drift, runs, -1) < 0.062


@pytest.mark.parametrize("runs", [5, 12])
def test_an_older_run_that_is_equal_is_called_so_without_drift(runs: int) -> None:
    assert errs(0.0, runs, 0) < 0.055


finite = st.floats(-700, 700, allow_nan=False)


@given(
    st.lists(finite, min_size=2, max_size=30),
    st.integers(0, 29),
    finite,
    st.floats(0.5, 0.9999),
)
def test_any_run_gives_an_interval_around_its_ratio(
    before: list[float], a: int, now: float, level: float
) -> None:
    found = RunRatio(tuple(before), a % len(before), now)
    low, high = found.interval(level)
    assert 0 <= found.p <= 1 and not math.isnan(deviation(before))
    difference = now - before[a % len(before)]
    if abs(difference) < 700:
        assert (low is None or low <= found.centre * (1 + 1e-9)) and low != math.inf
        assert high is None or high >= found.centre * (1 - 1e-9)


# -- over time


def test_a_history_finds_the_run_that_changed_and_what_changed_there() -> None:
    levels = [1.0, 1.01, 0.99, 1.005, 0.995, 0.8, 0.81, 0.79, 0.805]
    runs = [
        run(day, level, version="10.11" if day < 6 else "11.8")
        for day, level in enumerate(levels, start=1)
    ]
    found = across.history(runs)
    (group,) = found.groups
    assert [place.run for series in group.series for place in series.changes] == [5] * 4
    assert group.runs[5].changed == ("db.version: 10.11 -> 11.8",)
    assert group.comparable == 9 and group.needed == 0
    shown = text(history_text(found))
    assert "from r6 on (1970-01-07):" in shown
    assert "changed there: db.version: 10.11 → 11.8" in shown
    assert "tps at cache=on: 1,020 → 817 (0.801×)" in shown
    valid("history", result.history_json(found))


def test_a_history_of_one_run_and_of_none() -> None:
    assert across.history([]).groups == ()
    assert "no run here" in text(history_text(across.history([])))
    found = across.history([run(1)])
    assert found.groups[0].needed == 4
    shown = text(history_text(found))
    assert "4 more runs until" in shown and "1 of the 6 runs that a change point needs" in shown
    valid("history", result.history_json(found))


def test_a_history_lists_what_it_leaves_out_and_what_is_odd() -> None:
    levels = [1.0, 1.01, 0.99, 1.005, 0.3, 0.995, 1.0, 1.01, 0.99]
    runs = [run(day, level) for day, level in enumerate(levels, start=1)]
    copy = replace(runs[2], name="copy")
    quick = run(30, plan=plans.plan(quick=True))
    dead = run(31, blocks_done=0)
    longer = run(32, plan=longer_plan())
    hurt = run(33, outages=[{"start_s": 1.0, "end_s": None}])
    found = across.history([*runs, copy, quick, dead, longer, hurt])
    assert {one.what: one.why for one in found.left_out} == {
        "copy": "a copy of r3",
        "r30": "a quick run: a smoke test, whose numbers are for looking",
        "r31": "no complete block (interrupted)",
    }
    first, second = found.groups
    assert all(4 in series.outliers for series in first.series)
    assert not any(series.changes for series in first.series)
    assert second.differs == "duration_s: 30.0 -> 60.0"
    shown = text(history_text(found))
    assert "r5 stands apart: tps at cache=on is 306" in shown
    assert "Another plan than above: duration_s" in shown
    assert "r33: no tps at cache=on, p95 ms at cache=on: there was an outage" in shown


def test_a_single_run_that_stands_apart_hides_no_change() -> None:
    levels = [1.0, 1.01, 0.99, 0.5, 1.005, 0.995, 1.0, 0.86, 0.865, 0.855, 0.86]
    (group,) = across.history([run(day, level) for day, level in enumerate(levels)]).groups
    for series in group.series:
        assert [place.run for place in series.changes] == [7]
        assert series.outliers == (3,)


def longer_plan() -> Plan:
    plan = plans.plan()
    return replace(plan, cells=tuple(replace(cell, duration_s=60.0) for cell in plan.cells))


def test_hostile_names_are_shown_not_obeyed() -> None:
    plan = plans.plan({"ca\x1b[31mche": ("o\x1b[2Jn", "[red]off")})
    runs = [replace(run(day, plan=plan), name=f"r{day}\x1b[1m") for day in (1, 2)]
    for shown in (
        text(history_text(across.history(runs))),
        text(compared_text(across.compare(*runs), plan)),
        history_page(across.history(runs), "x\x1b"),
    ):
        assert "\x1b" not in shown and "[red]off" in shown


def test_the_page_is_escaped_and_whole() -> None:
    plan = plans.plan({"<script>": ("<img src=x>", "b")})
    levels = [1.0, 1.01, 0.99, 1.0, 0.7, 0.71, 0.69, 0.7]
    runs = [run(day, level, plan=plan) for day, level in enumerate(levels)]
    page = history_page(across.history([*runs, run(20, blocks_done=0)]), "<runs>")
    assert "<script" not in page and "<img" not in page and "&lt;img src=x&gt;" in page
    assert page.count("<svg") == 4 and "from r4 on" in page and "no complete block" in page
    assert "no run here" in history_page(across.history([]), "x")


@given(
    st.lists(st.one_of(st.none(), st.floats(1e-100, 1e100)), min_size=1, max_size=20),
    st.data(),
)
def test_any_values_make_a_chart(values: list[float | None], data: st.DataObject) -> None:
    changes = sorted(data.draw(st.sets(st.integers(1, max(1, len(values) - 1)), max_size=3)))
    names = [f"r{index}" for index in range(len(values))]
    changes = [change for change in changes if change < len(values)]
    drawn = trend_chart(
        values,
        names,
        changes,
        [1.0] * (len(changes) + 1),
        title="t",
        unit="u",
        width=500,
        height=200,
    )
    assert "nan" not in drawn and drawn.count("<title>r") == sum(v is not None for v in values)


@settings(max_examples=40)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1e12), st.just(1.0)), min_size=1, max_size=14))
def test_any_levels_make_a_history_and_a_comparison(levels: list[float | None]) -> None:
    runs = [
        run(day, metrics={"x": 1.0} if level is None else {TPS: level, P95: 1.0})
        for day, level in enumerate(levels, start=1)
    ]
    found = across.history(runs)
    json.dumps(result.history_json(found), allow_nan=False)
    assert text(history_text(found))
    if len(runs) > 1:
        compared = across.compare(runs[0], run(99), runs)
        json.dumps(result.compared_json(compared), allow_nan=False)
        for row in compared.rows:
            assert (row.ratio is None) <= bool(row.problem)
            assert (row.estimate is None) == (row.verdict == "")
            assert compared.unjudged or row.estimate or row.problem


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))))
def test_a_sparkline_has_a_mark_for_each_value(values: list[float | None]) -> None:
    assert len(sparkline(values)) == min(len(values), 48)


def test_a_sparkline_rises_from_low_to_high() -> None:
    assert sparkline([1, 2, 3, None, 8]) == "▁▂▃·█"
    assert sparkline([5, 5]) == "▄▄"
