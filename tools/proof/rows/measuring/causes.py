"""Whether causes get their right names: disturbances of running trials on MariaDB, and what the
analysis calls them. One of them is on no list, and must be called unknown.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from tools.proof.injecting.dirty import can_write_back
from tools.proof.injecting.drive import Injection, Planned, drive
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis.types import UNKNOWN, Inside
from dbdyno.analysis.within_trial import findings
from dbdyno.store.run import Run

SEED = 21
TIMES = 10
RIGHT_MIN = 9
FIRST_S = 4.0
STEP_S = 11.0  # later than half of the trial, whose first part would pass for warm-up
AFTER_S = 4.0  # the last one
AFTER_STEP_S = 7.0
NOT_FOUND = "not found"
NOT_DONE = "not done"  # the trial ended before
STEP_NEAR_S = 3.0  # a cache empties over a second or two


@dataclass(frozen=True)
class Load:
    """A server and its sessions, which several kinds disturb in turn. `a_trial`: so often."""

    name: str
    target: str
    workload: str
    a_trial: int = 10
    proxied: bool = False


SAFE = "{kind: mariadb, durability: full, isolation: repeatable_read, memory: 256Mi}"
WRITES = "{kind: oltp, preset: write_only, tables: 1, rows: 20000, sessions: 4}"
OLTP = Load("oltp", SAFE, WRITES)
PROXIED = Load("proxied", SAFE, WRITES, proxied=True)
# Updates of a number next to 100 kB: the row image in the binary log is large, the redo is small.
WIDE = Load(
    "wide",
    """
    kind: mariadb
    config:
      log_bin: binlog
      binlog_format: row
      sync_binlog: 0
      max_binlog_size: 1G
      innodb_flush_log_at_trx_commit: 2
      innodb_buffer_pool_size: 256M
    setup:
      tables:
        wide:
          rows: 256
          columns:
            id: {type: bigint, sequence: 1, key: primary}
            n: {type: int, uniform: [1, 1000]}
            text: {type: longtext, text: "*"}
      after:
        - UPDATE wide SET text = REPEAT('x', 100000)""",
    """
  kind: mix
  sessions: 8
  rate: 450/s  # 90 MB of binary log: none rotates by itself
  params: {id: {uniform: [1, 256]}}
  statements:
    update: {sql: "UPDATE wide SET n = n + 1 WHERE id = :id"}""",
)
# The same, whose dirty pages the kernel writes back: less, so that no log fills in a trial.
DIRTY = replace(
    WIDE,
    name="dirty",
    workload=WIDE.workload.replace("450/s  # 90 MB", "300/s  # 60 MB"),
    a_trial=1,
)
# 90 MB of rows, which are read past the kernel's page cache (InnoDB's O_DIRECT).
READS = Load(
    "reads",
    "{kind: mariadb, durability: os_crash_unsafe, isolation: repeatable_read, memory: 256Mi}",
    "{kind: oltp, preset: point_select, tables: 1, rows: 400000, sessions: 4}",
    a_trial=1,
)


@dataclass(frozen=True)
class Kind:
    """A disturbance, the load that it meets, and its expected cause."""

    name: str  # for people
    injected: str  # of `injecting.kinds`
    right: str
    load: Load = OLTP
    length_s: tuple[float, float] = (0.9, 1.6)
    apart_s: tuple[float, float] = (3.5, 5.0)
    is_step: bool = False


ALL = (
    Kind("server stopped (SIGSTOP)", "stop", "server_stopped"),
    Kind("another process on the disk", "disk_hog", "io_other"),
    Kind(
        "rotation of a large binary log",
        "rotate",
        "log_rotation",
        load=WIDE,
        length_s=(0.0, 0.0),
        apart_s=(6.5, 6.5),  # to write as much again
    ),
    Kind("dirty pages written back by the kernel", "write_back", "write_back", load=DIRTY),
    Kind("table locked (LOCK TABLES)", "table_lock", "lock_waits"),
    Kind("rows locked by a transaction", "row_locks", "lock_waits"),
    Kind(
        "buffer pool cut to 16 MiB",
        "pool_cut",
        "buffer_pool",
        load=READS,
        length_s=(0.0, 0.0),
        is_step=True,
    ),
    Kind("packets lost on the network", "lose", "network", load=PROXIED),
    Kind("a proxy that passes nothing on (on no list)", "freeze", UNKNOWN, load=PROXIED),
)
NOT_HERE = () if can_write_back() else ("write_back",)  # of `injected`
KINDS = tuple(kind for kind in ALL if kind.injected not in NOT_HERE)
LOADS = tuple(dict.fromkeys(kind.load for kind in KINDS))

EXPERIMENT = """
experiment: causes
targets:
  db: {target}
workload: {load}
blocks: {blocks}
warmup: 3s
duration: {duration:.0f}s
interval: 1s
seed: 1
"""


def measure(effort: Effort) -> Outcome:
    """Each kind so many times."""
    draw = random.Random(SEED)
    times = 1 if effort.quick else TIMES
    plans = {load: _schedule(draw, load, times) for load in LOADS}

    def disturbed(load: Load) -> tuple[Run, list[Injection]]:
        effort.say(f"    {', '.join(kind.name for kind in KINDS if kind.load == load)}")
        return _disturbed(effort, load, plans[load])

    # Judging nothing, they may disturb each other as well.
    with ThreadPoolExecutor(len(LOADS) if effort.quick else 1) as pool:
        runs = dict(zip(LOADS, pool.map(disturbed, LOADS), strict=True))
    named = {kind.name: Counter[str]() for kind in KINDS}
    for run, done in runs.values():
        for kind_name, name in names(run, done):
            named[kind_name][name] += 1
    for each in named.values():
        each[NOT_DONE] += times - each.total()
    problems = [f"{one.kind}: {one.problem}" for _, done in runs.values() for one in done]
    problems = [problem for problem in problems if not problem.endswith(": ")]
    notes = [f"{name} was not made: it takes root, and cgroup v1" for name in NOT_HERE]
    right = {kind.name: named[kind.name][kind.right] for kind in KINDS}
    columns = sorted({name for each in named.values() for name, n in each.items() if n})
    need = RIGHT_MIN * times / TIMES
    return Outcome(
        f"{sum(right.values())} of {times * len(KINDS)} named rightly, at least"
        f" {min(right.values())} of {times} of each kind",
        all(n >= need for n in right.values()) and not problems,
        (
            Table(
                "What was done, and what it was called",
                ("done", *columns, "right"),
                tuple(
                    (
                        kind.name,
                        *(str(named[kind.name][name] or "") for name in columns),
                        f"{right[kind.name]} of {times}",
                    )
                    for kind in KINDS
                ),
            ),
        ),
        (*dict.fromkeys(problems), *notes),
    )


def _schedule(draw: random.Random, load: Load, times: int) -> list[list[Planned]]:
    """What is done to a load, trial by trial: all its kinds so many times, in an order that is
    drawn."""
    todo = [kind for kind in KINDS if kind.load == load for _ in range(times)]
    draw.shuffle(todo)
    trials = []
    for first in range(0, len(todo), load.a_trial):
        planned: list[Planned] = []
        at_s = draw.random()
        for kind in todo[first : first + load.a_trial]:
            at_s += 0 if planned else STEP_S if kind.is_step else FIRST_S
            length_s = draw.uniform(*kind.length_s)
            planned.append((kind.injected, at_s, length_s))
            at_s += length_s + draw.uniform(*kind.apart_s)
        trials.append(planned)
    return trials


def _disturbed(
    effort: Effort, load: Load, planned: list[list[Planned]]
) -> tuple[Run, list[Injection]]:
    last_s = max(plan[-1][1] + plan[-1][2] for plan in planned)
    steps = any(kind.is_step for kind in KINDS if kind.load == load)
    text = EXPERIMENT.format(
        target=load.target,
        load=load.workload,
        blocks=len(planned),
        duration=last_s + (AFTER_STEP_S if steps else AFTER_S),
    )
    return drive(effort, load.name, text, planned, proxied=load.proxied)


def names(run: Run, done: Sequence[Injection]) -> list[tuple[str, str]]:
    """What was done, each time, and what the analysis of the run calls it."""
    kinds = {kind.injected: kind for kind in KINDS}
    found = findings.look(run.plan, run.records(), run.trace)
    seen = {one.trial: one for one in found.inside}
    called_by = []
    for one in done:
        trial = seen.get(run.plan.trials[one.trial].id)
        kind = kinds[one.kind]
        name = NOT_FOUND if trial is None else called(trial, one, kind.is_step)
        called_by.append((kind.name, name))
    return called_by


def called(trial: Inside, done: Injection, is_step: bool) -> str:
    """The name of the cause of the stall or step that belongs to what was done: of the step next to
    it, or the stall that shares most time with it."""
    if is_step:
        steps = sorted(trial.steps, key=lambda step: abs(step.at_s - done.start_s))
        if steps and steps[0].cause and abs(steps[0].at_s - done.start_s) <= STEP_NEAR_S:
            return steps[0].cause.name
    shared = [
        (min(stall.start_s + stall.length_s, done.end_s) - max(stall.start_s, done.start_s), stall)
        for stall in trial.stalls
    ]
    most_s, stall = max(shared, key=lambda each: each[0], default=(0.0, None))
    if stall is None or stall.cause is None or most_s <= 0.0:
        return NOT_FOUND
    return stall.cause.name


ROW = Row(
    name="causes",
    claim="Causes get their right names",
    how=(
        "Trials of `dyno run` on MariaDB, disturbed at moments drawn from a seed: the server"
        " stopped, another process on its disk, 400 MB and more of a binary log rotated that were"
        " not synced (on a disk that takes 500 MB a second, by cgroup where that can be), dirty"
        " pages written back all at once (vm.dirty_bytes, on a disk made slow for it),"
        " a table and its rows locked, the buffer pool cut, packets dropped as they arrive, and a"
        " proxy frozen, which loses none and which no rule knows."
    ),
    bar="the right name in 9 of 10 of each, `unknown` for the last",
    measure=measure,
    timed=True,
)
