"""Memory of the whole machine, from /proc/meminfo; what waits for the disk above all."""

from __future__ import annotations

from dbdyno.samplers.base import ProcFile, ProcSampler

NAMES = {
    "Dirty": "dirty_bytes",
    "Writeback": "writeback_bytes",
    "MemAvailable": "available_bytes",
    "Cached": "cached_bytes",
    "AnonPages": "anonymous_bytes",
    "SwapFree": "swap_free_bytes",
}


class Memory(ProcSampler):
    """See the module."""

    source = "memory"
    about = "levels in bytes: dirty, writeback, available, cached, anonymous, swap_free"
    quick = True

    def __init__(self) -> None:
        super().__init__(ProcFile("/proc/meminfo"), parse)


def parse(text: str) -> dict[str, float]:
    """Bytes by metric name; the file gives KiB."""
    values = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in NAMES:
            values[NAMES[name]] = float(rest.split()[0]) * 1024
    return values
