"""The probes of searches for the highest rate."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.store.record import TrialRecord
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import bounded

TRIALS_SHOWN = 200


@dataclass(frozen=True)
class ProbeRow:
    """One run of a search."""

    rate: str
    passed: bool
    why: str


@dataclass(frozen=True)
class SearchView:
    """The search of one trial."""

    where: str
    block: int
    found: str
    probes: tuple[ProbeRow, ...]


def view(context: Context) -> list[SearchView] | None:
    """Every search, trial by trial, in the order of cells and blocks; at most TRIALS_SHOWN."""
    views = []
    for record in sorted(context.records, key=lambda one: (one.cell, one.block)):
        if not record.probes:
            continue
        views.append(
            SearchView(
                context.layout.cell(context.plan.cells[record.cell].levels),
                record.block,
                _found(record),
                tuple(
                    ProbeRow(f"{sig3(p['rate_per_s'])}/s", bool(p["passed"]), str(p["why"]))
                    for p in record.probes
                ),
            )
        )
    return views[:TRIALS_SHOWN] or None


def _found(record: TrialRecord) -> str:
    """What a search found: `1,230/s`, `< 200/s`, `not measurable`."""
    for name, value in record.metrics.items():
        if name.endswith("rate_max_per_s"):
            return bounded(f"{sig3(value)}/s", record.bounds.get(name, ""))
    return "not measurable"


SECTION = Section(view, "Searches")
