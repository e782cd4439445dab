"""The block devices under the servers' data directories, from /proc/diskstats.

Columns: https://docs.kernel.org/admin-guide/iostats.html. Rates are summed over the devices;
utilisation and await are those of the busiest one. A utilisation of 1 says that something was
always in flight, which for a device that works in parallel is not yet saturation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from dbdyno.samplers.base import ProcFile

SECTOR_BYTES = 512  # of /proc/diskstats, whatever the device's own size is


class Disk:
    """See the module."""

    source = "disk"
    about = "reads, writes, flushes and bytes a second; await in ms; utilisation 0..1; queue length"
    quick = True

    def __init__(self, directories: Iterable[Path]) -> None:
        self._directories = tuple(directories)
        self._file = ProcFile("/proc/diskstats", 1 << 20)
        self._devices: frozenset[str] = frozenset()
        self._last: dict[str, tuple[int, ...]] = {}

    def open(self) -> None:
        self._devices = frozenset(device_of(path) for path in self._directories if path.exists())
        self._file.open()
        self._last = parse(self._file.text(), self._devices)

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        now = parse(self._file.text(), self._devices)
        last, self._last = self._last, now
        return rates(last, now, elapsed_s)

    def close(self) -> None:
        self._file.close()


def device_of(path: Path) -> str:
    """ "MAJOR:MINOR" of the device that holds a path."""
    number = os.stat(path).st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def parse(text: str, devices: frozenset[str]) -> dict[str, tuple[int, ...]]:
    """Counters by "MAJOR:MINOR", for those devices. Overlays and network file systems have none."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 14 and f"{words[0]}:{words[1]}" in devices:
            found[f"{words[0]}:{words[1]}"] = tuple(int(word) for word in words[3:])
    return found


def rates(
    last: Mapping[str, tuple[float, ...]], now: Mapping[str, tuple[float, ...]], elapsed_s: float
) -> dict[str, float]:
    """Rates between two readings; empty if no device is known."""
    names = ("reads_per_s", "writes_per_s", "read_bytes_per_s", "write_bytes_per_s")
    values = dict.fromkeys((*names, "queue", "util", "read_await_ms", "write_await_ms"), 0.0)
    common = last.keys() & now.keys()
    for device in common:
        d = [max(0, b - a) for a, b in zip(last[device], now[device], strict=True)]
        values["reads_per_s"] += d[0] / elapsed_s
        values["read_bytes_per_s"] += d[2] * SECTOR_BYTES / elapsed_s
        values["writes_per_s"] += d[4] / elapsed_s
        values["write_bytes_per_s"] += d[6] * SECTOR_BYTES / elapsed_s
        values["util"] = max(values["util"], min(1.0, d[9] / 1000 / elapsed_s))
        values["queue"] += d[10] / 1000 / elapsed_s
        if d[0]:
            values["read_await_ms"] = max(values["read_await_ms"], d[3] / d[0])
        if d[4]:
            values["write_await_ms"] = max(values["write_await_ms"], d[7] / d[4])
        if len(d) > 15:  # since Linux 5.5
            values["flushes_per_s"] = values.get("flushes_per_s", 0.0) + d[15] / elapsed_s
    return values if common else {}
