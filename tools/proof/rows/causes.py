"""Whether causes get their right names: disturbances of running trials on MariaDB, and what the
analysis calls them. One of them is on no list, and must be called unknown.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tools.proof.injecting.drive import Injection, Planned, drive
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis import inside
from dbdyno.analysis.types import UNKNOWN, Inside
from dbdyno.store.run import Run

SEED = 21
TIMES = 10
RIGHT_MIN = 9
FIRST_S = 4.0
STEP_S = 12.0  # later than half of the trial, whose first part would pass for warm-up
NOT_FOUND = "not found"
NOT_DONE = "not done"  # the trial ended before
STEP_NEAR_S = 3.0  # a cache empties over a second or two

LOAD = "{kind: oltp, preset: write_only, tables: 1, rows: 20000, sessions: 4}"
SAFE = "kind: mariadb, durability: full, isolation: repeatable_read, memory: 256Mi"
# Updates of a number beside 100 kB: the row image in the binary log is large, the redo is small.
WIDE = """
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
        - UPDATE wide SET text = REPEAT('x', 100000)"""
UPDATES = """
  kind: mix
  sessions: 8
  params: {id: {uniform: [1, 256]}}
  statements:
    update: {sql: "UPDATE wide SET n = n + 1 WHERE id = :id"}"""


@dataclass(frozen=True)
class Kind:
    """A disturbance, the load that it meets, and what it is to be called."""

    name: str  # for people
    injected: str  # of `injecting.kinds`
    right: frozenset[str]
    target: str = f"{{{SAFE}}}"
    load: str = LOAD
    length_s: tuple[float, float] = (0.9, 1.6)
    a_trial: int = 5
    apart_s: tuple[float, float] = (4.5, 6.5)
    is_step: bool = False


KINDS = (
    Kind("server stopped (SIGSTOP)", "stop", frozenset({"server_stopped"})),
    Kind("another process on the disk", "disk_hog", frozenset({"io_other"})),
    Kind(
        "rotation of a large binary log",
        "rotate",
        frozenset({"log_rotation"}),
        target=WIDE,
        load=UPDATES,
        length_s=(0.0, 0.0),
        apart_s=(9.0, 9.0),  # to write as much again
    ),
    Kind("table locked (LOCK TABLES)", "table_lock", frozenset({"lock_waits"})),
    Kind("rows locked by a transaction", "row_locks", frozenset({"lock_waits"})),
    Kind(
        "buffer pool cut to 16 MiB",
        "pool_cut",
        frozenset({"buffer_pool"}),
        target="{kind: mariadb, durability: os_crash_unsafe, isolation: repeatable_read,"
        " memory: 256Mi}",
        load="{kind: oltp, preset: point_select, tables: 1, rows: 400000, sessions: 4}",
        length_s=(0.0, 0.0),
        a_trial=1,
        is_step=True,
    ),
    Kind("nothing passes the network (on no list)", "freeze", frozenset({UNKNOWN})),
)

EXPERIMENT = """
experiment: causes
targets:
  db: {target}
workload: {load}
blocks: {blocks}
warmup: 2s
duration: {duration:.0f}s
interval: 1s
seed: 1
"""


def measure(effort: Effort) -> Outcome:
    """Each kind so many times."""
    draw = random.Random(SEED)
    times = 1 if effort.quick else TIMES
    named: dict[str, Counter[str]] = {}
    problems: list[str] = []
    for kind in KINDS:
        effort.say(f"    {kind.name}")
        run, done = _inject(effort, draw, kind, times)
        problems += [f"{one.kind}: {one.problem}" for one in done if one.problem]
        names = _names(run, kind, done)
        named[kind.name] = Counter([*names, *[NOT_DONE] * (times - len(names))])
    right = {kind.name: sum(named[kind.name][one] for one in kind.right) for kind in KINDS}
    columns = sorted({name for each in named.values() for name in each})
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
        tuple(dict.fromkeys(problems)),
    )


def _inject(
    effort: Effort, draw: random.Random, kind: Kind, times: int
) -> tuple[Run, list[Injection]]:
    planned = [
        _schedule(draw, kind, min(kind.a_trial, times - first))
        for first in range(0, times, kind.a_trial)
    ]
    last_s = max(plan[-1][1] + plan[-1][2] for plan in planned)
    text = EXPERIMENT.format(
        target=kind.target,
        load=kind.load,
        blocks=len(planned),
        duration=last_s + (8.0 if kind.is_step else kind.apart_s[1]),
    )
    proxied = kind.injected == "freeze"
    return drive(effort, kind.injected, text, planned, proxied=proxied)


def _schedule(draw: random.Random, kind: Kind, count: int) -> list[Planned]:
    planned: list[Planned] = []
    at_s = (STEP_S if kind.is_step else FIRST_S) + draw.random() * 2
    for _ in range(count):
        length_s = draw.uniform(*kind.length_s)
        planned.append((kind.injected, at_s, length_s))
        at_s += length_s + draw.uniform(*kind.apart_s)
    return planned


def _names(run: Run, kind: Kind, done: Sequence[Injection]) -> list[str]:
    """What the analysis of the run calls what was done, one name each."""
    found = inside.look(run.plan, run.records(), run.trace)
    seen = {one.trial: one for one in found.inside}
    names = []
    for one in done:
        trial = seen.get(run.plan.trials[one.trial].id)
        names.append(NOT_FOUND if trial is None else called(trial, one, kind.is_step))
    return names


def called(trial: Inside, done: Injection, is_step: bool) -> str:
    """The name of the cause of the stall or step that belongs to what was done."""
    if is_step:
        near = [step for step in trial.steps if abs(step.at_s - done.start_s) <= STEP_NEAR_S]
        causes = [step.cause for step in near]
    else:
        causes = [
            stall.cause
            for stall in trial.stalls
            if stall.start_s < done.end_s and stall.start_s + stall.length_s > done.start_s
        ]
    names = [cause.name for cause in causes if cause is not None]
    return names[0] if names else NOT_FOUND


ROW = Row(
    name="causes",
    claim="Causes get their right names",
    how=(
        "Trials of `dyno run` on MariaDB, disturbed at moments drawn from a seed: the server"
        " stopped, another process on its disk, a large binary log rotated that was not synced,"
        " a table and its rows locked, the buffer pool cut, and the network frozen, which no rule"
        " knows."
    ),
    bar="the right name in 9 of 10 of each, `unknown` for the last",
    measure=measure,
    timed=True,
)
