"""Reads the samplers on the trial's clock, once an interval or oftener, into `metrics.ndjson`.

The clock is the engine's: `t_s` counts from the moment at which measuring starts, negative during
the warm-up. The machine's files are read by one thread, each server by one of its own, so that a
server that hangs leaves a gap in its own samples only. Nothing here can fail a trial.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from dbdyno import diskfiles
from dbdyno.samplers.base import Sampled, Sampler, prefixed
from dbdyno.samplers.hosts import Feed
from dbdyno.samplers.machine.cpu import Cpu
from dbdyno.samplers.machine.disk import Disk
from dbdyno.samplers.machine.load import Load
from dbdyno.samplers.machine.memory import Memory
from dbdyno.samplers.machine.network import Network
from dbdyno.samplers.machine.paging import Paging
from dbdyno.samplers.machine.pressure import Pressure
from dbdyno.samplers.server.counters import Counters
from dbdyno.samplers.server.files import Files
from dbdyno.samplers.server.process import Process
from dbdyno.samplers.server.replication import Replica, Replication
from dbdyno.samplers.server.sessions import Sessions
from dbdyno.samplers.server.state import State

QUICK_S = 0.2  # so often those that are cheap: a stall of half a second then has two samples
QUICK_CPU_S = 0.001  # of dyno's CPU, for samples that are cheap on average: half a percent of a CPU
QUICK_LOOKS = 5  # before that is judged
LAST_MIN = 0.2  # of an interval: the part of one at the end of a trial that is worth a sample
JOIN_S = 3.0  # a thread that waits for a hung server longer than this is left behind
GAPS_MAX = 100  # lines about gaps a source and trial

Emit = Callable[[Mapping[str, Any]], None]


Replicas = Mapping[str, Mapping[str, Replica]]  # target -> node -> replica
Nodes = Mapping[str, Mapping[str, Sampled]]  # target -> node -> server


def samplers_of(
    servers: Mapping[str, Sampled], replicas: Replicas | None = None, nodes: Nodes | None = None
) -> tuple[list[Sampler], list[list[Sampler]]]:
    """Samplers of the machine, and of each server. With one target names carry no prefix; those of
    a topology's `nodes` carry the node's."""
    several = len(servers) > 1
    directories = [server.directory for server in servers.values() if server.directory]
    machine: list[Sampler] = [Cpu(), Memory(), Disk(directories), Network()]
    machine += [Paging(), Load(), Pressure()]
    of_servers: list[list[Sampler]] = []
    for name, server in servers.items():
        target = name if several else ""
        if server.pid is not None:
            now = partial(_pid_of, server)  # one that starts again has another
            machine += [State(now, target), Process(now, target)]
            machine += [Files(now, server.directory, target)]
        of_servers.append([Counters(server, target), Sessions(server, target)])
        for node, replica in (replicas or {}).get(name, {}).items():
            of_servers.append([Replication(replica, node, target)])
        for node, each in (nodes or {}).get(name, {}).items():
            own = prefixed(target, node)
            of_servers.append([Counters(each, own), Sessions(each, own)])
    return machine, of_servers


def _pid_of(server: Sampled) -> int | Sequence[int] | None:
    return server.pid


class Sampling:
    """Samples of one trial. `start`, then `stop`; both may be called from any thread, once each or
    more often."""

    def __init__(
        self,
        path: Path,
        servers: Mapping[str, Sampled],
        *,
        replicas: Replicas | None = None,
        nodes: Nodes | None = None,
        feeds: Sequence[Feed] = (),
        interval_s: float = 1.0,
    ) -> None:
        assert interval_s > 0
        self._path = path
        self._interval_s = interval_s
        machine, of_servers = samplers_of(servers, replicas, nodes)
        self._sets: list[list[Sampler]] = [machine, *of_servers]
        self._feeds = tuple(feeds)
        self._patience_s = max([JOIN_S, *(feed.finish_s for feed in feeds)])
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._file: TextIO | None = None

    def start(self, measure_unix_s: float) -> None:
        """Begins to sample; `measure_unix_s` is the moment of t_s = 0. Once only."""
        if self._threads or self._ending.is_set():
            return
        self._file = diskfiles.opened_text(self._path, "w", line_buffering=True)
        for index, samplers in enumerate(self._sets):
            loop = Loop(samplers, self._interval_s, measure_unix_s, self._ending, self._emit)
            thread = threading.Thread(target=loop.run, name=f"sampling-{index}", daemon=True)
            self._threads.append(thread)
            thread.start()
        for feed in self._feeds:
            arguments = (measure_unix_s, self._ending, self._emit)
            thread = threading.Thread(target=feed.run, args=arguments, name="host", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Ends sampling and closes the file; waits a few seconds at most."""
        self._ending.set()
        deadline = time.monotonic() + self._patience_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._threads = []
        with self._lock:
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.close()
                self._file = None

    def _emit(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":")) + "\n"
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.write(text)
            except OSError:  # a full disk: the trial goes on, and its record will say what failed
                self._file = None


class Loop:
    """One thread's samplers. `now` and `spent` (CPU of the thread) are seams for tests."""

    def __init__(
        self,
        samplers: Sequence[Sampler],
        interval_s: float,
        zero_unix_s: float,
        ending: threading.Event,
        emit: Emit,
        now: Callable[[], float] = time.time,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._samplers = samplers
        self._spent = spent
        self._tick_s = tick_s(interval_s) if any(one.quick for one in samplers) else interval_s
        self._slow: set[str] = {one.source for one in samplers if not one.quick}
        self._costs: dict[str, tuple[int, float]] = {}  # of quick samples: how many, CPU together
        self._ticked = 0  # in which interval the last tick was
        self._interval_s = interval_s
        self._zero_unix_s = zero_unix_s
        self._ending = ending
        self._emit = emit
        self._now = now
        self._opened: dict[str, float] = {}  # source -> time of its last good reading
        self._gaps: dict[str, int] = {}

    def run(self) -> None:
        """Samples until the end. Ticks lie on whole parts of an interval on the trial's clock, and
        all samplers are read at whole intervals; what is left at the end gets a last sample, also
        where the end comes just before its tick."""
        try:
            self._each(self._open)
            ticked, self._ticked = self._now(), self._number(self._interval_s)
            while not self._ending.wait(self._until_next()):
                number = self._number(self._interval_s)
                whole, self._ticked = number != self._ticked, number
                if whole:
                    ticked = self._now()
                self._each(self._sample if whole else self._sample_quick)
            if self._now() - ticked >= LAST_MIN * self._interval_s:
                self._each(self._sample)
        finally:
            for sampler in self._samplers:
                with contextlib.suppress(Exception):
                    sampler.close()

    def _until_next(self) -> float:
        t_s = self._now() - self._zero_unix_s
        # A tick that was missed is omitted, never caught up.
        next_s = (self._number(self._tick_s) + 1) * self._tick_s
        return max(0.0, next_s - t_s)

    def _number(self, length_s: float) -> int:
        """Of the piece of that length in which the trial's clock is now."""
        return math.floor((self._now() - self._zero_unix_s) / length_s + 1e-6)

    def _each(self, action: Callable[[Sampler], None]) -> None:
        for sampler in self._samplers:
            try:
                action(sampler)
            except Exception as error:  # a sampler must never end a trial; see the gap line
                self._opened.pop(sampler.source, None)
                self._note_gap(sampler.source, error)

    def _open(self, sampler: Sampler) -> None:
        sampler.open()
        self._opened[sampler.source] = self._now()

    def _sample_quick(self, sampler: Sampler) -> None:
        if sampler.source in self._slow:
            return
        before_s = self._spent()
        self._sample(sampler)
        looks, spent_s = self._costs.get(sampler.source, (0, 0.0))
        looks, spent_s = looks + 1, spent_s + self._spent() - before_s
        self._costs[sampler.source] = looks, spent_s
        # Thousands of sessions, say: less often then. A single sample may be dear by accident.
        if looks >= QUICK_LOOKS and spent_s > looks * QUICK_CPU_S:
            self._slow.add(sampler.source)

    def _sample(self, sampler: Sampler) -> None:
        last = self._opened.get(sampler.source)
        if last is None:  # after a gap rates have no start: open again
            sampler.close()
            self._open(sampler)
            return
        now = self._now()
        elapsed_s = now - last
        if elapsed_s <= 0:  # the wall clock was set back
            self._opened[sampler.source] = now
            return
        values = sampler.sample(elapsed_s)
        self._opened[sampler.source] = now
        if values:
            self._emit(
                {
                    "t_s": round(now - self._zero_unix_s, 3),
                    "length_s": round(elapsed_s, 3),
                    "source": sampler.source,
                    "values": {name: _short(value) for name, value in values.items()},
                }
            )

    def _note_gap(self, source: str, error: Exception) -> None:
        self._gaps[source] = self._gaps.get(source, 0) + 1
        if self._gaps[source] > GAPS_MAX:
            return
        self._emit(
            {
                "t_s": round(self._now() - self._zero_unix_s, 3),
                "source": source,
                "values": {},
                "gap": _in_words(error)[:200],
            }
        )


# ` (SSLEOFError(8, '...'))`, behind a driver's own words.
_PYTHONS_NAME = re.compile(r"\s*\(\w*(Error|Exception|Timeout)\(.*\)$")


def _in_words(error: Exception) -> str:
    """What an error says to people. Drivers put the text last, behind a number."""
    text = str(error.args[-1]) if error.args else ""
    if isinstance(error, OSError) and error.filename:
        text = f"{error.filename}: {error.strerror}"
    return _PYTHONS_NAME.sub("", text) or type(error).__name__


def tick_s(interval_s: float) -> float:
    """The time between two samples of quick samplers: a whole part of an interval."""
    return interval_s / max(1, math.floor(interval_s / QUICK_S + 1e-6))


def _short(value: float) -> float | int:
    """Six significant digits: what a sample is worth, and a third of the bytes."""
    return int(value) if float(value).is_integer() else float(f"{value:.6g}")
