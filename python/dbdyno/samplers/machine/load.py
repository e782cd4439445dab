"""How many tasks want a CPU, from /proc/loadavg (proc(5)): over a minute, and just now."""

from __future__ import annotations

from dbdyno.samplers.base import ProcFile, ProcSampler


class Load(ProcSampler):
    """See the module."""

    source = "load"
    about = "tasks that run or wait for a CPU or a disk: mean of a minute; those runnable just now"
    quick = False

    def __init__(self) -> None:
        super().__init__(ProcFile("/proc/loadavg"), parse)


def parse(text: str) -> dict[str, float]:
    """`0.20 0.18 0.12 2/356 11206` -> means and levels."""
    words = text.split()
    return {"one_minute": float(words[0]), "runnable": float(words[3].partition("/")[0])}
