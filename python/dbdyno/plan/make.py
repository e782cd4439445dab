"""Makes a plan: a spec, the facts of a machine and what is installed, with nothing left to decide.

Pure: the same arguments give the same plan. A spec without a seed is planned with 0, for display;
what is run has one (`experiment.load_seeded`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment import faults
from dbdyno.experiment import types as spec_types
from dbdyno.experiment.claims.grammar import resolve
from dbdyno.experiment.file.hidden import without_commands
from dbdyno.experiment.types import Cpus, Hooks, Looks, Needs, Spec
from dbdyno.experiment.values.faults import Fault
from dbdyno.plan import cpus, data, external, hard, order, quick
from dbdyno.plan.claims import words_of
from dbdyno.plan.machine import Machine
from dbdyno.plan.outlook import counts, estimate, notes, primaries
from dbdyno.plan.two_versions.against import Base, Union, unite
from dbdyno.plan.types import (
    PLAN_VERSION,
    Cell,
    Factor,
    GroupPlan,
    Plan,
    Skipped,
    State,
)
from dbdyno.systems.base import TargetPlan
from dbdyno.wording.numbers import gib

Available = Callable[[TargetPlan], str | None]
Impossible = Callable[[Fault, spec_types.Target], DynoError | None]


def make(
    spec: Spec,
    machine: Machine,
    *,
    quick: bool = False,
    available: Available = lambda target: None,
    impossible: Impossible = lambda fault, target: None,
    data_settings: data.DataSettings = data.settings_of_files,
    write_to: Collection[str] = (),
    base: Base | None = None,
    runs: bool = True,
) -> Plan:
    """The plan of an experiment on a machine.

    `available` says why a target cannot be used here, or None if it can; `impossible` the same of
    a fault, of optional targets; `data_settings` which settings its files depend on; `write_to`
    names schemas that exist already and that groups may change, which a plan that is not run
    (`runs`) need not. With a `base` the plan has both versions of every cell that both have
    (`plan.against`). DynoError if a system that is not optional is missing, or refuses what is
    asked of it, if CPUs or budget do not suffice, or if no cell is left.
    """
    external.check(spec, write_to, runs=runs)
    if base is None:
        return _Maker(spec, machine, quick, available, impossible, data_settings).plan()
    external.check(base.spec, write_to, runs=runs)
    union = unite(spec, base)
    return _Maker(union.spec, machine, quick, available, impossible, data_settings, union).plan()


def check_settings(spec: Spec) -> None:
    """DynoError if a system refuses what some cell asks of it; reads nothing of this machine."""
    for cell in spec.cells:
        for target in cell.targets:
            try:
                data.settings_of_files(target)
            except DynoError as error:
                raise _in_cell(error, cell.levels, spec) from None


@dataclass(frozen=True)
class _Draft:
    """A cell before it is known which factors are hard."""

    levels: Mapping[str, str]
    targets: tuple[TargetPlan, ...]
    groups: tuple[GroupPlan, ...]
    source: spec_types.Cell

    @property
    def process(self) -> tuple[Any, ...]:
        """What a start of its servers decides."""
        return (self.source.cpus.servers, self.source.cache)


@dataclass(frozen=True)
class _Lack:
    """Why cells with a target cannot run here."""

    target: spec_types.Target
    why: str
    fix: str

    def skipped(self, what: str) -> Skipped:
        """`what`: the levels that are omitted; empty: there is no factor."""
        return Skipped(what or f"target {self.target.name}", self.why, self.fix)


class _Maker:
    def __init__(
        self,
        spec: Spec,
        machine: Machine,
        quick_: bool,
        available: Available,
        impossible: Impossible,
        data_settings: data.DataSettings,
        union: Union | None = None,
    ) -> None:
        self.spec = spec
        self.union = union
        self.machine = machine
        self.quick = quick_
        self.available = available
        self.impossible = impossible
        self.data_settings = data_settings
        self.pace = 1.0  # of trials that are shortened: what is left of the measured time
        self.notes: list[str] = list(union.notes) if union else []
        # Hardness follows from the whole experiment, not from what happens to be installed here.
        everything = [self._draft(source, small=False) for source in spec.cells]
        self.hard = hard.factors(
            [factor.name for factor in spec.factors], everything, spec.hooks.levels
        )

    def plan(self) -> Plan:
        spec = self.spec
        sources, missing = self._present(spec.cells)
        skipped = (*(self.union.skipped if self.union else ()), *self._skipped(missing))
        factors, cells = self._quick_cells(sources) if self.quick else self._cells(sources)
        self.notes += external.notes(cells)
        self.notes += notes.comparability(cells)
        self.notes += notes.open_loops(cells)
        self.notes += notes.idle_instances(cells)
        self.notes += notes.faults(cells)
        self.notes += primaries.notes(sources)
        self.notes += notes.unsampled(cells)
        if not self.quick:
            self.notes += notes.state(cells, spec.data is not None)
        blocks = 1 if self.quick else self._blocks(cells)
        if not self.quick:
            self.notes += counts.undecidable(spec.claims, factors, cells, spec.scope, blocks)
        (generator_cpus, server_cpus), cells = self._placed(cells)
        self._note_memory(cells)
        seed = 0 if spec.seed is None else spec.seed
        return Plan(
            version=PLAN_VERSION,
            name=spec.name,
            question=spec.question,
            factors=factors,
            cells=cells,
            trials=order.trials(cells, blocks, seed),
            blocks=blocks,
            seed=seed,
            claims=tuple(claim.text for claim in spec.claims),
            claim_words=words_of(spec.claims),
            untested=self._untested(factors, cells, skipped),
            matters=spec.matters,
            require=tuple(condition.text for condition in spec.require),
            generator_cpus=generator_cpus,
            server_cpus=server_cpus,
            quick=self.quick,
            skipped=skipped,
            notes=tuple(self.notes),
            spec_text=without_commands(spec.text),
            budget_s=None if self.quick else spec.budget_s,
            drain_s=spec.drain_s,
            load_threads=spec.load_threads,
            hooks=quick.sooner(spec.hooks, self.pace),
            prices=spec.prices,
            about=spec.about,
            looks=None if self.quick else self._looks(blocks),
            against=self.union.against if self.union else None,
        )

    # --- what is available ----------------------------------------------------------------------

    def _present(
        self, cells: Sequence[spec_types.Cell]
    ) -> tuple[list[spec_types.Cell], dict[int, _Lack]]:
        """The cells whose systems are here, and by index why the others are not."""
        reasons: dict[tuple[object, ...], str | None] = {}
        present, missing = [], {}
        for cell in cells:
            lack = self._lack(cell, reasons)
            if lack is None:
                present.append(cell)
            else:
                missing[cell.index] = lack
        if not present:
            raise DynoError(
                f"no cell can run here: {next(iter(missing.values())).why}",
                where=self.spec.places.get("targets"),
                fix="install one of the systems that the experiment names",
            )
        return present, missing

    def _lack(
        self, cell: spec_types.Cell, reasons: dict[tuple[object, ...], str | None]
    ) -> _Lack | None:
        """Why a cell cannot run here; None if it can. `reasons`: what is known of targets."""
        for target in cell.targets:
            key = (target.kind, target.version, target.basedir, target.url, target.volume)
            if key not in reasons:
                reasons[key] = self.available(target)
            reason = reasons[key]
            if reason is not None and not target.optional:
                raise DynoError(
                    f"target `{target.name}` ({target.kind}) cannot be used here: {reason}",
                    where=self.spec.places.get("targets"),
                    fix="install it, or write `optional: true` to skip its cells",
                )
            if reason is not None:
                return _Lack(target, reason, _install(target))
            for fault in cell.faults if target.optional else ():
                error = self.impossible(fault, target) if fault.target == target.name else None
                if error is not None:
                    return _Lack(target, error.what, error.fix)
        return None

    def _skipped(self, missing: Mapping[int, _Lack]) -> tuple[Skipped, ...]:
        """One entry a level that is gone altogether; one a cell for what that does not cover."""
        left = set(missing)
        found = []
        for factor in self.spec.factors:
            for level in factor.levels:
                having = {c.index for c in self.spec.cells if c.levels[factor.name] == level}
                if having <= set(missing) and having & left:
                    found.append(missing[min(having)].skipped(f"{factor.name}={level}"))
                    left -= having
        for index in sorted(left):
            levels = ", ".join(f"{k}={v}" for k, v in self.spec.cells[index].levels.items())
            found.append(missing[index].skipped(levels))
        return tuple(found)

    # --- cells ----------------------------------------------------------------------------------

    def _cells(
        self, sources: Sequence[spec_types.Cell]
    ) -> tuple[tuple[Factor, ...], tuple[Cell, ...]]:
        drafts = [self._draft(source) for source in sources]
        kept = self._data(drafts)
        cells = tuple(
            self._cell(index, draft, kept, len(drafts)) for index, draft in enumerate(drafts)
        )
        return tuple(_factors(self.spec.factors, self.hard, cells)), cells

    def _quick_cells(
        self, sources: Sequence[spec_types.Cell]
    ) -> tuple[tuple[Factor, ...], tuple[Cell, ...]]:
        """As many cells as fit a minute."""
        kept_longest = self.hard | ({self.union.against.factor} if self.union else set())
        for kept in quick.selections(self.spec.factors, kept_longest):
            chosen = quick.select(sources, kept)
            if not chosen:
                break  # what is left by the next step may be just what is not installed
            found = self._cells(chosen)
            cells = found[1]
            if len(cells) <= quick.CELLS_MAX and _total_s(cells) <= quick.TOTAL_MAX_S:
                break
        cut = {
            name
            for source in sources
            for group in source.groups
            for target in source.targets
            if target.name == group.target and (name := quick.shortened(group, target))
        }
        self.notes += quick.notes(len(cells), len(sources), sorted(cut), self.spec.hooks != Hooks())
        if any(source.until_steady for source in sources):
            self.notes.append("quick: trials end after a fixed time, steady or not.")
        return found

    def _draft(self, source: spec_types.Cell, *, small: bool = True) -> _Draft:
        groups = tuple(_group(group) for group in source.groups)
        targets = tuple(source.targets)
        if self.quick and small:
            cut = {target.name: quick.cut_rows(target) for target in targets}
            groups = tuple(quick.small(group, cut[group.target]) for group in groups)
            targets = tuple(quick.small_target(target) for target in targets)
        return _Draft(source.levels, targets, groups, source)

    def _data(self, drafts: Sequence[_Draft]) -> str:
        """Whether all cells reuse their data, or have it restored."""
        if self.quick:
            return data.REUSE  # restores would take most of the minute
        if self.spec.data is not None:
            return self.spec.data
        changed = any(
            draft.source.faults or data.writers(data.restorable(draft)) for draft in drafts
        )
        return data.RESTORE if changed else data.REUSE

    def _placed(
        self, cells: tuple[Cell, ...]
    ) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[Cell, ...]]:
        """CPUs of generator and servers, for all cells alike (then the cells have none of their
        own) or cell by cell."""
        where = self.spec.places.get("cpus") or self.spec.places.get("factors")
        asked = {tuple(sorted(c.levels.items())): c.cpus for c in self.spec.cells}
        found = {
            cell.index: cpus.split(
                self.machine, asked[tuple(sorted(cell.levels.items()))], cell.targets, where
            )
            for cell in cells
        }
        if not any(one.generator for one in asked.values()):
            every = [target for cell in cells for target in cell.targets]
            return cpus.split(self.machine, Cpus(), every, where), cells
        if len(set(found.values())) == 1:
            return found[cells[0].index], cells
        return ((), ()), tuple(
            replace(cell, generator_cpus=found[cell.index][0], server_cpus=found[cell.index][1])
            for cell in cells
        )

    def _cell(self, index: int, draft: _Draft, kept: str, count: int) -> Cell:
        warmup_s, duration_s = draft.source.warmup_s, draft.source.duration_s
        until_steady = draft.source.until_steady and not self.quick
        groups = draft.groups
        if self.quick:
            warmup_max_s, duration_max_s = quick.trial_s(count)
            warmup_s, duration_s = min(warmup_s, warmup_max_s), min(duration_s, duration_max_s)
            factor = duration_s / draft.source.duration_s
            groups = tuple(quick.paced(group, factor, duration_s) for group in groups)
            self.pace = min(self.pace, factor)
        return Cell(
            index=index,
            levels=dict(draft.levels),
            hard=hard.combination(draft.levels, self.hard),
            targets=draft.targets,
            groups=groups,
            state=State(kept, "warm" if self.quick else draft.source.cache),
            warmup_s=warmup_s,
            duration_s=duration_s,
            interval_s=min(draft.source.interval_s, duration_s),
            data_key=self._data_key(draft),
            until_steady=until_steady,
            steady_min_s=draft.source.steady_min_s if until_steady else None,
            sampling_s=draft.source.sampling_s,
            faults=faults.sooner(draft.source.faults, duration_s / draft.source.duration_s),
            audit=draft.source.audit,
        )

    def _data_key(self, draft: _Draft) -> str:
        try:
            return data.cell_key(draft.targets, draft.groups, self.data_settings)
        except DynoError as error:
            raise _in_cell(error, draft.levels, self.spec) from None

    # --- how often ------------------------------------------------------------------------------

    def _blocks(self, cells: Sequence[Cell]) -> int:
        """Blocks that fit the budget, whole ones only."""
        budget_s, blocks = self.spec.budget_s, self.spec.blocks
        if budget_s is None:
            return blocks
        setup_s, block_s = estimate.setup_s(cells), estimate.block_s(cells)
        fitting = int((budget_s - setup_s) // block_s)
        if fitting < 1:
            raise DynoError(
                f"the budget of {_minutes(budget_s)} is too short for one block: loading takes"
                f" about {_minutes(setup_s)} and a block of {len(cells)} cells {_minutes(block_s)}",
                where=self.spec.places.get("budget"),
                fix="raise the budget, drop levels, or shorten `duration` and `warmup`",
            )
        if fitting < blocks:
            self.notes.append(
                f"The budget of {_minutes(budget_s)} holds about {fitting} of {blocks} blocks."
            )
        return min(blocks, fitting)

    def _looks(self, blocks: int) -> Looks | None:
        """When interim looks at claims happen: `blocks` are the most, by now."""
        looks = self.spec.looks
        return looks and Looks(min(looks.first, blocks), blocks)

    # --- what will not be answered --------------------------------------------------------------

    def _untested(
        self, factors: Sequence[Factor], cells: Sequence[Cell], skipped: Sequence[Skipped]
    ) -> dict[str, str]:
        untested = {}
        for claim in self.spec.claims:
            needs = [self.spec.needs, self.spec.claim_needs.get(claim.text, Needs())]
            lacking = [why for why in map(self._lacking, needs) if why]
            if lacking:
                untested[claim.text] = "; ".join(lacking)
                continue
            try:
                resolve(claim, factors, cells, self.spec.scope)
            except DynoError:
                # `load` has resolved it against all cells, so it names one that is omitted.
                untested[claim.text] = self._why_left_out(skipped)
        return untested

    def _why_left_out(self, skipped: Sequence[Skipped]) -> str:
        reasons = [f"{skip.what} was skipped: {skip.why}" for skip in skipped]
        if self.quick:
            reasons.append("--quick does not run all cells")
        return "; ".join(reasons)

    def _lacking(self, needs: Needs) -> str:
        """Which of `needs` this machine does not have, as a sentence; empty if nothing."""
        machine = self.machine
        parts = []
        if needs.cores is not None and machine.cores < needs.cores:
            parts.append(f"needs {needs.cores} cores, and there are {machine.cores}")
        if needs.memory_bytes is not None and machine.memory_bytes < needs.memory_bytes:
            parts.append(
                f"needs {gib(needs.memory_bytes)} of memory, "
                f"and there are {gib(machine.memory_bytes)}"
            )
        return "; ".join(parts)

    def _note_memory(self, cells: Sequence[Cell]) -> None:
        wanted = max(estimate.memory_bytes(cell) for cell in cells)
        if self.machine.memory_bytes and wanted > self.machine.memory_bytes:
            self.notes.append(
                f"The largest cell may use {gib(wanted)} of memory, and the machine "
                f"has {gib(self.machine.memory_bytes)}: lower `memory`."
            )


def _in_cell(error: DynoError, levels: Mapping[str, str], spec: Spec) -> DynoError:
    """The same, saying in which cell."""
    cell = ", ".join(f"{name}={level}" for name, level in levels.items())
    return DynoError(
        f"{error.what} (in cell {cell})" if cell else error.what,
        where=error.where or spec.places.get("targets"),
        cause=error.cause,
        fix=error.fix,
    )


def _factors(
    factors: Sequence[spec_types.Factor], hard_names: frozenset[str], cells: Sequence[Cell]
) -> list[Factor]:
    """The factors with the levels that some cell still has."""
    found = []
    for factor in factors:
        used = {cell.levels[factor.name] for cell in cells}
        kept = [i for i, level in enumerate(factor.levels) if level in used]
        values = factor.values
        found.append(
            Factor(
                name=factor.name,
                levels=tuple(factor.levels[i] for i in kept),
                values=None if values is None else tuple(values[i] for i in kept),
                hard=factor.name in hard_names,
            )
        )
    return found


def _group(group: spec_types.Group) -> GroupPlan:
    return GroupPlan(
        name=group.name,
        workload=group.kind,
        target=group.target,
        sessions=group.sessions,
        deadline_s=group.deadline_s,
        retries=group.retries,
        options=dict(group.options),
        arrivals=group.arrivals,
        find=group.find,
        think=group.think,
        node=group.node,
        route=group.route,
    )


def _install(target: spec_types.Target) -> str:
    """The next step where a target cannot be used here."""
    if target.url is not None:
        return f"check the URL of target `{target.name}`"
    system = f"{target.kind} {target.version}" if target.version else target.kind
    return f"install {system}, or give `basedir:` of target `{target.name}`"


def _total_s(cells: Sequence[Cell]) -> float:
    return estimate.setup_s(cells) + estimate.block_s(cells)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
