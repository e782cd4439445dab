"""Runs over time: what a history finds, lists and omits; its text, page and charts."""

from __future__ import annotations

import json
from dataclasses import replace

import plans
from apart import P95, TPS, run
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.analysis.between_runs import result
from dbdyno.plan.types import Plan
from dbdyno.report.between_runs.comparison import compared_text
from dbdyno.report.between_runs.history import history_text
from dbdyno.report.between_runs.history_page import history_page
from dbdyno.report.charts.over_time.trend import trend_chart
from dbdyno.report.text.sparkline import sparkline
from dbdyno.wording import runs as worded_runs
from effort import examples
from fixtures.printed import printed
from fixtures.schemas import valid


def test_a_history_finds_the_run_that_changed_and_what_changed_there() -> None:
    levels = [1.0, 1.01, 0.99, 1.005, 0.995, 0.8, 0.81, 0.79, 0.805]
    runs = [
        run(day, level, version="10.11" if day < 6 else "11.8")
        for day, level in enumerate(levels, start=1)
    ]
    found = worded_runs.history(runs)
    (group,) = found.groups
    assert [place.run for series in group.series for place in series.changes] == [5] * 4
    assert group.runs[5].changed == ("db.version: 10.11 -> 11.8",)
    assert group.comparable == 9 and group.needed == 0
    shown = printed(history_text(found))
    assert "from r6 on (1970-01-07):" in shown
    assert "coincides with: db.version: 10.11 → 11.8" in shown
    assert "tps at cache=on: 1,020 → 817 (0.801×)" in shown
    valid("history", result.history_json(found))


def test_a_history_of_one_run_and_of_none() -> None:
    assert worded_runs.history([]).groups == ()
    assert "no run here" in printed(history_text(worded_runs.history([])))
    found = worded_runs.history([run(1)])
    assert found.groups[0].needed == 4
    shown = printed(history_text(found))
    assert "one run" in shown  # in place of a spread
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
    found = worded_runs.history([*runs, copy, quick, dead, longer, hurt])
    assert {one.what: one.why for one in found.left_out} == {
        "copy": "a copy of r3",
        "r30": "a quick run: a smoke test, whose numbers are for looking",
        "r31": "no complete block (interrupted)",
    }
    first, second = found.groups
    assert all(4 in series.outliers for series in first.series)
    assert not any(series.changes for series in first.series)
    assert second.differs == "duration_s: 30.0 -> 60.0"
    shown = printed(history_text(found))
    assert "r5 stands apart: tps at cache=on is 306" in shown
    assert "Another plan than above: duration_s" in shown
    assert "r33: no tps at cache=on, p95 ms at cache=on: there was an outage" in shown


def test_what_several_runs_lack_for_one_reason_is_said_once() -> None:
    hurt = [run(day, outages=[{"start_s": 1.0, "end_s": None}]) for day in range(1, 7)]
    of_all = " ".join(printed(history_text(worded_runs.history(hurt))).split())
    assert of_all.count("all 6 runs: no tps at cache=on, p95 ms at cache=on: there was") == 1
    assert "no value" in of_all
    of_some = " ".join(printed(history_text(worded_runs.history([*hurt, run(7), run(8)]))).split())
    assert "r1, r2, r3 and 3 more: no tps at cache=on" in of_some


def test_a_single_run_that_stands_apart_hides_no_change() -> None:
    levels = [1.0, 1.01, 0.99, 0.5, 1.005, 0.995, 1.0, 0.86, 0.865, 0.855, 0.86]
    (group,) = worded_runs.history([run(day, level) for day, level in enumerate(levels)]).groups
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
        printed(history_text(worded_runs.history(runs))),
        printed(compared_text(worded_runs.compare(*runs), plan)),
        history_page(worded_runs.history(runs), "x\x1b"),
    ):
        assert "\x1b" not in shown and "[red]off" in shown


def test_the_page_is_escaped_and_whole() -> None:
    plan = plans.plan({"<script>": ("<img src=x>", "b")})
    levels = [1.0, 1.01, 0.99, 1.0, 0.7, 0.71, 0.69, 0.7]
    runs = [run(day, level, plan=plan) for day, level in enumerate(levels)]
    page = history_page(worded_runs.history([*runs, run(20, blocks_done=0)]), "<runs>")
    assert "<script" not in page and "<img" not in page and "&lt;img src=x&gt;" in page
    assert page.count("<svg") == 4 and "from r4 on" in page and "no complete block" in page
    assert "no run here" in history_page(worded_runs.history([]), "x")


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


@settings(max_examples=examples(40))
@given(st.lists(st.one_of(st.none(), st.floats(0, 1e12), st.just(1.0)), min_size=1, max_size=14))
def test_any_levels_make_a_history_and_a_comparison(levels: list[float | None]) -> None:
    runs = [
        run(day, metrics={"x": 1.0} if level is None else {TPS: level, P95: 1.0})
        for day, level in enumerate(levels, start=1)
    ]
    found = worded_runs.history(runs)
    json.dumps(result.history_json(found), allow_nan=False)
    assert printed(history_text(found))
    if len(runs) > 1:
        compared = worded_runs.compare(runs[0], run(99), runs)
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
