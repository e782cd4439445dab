"""The sections of a run's report: each module below is one, whose `view` turns a run and its
findings into data to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Section:
    """A view, and where it is drawn.

    HTML and Markdown draw the view by partials, which know it as `view`: `templates/sections/PATH`
    where the section's turn comes, `templates/summary/NAME` where the page's template names it. A
    medium without a partial leaves the section out. The terminal's forms are in `terminal.py`.
    """

    view: Callable[[Context], Any]  # plain data; None: there is nothing to show
    contents: str = ""  # title in the table of contents, whose anchor is the name; empty: not in it
    inside: str = ""  # name of the section whose HTML element contains this one

    @property
    def path(self) -> str:
        """Family and name, as of the module."""
        return "/".join(self.view.__module__.split(".")[-2:])

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


SECTIONS = (  # in the order of the page, except for the summary at its head
    Section(heading.view),
    Section(versions.view),
    Section(answer.view),
    Section(claims.view),
    Section(why.view),
    Section(sweeps.view),
    Section(tested.view),
    Section(results.view, "Results"),
    Section(counters.view, inside="results"),
    Section(latency_shift.view, inside="latency"),
    Section(costs.view, "Costs"),
    Section(tradeoffs.view, "Trade-offs"),
    Section(searches.view, "Searches"),
    Section(stalls.view, "Stalls"),
    Section(ratios.view, "Ratios"),
    Section(time.view, "Over time"),
    Section(latency.view, "Latency"),
    Section(classes.view, inside="latency"),
    Section(waits.view, "Waits"),
    Section(settings.view, "Settings"),
    Section(plans.view, "Query plans"),
    Section(warnings.view, "Warnings"),
    Section(hooks.view),
    Section(environment.view, "Environment"),
    Section(reproduce.view, "Reproduce"),
)


def views(context: Context) -> dict[str, Any]:
    """Data to show, by the sections' names."""
    found = {section.name: section.view(context) for section in SECTIONS}
    return {name: view for name, view in found.items() if view is not None}
