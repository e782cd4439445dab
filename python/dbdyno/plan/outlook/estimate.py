"""What a plan will cost before it runs: time, restarts, disk, memory, what it touches.

Rough on purpose and biased high: constants are of a two-core machine with a solid-state disk. The
live view corrects the time as trials complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno import kinds
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import IGNORED, Network, Setup, Volume
from dbdyno.experiment.workloads.measuring import CYCLES, MIN_S
from dbdyno.plan import data, order
from dbdyno.plan.types import Cell, Plan
from dbdyno.systems.base import Scalar, TargetPlan
from dbdyno.systems.external.server import PREFIX

SCHEMA = "dbdyno"  # what the load goes to, in servers of our own

_LOAD_BYTES_PER_S = 30e6
_COPY_BYTES_PER_S = 200e6
_TRIAL_S = 0.7  # starting the engine, preparing statements, storing the trial
_SERVER_BYTES = 300_000_000  # of a server in addition to its caches
_CACHE_BYTES = 128 << 20  # where `memory` is not given: the common default
_SESSION_BYTES = 1_000_000  # of a session in the server


@dataclass(frozen=True)
class Touched:
    """What a target's server is given: a schema of its own, settings in its own configuration. For
    an external server (`place` is not empty): what is used, or changed and restored."""

    target: str
    kind: str
    schema: str
    words: Mapping[str, str]  # durability, isolation, memory as written
    config: Mapping[str, tuple[Scalar, ...]]  # setting -> its values over the cells
    instances: tuple[int, ...] = (1,)  # servers, over the cells
    topologies: tuple[str, ...] = ()  # their kinds, over the cells
    setup: tuple[str, ...] = ()  # what is put into it, in words
    session: tuple[str, ...] = ()  # statements of each connection
    place: str = ""  # host and port of an external server
    existing: bool = False  # whether the schema is there, too


@dataclass(frozen=True)
class Estimate:
    """What `--dry-run` prints. Times in seconds, sizes in bytes."""

    cells: int
    blocks: int
    trials: int
    loads: int  # data sets loaded from nothing
    restarts: int  # starts of servers, all blocks
    restores: int  # copies of a loaded data set put in place, all blocks
    setup_s: float  # once: initialising and loading
    block_s: float  # each block
    total_s: float
    total_s_min: float  # less than `total_s` where run or trials end as soon as enough is known
    trials_end_early: bool  # whether some end as soon as they are steady
    probes_max: int  # runs of the engine in one trial: more than one where a rate is searched for
    disk_bytes: int
    memory_bytes: int  # of the largest cell
    touched: tuple[Touched, ...]


def of(plan: Plan) -> Estimate:
    """The cost of a plan."""
    starts = [t for t in plan.trials if t.fresh_servers or restarted(plan.cells[t.cell])]
    setup_s = sum(_load_s(cell) for cell in _loaded(plan.cells).values())
    total_trials_s = block_s(plan.cells) * plan.blocks
    return Estimate(
        cells=len(plan.cells),
        blocks=plan.blocks,
        trials=len(plan.trials),
        loads=sum(_loads(cell) for cell in _loaded(plan.cells).values()),
        restarts=sum(_server_count(plan.cells[trial.cell]) for trial in starts),
        restores=sum(_loads(plan.cells[trial.cell]) for trial in starts),
        setup_s=setup_s,
        block_s=block_s(plan.cells),
        total_s=setup_s + total_trials_s,
        total_s_min=setup_s
        + block_s(plan.cells, trial_s_min) * (plan.looks.first if plan.looks else plan.blocks),
        trials_end_early=any(cell.until_steady for cell in plan.cells),
        probes_max=max(probes_max(cell) for cell in plan.cells),
        disk_bytes=_disk_bytes(plan.cells),
        memory_bytes=max(memory_bytes(cell) for cell in plan.cells),
        touched=_touched(plan.cells),
    )


def setup_s(cells: Sequence[Cell]) -> float:
    """Seconds before the first trial."""
    return sum(_load_s(cell) for cell in _loaded(cells).values())


def block_s(cells: Sequence[Cell], length_s: Callable[[Cell], float] | None = None) -> float:
    """Seconds of one block: trials (of `length_s`, else `trial_s`), and the starts between them."""
    length_s = length_s or trial_s
    trials = order.trials(cells, 1, 0)
    by_index = {cell.index: cell for cell in cells}
    total = 0.0
    for trial in trials:
        cell = by_index[trial.cell]
        total += _TRIAL_S + length_s(cell)
        if trial.fresh_servers or restarted(cell):
            total += _start_s(cell)
    return total


def overhead_s(cells: Sequence[Cell], blocks: float) -> float:
    """Seconds of all but the load: before the first trial, and between those of `blocks`."""
    return setup_s(cells) + blocks * block_s(cells, lambda cell: 0.0)


def trial_s(cell: Cell) -> float:
    """Seconds of load in a trial of the cell, at most: a search takes all the probes that it may,
    and what ends when it is steady never is."""
    return probes_max(cell) * (cell.warmup_s + cell.duration_s)


def trial_s_min(cell: Cell) -> float:
    """The same where trials that end when they are steady are so at once."""
    return probes_max(cell) * run_s_min(cell)


def run_s_min(cell: Cell) -> float:
    """Seconds of load in one run of the engine, at least."""
    steady_s = CYCLES * (cell.steady_min_s or MIN_S)
    return cell.warmup_s + (steady_s if cell.until_steady else cell.duration_s)


def probes_max(cell: Cell) -> int:
    """Runs of the engine in a trial of the cell, at most: one except for a search."""
    return max(group.find.probes_max if group.find else 1 for group in cell.groups)


def restarted(cell: Cell) -> bool:
    """Whether every trial of the cell restarts its servers."""
    return cell.state.data == data.RESTORE or cell.state.cache == "cold" or bool(cell.faults)


def _loaded(cells: Sequence[Cell]) -> dict[str, Cell]:
    """One cell for each data set to load."""
    found: dict[str, Cell] = {}
    for cell in cells:
        found.setdefault(cell.data_key, cell)
    return found


def _loads(cell: Cell) -> bool:
    """Whether any of its data was loaded by dbdyno."""
    return any(target.existing is None for target in cell.targets)


def _servers(cell: Cell) -> list[TargetPlan]:
    """Those that we start."""
    return [t for t in cell.targets if kinds.of(t.kind).start_s and t.url is None]


def _reloaded_bytes(cell: Cell) -> int:
    """What is loaded again before a trial, where an external server has no snapshot."""
    return sum(data.data_bytes(t, cell.groups) for t in cell.targets if t.url is not None)


def _ours(cell: Cell) -> list[TargetPlan]:
    """Targets whose files and memory are this machine's."""
    return [target for target in cell.targets if target.url is None]


def _server_count(cell: Cell) -> int:
    return sum(len(target.nodes) for target in _servers(cell))


def _start_s(cell: Cell) -> float:
    starting = sum(len(target.nodes) * kinds.of(target.kind).start_s for target in _servers(cell))
    loading_s = 0.0
    if cell.state.data == data.RESTORE:
        loading_s = _reloaded_bytes(cell) / _LOAD_BYTES_PER_S
    return starting + _copied_bytes(cell) / _COPY_BYTES_PER_S + loading_s


def _load_s(cell: Cell) -> float:
    initialising = sum(
        kinds.of(target.kind).initialise_s + kinds.of(target.kind).start_s
        for target in _servers(cell)
    )
    return initialising + _rows_bytes(cell) / _LOAD_BYTES_PER_S


def _rows_bytes(cell: Cell) -> int:
    return sum(data.data_bytes(target, cell.groups) for target in cell.targets)


def _files_bytes(cell: Cell) -> int:
    return sum(
        data.data_bytes(target, cell.groups) + kinds.of(target.kind).directory_bytes
        for target in _ours(cell)
    )


def _copied_bytes(cell: Cell) -> int:
    """What is copied before a start: each instance works on files of its own."""
    return sum(
        len(target.nodes)
        * (data.data_bytes(target, cell.groups) + kinds.of(target.kind).directory_bytes)
        for target in _ours(cell)
    )


def _disk_bytes(cells: Sequence[Cell]) -> int:
    """The snapshots of all data sets, and the working copies of the largest cell."""
    loaded = [_files_bytes(cell) for cell in _loaded(cells).values()]
    return sum(loaded) + max((_copied_bytes(cell) for cell in cells), default=0)


def memory_bytes(cell: Cell) -> int:
    """What servers and sessions of a cell may use."""
    caches = sum(
        len(target.nodes)
        * (target.memory_bytes if target.memory_bytes is not None else _CACHE_BYTES)
        for target in _ours(cell)
        if kinds.of(target.kind).stores_data
    )
    sessions = sum(group.sessions for group in cell.groups)
    return caches + _server_count(cell) * _SERVER_BYTES + sessions * _SESSION_BYTES


def _touched(cells: Sequence[Cell]) -> tuple[Touched, ...]:
    found: dict[tuple[str, str, str | None], Touched] = {}
    for cell in cells:
        for target in cell.targets:
            key = (target.name, target.kind, target.url)
            before = found.get(key, _first_touched(target))
            config = dict(before.config)
            for name, value in target.config.items():
                seen = config.get(name, ())
                config[name] = seen if value in seen else (*seen, value)
            words = {**before.words, **_words(target)}
            found[key] = replace(
                before,
                words=words,
                config=config,
                instances=tuple(sorted({*before.instances, _servers_of(target)}))
                if key in found
                else (_servers_of(target),),
                topologies=tuple(dict.fromkeys((*before.topologies, *_topology_of(target)))),
                setup=tuple(dict.fromkeys((*before.setup, *setup_words(target.setup)))),
                session=tuple(dict.fromkeys((*before.session, *target.session))),
            )
    return tuple(found.values())


def _servers_of(target: TargetPlan) -> int:
    return target.server_count or 1


def _topology_of(target: TargetPlan) -> tuple[str, ...]:
    return () if target.topology is None else (target.topology.kind,)


def _first_touched(target: TargetPlan) -> Touched:
    if target.url is None:
        return Touched(target.name, target.kind, SCHEMA, {}, {})
    place = server_url.parse(target.url).place
    schema = target.existing or f"{PREFIX}..."
    existing = target.existing is not None
    return Touched(target.name, target.kind, schema, {}, {}, place=place, existing=existing)


def setup_words(setup: Setup | None) -> list[str]:
    """What a setup does, a phrase each."""
    if setup is None:
        return []
    phrases = []
    if setup.template is not None:
        phrases.append(f"a copy of {setup.template}")
    phrases += [f"SQL of {path}" for path in (setup.dump, *setup.sql) if path is not None]
    phrases += [f"{table['rows']:,} rows in {name}" for name, table in setup.tables.items()]
    phrases += [f"then `{' '.join(statement.split())}`" for statement in setup.after]
    return phrases


def _words(target: TargetPlan) -> dict[str, str]:
    each = " for each server" if target.server_count > 1 else ""
    network = target.limits.network
    between = target.topology.network if target.topology is not None else None
    given = {
        "durability": target.durability,
        "isolation": target.isolation,
        "memory": None if target.memory_bytes is None else _size(target.memory_bytes) + each,
        "network": None if network is None else network_words(network),
        "network between nodes": None if between is None else network_words(between),
        "volume": None if target.volume is None else volume_words(target.volume) + each,
    }
    return {word: value for word, value in given.items() if value is not None}


def network_words(network: Network) -> str:
    """A network as one would write it: `delay 2ms, 10000000 B/s`."""
    words = [f"delay {network.delay_s * 1e3:g}ms"]
    if network.bytes_per_s is not None:
        words.append(f"{network.bytes_per_s:,} B/s")
    return ", ".join(words)


def volume_words(volume: Volume) -> str:
    """A volume as one would write it: `2Gi, ext4, nobarrier, flushes ignored`."""
    words = [_size(volume.size_bytes), volume.filesystem]
    words += [volume.mount_options] if volume.mount_options else []
    words += [f"flushes {IGNORED}"] if volume.flushes == IGNORED else []
    return ", ".join(words)


def _size(size_bytes: int) -> str:
    """1073741824 -> 1Gi: as one would write it."""
    for unit, factor in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)
