"""Facts of a machine, read from a made-up /proc and /sys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbdyno.plan import Machine

MEMINFO = "MemTotal:       16000000 kB\nMemFree:  1 kB\n"
CPUINFO = "processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3, 5})
    put(tmp_path, "proc/meminfo", MEMINFO)
    put(tmp_path, "proc/cpuinfo", CPUINFO)
    return tmp_path


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_control_groups(root: Path) -> None:
    m = Machine.read(root)
    assert (m.cores, m.cpus) == (5, (0, 1, 2, 3, 5))
    assert m.memory_bytes == 16_000_000 * 1024
    assert m.cpu_model == "Fast CPU @ 3 GHz"
    assert m.siblings == ((0,), (1,), (2,), (3,), (5,))


def test_version_2_limits_of_a_group_and_those_above(root: Path) -> None:
    put(root, "proc/self/cgroup", "0::/a/b\n")
    put(root, "sys/fs/cgroup/a/memory.max", "4000000000\n")
    put(root, "sys/fs/cgroup/a/b/memory.max", "max\n")
    put(root, "sys/fs/cgroup/a/b/cpu.max", "250000 100000\n")
    put(root, "sys/fs/cgroup/a/cpu.max", "max 100000\n")
    m = Machine.read(root)
    assert (m.cores, m.memory_bytes) == (2, 4_000_000_000)


def test_version_1_limits(root: Path) -> None:
    put(root, "proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n2:blkio:/job\n")
    put(root, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000000\n")
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    put(root, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n")
    put(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
    put(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    m = Machine.read(root)
    assert m.memory_bytes == 3_000_000_000
    assert m.cores == 1, "half a CPU is still one core to run on"


def test_in_a_container_the_mount_is_the_group(root: Path) -> None:
    put(root, "proc/self/cgroup", "0::/host/path/not/mounted\n")
    put(root, "sys/fs/cgroup/memory.max", "2000000000\n")
    assert Machine.read(root).memory_bytes == 2_000_000_000


def test_siblings_are_the_usable_threads_of_a_core(root: Path) -> None:
    for cpu, siblings in {0: "0,4", 1: "1,5", 2: "2-3", 3: "2-3", 5: "1,5"}.items():
        put(root, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    assert Machine.read(root).siblings == ((0,), (1, 5), (2, 3))


def test_this_machine() -> None:
    m = Machine.read()
    assert m.cores >= 1
    assert m.memory_bytes > 1 << 20
    assert set(m.cpus) == os.sched_getaffinity(0)
    assert sorted(cpu for core in m.siblings for cpu in core) == sorted(m.cpus)
