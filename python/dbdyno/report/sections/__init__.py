"""The sections of a run's report.

Each module below is one section: `view` makes of a run and its findings what is shown, and
`SECTION` says where. A view is None where there is nothing to show.
"""

from typing import Any

from dbdyno.report.context import Context
from dbdyno.report.sections.load import (
    classes,
    counters,
    latency,
    latency_shift,
    results,
    searches,
    stalls,
    time,
    waits,
)
from dbdyno.report.sections.setting import (
    environment,
    hooks,
    plans,
    reproduce,
    settings,
    tested,
    warnings,
)
from dbdyno.report.sections.verdicts import (
    answer,
    claims,
    costs,
    heading,
    ratios,
    sweeps,
    tradeoffs,
    versions,
    why,
)

SECTIONS = (  # in the order of the page, but for the summary at its head
    heading.SECTION,
    versions.SECTION,
    answer.SECTION,
    claims.SECTION,
    why.SECTION,
    sweeps.SECTION,
    tested.SECTION,
    results.SECTION,
    counters.SECTION,
    latency_shift.SECTION,
    costs.SECTION,
    tradeoffs.SECTION,
    searches.SECTION,
    stalls.SECTION,
    ratios.SECTION,
    time.SECTION,
    latency.SECTION,
    classes.SECTION,
    waits.SECTION,
    settings.SECTION,
    plans.SECTION,
    warnings.SECTION,
    hooks.SECTION,
    environment.SECTION,
    reproduce.SECTION,
)


def views(context: Context) -> dict[str, Any]:
    """What there is to show, by the sections' names."""
    found = {section.name: section.view(context) for section in SECTIONS}
    return {name: view for name, view in found.items() if view is not None}
