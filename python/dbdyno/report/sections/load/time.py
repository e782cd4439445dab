"""Series of every trial, for the page's script: throughput and latency by interval, and the
samples taken under them."""

from __future__ import annotations

from typing import Any

from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.trials import series
from dbdyno.store.record import COMPLETE
from dbdyno.wording import sampled
from dbdyno.wording.visible import visible

LEFT_OUT = (
    "The run's files do not hold the series of this trial: a bundle may omit them. Its"
    " numbers are in the tables."
)
OUTAGES_MAX, WARNINGS_MAX = 50, 10  # of a trial


def view(context: Context) -> dict[str, Any] | None:
    """Cells with the ids of their trials, an entry a trial, names and units; None where nothing
    was recorded over time."""
    plan, read = context.plan, context.trials
    points = series.points_for(len(read.series), len(read.samples) + 3 * len(context.groups))
    cells = []
    for cell in plan.cells:
        own = [r.id for r in context.records if r.cell == cell.index]
        seen = plan.imported is None or any(read.series[trial].t for trial in own)
        if own and seen:  # tools that print no interval lines leave nothing to draw
            cells.append({"label": visible(context.layout.cell(cell.levels)), "trials": own})
    if not cells:
        return None
    entries = {}
    for r in context.records:
        entry = series.compact(read.series[r.id], read.samples, points)
        entry["block"] = r.block
        entry["void"] = r.status != COMPLETE
        outages = [[o["start_s"], o.get("end_s"), visible(o.get("cause", ""))] for o in r.outages]
        entry["outages"] = outages[:OUTAGES_MAX]
        if not read.series[r.id].t and not context.run.has_events(r.id):
            entry["absent"] = LEFT_OUT
        entry["warnings"] = [visible(text) for text in r.warnings[:WARNINGS_MAX]]
        entries[r.id] = entry
    short = {
        f"{source}.{name}": sampled.short(f"{source.rpartition('.')[2]}.{name}")
        for source, name in read.samples
    }
    return {
        "cells": cells,
        "trials": entries,
        "sources": {source: sampled.source(source) for source, _ in read.samples},
        "names": short,
        "units": {metric: sampled.unit(metric) for metric in short},
    }


SECTION = Section(view, "Over time")
