"""What memory costs in reads: swapping and faults of the whole machine, from /proc/vmstat.

Names: Documentation/filesystems/proc.rst and mm/vmstat.c of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.samplers.base import ProcFile

NAMES = {
    "pswpin": "swap_in_pages_per_s",
    "pswpout": "swap_out_pages_per_s",
    "pgmajfault": "major_faults_per_s",
}


class Paging:
    """See the module."""

    source = "paging"
    about = "pages swapped in and out a second; faults a second that had to read from a disk"
    quick = False

    def __init__(self) -> None:
        self._file = ProcFile("/proc/vmstat")
        self._last: dict[str, int] = {}

    def open(self) -> None:
        self._file.open()
        self._last = parse(self._file.text())

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        now = parse(self._file.text())
        last, self._last = self._last, now
        return rates(last, now, elapsed_s)

    def close(self) -> None:
        self._file.close()


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
