"""A server's processes: the one that we started and its children (PostgreSQL: one a session).

From /proc/PID/stat, statm, io and /proc/PID/task/*/schedstat (proc(5), sched-stats in the kernel's
documentation). `cpu_cores` is CPU time a second; `runqueue_cores` is time a second in which threads
could run but had no CPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.samplers.base import Pids, numbers_of, prefixed

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
STOPPED, BLOCKED = "Tt", "D"  # states: by a signal or a tracer; uninterruptible
TASKS_MAX = 4096  # a bound on what one sample reads; beyond it schedstat is omitted


@dataclass
class Reading:
    """What the processes have used so far, and their states."""

    cpu_s: float = 0.0
    rss_bytes: float = 0.0
    processes: int = 0
    # by pid: (read bytes, written bytes); by thread: (ns waiting for a CPU, times scheduled)
    io: dict[int, tuple[int, int]] = field(default_factory=dict)
    tasks: dict[int, tuple[int, int]] = field(default_factory=dict)
    complete: bool = True
    stopped: int = 0  # of the processes
    blocked: int = 0  # of the processes, in an uninterruptible wait: mostly for a disk


class Process:
    """See the module."""

    source = "server"
    about = "the server's processes: cpu_cores, runqueue_cores, rss_bytes, switches, bytes, states"
    quick = True

    def __init__(self, pids: Pids, target: str = "") -> None:
        """Several processes (instances of one target) count as one."""
        self.source = prefixed(target, "server")
        self._pids = pids
        self._last = Reading()

    def open(self) -> None:
        self._last = self._read()

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        now = self._read()
        last, self._last = self._last, now
        return rates(last, now, elapsed_s)

    def _read(self) -> Reading:
        return together([read(pid) for pid in numbers_of(self._pids)])

    def close(self) -> None:
        """Nothing is kept open: processes come and go."""


def together(readings: Sequence[Reading]) -> Reading:
    """Several servers' readings as one."""
    if len(readings) == 1:
        return readings[0]
    total = Reading()
    for each in readings:
        total.cpu_s += each.cpu_s
        total.rss_bytes += each.rss_bytes
        total.processes += each.processes
        total.stopped += each.stopped
        total.blocked += each.blocked
        total.io |= each.io
        total.tasks |= each.tasks
        total.complete = total.complete and each.complete
    return total


@dataclass(frozen=True)
class Files:
    """What /proc says of one process. `io` is empty for those who may not read it."""

    pid: int
    stat: str
    statm: str
    io: str = ""


def read(pid: int) -> Reading:
    """Reads a process and its children; OSError if it is gone."""
    found = []
    for number in family(pid):
        try:
            stat = Path(f"/proc/{number}/stat").read_text()
            statm = Path(f"/proc/{number}/statm").read_text()
            io = Path(f"/proc/{number}/io").read_text() if _may_read_io(number) else ""
        except (FileNotFoundError, ProcessLookupError):
            if number == pid:
                raise
            continue
        found.append(Files(number, stat, statm, io))
    reading = parse(found, pid, TICKS_PER_S, PAGE_BYTES)
    for each in found:
        _read_tasks(each.pid, reading)
    return reading


def parse(found: Iterable[Files], pid: int, ticks_per_s: int, page_bytes: int) -> Reading:
    """A process (`pid`) and its children together, less what only their threads know."""
    reading = Reading()
    shared_max = 0
    for each in found:
        stat, statm = each.stat.rpartition(")")[2].split(), each.statm.split()
        # Fields 14 to 17 of stat: own time, and that of children already waited for.
        own, waited = int(stat[11]) + int(stat[12]), int(stat[13]) + int(stat[14])
        reading.cpu_s += (own + (waited if each.pid == pid else 0)) / ticks_per_s
        reading.processes += 1
        reading.stopped += stat[0] in STOPPED
        reading.blocked += stat[0] == BLOCKED
        resident, shared = int(statm[1]) * page_bytes, int(statm[2]) * page_bytes
        # Shared memory is mapped by each process: counted once, by the one that touched most.
        reading.rss_bytes += resident - shared
        shared_max = max(shared_max, shared)
        counts = dict(line.split(": ") for line in each.io.splitlines())
        if counts:
            reading.io[each.pid] = (int(counts["read_bytes"]), int(counts["write_bytes"]))
    reading.rss_bytes += shared_max
    return reading


def _may_read_io(pid: int) -> bool:
    return os.access(f"/proc/{pid}/io", os.R_OK)


def _read_tasks(pid: int, reading: Reading) -> None:
    try:
        with os.scandir(f"/proc/{pid}/task") as entries:
            for entry in entries:
                if len(reading.tasks) >= TASKS_MAX:
                    reading.complete = False
                    return
                with open(f"{entry.path}/schedstat") as file:
                    _, wait_ns, times = file.read().split()
                reading.tasks[int(entry.name)] = (int(wait_ns), int(times))
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return  # a thread that has just ended, or a kernel without schedstats


def family(pid: int) -> Iterator[int]:
    """A process and its direct children."""
    yield pid
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return
    yield from (int(word) for word in text.split())


def rates(last: Reading, now: Reading, elapsed_s: float) -> dict[str, float]:
    """What happened between two readings. Those who came in between count from zero."""
    values = {
        "cpu_cores": max(0.0, now.cpu_s - last.cpu_s) / elapsed_s,
        "rss_bytes": now.rss_bytes,
        "processes": float(now.processes),
        "stopped": float(now.stopped),
        "blocked": float(now.blocked),
    }
    if now.io:
        read_bytes, write_bytes = _sums(last.io, now.io)
        values["read_bytes_per_s"] = read_bytes / elapsed_s
        values["write_bytes_per_s"] = write_bytes / elapsed_s
    if now.tasks and now.complete and last.complete:
        wait_ns, times = _sums(last.tasks, now.tasks)
        values["runqueue_cores"] = wait_ns / 1e9 / elapsed_s
        values["context_switches_per_s"] = times / elapsed_s
    return values


def _sums(
    last: Mapping[int, tuple[int, int]], now: Mapping[int, tuple[int, int]]
) -> tuple[int, int]:
    first = second = 0
    for key, (a, b) in now.items():
        before = last.get(key, (0, 0))
        first += max(0, a - before[0])
        second += max(0, b - before[1])
    return first, second
