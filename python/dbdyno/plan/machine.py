"""Facts of the machine that a plan depends on. No host name: plans are shared.

Sources: sched_getaffinity(2), proc(5), cgroups(7) versions 1 and 2, sysfs topology.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT = 1 << 60  # cgroup v1 says "unlimited" as a huge number


@dataclass(frozen=True)
class Machine:
    """What this process may use. `cores` counts CPUs it may run on, less if a quota allows less."""

    cores: int
    memory_bytes: int
    kernel: str
    cpu_model: str
    cpus: tuple[int, ...] = ()  # numbers of the CPUs it may run on
    siblings: tuple[tuple[int, ...], ...] = ()  # CPUs of one core, core by core

    @classmethod
    def read(cls, root: Path = Path("/")) -> Machine:
        """Reads the facts. `root` replaces / so that tests can bring their own /proc and /sys."""
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        quota = cpu_quota(root)
        cores = len(cpus) if quota is None else max(1, min(len(cpus), int(quota)))
        limits = [limit for limit in (memory_total(root), memory_limit(root)) if limit]
        return cls(
            cores=cores,
            memory_bytes=min(limits, default=0),
            kernel=platform.release(),
            cpu_model=_cpu_model(root),
            cpus=cpus,
            siblings=_siblings(root, cpus),
        )


def memory_total(root: Path) -> int | None:
    """The machine's memory, bytes; None if the kernel does not say."""
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _cpu_model(root: Path) -> str:
    for line in _text(root / "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model"):
            return value.strip()
    return platform.machine()


def memory_limit(root: Path) -> int | None:
    """The tightest limit of this process's control group and those above it, bytes."""
    found = []
    for directory in _groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _number(_text(directory / name))
            if limit is not None and limit < _NO_LIMIT:
                found.append(limit)
    return min(found, default=None)


def cpu_quota(root: Path) -> float | None:
    """The tightest CPU quota, in CPUs."""
    found = []
    for directory in _groups(root, "cpu"):
        words = _text(directory / "cpu.max").split()
        if len(words) == 2 and words[0].isdigit() and int(words[1]) > 0:
            found.append(int(words[0]) / int(words[1]))
        quota = _number(_text(directory / "cpu.cfs_quota_us"))
        period = _number(_text(directory / "cpu.cfs_period_us"))
        if quota is not None and quota > 0 and period:
            found.append(quota / period)
    return min(found, default=None)


def tells_quota(root: Path) -> bool:
    """Whether some control group of this process can be asked for a CPU quota."""
    return _any_file(root, "cpu", ("cpu.max", "cpu.cfs_quota_us"))


def tells_memory(root: Path) -> bool:
    """Whether some control group of this process can be asked for a memory limit."""
    return _any_file(root, "memory", ("memory.max", "memory.limit_in_bytes"))


def _any_file(root: Path, controller: str, names: tuple[str, ...]) -> bool:
    return any(
        (directory / name).is_file() for directory in _groups(root, controller) for name in names
    )


def _groups(root: Path, controller: str) -> list[Path]:
    """Directories of this process's control groups for a controller, from its own up to the root.

    In a container the path in /proc/self/cgroup may not exist below the mount; the mount itself is
    then the container's group, and is always read.
    """
    mount = root / "sys/fs/cgroup"
    found = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        top = mount / controller if controllers else mount
        directory = top / path.lstrip("/")
        found += [directory, *(p for p in directory.parents if p.is_relative_to(top))]
    return found


def _siblings(root: Path, cpus: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The usable CPUs by core; each alone where the kernel does not say."""
    cores: dict[tuple[int, ...], None] = {}
    for cpu in cpus:
        directory = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        threads = cpu_list(_text(directory / "thread_siblings_list"))
        cores[tuple(t for t in threads if t in cpus) or (cpu,)] = None
    return tuple(sorted(cores))


def cpu_list(text: str) -> list[int]:
    """`0-2,8` -> [0, 1, 2, 8]."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            found += range(int(first), int(last or first) + 1)
    return found


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
