"""A slow disk for one process: what it writes to the device is held to a rate by its cgroup.

The kernel's throttle of cgroup v1 (https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html)
holds writes past the page cache and those of fsync, which are made in the name of who calls it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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


def _home(pid: int) -> Path:
    """Where a process is before."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(","):
            return BLKIO / path.lstrip("/")
    return BLKIO
