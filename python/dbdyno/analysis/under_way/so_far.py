"""What a run has measured so far: means with their spread, ratios within blocks. Nothing is judged:
intervals and verdicts come at the end, or at the looks that the plan has."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.errors import DynoError
from dbdyno.experiment import workloads
from dbdyno.experiment.claims.grammar import CELL
from dbdyno.experiment.claims.metrics import is_ratio_scaled
from dbdyno.experiment.values.bounds import together
from dbdyno.kinds.kind import IO
from dbdyno.plan import level_text
from dbdyno.plan.claims import resolved_claims
from dbdyno.plan.types import GroupPlan, Plan
from dbdyno.store.record import COMPLETE, TrialRecord


@dataclass(frozen=True)
class Column:
    """A metric that is shown of each cell."""

    title: str
    metric: str


@dataclass(frozen=True)
class Mean:
    """Of the trials so far. `spread`: standard deviation over arithmetic mean; None: of fewer than
    two.
    `bound`: AT_LEAST or AT_MOST, if some value is only that."""

    mean: float
    spread: float | None
    bound: str = ""


@dataclass(frozen=True)
class Asked:
    """A quantity that some claim compares. `right` None: it is compared with a number alone."""

    text: str
    left: tuple[int, str]  # cell and metric
    right: tuple[int, str] | None
    claimed: str = ""  # `> 1`: what the claim asks of it; empty: no claim does
    say: str = ""  # the claim in its author's words


class SoFar:
    """The records of a run as they come; a later one of a trial takes the place of an earlier."""

    def __init__(self, plan: Plan, records: Sequence[TrialRecord]) -> None:
        self.columns = _columns(plan)
        self.asked = _asked(plan)
        self._records: dict[tuple[int, int], TrialRecord] = {}
        for record in records:
            self.add(record)

    def add(self, record: TrialRecord) -> None:
        """A trial is over; void ones do not count."""
        if record.status == COMPLETE:
            self._records[record.cell, record.block] = record

    def trials(self, cell: int) -> int:
        """How many complete trials the cell has."""
        return sum(of == cell for of, _ in self._records)

    def mean(self, cell: int, metric: str) -> Mean | None:
        """None where no trial has the metric."""
        having = [
            one for (of, _), one in self._records.items() if of == cell and metric in one.metrics
        ]
        if not having:
            return None
        values = [one.metrics[metric] for one in having]
        usual = statistics.fmean(values)
        spread = statistics.stdev(values) / usual if len(values) > 1 and usual > 0 else None
        geometric = is_ratio_scaled(metric) and min(values) > 0  # as the analysis has it
        mean = statistics.geometric_mean(values) if geometric else usual
        return Mean(mean, spread, together(one.bounds.get(metric, "") for one in having))

    def ratio(self, asked: Asked) -> tuple[float, int] | None:
        """Geometric mean of the ratios within blocks, and how many blocks; of a single quantity
        its mean. None before the first block that has it."""
        if asked.right is None:
            mean = self.mean(*asked.left)
            return (mean.mean, self.trials(asked.left[0])) if mean else None
        pairs = [self._pair(block, asked.left, asked.right) for block in self._blocks()]
        logs = [math.log(left / right) for left, right in pairs if left > 0 and right > 0]
        return (math.exp(statistics.fmean(logs)), len(logs)) if logs else None

    def _blocks(self) -> set[int]:
        return {block for _, block in self._records}

    def _pair(
        self, block: int, left: tuple[int, str], right: tuple[int, str]
    ) -> tuple[float, float]:
        values = []
        for cell, metric in (left, right):
            record = self._records.get((cell, block))
            values.append(record.metrics.get(metric, 0.0) if record else 0.0)
        return values[0], values[1]


def _columns(plan: Plan) -> tuple[Column, ...]:
    """Throughput and p95 of each group; of an open loop its response, of a search its rate, of
    reads and writes of files how much they move."""
    groups = plan.cells[0].groups
    return tuple(column for one in groups for column in _of_group(one, len(groups) > 1))


def _of_group(group: GroupPlan, several: bool) -> Iterator[Column]:
    prefix = f"{group.name}." if several else ""
    yield (
        Column(f"{prefix}max rate /s", f"{prefix}rate_max_per_s")
        if group.find
        else Column(f"{prefix}tps", f"{prefix}transactions_per_s")
    )
    if group.find or group.arrivals:
        yield Column(f"{prefix}response p95 ms", f"{prefix}response_ms_p95")
    else:
        yield Column(f"{prefix}p95 ms", f"{prefix}service_ms_p95")
    if group.workload in workloads.WORKLOADS and IO in workloads.of(group.workload).needs:
        yield Column(f"{prefix}MiB/s", f"{prefix}mib_per_s")


def _asked(plan: Plan) -> tuple[Asked, ...]:
    """What the claims compare; without claims the throughput of the first factor's levels. Peaks
    are left to the end."""
    if not plan.claims:
        return tuple(_of_factor(plan))
    found = []
    try:
        claims = resolved_claims(plan)
    except DynoError:  # a cell that a claim names was skipped: the report has it
        return ()
    for say, part in (
        (plan.claim_words.get(claim.text, ""), part) for claim in claims for part in claim.parts
    ):
        left, right = part.left, part.right
        if left.kind != CELL or left.cell is None or (right and right.kind != CELL):
            continue
        at = level_text.levels(plan, part.at)
        text = f"{left.text} / {right.text}" if right else left.text
        other = (right.cell, right.metric) if right and right.cell is not None else None
        within = f" within {part.margin:.3g}" if part.margin else ""
        asks = f"{part.operator} {part.threshold:g}{within}"
        text = f"{text} at {at}" if at else text
        found.append(Asked(text, (left.cell, left.metric), other, asks, say))
    return tuple(found)


def _of_factor(plan: Plan) -> Iterator[Asked]:
    factor = next((one for one in plan.factors if len(one.levels) > 1), None)
    if factor is None:
        return
    column = _columns(plan)[0]
    for level, cell, baseline, at in plan.neighbours(factor):
        others = level_text.levels(plan, at)
        text = f"{column.title}[{level}] / {column.title}[{factor.levels[0]}]"
        yield Asked(
            f"{text} at {others}" if others else text,
            (cell.index, column.metric),
            (baseline.index, column.metric),
        )
