"""What else runs: CPU time that other processes use, and that a hypervisor gives to others.

Both are seen for half a second only; the samplers of a trial see all of it.
"""

from __future__ import annotations

from dbdyno.rules.machine.finding import FINE, FOUND, Finding, Place, Rule, not_known

_BUSY_MIN_SHARE = 0.05  # of all CPUs
_STEAL_MIN_NOW, _STEAL_MIN_EVER = 0.02, 0.01
_TICKS_MIN = 20  # fewer show no share


def _others(place: Place) -> Finding:
    seen = place.activity
    if seen is None or sum(seen.ticks.values()) < _TICKS_MIN:
        return not_known("other_load", "proc/stat")
    waiting = _runnable(place)
    queue = "" if waiting is None else f"; {waiting:,} runnable"
    if seen.busy_cpus < _BUSY_MIN_SHARE * seen.cpus:
        used = f"others use {seen.busy_cpus:.2f} of {seen.cpus} CPUs{queue}"
        return Finding("other_load", FINE, used)
    top = ", ".join(f"{name} {cpus:.2f}" for name, cpus in seen.top)
    names = f" (most: {top})" if top else ""
    return Finding(
        "other_load",
        FOUND,
        f"other processes use {seen.busy_cpus:.2f} of {seen.cpus} CPUs{names}{queue}",
        "trials run slower by the CPU time that other processes take in each of them: more noise,"
        " wider intervals, and a wrong level of every absolute number",
        "stop them (cron, backups, indexers, other benchmarks), or give the experiment CPUs that"
        " they may not use",
    )


def _runnable(place: Place) -> int | None:
    """Tasks that run or wait for a CPU just now, ourselves not counted."""
    words = (place.text("proc/loadavg") or "").split()
    running = words[3].partition("/")[0] if len(words) > 3 else ""
    return max(0, int(running) - 1) if running.isdigit() else None


def _steal(place: Place) -> Finding:
    seen = place.activity
    if seen is None or "steal" not in seen.ticks or sum(seen.ticks.values()) < _TICKS_MIN:
        return not_known("steal", "proc/stat")
    now = seen.ticks["steal"] / sum(seen.ticks.values())
    ever = seen.since_boot["steal"] / max(1, sum(seen.since_boot.values()))
    told = f"{now:.1%} of CPU time just now, {ever:.1%} since boot".replace("%", " %")
    if now < _STEAL_MIN_NOW and ever < _STEAL_MIN_EVER:
        return Finding("steal", FINE, f"steal: {told}")
    return Finding(
        "steal",
        FOUND,
        f"a hypervisor gives our CPU time to others (steal): {told}",
        "trials vary with the load of the neighbours, which dbdyno can neither see nor stop",
        "use a host or an instance type with dedicated CPUs; else `require: [steal_percent < 2]`"
        " voids trials that it hit",
    )


CHECKS = (
    Rule("other_load", "CPU time that other processes use, with their names", _others),
    Rule("steal", "CPU time that a hypervisor gives to others", _steal),
)
