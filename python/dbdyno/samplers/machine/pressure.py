"""Time in which tasks waited for CPU, I/O or memory, from /proc/pressure.

Shares of time: `some` task waited, or all that were not idle at once (`full`). Kernels without
pressure stall information (before 4.20, or CONFIG_PSI off) have no such files: then there is
nothing. Source: Documentation/accounting/psi.rst of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.samplers.base import ProcFile

RESOURCES = ("cpu", "io", "memory")


class Pressure:
    """See the module."""

    source = "pressure"
    about = "shares of time in which some or all tasks waited for CPU, I/O or memory"
    quick = True

    def __init__(self, root: Path = Path("/proc/pressure")) -> None:
        self._root = root
        self._files: dict[str, ProcFile] = {}
        self._last: dict[str, int] = {}

    def open(self) -> None:
        for name in RESOURCES:
            file = ProcFile(self._root / name)
            try:
                file.open()
                file.text()  # a kernel that has it may have it switched off (EOPNOTSUPP)
            except OSError:
                file.close()
                continue
            self._files[name] = file
        self._last = self._read()

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        now = self._read()
        last, self._last = self._last, now
        return shares(last, now, elapsed_s)

    def _read(self) -> dict[str, int]:
        return {
            f"{resource}_{line}": total_us
            for resource, file in self._files.items()
            for line, total_us in parse(file.text()).items()
        }

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}


def parse(text: str) -> dict[str, int]:
    """`some avg10=0.00 ... total=12345` -> microseconds since boot, by `some` and `full`."""
    found = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        found[kind] = int(rest.rpartition("total=")[2])
    return found


def shares(last: Mapping[str, int], now: Mapping[str, int], elapsed_s: float) -> dict[str, float]:
    """Shares of the time between two readings, 0 to 1."""
    return {
        name: min(1.0, max(0, us - last[name]) / 1e6 / elapsed_s)
        for name, us in now.items()
        if name in last
    }
