"""The sections of a run's report: each module below is one, whose `view` turns a run and its
findings into data to show, and whose `SECTION` says where they are drawn."""

from __future__ import annotations

from typing import Any

from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.sections.audits import audit, histories, routing
from dbdyno.report.sections.load import (
    classes,
    counters,
    faults,
    latency,
    latency_shift,
    predictions,
    results,
    searches,
    stalls,
    time,
    waits,
)
from dbdyno.report.sections.setting import (
    environment,
    glossary,
    hooks,
    network,
    plans,
    reproduce,
    settings,
    tested,
    volume,
    warnings,
)
from dbdyno.report.sections.verdicts import (
    answer,
    claims,
    costs,
    heading,
    ratios,
    recommendation,
    survival,
    sweeps,
    tradeoffs,
    versions,
    why,
)

SECTIONS = (  # in the order of the page, except for the summary at its head
    heading.SECTION,
    versions.SECTION,
    answer.SECTION,
    recommendation.SECTION,
    survival.SECTION,
    claims.SECTION,
    why.SECTION,
    sweeps.SECTION,
    tested.SECTION,
    audit.SECTION,
    routing.SECTION,
    histories.SECTION,
    results.SECTION,
    counters.SECTION,
    latency_shift.SECTION,
    costs.SECTION,
    tradeoffs.SECTION,
    searches.SECTION,
    faults.SECTION,
    predictions.SECTION,
    stalls.SECTION,
    ratios.SECTION,
    time.SECTION,
    latency.SECTION,
    classes.SECTION,
    waits.SECTION,
    settings.SECTION,
    network.SECTION,
    volume.SECTION,
    plans.SECTION,
    warnings.SECTION,
    hooks.SECTION,
    environment.SECTION,
    glossary.SECTION,
    reproduce.SECTION,
)


def views(context: Context) -> dict[str, Any]:
    """Data to show, by the sections' names."""
    found = {section.name: section.view(context) for section in SECTIONS}
    return {name: view for name, view in found.items() if view is not None}


def summary(place: str) -> list[Section]:
    """The sections that have a place (`header`, `main`, `markdown`, `terminal`, `brief`), in its
    order."""
    return sorted(
        (one for one in SECTIONS if getattr(one, place)), key=lambda one: getattr(one, place)
    )
