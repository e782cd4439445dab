"""There is no CPU left, or others have it."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import Moved
from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText


def _saturated(here: str, there: str, busy: Moved, queue: Moved | None) -> str:
    if queue is None:
        return (
            f"All CPUs are busy ({busy.during:.0%}) {here}, against {busy.otherwise:.0%} {there}."
        )
    return (
        f"All CPUs were busy ({busy.during:.0%}) {here}, and the server's threads waited for one"
        f" {numbers.number(queue.during)} s a second, against {numbers.number(queue.otherwise)}"
        f" {there}."
    )


def _cure(busy: Moved, queue: Moved | None) -> str:
    if queue is None:
        return "Less work an operation (indexes, plans, fewer round trips), or more CPUs."
    return (
        "Find who uses them (`pidstat`): fewer sessions, other processes elsewhere, or more CPUs."
    )


CAUSES = {
    "cpu_saturation": CauseText(
        "CPU saturation",
        "the CPUs are busy 90 % of the time; in a stall the server's threads queue for them 1.5"
        " times as long; between sides the faster one has a tenth of its CPU time left",
        "https://docs.kernel.org/scheduler/sched-stats.html",
        _saturated,
        _cure,
    ),
    "steal": CauseText(
        "CPU time taken by the hypervisor",
        "steal is 10 % and more above what it is otherwise, and half or more of the throughput"
        " that is missing",
        "https://man7.org/linux/man-pages/man5/proc_stat.5.html",
        "The hypervisor took {steal.during:.0%} of the CPU time {here}, against"
        " {steal.otherwise:.0%} {there}.",
        "Nothing on this machine: a host with fewer tenants, or CPUs of one's own.",
    ),
}
