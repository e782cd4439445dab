"""Limits of this process's control groups: CPU quota and memory.

Source: cgroups(7), versions 1 and 2; read by `plan.machine`.
"""

from __future__ import annotations

from dbdyno.plan import machine
from dbdyno.rules.machine.finding import FINE, FOUND, NOT_KNOWN, Finding, Place, Rule, not_known
from dbdyno.wording.numbers import gib


def _quota(place: Place) -> Finding:
    if place.text("proc/self/cgroup") is None:
        return not_known("cpu_quota", "proc/self/cgroup")
    quota = machine.cpu_quota(place.root)
    if quota is None:
        if not machine.tells_quota(place.root):
            return Finding("cpu_quota", NOT_KNOWN, "no cpu.max of our control groups can be read")
        return Finding("cpu_quota", FINE, "no CPU quota")
    if quota >= len(place.cpus):
        return Finding("cpu_quota", FINE, f"a CPU quota of {quota:g}, no less than our CPUs")
    return Finding(
        "cpu_quota",
        FOUND,
        f"a CPU quota of {quota:g} CPUs (cgroup)",
        "a process that has used up its share of a period stops for the rest of it, up to 100 ms at"
        " a time: tail latencies and stalls are the quota's, and generator and server share it",
        "lift it (cpu.max, --cpus of the container), and limit by CPU sets instead",
    )


def _memory(place: Place) -> Finding:
    if place.text("proc/self/cgroup") is None:
        return not_known("memory_limit", "proc/self/cgroup")
    total, limit = machine.memory_total(place.root), machine.memory_limit(place.root)
    if total is None:
        return not_known("memory_limit", "proc/meminfo")
    if limit is None:
        if not machine.tells_memory(place.root):
            what = "no memory.max of our control groups can be read"
            return Finding("memory_limit", NOT_KNOWN, what)
        return Finding("memory_limit", FINE, "no memory limit")
    if limit >= total:
        return Finding("memory_limit", FINE, "no memory limit below the machine's memory")
    return Finding(
        "memory_limit",
        FOUND,
        f"a memory limit of {gib(limit)} (cgroup), of {gib(total)}",
        "the page cache counts too: near the limit reads go to the disk again, and a server that"
        " exceeds it is killed",
        "keep `memory` of all servers well below the limit, or raise it (memory.max)",
    )


CHECKS = (
    Rule("cpu_quota", "a CPU quota of a control group", _quota),
    Rule("memory_limit", "a memory limit of a control group", _memory),
)
