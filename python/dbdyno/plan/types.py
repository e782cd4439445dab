"""The plan: a frozen list of everything a run will do. Nothing in it is left to decide.

A spec holds what the user typed; a plan holds what will happen. Plans are pure data: they are made
from a spec and the facts of a machine by `plan.make`, stored in the run's manifest as JSON, and
read back unchanged when a run is resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.experiment.types import (
    About,
    Arrivals,
    Find,
    Hooks,
    Looks,
    Prices,
    Think,
)
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.systems.base import TargetPlan

PLAN_VERSION = 1


@dataclass(frozen=True)
class GroupPlan:
    """One workload with its own sessions, sent to one target."""

    name: str
    workload: str  # oltp
    target: str  # name of a TargetPlan
    sessions: int
    deadline_s: float
    retries: int
    options: Mapping[str, Any]  # preset expanded by the engine
    arrivals: Arrivals | None = None
    find: Find | None = None
    think: Think | None = None
    node: str = "write"  # write | read
    route: str = ""  # which nodes instead; see the group

    @property
    def access(self) -> str:
        """What `Target.nodes_for` is asked."""
        return self.route or self.node


@dataclass(frozen=True)
class State:
    """What each trial starts from; the same for all cells of a run."""

    data: str  # reuse | restore
    cache: str  # warm | cold


@dataclass(frozen=True)
class Cell:
    """A combination of levels, fully resolved."""

    index: int
    levels: Mapping[str, str]  # factor name -> level name, in the order of the factors
    hard: str  # names the hard combination: cells with equal `hard` share servers within a block
    targets: tuple[TargetPlan, ...]
    groups: tuple[GroupPlan, ...]
    state: State
    warmup_s: float
    duration_s: float
    interval_s: float
    data_key: str  # cells with equal data_key can start from one loaded snapshot
    until_steady: bool = False  # `duration_s` is then the most that is measured
    steady_min_s: float | None = None  # slowest cycle that it must contain; None: the default
    sampling_s: float | None = 1.0  # interval of the samplers; None: there are none
    audit: str | None = None  # what a trial is checked for: see `experiment.audit`
    # Of this cell, where `cpus` varies; else those of the plan.
    generator_cpus: tuple[int, ...] = ()
    server_cpus: tuple[int, ...] = ()
    faults: tuple[Fault, ...] = ()  # in the order of the file


@dataclass(frozen=True)
class TrialPlan:
    """One measured run of one cell."""

    id: str  # b01-t003: block 1, third trial of the block
    block: int  # from 1
    position: int  # from 1, over the whole run
    cell: int
    seed: int
    fresh_servers: bool  # first trial of its hard combination within the block


@dataclass(frozen=True)
class Factor:
    """What varies."""

    name: str
    levels: tuple[str, ...]
    values: tuple[float, ...] | None  # where every level is a number: axis of a chart, peak()
    hard: bool


@dataclass(frozen=True)
class Skipped:
    """Something asked for that this machine cannot do; printed, never hidden."""

    what: str  # "engine=mysql"
    why: str
    fix: str


@dataclass(frozen=True)
class Imported:
    """Results that other tools measured and `dyno import` read. `blocked`: the user says that
    repetition N of every cell belongs to pass N over all cells."""

    tools: tuple[str, ...]  # "sysbench 1.0.20"
    blocked: bool


@dataclass(frozen=True)
class Against:
    """Two versions in the same blocks: the first factor says which one a cell belongs to."""

    factor: str  # its name: `version`, unless the experiment has one
    base: str  # its levels
    new: str
    source: str  # what the base was read from: a file, a study, a run
    spec_text: str  # the base's YAML; the plan's own is the new version's
    matters: float  # a difference up to this, a ratio minus one, is none


@dataclass(frozen=True)
class LoadThreads:
    """How many load threads drive so many sessions of a closed loop, as a probe found."""

    sessions: int
    threads: int
    per_s: Mapping[str, float]  # load threads -> transactions a second


@dataclass(frozen=True)
class Plan:
    """Everything that a run will do, in order."""

    version: int
    name: str
    question: str
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    trials: tuple[TrialPlan, ...]
    blocks: int
    seed: int
    claims: tuple[str, ...]  # as the user wrote them; parsed by spec.claims
    untested: Mapping[str, str]  # claim -> why it is not tested here (needs: more than there is)
    matters: float  # smallest interesting effect, a ratio minus one: 0.03
    require: tuple[str, ...]  # conditions on metrics that void a trial
    generator_cpus: tuple[int, ...]  # empty: not split
    server_cpus: tuple[int, ...]
    quick: bool  # a smoke test: measured, shown, never judged
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]  # about comparability: which words are not fixed, and so on
    spec_text: str  # the YAML as read, with --set applied: reproduces the run
    budget_s: float | None = None  # no block is begun that would end later than this
    drain_s: float = 10.0  # how long an open loop's backlog is worked off after the end
    hooks: Hooks = field(default_factory=Hooks)
    prices: Prices | None = None
    about: About = field(default_factory=About)
    imported: Imported | None = None  # None: measured by dbdyno itself
    against: Against | None = None  # with `dyno run --against` only
    looks: Looks | None = None  # None: `blocks` are settled beforehand
    load_threads: int = 0  # as asked for; 0: probed where that pays, else the engine chooses
    probed: tuple[LoadThreads, ...] = ()  # found by the run itself, before its first trials
    claim_words: Mapping[str, str] = field(default_factory=dict)  # claim -> its author's words

    def generator_cpus_of(self, cell: Cell) -> tuple[int, ...]:
        """CPUs of the load generator in a cell; empty: it shares all of them."""
        return cell.generator_cpus or self.generator_cpus

    def server_cpus_of(self, cell: Cell) -> tuple[int, ...]:
        """CPUs of the servers in a cell; empty: they share all of them."""
        return cell.server_cpus or self.server_cpus

    def neighbours(self, factor: Factor) -> Iterator[tuple[str, Cell, Cell, dict[str, str]]]:
        """Level, its cell, the baseline cell with the same other levels, those levels."""
        by_levels = {tuple(cell.levels.items()): cell for cell in self.cells}
        for level in factor.levels[1:]:
            for cell in self.cells:
                if cell.levels[factor.name] != level:
                    continue
                key = {**cell.levels, factor.name: factor.levels[0]}
                baseline = by_levels.get(tuple(key.items()))
                if baseline is not None:
                    at = {name: value for name, value in cell.levels.items() if name != factor.name}
                    yield level, cell, baseline, at

    @property
    def paired(self) -> bool:
        """Whether trials of one block belong together, so that cells are compared within blocks."""
        return self.imported is None or self.imported.blocked

    @property
    def repeats(self) -> str:
        """What a repetition of a cell is called: a block, or just a run where nothing pairs it."""
        return "block" if self.paired else "run"
