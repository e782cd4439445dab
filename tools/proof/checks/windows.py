"""A load whose seconds differ only in which server is checked: one trial, cut into windows.

A check begins with each window: of the server under load, or of an idle twin. Windows come in
blocks of four, with checks of the server in the first and the last or in the two between. Either
order cancels a drift within the block. Which one a block has is drawn by lot: neighbouring windows
are correlated, and a server has regular work (it flushes each second, the kernel writes back every
five), but none of it knows the lot, so that on average it meets both sides alike.

Trials, which are minutes, are mirrored strictly instead (docs/decisions/order-of-trials.md): what
one leaves behind for the next matters more there. Here the second half of the windows shows it.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tools.proof.row import Effort

from dbdyno.execute.engine.job import Job, error_of
from dbdyno.execute.engine.request import SCHEMA_VERSION, load_request
from dbdyno.execute.timeline import Moment, Timeline
from dbdyno.hosts import LOCAL
from dbdyno.store.metrics.timeseries import TICK_S, read_trace

OUTER, INNER = (True, False, False, True), (False, True, True, False)
WINDOWS = 4  # a block
TABLES = 2
SESSIONS = 8
SEED = 1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """How many blocks there are, how long a window is, in whole ticks of 100 ms, and the load."""

    blocks: int
    window_s: float
    warmup_s: float
    rows: int  # of each table
    seed: int = SEED

    @property
    def checked(self) -> tuple[bool, ...]:
        """By window: whether the server under load is checked, instead of its twin."""
        draw = random.Random(self.seed)
        return tuple(on for _ in range(self.blocks) for on in draw.choice((OUTER, INNER)))

    @property
    def ticks(self) -> int:
        """Of a window."""
        return round(self.window_s / TICK_S)

    @property
    def data(self) -> dict[str, int]:
        """Options of the workload."""
        return {"tables": TABLES, "rows": self.rows}

    @property
    def duration_s(self) -> float:
        """Of all windows."""
        return WINDOWS * self.blocks * self.window_s


@dataclass(frozen=True)
class Seen:
    """What was committed: `commits` by window and tick, shape (4 blocks, ticks). `late`: windows
    that their check outlasted, or that it did not begin in."""

    design: Design
    commits: Floats
    late: int

    def log_ratios(self, since: int = 0) -> tuple[float, ...]:
        """By block: ln(throughput with checks of the server / with checks of the twin), from a tick
        of the window on, geometric means of the two windows of a side. Empty if there is a window
        without any commit: then there is no ratio."""
        each = self.commits[:, since:].sum(axis=1)
        if not each.all():
            return ()
        sides = np.where(np.asarray(self.design.checked), 0.5, -0.5)
        return tuple((np.log(each) * sides).reshape(-1, WINDOWS).sum(axis=1).tolist())

    def course(self) -> list[tuple[float, float]]:
        """Seconds from the begin of the check, at the middle of a tick, and throughput with a check
        of the server over that with one of the twin; ticks without a commit are omitted."""
        is_checked = np.asarray(self.design.checked)
        on, off = self.commits[is_checked].sum(axis=0), self.commits[~is_checked].sum(axis=0)
        return [
            ((tick + 0.5) * TICK_S, float(on[tick] / off[tick]))
            for tick in range(self.design.ticks)
            if off[tick]
        ]


@dataclass
class Conductor:
    """Has a check begin with each window: `check(True)` of the server under load."""

    design: Design
    check: Callable[[bool], None]
    over: threading.Event = field(default_factory=threading.Event)
    ended_s: list[float] = field(default_factory=list)  # by window, from its begin

    def run(self, measure_unix_s: float) -> None:
        """All windows of a load that is measured from that moment on, or those until `over`."""
        for number, is_of_server in enumerate(self.design.checked):
            begin = measure_unix_s + number * self.design.window_s
            if self.over.wait(max(0.0, begin - time.time())):
                return
            self.check(is_of_server)
            self.ended_s.append(time.time() - begin)

    @property
    def late(self) -> int:
        """Windows that ended before their check did."""
        in_time = sum(ended_s <= self.design.window_s for ended_s in self.ended_s)
        return WINDOWS * self.design.blocks - in_time


def fill(effort: Effort, target: dict[str, Any], design: Design) -> None:
    """Loads the tables. DynoError if the engine cannot."""
    sets = [("oltp", design.data)]
    request = load_request("db", target, sets, SEED, effort.scratch, TABLES)
    job = Job(LOCAL, effort.engine, request, effort.scratch / "load.ndjson")
    outcome = job.run(lambda event: None)
    if outcome.end is None:
        raise error_of(outcome, "loading")


def drive(
    effort: Effort,
    target: dict[str, Any],
    design: Design,
    cpus: list[int],
    check: Callable[[bool], None],
) -> Seen:
    """Loads the server from one thread, on `cpus` if there are any, while checks go on. DynoError
    if the engine fails; what `check` raises."""
    conductor = Conductor(design, check)
    timeline = Timeline(moments=[Moment(0.0, "the first check", conductor.run)])
    events: list[dict[str, Any]] = []

    def hear(event: dict[str, Any]) -> None:
        timeline.on_event(event)
        events.append(event)

    plan, log = _plan(effort, target, design, cpus), effort.scratch / "events.ndjson"
    job = Job(LOCAL, effort.engine, plan, log)
    try:
        outcome = job.run(hear)
    finally:
        conductor.over.set()
        timeline.close()
    if outcome.end is None:
        raise error_of(outcome, "the load")
    timeline.check()
    return Seen(design, committed(design, events), conductor.late)


def committed(design: Design, events: Iterable[Mapping[str, Any]]) -> Floats:
    """Transactions by window and tick."""
    trace = read_trace("windows", events, ()).measured()
    total = WINDOWS * design.blocks * design.ticks
    numbers = np.rint(trace.ends_s / TICK_S).astype(int) - 1
    inside = numbers < total
    commits = np.bincount(numbers[inside], weights=trace.total[inside], minlength=total)
    return np.asarray(commits, dtype=np.float64).reshape(-1, design.ticks)


def _plan(
    effort: Effort, target: dict[str, Any], design: Design, cpus: list[int]
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "run",
        "trial": "windows",
        "directory": str(effort.scratch),
        "seed": SEED,
        "targets": {"db": target},
        "warmup_s": design.warmup_s,
        "duration_s": design.duration_s,
        "interval_s": 1.0,
        "workers": 1,
        "cpus": cpus,
        "groups": [
            {
                "name": "load",
                "target": "db",
                "workload": "oltp",
                "options": {"preset": "read_write", **design.data},
                "sessions": SESSIONS,
            }
        ],
    }
