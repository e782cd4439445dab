"""Puts a run and its findings together into what the templates show: plain values and drawings."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno import __version__
from dbdyno.analysis.types import Findings
from dbdyno.plan.types import Plan
from dbdyno.report import hosts, layout
from dbdyno.report.figures import SMALL, WIDE, Figure, metric_figures
from dbdyno.report.layout import Layout
from dbdyno.report.sections.load import classes, counters, latency, latency_shift, stalls, waits
from dbdyno.report.sections.load import results as tables
from dbdyno.report.sections.load import searches as arrivals
from dbdyno.report.sections.setting import hooks, imported, tested
from dbdyno.report.sections.setting import settings as servers
from dbdyno.report.sections.setting.environment import checked
from dbdyno.report.sections.verdicts import claims, costs, sweeps, tradeoffs, versions
from dbdyno.report.text import names
from dbdyno.report.trials import series
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run
from dbdyno.wording.plurals import count

QUICK = (
    "Smoke test, not judged: too short and too few trials for any conclusion."
    " Run it in full before believing a number."
)
TOO_FEW = "Not judged: fewer than 3 blocks were measured, so no interval or verdict can be given."

PAIRED = "Compared within blocks: the geometric mean of each block's ratio, and its interval."
UNPAIRED = (
    "Unblocked: the ratio of the cells' geometric means over all runs, and its two-sample (Welch)"
    " interval."
)


@dataclass(frozen=True)
class Raw:
    """What was read from the trials' files for the page."""

    cells: list[latency.CellLatency]
    series: dict[str, Any]


def context(run: Run, findings: Findings) -> dict[str, Any]:
    """Everything that the HTML and the Markdown template need."""
    plan, records = run.plan, run.records()
    complete = sorted((r for r in records if r.status == COMPLETE), key=lambda r: r.cell)
    roles = layout.choose(plan, findings)
    groups = names.groups_of(plan)
    raw = _read(run, records, roles)
    different = servers.different_settings(complete, plan.cells, roles)
    headline = metric_figures(
        findings.cells,
        roles,
        names.describe(findings.headline_metric, groups),
        width=WIDE,
        sweeps=findings.sweeps,
    )
    cell_tables = tables.cell_tables(findings, roles, groups)
    columns = [metric.name for table in cell_tables for metric in table.metrics]
    shown = dict.fromkeys((*columns, *_charted(findings, groups)))
    return {
        "version": __version__,
        "name": plan.name,
        "question": plan.question or plan.name,
        "about": plan.about,
        "loud": loud(plan, findings),
        "answer": findings.answer,
        "caveat": findings.caveat,
        "why": findings.why,
        "moved_with": findings.moved_with,
        "started": tested.moment(min((r.started_unix_s for r in records), default=0.0)),
        "versions": versions.view(plan, findings, complete, roles),
        "differences_shown": versions.DIFFERENCES_SHOWN,
        "claims": claims.views(plan, findings, roles),
        "looking": findings.looking.sentence if findings.looking else "",
        "levels_note": claims.levels_note(findings),
        "parts_shown": claims.SHOWN,
        "verdict_text": claims.verdict_text,
        "headline": headline[:1],
        "headline_rest": headline[1:],
        "headline_metric": names.describe(findings.headline_metric, groups),
        "tested": imported.sentence(plan, complete)
        if plan.imported
        else tested.sentence(plan, complete, run.environment),
        "not_tested": tested.not_tested(plan, records, roles),
        "warnings": [
            *tested.warning_rows(findings.warnings, records, plan, roles),
            *tested.partial_rows(findings, shown, roles, groups),
        ],
        "notes": plan.notes,
        "costs": costs.view(findings, plan, roles),
        "tradeoff": tradeoffs.view(findings, plan, roles, groups),
        "sweeps": sweeps.views(findings, roles),
        "sweeps_note": sweeps.note(findings, roles),
        "cell_tables": cell_tables,
        "ratio_tables": tables.ratio_tables(findings, roles, groups),
        "bounds": {one.bound for cell in findings.cells for one in cell.metrics.values()},
        "responses": any(cell.responses for cell in raw.cells),
        "rates": arrivals.rate_figures(findings.cells, plan, roles, groups),
        "searches": arrivals.searches(records, plan, roles),
        "multiples": _multiples(findings, roles, groups),
        "series": raw.series,
        "shift": latency_shift.view(findings, plan, roles),
        "distributions": latency.distribution_figures(raw.cells, plan.cells, roles),
        "classes": classes.classes(raw.cells, plan.cells, roles),
        "heat": latency.heat_figures(raw.cells, plan.cells, roles),
        "heat_all": sum(len(cell.heat) for cell in raw.cells),
        "stalls": stalls.views(run, findings),
        "waits": waits.figure(findings.cells, roles),
        "counters": counters.counter_tables(findings.cells, plan, roles),
        "void": tested.void_attempts(run.voided(), records, plan, roles),
        "words": servers.words(complete, plan.cells, roles),
        "different": different[: servers.DIFFERENT_MAX],
        "different_all": len(different),
        "plans": servers.plans(complete, plan, roles),
        "hosts": hosts.sentences(plan, [name for r in complete for name in r.metrics]),
        "around": hooks.around(run),
        "environment": tested.environment_rows(run.environment),
        "checked": checked(plan, run.environment),
        "split": "" if plan.imported else tested.split(plan),
        "design": imported.design(plan)
        if plan.imported
        else [*_design(run), *stalls.design(findings)],
        "sources": imported.sources(run),
        "repeats": f"{plan.repeats}s",
        "compared": PAIRED if plan.paired else UNPAIRED,
        "spec": plan.spec_text,
        "base_spec": plan.against.spec_text if plan.against else "",
        "command": command(run),
        "trials_csv": tables.trials_csv(records, plan, roles),
        "cells_csv": tables.cells_csv(findings.cells, roles),
        "count": count,
        "data_link": tables.data_link,
    }


def loud(plan: Plan, findings: Findings) -> str:
    """Why nothing here is judged; empty where claims are."""
    if plan.quick:
        return QUICK
    if findings.judged:
        return ""
    return TOO_FEW if plan.imported is None else imported.TOO_FEW


def _charted(findings: Findings, groups: tuple[str, ...]) -> list[str]:
    """Every known metric but the headline; one that was always zero is left out."""
    moving = {
        name
        for cell in findings.cells
        for name, estimate in cell.metrics.items()
        if any(estimate.values)
        and names.base_name(name, groups)[1] in names.KNOWN.keys() - names.UNCHARTED
    }
    moving -= {findings.headline_metric, *tables.twins(findings, groups)}
    return names.order(moving, groups)


def _multiples(findings: Findings, roles: Layout, groups: tuple[str, ...]) -> list[Figure]:
    """A small chart of each metric of `_charted`."""
    figures: list[Figure] = []
    for name in _charted(findings, groups):
        metric = names.describe(name, groups)
        figures += metric_figures(
            findings.cells, roles, metric, width=SMALL, sweeps=findings.sweeps
        )
    return figures


def _read(run: Run, records: list[TrialRecord], roles: Layout) -> Raw:
    """Reads each trial's files once, one cell after the other, keeping only what is drawn."""
    plan = run.plan
    chosen = series.choose_samples([r.metrics for r in records])
    cells, trials = [], {}
    for cell in plan.cells:
        own = [r for r in records if r.cell == cell.index]
        logs = [run.histograms(r.id) for r in own if r.status == COMPLETE]
        ends: list[Mapping[str, Any]] = []
        for r in own:
            events = run.events(r.id)
            trials[r.id] = series.read_trial(events, run.samples(r.id), chosen)
            if r.status == COMPLETE:
                ends += [event for event in events if event.get("event") == "end"]
        cells.append(latency.collect(cell, logs, ends))
    return Raw(cells, _series_json(run, records, trials, chosen, roles))


def _series_json(
    run: Run,
    records: list[TrialRecord],
    trials: Mapping[str, series.Trial],
    chosen: list[tuple[str, str]],
    roles: Layout,
) -> dict[str, Any]:
    """The data of the page's time series: cells with their trials, and one entry a trial."""
    groups = names.groups_of(run.plan)
    points = series.points_for(len(trials), len(chosen) + 3 * len(groups))
    cells = []
    for cell in run.plan.cells:
        own = [r for r in records if r.cell == cell.index]
        seen = run.plan.imported is None or any(trials[r.id].t for r in own)
        if own and seen:  # tools that print no interval lines leave nothing to draw
            cells.append({"label": roles.cell(cell.levels), "trials": [r.id for r in own]})
    entries = {}
    for r in records:
        entry = series.compact(trials[r.id], chosen, points)
        entry["block"] = r.block
        entry["void"] = r.status != COMPLETE
        entry["outages"] = [
            [o["start_s"], o.get("end_s"), str(o.get("cause", ""))] for o in r.outages
        ][:50]
        entry["warnings"] = list(r.warnings)[:10]
        entries[r.id] = entry
    units = {
        f"{s}.{n}": "share" if s.rpartition(".")[2] == "cpu" and "_" not in n else names.unit_of(n)
        for s, n in chosen
    }
    return {"cells": cells, "trials": entries, "units": units}


def _design(run: Run) -> list[tuple[str, str]]:
    """How the run was laid out, for those who check."""
    plan = run.plan
    rows = [
        (
            "Factors",
            "; ".join(
                f"{f.name}: {', '.join(f.levels)} ({'hard' if f.hard else 'easy'})"
                for f in plan.factors
            )
            or "none",
        )
    ]
    states = {cell.state for cell in plan.cells}
    rows.append(("State", "; ".join(f"data {s.data}, cache {s.cache}" for s in states)))
    for group in names.groups_of(plan):
        found = [g for cell in plan.cells for g in cell.groups if g.name == group]
        sessions = sorted({g.sessions for g in found})
        loops = "; ".join(dict.fromkeys(map(arrivals.loop, found)))
        text = f"{found[0].workload} on {found[0].target}, sessions {', '.join(map(str, sessions))}"
        text += f", {loops}"
        rows.append((f"Group {group}", text))
    rows.append(("Seed", f"{plan.seed} (to repeat: --set seed={plan.seed})"))
    rows.append(("Smallest effect that matters", f"{plan.matters * 100:g} %"))
    if plan.require:
        rows.append(("Required of each trial", "; ".join(plan.require)))
    return rows


def command(run: Run) -> str:
    """The command line that repeats the run, as recorded or as it would be typed."""
    recorded = run.manifest.get("command")
    if isinstance(recorded, list) and recorded:
        return shlex.join(map(str, recorded))
    return f"dyno run {run.plan.name}.yaml{' --quick' if run.plan.quick else ''}"
