"""The data directory's device and file system.

Source: Documentation/block/switching-sched.rst of the kernel; sysfs, /sys/dev/block.
"""

from __future__ import annotations

import re

from dbdyno.rules.machine.finding import FINE, FOUND, NOT_KNOWN, Finding, Place, Rule
from dbdyno.wording.numbers import gib

_FAIR = frozenset({"bfq", "cfq"})
_FULL = 0.9
_SPARE = 1.2  # free space for each byte that the run is expected to write


def _scheduler(place: Place) -> Finding:
    queue = None if place.device is None else _queue(place, *place.device)
    if queue is None:
        return Finding(
            "io_scheduler",
            NOT_KNOWN,
            "the data directory's block device has no queue in /sys/dev/block",
        )
    text = place.text(f"{queue}/scheduler") or ""
    chosen = re.search(r"\[([\w-]+)\]", text)
    if not chosen:
        return Finding("io_scheduler", NOT_KNOWN, f"/{queue}/scheduler names no scheduler")
    rotates = place.number(f"{queue}/rotational")
    if chosen[1] in _FAIR:
        return Finding(
            "io_scheduler",
            FOUND,
            f"I/O scheduler {chosen[1]} on the data directory's device",
            "it shares the device fairly between processes and waits for more of each one's"
            " requests: commits (fsync) take longer, and the delay varies with the I/O of others",
            f"echo {'mq-deadline' if rotates else 'none'} > /{queue}/scheduler",
        )
    if chosen[1] == "none" and rotates == 1:
        return Finding(
            "io_scheduler",
            FOUND,
            "no I/O scheduler on a rotating disk",
            "requests are not ordered by place: random reads and writes are slower, and vary more",
            f"echo mq-deadline > /{queue}/scheduler",
        )
    return Finding("io_scheduler", FINE, f"I/O scheduler {chosen[1]}")


def _queue(place: Place, major: int, minor: int) -> str | None:
    """The queue of a block device: a partition's is its disk's."""
    device = f"sys/dev/block/{major}:{minor}"
    return next(
        (
            queue
            for queue in (f"{device}/queue", f"{device}/../queue")
            if place.text(f"{queue}/scheduler") is not None
        ),
        None,
    )


def _full(place: Place) -> Finding:
    space = place.space
    if space is None or space.size_bytes <= 0:
        return Finding("disk_full", NOT_KNOWN, "the data directory's file system cannot be asked")
    used = 1 - space.free_bytes / space.size_bytes
    free = f"{gib(space.free_bytes)} of {gib(space.size_bytes)} are free"
    short = space.free_bytes < _SPARE * place.needed_bytes
    if used < _FULL and not short:
        return Finding("disk_full", FINE, free)
    why = f", and the run needs about {gib(place.needed_bytes)}" if short else ""
    return Finding(
        "disk_full",
        FOUND,
        f"the data directory's file system is nearly full: {free}{why}",
        "file systems and solid-state disks write slower when nearly full, by more as the run goes"
        " on; a trial that finds no space is void",
        "free space, or name another place with --scratch",
    )


CHECKS = (
    Rule("io_scheduler", "an I/O scheduler that does not suit the device", _scheduler, True),
    Rule("disk_full", "a data directory on a file system that is nearly full", _full, True),
)
