"""The noise floor: two copies of one cell in the same blocks, compared as any two cells are."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from dbdyno.analysis.estimates import ratios
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN, CONFIDENCE
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.planning import noise
from dbdyno.analysis.planning.types import Floor
from dbdyno.plan.types import Cell, Plan


def copies(plan: Plan) -> list[tuple[int, int]]:
    """Pairs of cells that ask the same of the same servers, under two names."""
    same: dict[str, list[int]] = {}
    for cell in plan.cells:
        same.setdefault(_asked(cell), []).append(cell.index)
    return [pair for cells in same.values() for pair in itertools.combinations(cells, 2)]


def floors(measured: Measured, metrics: Sequence[str]) -> tuple[Floor, ...]:
    """What copies differ by in each metric; none where the run has no copies."""
    found = []
    for metric in metrics:
        for one, other in copies(measured.plan):
            compared = ratios.pairs(measured, (other, metric), (one, metric))
            if compared.problem or compared.bound or len(compared.blocks) < BLOCKS_MIN:
                continue
            contrast = compared.contrast(1.0)
            seen, (low, high) = noise.spread(contrast), contrast.interval(CONFIDENCE)
            if seen is None or low is None or high is None:
                continue
            levels = dict(measured.cell(one).levels.items() & measured.cell(other).levels.items())
            found.append(
                Floor(levels, metric, contrast.n, contrast.centre, low, high, math.sqrt(seen[0]))
            )
    return tuple(found)


def _asked(cell: Cell) -> str:
    facts = {k: v for k, v in asdict(cell).items() if k not in ("index", "levels")}
    return json.dumps(facts, sort_keys=True, default=str)
