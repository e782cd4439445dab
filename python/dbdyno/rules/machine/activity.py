"""Who used the CPUs for a moment: two readings of /proc, without our own process.

Processes are named by `comm`, the program's name of at most 15 characters: arguments may hold
passwords. Source: proc(5), /proc/stat and /proc/PID/stat.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.samplers.machine import cpu

SAMPLE_S = 0.5
PROCESSES_MAX = 4096  # a bound on what one reading costs
_TOP = 3
_TOP_MIN_CPUS = 0.02


@dataclass(frozen=True)
class Reading:
    """Ticks so far: of all CPUs by column, and of each process, by pid and moment of its start (a
    kernel worker changes its name), with the name."""

    ticks: Mapping[str, int]
    processes: Mapping[tuple[int, int], tuple[str, int]]


@dataclass(frozen=True)
class Activity:
    """A moment of all CPUs. Ticks are differences, except for `since_boot`."""

    ticks: Mapping[str, int]
    since_boot: Mapping[str, int]
    cpus: int
    own_ticks: int = 0  # of the sampling process
    by_name: Mapping[str, int] = field(default_factory=dict)  # ticks of other processes

    @property
    def busy_cpus(self) -> float:
        """CPUs that others kept busy, on average."""
        total = sum(self.ticks.values())
        idle = sum(self.ticks.get(name, 0) for name in ("idle", "iowait", "steal"))
        return max(0, total - idle - self.own_ticks) / total * self.cpus if total else 0.0

    @property
    def top(self) -> tuple[tuple[str, float], ...]:
        """The programs that used most, with their CPUs."""
        total = sum(self.ticks.values())
        if not total:
            return ()
        used = {name: ticks / total * self.cpus for name, ticks in self.by_name.items()}
        ordered = sorted(used.items(), key=lambda item: (-item[1], item[0]))
        return tuple((name, cpus) for name, cpus in ordered[:_TOP] if cpus >= _TOP_MIN_CPUS)


def read(root: Path = Path("/")) -> Reading | None:
    """Ticks now; None if /proc/stat cannot be read."""
    try:
        text = (root / "proc/stat").read_text()
    except OSError:
        return None
    ticks = {name: count for name, count in cpu.parse(text).items() if name in cpu.COLUMNS}
    return Reading({**ticks, "cpus": _cpus(text)}, _processes(root))


def between(before: Reading, after: Reading, own_pid: int) -> Activity:
    """What happened between two readings."""
    ticks = {
        name: max(0, after.ticks[name] - before.ticks.get(name, 0))
        for name in cpu.COLUMNS
        if name in after.ticks
    }
    by_name: dict[str, int] = {}
    own = 0
    for key, (name, now) in after.processes.items():
        used = max(0, now - before.processes.get(key, ("", 0))[1])
        if key[0] == own_pid:
            own = used
        elif used:
            by_name[name] = by_name.get(name, 0) + used
    since_boot = {name: after.ticks[name] for name in cpu.COLUMNS if name in after.ticks}
    return Activity(ticks, since_boot, after.ticks["cpus"], own, by_name)


def sample(root: Path = Path("/"), seconds: float = SAMPLE_S) -> Activity | None:
    """Samples for so long; None if /proc cannot be read."""
    before = read(root)
    if before is None:
        return None
    time.sleep(seconds)
    after = read(root)
    return None if after is None else between(before, after, os.getpid())


def _cpus(text: str) -> int:
    names = (line.split(maxsplit=1)[0] for line in text.splitlines() if line.startswith("cpu"))
    return max(1, sum(name != "cpu" for name in names))


def _processes(root: Path) -> dict[tuple[int, int], tuple[str, int]]:
    """Name, user and system ticks by process; those that end while we read are omitted."""
    found: dict[tuple[int, int], tuple[str, int]] = {}
    try:
        names = [name for name in os.listdir(root / "proc") if name.isdigit()]
    except OSError:
        return found
    for name in names[:PROCESSES_MAX]:
        try:
            text = (root / "proc" / name / "stat").read_text(errors="replace")
        except OSError:
            continue
        head, _, rest = text.rpartition(")")
        fields = rest.split()
        if len(fields) > 19:  # 14, 15 of the manual page: own ticks; 22: start
            key = int(name), int(fields[19])
            found[key] = head.partition("(")[2], int(fields[11]) + int(fields[12])
    return found
