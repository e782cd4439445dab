"""The trials of a run as a table: which cell gave which numbers in which block.

Void trials are not in it. A block is *whole* once every trial planned for it is over (complete or
void): contrasts between hard combinations use whole blocks only, since a block groups all trials of
one hard combination, and a block that was cut short has only some of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.costs import cost
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import Measurement
from dbdyno.experiment.values.bounds import together
from dbdyno.plan.types import Cell, Plan
from dbdyno.store.record import COMPLETE, ELSEWHERE, VOID, TrialRecord

_TINY, _HUGE = 1e-150, 1e150
CLOCKS_S = 0.05  # how far the engine's clock and that of a fault may be apart


@dataclass(frozen=True)
class VoidAttempt:
    """An attempt at a trial that does not count."""

    cell: int
    block: int
    measured: bool  # it has values


@dataclass(frozen=True)
class Attempts:
    """How many attempts at a cell there were."""

    all: int
    void: int
    void_measured: int


class Measured:
    """Measurements by cell and block."""

    def __init__(
        self,
        plan: Plan,
        measurements: Iterable[Measurement],
        whole: frozenset[int],
        failed: frozenset[tuple[int, int]] = frozenset(),
        void: Sequence[VoidAttempt] = (),
        attempted: Measured | None = None,
    ):
        """`whole`: numbers of the whole blocks; `failed`: (cell, block) where every attempt broke
        down; `void`: every void attempt; `attempted`: the same run as if none had been void, if
        one that was measured is. A cell has at most one measurement a block."""
        self.plan = plan
        self.whole = whole
        self._failed = failed
        self._void = tuple(void)
        self.attempted = attempted
        first: dict[int, int] = {}
        for trial in plan.trials:
            first[trial.block] = min(trial.position, first.get(trial.block, trial.position))
        self._positions = {
            (trial.cell, trial.block): trial.position - first[trial.block] for trial in plan.trials
        }
        self.cells: dict[int, dict[int, Measurement]] = {cell.index: {} for cell in plan.cells}
        for one in sorted(measurements, key=lambda one: one.block):
            if one.block in self.cells[one.cell]:
                raise ValueError(f"two trials of cell {one.cell} in block {one.block}")
            self.cells[one.cell][one.block] = one

    @classmethod
    def of(
        cls, plan: Plan, records: Sequence[TrialRecord], void: Sequence[TrialRecord] = ()
    ) -> Measured:
        """From the records of a run, complete and void, and those of `void` attempts that others
        took the place of."""
        over = {record.id for record in records}
        missing = {trial.block for trial in plan.trials if trial.id not in over}
        whole = frozenset(trial.block for trial in plan.trials) - missing
        failed = frozenset(
            (record.cell, record.block)
            for record in records
            if record.status == VOID and not record.metrics
        )
        first = _first_attempts((*void, *records))
        attempted = None
        if any(one.status == VOID for one in first):
            attempted = cls(plan, (_measurement(plan, one) for one in first), whole, failed)
        return cls(
            plan,
            (_measurement(plan, record) for record in records if record.status == COMPLETE),
            whole,
            failed,
            [
                VoidAttempt(one.cell, one.block, bool(one.metrics))
                for one in (*void, *records)
                if one.status == VOID and not _elsewhere(one)
            ],
            attempted,
        )

    def until(self, block: int) -> Measured:
        """What was known after that block."""
        return Measured(
            self.plan,
            (
                one
                for series in self.cells.values()
                for one in series.values()
                if one.block <= block
            ),
            frozenset(one for one in self.whole if one <= block),
            frozenset((cell, one) for cell, one in self._failed if one <= block),
            [one for one in self._void if one.block <= block],
            self.attempted and self.attempted.until(block),
        )

    def series(self, cell: int, metric: str) -> dict[int, float]:
        """Values of a metric in a cell, by block; blocks without a sane one are absent.

        Sane: finite, and neither so large nor so small that squares and ratios overflow. A session
        state that a trial never saw, though it counted sessions, is 0 there and not absent.
        """
        found = {}
        for block, one in self.cells[cell].items():
            value = one.metrics.get(metric)
            if value is None and (family := _sessions(metric)):
                value = 0.0 if any(name.startswith(family) for name in one.metrics) else None
            if value is not None and _sane(value):
                found[block] = value
        return found

    def bound(self, cell: int, metric: str) -> str:
        """What the mean of a metric in a cell is: AT_LEAST or AT_MOST if some of its values are
        bounds, NEITHER if they are bounds on different sides, empty if all are exact."""
        return together(one.bounds.get(metric, "") for one in self.cells[cell].values())

    def position(self, cell: int, block: int) -> int:
        """Position of the cell in the block: trials before it."""
        return self._positions[cell, block]

    def blocks(self, cells: Iterable[int]) -> list[int]:
        """Blocks in which all of `cells` were measured; whole ones only if `hard` differs."""
        wanted = list(dict.fromkeys(cells))
        common = set.intersection(*(set(self.cells[cell]) for cell in wanted))
        if len({self.cell(cell).hard for cell in wanted}) > 1:
            common &= self.whole
        return sorted(common)

    def cell(self, index: int) -> Cell:
        """The cell with that index."""
        found = self.plan.cells[index]
        assert found.index == index
        return found

    def outages(self, cell: int, blocks: Iterable[int]) -> list[int]:
        """Those of `blocks` in which the cell had an outage."""
        return [block for block in blocks if self.cells[cell][block].outage]

    def attempts(self, cell: int) -> Attempts:
        """Attempts at the cell; not those that a resumed run repeated."""
        void = [one for one in self._void if one.cell == cell]
        measured = sum(one.measured for one in void)
        return Attempts(len(void) + len(self.cells[cell]), len(void), measured)

    def failures(self, cell: int) -> list[int]:
        """Blocks in which the cell could not be measured at all, however often it was tried; not
        those whose measurement did not meet `require:`."""
        return sorted(block for failed, block in self._failed if failed == cell)

    def warnings(self, cells: Iterable[int]) -> tuple[str, ...]:
        """Warnings of the cells' trials, each kind once, with the number of trials concerned."""
        trials = [one for cell in dict.fromkeys(cells) for one in self.cells[cell].values()]
        first: dict[str, str] = {}
        count: dict[str, int] = {}
        for one in trials:
            for key in {kind(text): text for text in one.warnings}.items():
                first.setdefault(*key)
                count[key[0]] = count.get(key[0], 0) + 1
        return tuple(
            text
            if len(trials) == 1
            else Message("befell", said=text, count=count[kind], trials=len(trials))
            for kind, text in first.items()
        )


def _first_attempts(attempts: Iterable[TrialRecord]) -> list[TrialRecord]:
    """The first attempt at each trial that was measured, of those in the environment of the last;
    `attempts` at one trial in their order."""
    first: dict[str, TrialRecord] = {}
    for one in attempts:
        if _elsewhere(one):
            first.pop(one.id, None)
        elif one.metrics:
            first.setdefault(one.id, one)
    return list(first.values())


def _elsewhere(record: TrialRecord) -> bool:
    """Whether the trial is void since its block was begun in another environment: no matter of what
    was measured."""
    return record.status == VOID and record.void_reason.startswith(ELSEWHERE)


def _measurement(plan: Plan, record: TrialRecord) -> Measurement:
    from_s, until_s = record.steady_from_s or 0.0, record.measured_s
    if until_s is None:  # an older record, or another tool's
        until_s = plan.cells[record.cell].duration_s
    return Measurement(
        trial=record.id,
        block=record.block,
        cell=record.cell,
        metrics={**record.metrics, **cost.metrics(plan, plan.cells[record.cell], record.metrics)},
        warnings=record.warnings,
        outage=any(
            _touches(outage, from_s, until_s) and not _is_meant(outage, record)
            for outage in record.outages
        ),
        bounds=record.bounds,
        length_s=max(0.0, until_s - from_s),
        from_s=from_s,
    )


def _touches(outage: Mapping[str, Any], from_s: float, until_s: float) -> bool:
    """Whether an outage overlaps what counts; one in the warm-up that ended does not."""
    end = outage.get("end_s")
    return outage.get("start_s", 0.0) < until_s and (end is None or end > from_s)


def _is_meant(outage: Mapping[str, Any], record: TrialRecord) -> bool:
    """Whether a connection was lost after a fault of the experiment had begun: what it does to
    clients is what is measured, and no accident."""
    first_s = min((fault.get("begun_s", math.inf) for fault in record.faults), default=math.inf)
    return bool(outage.get("start_s", 0.0) >= first_s - CLOCKS_S)


def _sane(value: float) -> bool:
    return value == 0 or _TINY < abs(value) < _HUGE


def _sessions(metric: str) -> str:
    """`db.sessions.` of a metric that counts sessions in a state; empty for any other."""
    head, family, _ = f".{metric}".partition(".sessions.")
    return f"{head}{family}".removeprefix(".") if family else ""


def kind(text: str) -> str:
    """A warning without its numbers: what makes two of them the same."""
    return re.sub(r"\d[\d.,]*", "#", text)
