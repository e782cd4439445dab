"""What memory costs in reads: swapping and faults of the whole machine, from /proc/vmstat.

Names: Documentation/filesystems/proc.rst and mm/vmstat.c of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.samplers.base import ProcFile, ProcSampler

NAMES = {
    "pswpin": "swap_in_pages_per_s",
    "pswpout": "swap_out_pages_per_s",
    "pgmajfault": "major_faults_per_s",
}


class Paging(ProcSampler):
    """See the module."""

    source = "paging"
    about = "pages swapped in and out a second; faults a second that had to read from a disk"
    quick = False

    def __init__(self) -> None:
        super().__init__(ProcFile("/proc/vmstat"), parse, rates)


def parse(text: str) -> dict[str, int]:
    """Counters since boot, by the kernel's names."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in NAMES}


def rates(
    last: Mapping[str, float], now: Mapping[str, float], elapsed_s: float
) -> dict[str, float]:
    """Rates between two readings."""
    return {
        NAMES[name]: max(0.0, value - last[name]) / elapsed_s
        for name, value in now.items()
        if name in last and name in NAMES
    }
