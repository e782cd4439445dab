"""What moved with the difference between the two cells that the answer compares.

Three kinds of quantity, in this order: what sessions wait for, what the server counts per
operation, and server CPU per operation. Each must clearly differ (`causes.clear`: Holm over all
that was tried, six blocks at least), towards the worse side, and by an amount that matters: at
least half of the effect, on the logarithmic scale. It is a correlation, and labelled as one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dbdyno.analysis.causes.clear import BLOCKS_MIN, Sides
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.lead import Lead
from dbdyno.analysis.message import Message
from dbdyno.experiment.claims import metrics as names

WAIT_SHARE_MIN = 0.2  # of all sessions, more on one side than on the other
COUNTER_RATIO_MIN = 3.0  # per operation
COUNTER_PER_OPERATION_MIN = 0.05  # on the larger side; below, it can hardly matter
CPU_RATIO_MIN = 1.25
PART_MIN = 0.5  # of the effect, on the logarithmic scale: less cannot be what made it

# Session states, as systems name them, that can be a reason: not those in which a session works
# ("running: ...") or is itself waited for ("idle", "waiting: client ...").
_WAIT = re.compile(r"waiting: (?!client)|query cache: ", re.IGNORECASE)
# Counters a second that can explain something (what is read, written, synced, waited for), and
# levels that only resemble them.
_COUNTS = re.compile(
    r"sync|flush|wait|lock|read|writ|tmp|temp|sort|handler|scan|purge|prune|insert|hit|evict"
    r"|deadlock|conflict|checkpoint|wal|log|blk|filesort|full_join",
    re.IGNORECASE,
)
_LEVEL = re.compile(
    r"current|pending|size|length|pages_(data|dirty|free|misc|total|latched)|_lsn|_time|_avg|_max"
    r"|uptime|history|snapshot_|waiters|percent|ratio|cached$|running|connected|com_|(^|[._])open_"
    r"|_blocks$|free_|memory",
    re.IGNORECASE,
)
# What makes a session wait comes before what merely is counted more often.
_STANDSTILL = re.compile(r"sync|flushes|lock_wait|log_waits|deadlock|conflict|prune", re.IGNORECASE)

CPU = "server_cpu_us_per_op"
_PER_OPERATION = " per operation"

Row = tuple[float, float]  # left, right in one block


def reason(measured: Measured, lead: Lead | None, differ: frozenset[str]) -> str:
    """What moved, or empty. `differ`: what clearly differs, of all that was `tried`."""
    blocks = blocks_of(measured, lead)
    if lead is None or not blocks:
        return ""
    return (
        waits(measured, lead, blocks, differ)
        or _counter(measured, lead, blocks, differ)
        or _cpu(measured, lead, blocks, differ)
    )


def tried(measured: Measured, lead: Lead, blocks: Sequence[int]) -> dict[str, Sides]:
    """What is compared here and is not evidence: what disks do, per operation."""
    per_s = operations(measured, lead, blocks)
    found = {}
    for name in _disk(measured, lead):
        if per_s and _on_both(measured, lead, blocks, name):
            rows = np.asarray(_per_operation(measured, lead, blocks, name, per_s))
            found[f"{name}{_PER_OPERATION}"] = rows[:, 0], rows[:, 1]
    return found


def blocks_of(measured: Measured, lead: Lead | None) -> list[int]:
    """Blocks that a reason can rest on; empty if there is nothing to explain, or too few."""
    if not measured.plan.paired:
        return []  # nothing says that the two sides met the same circumstances
    if lead is None or lead.ratio.ci_low is None or lead.ratio.ci_high is None:
        return []
    if lead.ratio.ci_low <= 1 <= lead.ratio.ci_high or lead.small:
        return []  # there is nothing to explain
    blocks = measured.blocks((lead.left.index, lead.right.index))
    return blocks if len(blocks) >= BLOCKS_MIN else []


def _rows(measured: Measured, lead: Lead, blocks: Sequence[int], name: str) -> list[Row]:
    """The metric on both sides, one row a block; a state or counter never seen is 0."""
    left = measured.series(lead.left.index, name)
    right = measured.series(lead.right.index, name)
    return [(left.get(block, 0.0), right.get(block, 0.0)) for block in blocks]


def _sampled(measured: Measured, lead: Lead, family: str) -> list[str]:
    """Names of sampled metrics of a family, with or without a target's prefix."""
    found: set[str] = set()
    for cell in (lead.left, lead.right):
        for one in measured.cells[cell.index].values():
            found.update(name for name in one.metrics if f".{family}." in f".{name}")
    return sorted(found)


def waits(measured: Measured, lead: Lead, blocks: Sequence[int], differ: frozenset[str]) -> str:
    """What the sessions of the worse side wait for; or empty."""
    sessions = [sum(group.sessions for group in cell.groups) for cell in (lead.left, lead.right)]
    best: str = ""
    best_share = max(WAIT_SHARE_MIN, PART_MIN * -math.expm1(-_effect(lead)))
    for name in _sampled(measured, lead, "sessions"):
        state = f".{name}".partition(".sessions.")[2]
        if not _WAIT.match(state):
            continue
        rows = _rows(measured, lead, blocks, name)
        shares = [left / sessions[0] - right / sessions[1] for left, right in rows]
        share = abs(sum(shares) / len(shares))
        if share < best_share or name not in differ:
            continue
        # The slower side must be the one that waits, or it explains nothing.
        if not _explains(lead, math.fsum(shares)):
            continue
        best_share = share
        left, right = (math.fsum(side) / len(rows) for side in zip(*rows, strict=True))
        of = sessions[0] if left > right else sessions[1]
        best = Message("waits_more", state=state, of=of, **_sides(lead, left, right))
    return best


def _counter(measured: Measured, lead: Lead, blocks: Sequence[int], differ: frozenset[str]) -> str:
    per_s = operations(measured, lead, blocks)
    if not per_s or _only_sessions(lead):
        return ""  # more sessions share what happens anyway: per operation all of it shrinks
    least = max(math.log(COUNTER_RATIO_MIN), PART_MIN * _effect(lead))
    best: str = ""
    best_size = (False, least)
    disk = [(name, f"{name}{_PER_OPERATION}") for name in _disk(measured, lead)]
    for name, key in [*((name, name) for name in _sampled(measured, lead, "status")), *disk]:
        if _LEVEL.search(name) or not _COUNTS.search(name) or key not in differ:
            continue
        if not _on_both(measured, lead, blocks, name):
            continue  # another kind of server, which counts other things
        rows = _per_operation(measured, lead, blocks, name, per_s)
        left, right = (math.fsum(side) / len(rows) for side in zip(*rows, strict=True))
        larger, smaller = max(left, right), min(left, right)
        if larger < COUNTER_PER_OPERATION_MIN or smaller < 0:
            continue
        if not _explains(lead, left - right):
            continue
        # A floor on the smaller side, so that "0 against a little" does not beat everything.
        factor = math.log(larger / max(smaller, larger / 1000))
        size = (_STANDSTILL.search(name) is not None, factor)
        if factor < least or size < best_size:
            continue
        best_size = size
        best = Message("counts_more", counter=name, **_sides(lead, left, right))
    return best


def _only_sessions(lead: Lead) -> bool:
    """Whether the two cells differ in the number of sessions alone."""
    return all(name.rpartition(".")[2] == "sessions" for name in lead.left_levels)


def _on_both(measured: Measured, lead: Lead, blocks: Sequence[int], name: str) -> bool:
    """Whether both sides counted it in every block."""
    sides = [measured.series(cell.index, name) for cell in (lead.left, lead.right)]
    return all(block in side for side in sides for block in blocks)


def _cpu(measured: Measured, lead: Lead, blocks: Sequence[int], differ: frozenset[str]) -> str:
    rows = _rows(measured, lead, blocks, CPU)
    if CPU not in differ or any(value <= 0 for row in rows for value in row):
        return ""
    logs = [math.log(left / right) for left, right in rows]
    mean = math.fsum(logs) / len(logs)
    least = max(math.log(CPU_RATIO_MIN), PART_MIN * _effect(lead))
    if abs(mean) < least or not _explains(lead, mean):
        return ""
    left, right = (math.fsum(side) / len(rows) for side in zip(*rows, strict=True))
    return Message("takes_more_cpu", **_sides(lead, left, right))


def operations(measured: Measured, lead: Lead, blocks: Sequence[int]) -> list[Row]:
    """Committed operations a second of all groups on both sides, one row a block; empty if any is
    zero."""
    sides = []
    for cell in (lead.left, lead.right):
        several = len(cell.groups) > 1
        series = [
            measured.series(
                cell.index, f"{group.name}.operations_per_s" if several else "operations_per_s"
            )
            for group in cell.groups
        ]
        sides.append([sum(one.get(block, 0.0) for one in series) for block in blocks])
    rows = list(zip(*sides, strict=True))
    return rows if all(left > 0 and right > 0 for left, right in rows) else []


def _explains(lead: Lead, excess: float) -> bool:
    """Whether the side with the `excess` (left: > 0) is the worse one in the lead's metric."""
    direction = names.info(lead.metric).direction
    if direction == names.NEITHER:
        return False
    left_is_worse = (lead.ratio.ratio < 1) == (direction == names.HIGHER)
    return (excess > 0) == left_is_worse


def _effect(lead: Lead) -> float:
    """The size of the lead's difference, on the logarithmic scale; >= 0."""
    return abs(math.log(lead.ratio.ratio))


def _disk(measured: Measured, lead: Lead) -> list[str]:
    return [name for name in _sampled(measured, lead, "disk") if name.endswith("_per_s")]


def _per_operation(
    measured: Measured, lead: Lead, blocks: Sequence[int], name: str, per_s: Sequence[Row]
) -> list[Row]:
    rows = _rows(measured, lead, blocks, name)
    return [(left / ops[0], right / ops[1]) for (left, right), ops in zip(rows, per_s, strict=True)]


def _sides(lead: Lead, left: float, right: float) -> dict[str, Any]:
    """Values and levels of the side with more and of the side with less."""
    sides = [(left, lead.left_levels), (right, lead.right_levels)]
    (most, more), (least, less) = sides if left > right else reversed(sides)
    return {"most": most, "more": more, "least": least, "less": less}
