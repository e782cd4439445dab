"""Sweeps in reports: a sentence each, what several share once, marks in the chart."""

from __future__ import annotations

from plans import plan as make_plan
from test_analysis_sweep import SESSIONS, closed_system, trials

from dbdyno.analysis.types import Findings
from dbdyno.report import layout
from dbdyno.report.figures import metric_figures
from dbdyno.report.layout import Layout
from dbdyno.report.sections.verdicts import sweeps
from dbdyno.wording import names
from dbdyno.wording.findings import analyse


def swept(blocks: int, claims: tuple[str, ...] = ()) -> tuple[Findings, Layout]:
    plan = make_plan({"cache": ("on", "off"), "sessions": SESSIONS}, blocks=blocks, claims=claims)
    truth = {
        (cache, level): closed_system(float(level)) * (2 if cache == "on" else 1)
        for cache in ("on", "off")
        for level in SESSIONS
    }
    findings = analyse(plan, trials(plan, truth))
    return findings, layout.choose(plan, findings)


def test_each_sweep_has_its_sentence_and_its_limits() -> None:
    findings, roles = swept(6, ("p95[cache=on] <= 1e6 at sessions=4",))
    on, off = sweeps.views(findings, roles)
    assert (on.at, off.at) == ("cache on", "cache off")
    assert on.sentences[0] == findings.sweeps[0].sentence
    assert on.sentences[1].endswith("holds at every level, up to 64 sessions.")
    assert len(off.sentences) == 1
    assert "a ring marks" in sweeps.note(findings, roles)
    assert "a dashed line marks the knee" in sweeps.note(findings, roles)


def test_what_several_sweeps_are_not_judged_for_is_said_once() -> None:
    findings, roles = swept(2)
    (only,) = sweeps.views(findings, roles)
    assert only.sentences == (
        "Which level is best is not judged in 2 sweeps: 2 blocks with all levels are too few"
        " (3 at least).",
    )
    assert sweeps.note(findings, roles) == ""


def test_charts_of_the_metric_mark_peak_and_knee() -> None:
    findings, roles = swept(6)
    throughput = names.describe("transactions_per_s", ("workload",))
    (figure,) = metric_figures(findings.cells, roles, throughput, sweeps=findings.sweeps)
    assert figure.wide.count('class="knee s') == 2
    assert figure.wide.count(" hollow") == sum(len(one.peak_levels) for one in findings.sweeps)
    assert "knee at " in figure.wide
    (plain,) = metric_figures(findings.cells, roles, throughput)
    assert 'class="knee' not in plain.wide
    latency = names.describe("service_ms_p95", ("workload",))
    (other,) = metric_figures(findings.cells, roles, latency, sweeps=findings.sweeps)
    assert 'class="knee' not in other.wide
