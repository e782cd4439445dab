"""The hypervisor gave the machine's CPUs to others."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule

STEAL_MIN = 0.1  # of the CPU time
PART_MIN = 0.5  # of the throughput that is missing


def look(seen: Evidence) -> Match | None:
    """Taken CPU time that explains half of what is missing: a share of it takes such a share of
    throughput at most times."""
    steal = seen.get("cpu.steal")
    if steal is None:
        return None
    more = steal.during - steal.otherwise
    if more < STEAL_MIN or more < PART_MIN * (1.0 - seen.share):
        return None
    return Match(
        0.88,
        f"The hypervisor took {steal.during:.0%} of the CPU time {seen.here}, against"
        f" {steal.otherwise:.0%} {seen.there}.",
        "Nothing on this machine: a host with fewer tenants, or CPUs of one's own.",
        steal.metric,
    )


RULES = (
    Rule(
        "steal",
        "CPU time taken by the hypervisor",
        "steal is 10 % and more above what it is otherwise, and half or more of the throughput"
        " that is missing",
        "https://man7.org/linux/man-pages/man5/proc_stat.5.html",
        ANY,
        look,
    ),
)
