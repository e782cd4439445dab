"""What reports say of stalls: which seconds are shown, and the text if there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.analysis.types import Cause, Findings, Inside, Stall
from dbdyno.errors import DynoError
from dbdyno.report import Report
from dbdyno.report.charts.over_time.timeline import Curve, timeline
from dbdyno.report.context import Context
from dbdyno.report.sections.load import stalls
from dbdyno.report.text.escaping import code, markdown_code
from dbdyno.store.metrics.timeseries import Trace
from fixtures.stalling_run import stalling
from fixtures.synthetic import SyntheticRun

QUIET = Inside("b01-t001", 0, 1, 60.0, 2000.0, 0.0, True, 60.0, 0.1)


def with_trials(*inside: Inside) -> Findings:
    _, findings = stalling(Path("RUN"))
    return replace(findings, inside=inside, stalls=())


def test_where_nothing_stalled_one_line_says_so() -> None:
    assert stalls.design(with_trials(QUIET, QUIET)) == [
        ("Stalls", "none of 0.5 s or more in 2 trials")
    ]
    slow = replace(QUIET, usual_per_s=5.0)
    ((_, said),) = stalls.design(with_trials(slow))
    assert said == (
        "none of 3.1 s or more in 1 trial; with so few commits a second, shorter ones may be chance"
    )
    idle = replace(QUIET, usual_per_s=0.01)
    assert stalls.design(with_trials(idle)) == [("Stalls", "1 trial with too few commits to tell")]
    assert stalls.design(with_trials()) == []


def test_what_could_not_be_told_is_said_once_for_all_trials() -> None:
    broken = replace(QUIET, usual_per_s=0.0, problem="its clock went backwards at 3.0 s")
    assert stalls.design(with_trials(broken, broken)) == [
        ("Over time", "2 trials: its clock went backwards at 3.0 s")
    ]


def test_a_report_without_stalls_has_no_section_of_them() -> None:
    run, findings = stalling(Path("RUN"))
    views = Report(run, replace(findings, stalls=(), inside=(QUIET,))).views  # type: ignore[arg-type]
    assert "stalls" not in views
    assert ("Stalls", "none of 0.5 s or more in 1 trial") in views["environment"].design


def test_names_of_commands_in_sentences_are_code_in_every_medium() -> None:
    run, findings = stalling(Path("RUN"))
    cause = Cause("disk_busy", "a busy disk", "`dd` wrote to it.", "Find it (`iotop`, `pidstat`).")
    stalled = tuple(replace(one, cause=cause) for one in findings.stalls)
    report = Report(run, replace(findings, stalls=stalled))  # type: ignore[arg-type]
    for page in (report.html(), report.brief()):
        head = page[page.index("<b>Stalls:</b>") :].partition("</p>")[0]
        assert "<code>dd</code> wrote to it." in head
        assert "Find it (<code>iotop</code>, <code>pidstat</code>)." in head
        assert "`" not in head
    assert "(`iotop`, `pidstat`)" in report.markdown()


def test_what_is_code_stays_escaped() -> None:
    assert str(code("a `<b>` & `x` c ` d")) == (
        "a <code>&lt;b&gt;</code> &amp; <code>x</code> c ` d"
    )
    assert markdown_code("a_b `c_d` ` *") == "a\\_b `c_d` \\` \\*"
    assert markdown_code("`a < b|c`") == "a \\< b\\|c"


def test_a_long_trial_is_shown_around_its_first_stalls() -> None:
    long = replace(QUIET, measured_s=1800.0)
    often = tuple(Stall(100.0 + 12 * k, 0.8, 1.0) for k in range(50))
    assert stalls.window(replace(long, stalls=often)) == (95.0, pytest.approx(153.8))
    assert stalls.window(replace(long, stalls=often[:1])) == (95.0, 125.0)
    assert stalls.window(replace(long, stalls=(Stall(1799.0, 1.0, 1.0),))) == (1794.0, 1800.0)
    assert stalls.window(replace(QUIET, stalls=often[:1])) == (0.0, 60.0)


def test_files_that_cannot_be_read_cost_the_chart_only() -> None:
    run, findings = stalling(Path("RUN"))

    class Unreadable(SyntheticRun):
        def trace(self, trial: str) -> Trace:
            raise DynoError(f"{trial} is gone")

    broken = Unreadable(**vars(run))
    shown = stalls.view(Context(broken, findings))  # type: ignore[arg-type]
    assert [one.figure for one in shown] == [None, None]
    assert shown[0].sentence.startswith("Throughput falls")


def test_a_curve_breaks_where_it_is_not_known_and_escapes_its_name() -> None:
    curve = Curve("<b>", "", 0, (0.0, 1.0, 2.0, 3.0), (5.0, None, 0.0))
    drawn = str(
        timeline([curve], [(0.5, 9.0)], title="t", x_label="s", window=(0.0, 3.0), width=300)
    )
    assert drawn.count("<path") == 2 and "<b>" not in drawn
    empty = Curve("x", "", 0, (), ())
    assert "<path" not in str(
        timeline([empty], [], title="t", x_label="s", window=(0.0, 3.0), width=300)
    )
