"""The kernel writes back the dirty pages of a server's files, many at once, and holds up processes
that make more of them: as where vm.dirty_ratio is reached, which here is brought about at a moment.

https://docs.kernel.org/admin-guide/sysctl/vm.html#dirty-bytes
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from tools.proof.injecting.setting import Written, can_hold, held
from tools.proof.injecting.slow import can_slow, slow_for_all

LIMITS = (Path("/proc/sys/vm/dirty_bytes"), Path("/proc/sys/vm/dirty_ratio"))
LIMIT_BYTES = 32 << 20
ENOUGH_BYTES = 300e6  # of dirty pages, where the disk can be made as slow as wanted
ENOUGH_MAX_BYTES = 900e6  # else: what an ordinary disk takes a second or two for
LEAST_BYTES = 100e6  # fewer make no stall that could be told from others
PATIENCE_S = 6.0  # within the trial
END_S = 15.0

_COUNTED = ("Dirty", "Writeback")


def can_write_back() -> bool:
    """Whether we may set the limit, and make the disk slow: as root, with the throttle of cgroup
    v1."""
    return can_hold(LIMITS[0]) and can_slow()


def dirty_bytes() -> float:
    """Of the whole machine: not yet written, or being written."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    pairs = (line.partition(":") for line in lines)
    return sum(1024.0 * int(rest.split()[0]) for name, _, rest in pairs if name in _COUNTED)


def wait_for_enough() -> None:
    """Returns when there are enough dirty pages for a stall, or when they do not get more: another
    process may sync."""
    deadline = time.monotonic() + PATIENCE_S
    enough = ENOUGH_BYTES if can_slow() else ENOUGH_MAX_BYTES
    while dirty_bytes() < enough and time.monotonic() < deadline:
        time.sleep(0.05)


def write_back(directory: Path, length_s: float) -> None:
    """All of them are written, which takes so long on a disk that is made as slow as that.
    RuntimeError if there are too few."""
    limit, there = (LIMITS[0], str(LIMIT_BYTES)), dirty_bytes()
    if there < LEAST_BYTES:
        raise RuntimeError(f"only {there / 1e6:.0f} MB are dirty: another process syncs")
    with contextlib.ExitStack() as stack:
        if can_slow():
            stack.enter_context(slow_for_all(directory, there / length_s))
        stack.enter_context(held(limit, as_it_is))
        deadline = time.monotonic() + END_S
        while dirty_bytes() > 2 * LIMIT_BYTES and time.monotonic() < deadline:
            time.sleep(0.02)


def as_it_is() -> Written:
    """What brings the limit back. Of bytes and ratio one is in force, and the other 0; writing
    either makes the other 0."""
    values = ((path, path.read_text().strip()) for path in LIMITS)
    return next((path, value) for path, value in values if value != "0")
