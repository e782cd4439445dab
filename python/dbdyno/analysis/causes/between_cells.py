"""Evidence from two cells, block by block: the slower one against the faster one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.analysis.causes import evidence, names, over_time
from dbdyno.analysis.causes.clear import Sides, clear
from dbdyno.analysis.causes.evidence import Evidence, Moved
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines import differences
from dbdyno.analysis.headlines.lead import Lead
from dbdyno.analysis.message import Message
from dbdyno.experiment.claims import known_metrics, metrics
from dbdyno.plan.types import Cell
from dbdyno.store.metrics.timeseries import Floats

OF_THE_METER = ("generator.busy_max", "server_cpu_us_per_op")
_FAMILIES = frozenset(
    {"cpu", "memory", "disk", "network", "paging", "pressure", "server", "status", "sessions"}
)


@dataclass(frozen=True)
class Between:
    """What the worse cell of a lead shows against the better one, and which of all quantities that
    were tried clearly differ (`clear`): those of the evidence by name, and of `differences`."""

    evidence: Evidence
    clear: frozenset[str]


def of_cells(measured: Measured, lead: Lead) -> Between | None:
    """The worse cell of a lead against the better one; what the server counts is per operation.
    What does not clearly differ counts as equal. None where reasons are not to be given
    (`differences.blocks_of`)."""
    blocks = differences.blocks_of(measured, lead)
    operations = differences.operations(measured, lead, blocks) if blocks else []
    direction = metrics.info(lead.metric).direction
    if not operations or direction == known_metrics.NEITHER:
        return None
    left_is_worse = (lead.ratio.ratio < 1) == (direction == known_metrics.HIGHER)
    sides = (lead.left, lead.right) if left_is_worse else (lead.right, lead.left)
    levels = [lead.left_levels, lead.right_levels]
    per_s = np.asarray(operations, dtype=np.float64).T
    if not left_is_worse:
        levels, per_s = levels[::-1], per_s[::-1]
    tried = _tried(measured, sides, blocks, per_s)
    differ = clear({**tried, **differences.tried(measured, lead, blocks)})
    found = {name: _moved(name, *both, name in differ) for name, both in tried.items()}
    here, there = (Message("with_levels", levels=one) for one in levels)
    seen = Evidence(
        evidence.DIFFERENCE,
        found,
        **over_time.facts(sides[0], found),
        share=float(np.median(per_s[0] / per_s[1])),
        here=here,
        there=there,
    )
    return Between(seen, differ)


def _tried(
    measured: Measured, sides: tuple[Cell, Cell], blocks: Sequence[int], per_s: Floats
) -> dict[str, Sides]:
    """All that was sampled on both sides in every block, the worse side first."""
    sessions = [sum(group.sessions for group in cell.groups) for cell in sides]
    known = {
        name
        for cell in sides
        for one in measured.cells[cell.index].values()
        for name in one.metrics
        if (names.family(name) in _FAMILIES and not metrics.is_slope(name)) or name in OF_THE_METER
    }
    found = {}
    for name in sorted(known):
        series = [measured.series(cell.index, name) for cell in sides]
        if any(block not in one for one in series for block in blocks):
            continue
        slow, fast = (np.asarray([one[block] for block in blocks]) for one in series)
        if names.per_operation(name):
            slow, fast = slow / per_s[0], fast / per_s[1]
        elif names.family(name) == "sessions":
            fast = fast * (sessions[0] / max(sessions[1], 1))
        found[name] = slow, fast
    return found


def _moved(name: str, slow: Floats, fast: Floats, differs: bool) -> Moved:
    during, otherwise = float(np.mean(slow)), float(np.mean(fast))
    if not differs:  # a rule must not see a difference either
        return Moved(name, during, during, during, during, 0.0)
    score = evidence.score(float(np.median(slow)), fast)
    return Moved(name, during, otherwise, float(slow.max()), float(slow.min()), score)
