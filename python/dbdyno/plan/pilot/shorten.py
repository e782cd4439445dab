"""Makes a pilot of an experiment: fixed blocks of short trials, all cells, and one of them twice.

The copy is a factor like any other, so that orders, starts and data treat it as any cell: the two
copies differ by noise alone (an A/A comparison). Claims are judged at the first copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbdyno.experiment.claims import scope as scopes
from dbdyno.experiment.types import Cell, Factor, Spec
from dbdyno.plan.two_versions.against import free, held_at, names_of

COPIES = ("first", "second")


@dataclass(frozen=True)
class Pilot:
    """What is asked of a pilot. `copies`: whether the first cell is in it twice. Six blocks are
    balanced, and enough for the analysis to fit the position in the block, as in the run."""

    blocks: int = 6
    duration_s: float = 10.0
    copies: bool = True


def shorten(spec: Spec, asked: Pilot) -> Spec:
    """The pilot's experiment. Warm-up, data, servers and load are the experiment's own; a trial
    whose length is part of the question (a schedule of rates, a search, faults and commands at
    moments of it) keeps it."""
    cells = spec.cells
    if not spec.hooks.during_trial and not any(cell.faults for cell in cells):
        cells = tuple(_short(cell, asked.duration_s) for cell in cells)
    plain = replace(spec, cells=cells, blocks=asked.blocks, looks=None, budget_s=None)
    return _doubled(plain) if asked.copies else plain


def _short(cell: Cell, duration_s: float) -> Cell:
    scheduled = any(group.arrivals and len(group.arrivals.steps) > 1 for group in cell.groups)
    if scheduled or any(group.find for group in cell.groups):
        return cell
    length_s = min(cell.duration_s, duration_s)
    interval_s = min(cell.interval_s, length_s)
    return replace(cell, duration_s=length_s, interval_s=interval_s, until_steady=False)


def _doubled(spec: Spec) -> Spec:
    taken = {name for factor in spec.factors for name in names_of(factor.name)}
    (factor,) = free(("copy",), taken)
    levels = free(COPIES, {level for each in spec.factors for level in each.levels})
    first, second = levels
    cells = [replace(cell, levels={**cell.levels, factor: first}) for cell in spec.cells]
    twin = replace(cells[0], index=len(cells), levels={**cells[0].levels, factor: second})
    claims = tuple(held_at(claim, factor, first) for claim in spec.claims)
    return replace(
        spec,
        factors=(*spec.factors, Factor(factor, levels, None)),
        cells=(*cells, twin),
        claims=claims,
        claim_needs={
            after.text: spec.claim_needs[before.text]
            for before, after in zip(spec.claims, claims, strict=True)
            if before.text in spec.claim_needs
        },
        scope=scopes.of((*cells, twin)),
    )
