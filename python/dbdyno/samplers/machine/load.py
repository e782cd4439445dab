"""How many tasks want a CPU, from /proc/loadavg (proc(5)): over a minute, and just now."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.samplers.base import ProcFile


class Load:
    """See the module."""

    source = "load"
    about = "tasks that run or wait for a CPU or a disk: mean of a minute; those runnable just now"
    quick = False

    def __init__(self) -> None:
        self._file = ProcFile("/proc/loadavg")

    def open(self) -> None:
        self._file.open()

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        return parse(self._file.text())

    def close(self) -> None:
        self._file.close()


def parse(text: str) -> dict[str, float]:
    """`0.20 0.18 0.12 2/356 11206` -> means and levels."""
    words = text.split()
    return {"one_minute": float(words[0]), "runnable": float(words[3].partition("/")[0])}
