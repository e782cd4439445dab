"""A trial that searches for a rate: each probe a run of the engine, the best one represents it.

The engine's files of every probe go to `probe-N/` in the trial's directory; those of the probe that
represents the trial (the highest rate that met the conditions, or if none did the last one) are
copied back, so that a reader finds a trial like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace

from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.rate_search.judgement import Judgement, judge
from dbdyno.execute.rate_search.outcome import outcome_text
from dbdyno.execute.rate_search.search import Found, search
from dbdyno.experiment.types import Arrivals, RateStep
from dbdyno.experiment.workloads.arrivals import lowest_per_s
from dbdyno.plan.order import SEED_BITS
from dbdyno.plan.types import Cell, GroupPlan, TrialPlan
from dbdyno.store.metrics import open_loop
from dbdyno.store.record import COMPLETE, TrialRecord

Once = Callable[[Cell, TrialPlan], TrialRecord]
# What in a failing probe's warnings says that not the system set the limit.
_NOT_THE_SYSTEM = ("generator-bound", "the generator itself", *open_loop.SESSIONS_BUSY)


class _Broken(Exception):
    """A probe gave no measurement: the trial is void with its record."""

    def __init__(self, record: TrialRecord) -> None:
        super().__init__(record.void_reason)
        self.record = record


class Probing:
    """One search. `once` runs the engine once in the trial's directory."""

    def __init__(self, context: ExecutionContext, cell: Cell, trial: TrialPlan, once: Once) -> None:
        self._run = context.run
        self._say = context.say
        self._cell = cell
        self._trial = trial
        self._once = once
        self._group = searching(cell)
        self._records: dict[int, TrialRecord] = {}

    def measure(self) -> TrialRecord:
        """The record of the whole search."""
        find = self._group.find
        assert find is not None
        floor_per_s = lowest_per_s(find.conditions, self._cell.duration_s)
        find = replace(find, start_per_s=dithered(find.start_per_s, self._trial.seed))
        try:
            found = search(find, floor_per_s, self._probe)
        except _Broken as broken:
            return broken.record
        return self._record(found)

    def _probe(self, number: int, rate_per_s: float) -> Judgement:
        cell = at_rate(self._cell, self._group, rate_per_s)
        trial = replace(self._trial, seed=probe_seed(self._trial.seed, number))
        record = self._once(cell, trial)
        if record.status != COMPLETE:
            raise _Broken(record)
        self._run.put_probe_aside(self._trial.id, number)
        self._records[number] = record
        judgement = self._judged(record)
        why = "; ".join(judgement.reasons) or "all conditions held"
        self._say(f"  probe {number}: {rate_per_s:,g}/s: {why}")
        return judgement

    def _judged(self, record: TrialRecord) -> Judgement:
        find, prefix = self._group.find, self._prefix()
        assert find is not None
        names = {
            name: name.removeprefix(prefix) for name in record.metrics if name.startswith(prefix)
        }
        metrics = {short: record.metrics[name] for name, short in names.items()}
        bounds = {short: record.bounds.get(name, "") for name, short in names.items()}
        return judge(find, metrics, bounds, record.measured_s or self._cell.duration_s)

    def _record(self, found: Found) -> TrialRecord:
        stands = found.passed or found.probes[-1]
        self._run.take_probe(self._trial.id, stands.number)
        record = self._records[stands.number]
        prefix = self._prefix()
        highest = f"{prefix}rate_max_per_s"
        metrics = {**record.metrics, f"{prefix}probes": float(len(found.probes))}
        bounds = dict(record.bounds)
        if found.rate_per_s is not None:
            metrics[highest] = found.rate_per_s
            if found.bound:
                bounds[highest] = found.bound
        return record.replace(
            id=self._trial.id,
            started_unix_s=self._records[1].started_unix_s,
            metrics=metrics,
            bounds=bounds,
            warnings=(*self._notes(found), *record.warnings),
            probes=tuple(
                {
                    "rate_per_s": one.rate_per_s,
                    "passed": one.passed,
                    "why": "; ".join(one.judgement.reasons),
                }
                for one in found.probes
            ),
        )

    def _notes(self, found: Found) -> Iterable[str]:
        """How the search ended, unless it finished, and what set its limit."""
        who = self._prefix().removesuffix(".")
        who = f"{who}: " if who else ""
        if ending := outcome_text(found):
            yield f"{who}{ending}"
        if found.failed is not None:
            for warning in self._records[found.failed.number].warnings:
                text = warning.removeprefix(self._prefix().replace(".", ": "))
                if text.startswith(_NOT_THE_SYSTEM):
                    yield (
                        f"{who}the search's limit may not be the system's:"
                        f" at {found.failed.rate_per_s:,g}/s, which failed, {text}"
                    )

    def _prefix(self) -> str:
        return f"{self._group.name}." if len(self._cell.groups) > 1 else ""


def searching(cell: Cell) -> GroupPlan:
    """The group of a cell that searches; at most one does. LookupError if none does."""
    for group in cell.groups:
        if group.find:
            return group
    raise LookupError(f"no group of cell {cell.index} searches for a rate")


def at_rate(cell: Cell, group: GroupPlan, rate_per_s: float) -> Cell:
    """The cell with one group's search replaced by one of its rates."""
    assert group.find is not None
    arrivals = Arrivals(group.find.process, (RateStep(None, rate_per_s, rate_per_s),))
    fixed = replace(group, arrivals=arrivals, find=None)
    groups = tuple(fixed if each.name == group.name else each for each in cell.groups)
    return replace(cell, groups=groups)


def dithered(start_per_s: float, seed: int) -> float:
    """Where a trial's search starts: between the rate asked for and its double, uniformly on the
    logarithmic scale.

    From one start all trials would try the same rates, and trials that agree to the step would make
    an interval of no length, as if the rate were known exactly.
    """
    digest = hashlib.sha256(f"dbdyno start {seed}".encode()).digest()
    return start_per_s * 2.0 ** (int.from_bytes(digest[:8]) / 2**64)


def probe_seed(seed: int, number: int) -> int:
    """Each probe draws again: with one seed a second one would ask for keys just cached, and the
    repetition of an unlucky one would have the same bursts."""
    digest = hashlib.sha256(f"dbdyno probe {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:8]) >> (64 - SEED_BITS)
