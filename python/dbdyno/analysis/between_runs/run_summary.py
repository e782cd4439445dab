"""A run reduced to what a comparison with other runs needs: one number a cell and metric.

That number is the geometric mean over complete blocks, since ratios are what is formed of it. A
block that was cut short has seen only some of the cells, perhaps at another time than the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.between_runs import comparability
from dbdyno.analysis.between_runs.comparability import Facts, Key
from dbdyno.analysis.estimates import ratios
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.experiment.claims import metrics
from dbdyno.plan.claims import scope
from dbdyno.plan.types import Cell, GroupPlan, Plan
from dbdyno.store.record import COMPLETE, TrialRecord

MISSING = "not measured"


@dataclass(frozen=True)
class Value:
    """A metric of a cell in one run: geometric mean over `blocks` complete blocks, or `problem`,
    which says why no ratio can be formed; then there may be no mean."""

    mean: float | None
    blocks: int
    problem: str = ""


@dataclass(frozen=True)
class Outline:
    """What comparisons ask of a run's plan. `kinds`: (name, kind) of its targets; `unfixed`: words
    that some target was not given."""

    name: str
    seed: int
    blocks: int
    matters: float
    quick: bool
    imported: bool
    two_versions: bool
    kinds: tuple[tuple[str, str], ...]
    unfixed: tuple[str, ...]

    @classmethod
    def of(cls, plan: Plan) -> Outline:
        """That of a plan."""
        kinds = {(target.name, target.kind) for cell in plan.cells for target in cell.targets}
        return cls(
            plan.name,
            plan.seed,
            plan.blocks,
            plan.matters,
            plan.quick,
            plan.imported is not None,
            plan.against is not None,
            tuple(sorted(kinds)),
            comparability.unfixed(plan),
        )


@dataclass(frozen=True)
class Reduced:
    """One run."""

    name: str  # where it is, for people
    created_unix_s: float
    status: str
    plan: Outline
    fingerprint: str
    metrics: tuple[str, ...]
    values: Mapping[Key, Mapping[str, Value]]
    asked: Mapping[Key, Facts]
    machine: Facts
    may_change: Facts
    blocks: int  # complete ones
    mixed: str = ""  # what changed while it was measured, if something did

    @property
    def unusable(self) -> str:
        """Why nothing of the run is comparable with another one; empty if something can."""
        if self.plan.quick:
            return Message("quick_numbers")
        if not self.blocks:
            return Message("no_complete_block", status=self.status)
        return ""

    @property
    def short(self) -> str:
        """Whether so many blocks are missing that its spread is another one's: more than half."""
        if 2 * self.blocks >= self.plan.blocks:
            return ""
        return Message("blocks_missing", blocks=self.blocks, planned=self.plan.blocks)

    def value(self, cell: Key, metric: str) -> Value:
        """A metric of a cell; a `problem` where it was not measured."""
        return self.values.get(cell, {}).get(metric, Value(None, 0, MISSING))


def reduce(
    plan: Plan,
    records: Sequence[TrialRecord],
    manifest: Mapping[str, Any],
    name: str,
    status: str,
    asked_for: Sequence[str] = (),
) -> Reduced:
    """From what the run directory holds. `asked_for`: names of metrics as a user writes them, else
    the main ones. DynoError for a name that this plan cannot have."""
    chosen = chosen_metrics(plan, asked_for)
    measured = Measured.of(plan, records)
    environment = manifest.get("environment", {})
    return Reduced(
        name=name,
        created_unix_s=float(manifest.get("created_unix_s", 0.0)),
        status=status,
        plan=Outline.of(plan),
        fingerprint=comparability.fingerprint(plan),
        metrics=chosen,
        values={
            comparability.key(cell.levels): {one: _value(measured, cell, one) for one in chosen}
            for cell in plan.cells
        },
        asked={
            comparability.key(cell.levels): comparability.asked(plan, cell) for cell in plan.cells
        },
        machine=comparability.machine(plan, environment),
        may_change=comparability.may_change(plan, environment, _versions(records)),
        blocks=len(_whole(measured)),
        mixed=_mixed(plan, manifest),
    )


def chosen_metrics(plan: Plan, asked_for: Sequence[str]) -> tuple[str, ...]:
    """Canonical names of those asked for, else what each group is about: its rate, or the rate that
    it searches for, and the 95th percentile of its times."""
    if asked_for:
        names = scope(plan)
        return tuple(dict.fromkeys(metrics.canonical(name, names) for name in asked_for))
    found: dict[str, None] = {}
    for cell in plan.cells:
        for group in cell.groups:
            prefix = f"{group.name}." if len(cell.groups) > 1 else ""
            found |= {prefix + name: None for name in _main(group)}
    return tuple(found)


def _main(group: GroupPlan) -> tuple[str, ...]:
    if group.find:
        return ("rate_max_per_s",)
    if group.arrivals:  # its throughput is what was asked of it, not what it can do
        return ("response_ms_p95",)
    return ("transactions_per_s", "service_ms_p95")


def _value(measured: Measured, cell: Cell, metric: str) -> Value:
    """One number of all complete blocks, by the rules of ratios within a run: a zero, an outage or
    a percentile that only some trials have makes it unusable, for leaving those trials out would
    judge a system by its good days."""
    trials = measured.cells[cell.index]
    blocks = [block for block in sorted(_whole(measured)) if block in trials]
    series = measured.series(cell.index, metric)
    values = [series[block] for block in blocks if block in series]
    if not values:
        return Value(None, 0, (blocks and metrics.why_absent(metric)) or MISSING)
    thin, _ = ratios.absent([metric], len(values), len(blocks))
    problem = ratios.disturbed(measured, (cell.index,), blocks) or thin
    low = [block for block in blocks if series.get(block, 1.0) <= 0]
    if low and not problem:
        problem = Message("zero_in_block", metric=metric, value=series[low[0]], block=low[0])
    if (bound := measured.bound(cell.index, metric)) and not problem:
        problem = Message("only_bound", metric=metric, bound=bound)
    if min(values) <= 0:
        return Value(math.fsum(values) / len(values), len(values), problem)
    mean = math.exp(math.fsum(map(math.log, values)) / len(values))
    return Value(mean, len(values), problem)


def _whole(measured: Measured) -> set[int]:
    """Complete blocks that hold at least one measurement."""
    seen = {block for series in measured.cells.values() for block in series}
    return seen & set(measured.whole)


def _versions(records: Sequence[TrialRecord]) -> dict[str, str]:
    """Versions by target, as the servers reported them; all that a run saw."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        if record.status == COMPLETE:
            for target, facts in record.targets.items():
                if version := str(facts.get("version", "")):
                    found.setdefault(target, {})[version] = None
    return {target: ", ".join(sorted(versions)) for target, versions in found.items()}


def _mixed(plan: Plan, manifest: Mapping[str, Any]) -> str:
    """What changed from one process that worked in the run to another."""
    environments = [one.get("environment", {}) for one in manifest.get("sessions", [])]
    changed: dict[str, None] = {}
    for before, now in itertools.pairwise(environments):
        changed |= dict.fromkeys(
            (
                *comparability.differences(
                    comparability.machine(plan, before), comparability.machine(plan, now), both=True
                ),
                *comparability.differences(
                    comparability.may_change(plan, before, {}),
                    comparability.may_change(plan, now, {}),
                ),
            )
        )
    return comparability.named(changed)
