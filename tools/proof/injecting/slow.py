"""A slow disk, for one process or for all: a cgroup limits the rate of writes to the device.

The kernel's throttle of cgroup v1 (https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html)
holds writes past the page cache and those of fsync, which are made in the name of who calls it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.proof.injecting.setting import Written, held

BLKIO = Path("/sys/fs/cgroup/blkio")
LIMIT = "blkio.throttle.write_bps_device"


def can_slow() -> bool:
    """Whether this machine has that throttle and lets us use it."""
    return (BLKIO / LIMIT).exists() and os.access(BLKIO, os.W_OK)


@contextmanager
def slow(pid: int, directory: Path, bytes_per_s: float) -> Iterator[None]:
    """Holds the writes of a process to the device under `directory` to a rate, until the end."""
    device = os.stat(directory).st_dev
    home, group = _home(pid), BLKIO / f"dyno-proof-{pid}"
    group.mkdir()
    try:
        limit = f"{os.major(device)}:{os.minor(device)} {bytes_per_s:.0f}"
        (group / LIMIT).write_text(limit)
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        with suppress(ProcessLookupError):
            (home / "cgroup.procs").write_text(str(pid))
        group.rmdir()


@contextmanager
def slow_for_all(directory: Path, bytes_per_s: float) -> Iterator[None]:
    """Holds all writes to the device under `directory` to a rate, until the end: also those of the
    kernel's own threads, which write back what others made dirty."""
    number = os.stat(directory).st_dev
    device, path = f"{os.major(number)}:{os.minor(number)}", BLKIO / LIMIT

    def as_it_is() -> Written:
        limits = dict(line.split() for line in path.read_text().splitlines())
        return path, f"{device} {limits.get(device, 0)}"  # 0: no limit

    with held((path, f"{device} {bytes_per_s:.0f}"), as_it_is):
        yield


def _home(pid: int) -> Path:
    """Where a process is before."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(","):
            return BLKIO / path.lstrip("/")
    return BLKIO
