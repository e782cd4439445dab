"""CPU time of the whole machine, from the first line of /proc/stat (proc(5)).

Shares of all CPUs together, 0 to 1. `steal` is what a hypervisor gave to others: it makes a trial
incomparable, so it is also given as `steal_percent`.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.samplers.base import ProcFile, ProcSampler

# Columns of the line "cpu"; guest time is contained in user and nice.
COLUMNS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class Cpu(ProcSampler):
    """See the module."""

    source = "cpu"
    about = "shares of CPU time: user, system, iowait, steal, idle, busy; context switches a second"
    quick = True

    def __init__(self) -> None:
        super().__init__(ProcFile("/proc/stat", 1 << 20), parse, shares)


def parse(text: str) -> dict[str, int]:
    """Ticks by column, and `ctxt` (context switches since boot)."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "cpu":
            found.update(zip(COLUMNS, map(int, rest.split()), strict=False))
        elif name == "ctxt":
            found["ctxt"] = int(rest)
    return found


def shares(
    last: Mapping[str, float], now: Mapping[str, float], elapsed_s: float
) -> dict[str, float]:
    """Differences as shares of their sum; empty if no tick has passed. Any unit will do."""
    # iowait may run backwards by a tick on several CPUs (proc(5)).
    ticks = {name: max(0, now.get(name, 0) - last.get(name, 0)) for name in COLUMNS}
    total = sum(ticks.values())
    if total == 0:
        return {}
    share = {name: count / total for name, count in ticks.items()}
    values = {
        "user": share["user"] + share["nice"],
        "system": share["system"] + share["irq"] + share["softirq"],
        "iowait": share["iowait"],
        "steal": share["steal"],
        "steal_percent": 100.0 * share["steal"],
        "idle": share["idle"],
        "busy": max(0.0, 1.0 - share["idle"] - share["iowait"] - share["steal"]),  # rounding
    }
    if "ctxt" in now and "ctxt" in last:
        values["context_switches_per_s"] = max(0, now["ctxt"] - last["ctxt"]) / elapsed_s
    return values
