"""There is no CPU left, or others have it."""

from __future__ import annotations

from dbdyno.analysis import describe
from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule

BUSY = 0.9
QUEUE_FACTOR = 1.5
QUEUE_MIN = 0.5  # seconds a second in which threads could run and had no CPU
WORK_FACTOR = 1.25


def look(seen: Evidence) -> Match | None:
    """In a stall: all CPUs are busy and the server's threads queue for them far more than
    otherwise. Between sides: busy on the slower one, which has less room or more work."""
    busy = seen.get("cpu.busy")
    if busy is None or busy.during < BUSY:
        return None
    queue = seen.get("server.runqueue_cores")
    if seen.question == STALL:
        if queue is None or queue.during < max(QUEUE_MIN, QUEUE_FACTOR * queue.otherwise):
            return None
        return Match(
            0.65,
            f"All CPUs were busy ({busy.during:.0%}) {seen.here}, and the server's threads waited"
            f" for one {describe.number(queue.during)} s a second, against"
            f" {describe.number(queue.otherwise)} {seen.there}.",
            "Find who uses them (`pidstat`): fewer sessions, other processes elsewhere, or more"
            " CPUs.",
            queue.metric,
        )
    work = _work(seen)
    if busy.otherwise >= BUSY and work < WORK_FACTOR:
        return None
    more = ""
    if work >= WORK_FACTOR:
        more = f"; an operation takes {describe.number(work)} times the server's CPU"
    return Match(
        0.6,
        f"All CPUs are busy ({busy.during:.0%}) {seen.here}, against {busy.otherwise:.0%}"
        f" {seen.there}{more}.",
        "Less work an operation (indexes, plans, fewer round trips), or more CPUs.",
        busy.metric,
    )


def _work(seen: Evidence) -> float:
    """How many times the server's CPU an operation takes; 0 if unknown."""
    if (each := seen.get("server_cpu_us_per_op")) is not None:
        return each.factor
    cores = seen.get("server.cpu_cores")
    return cores.factor / max(seen.share, 0.01) if cores is not None else 0.0


RULES = (
    Rule(
        "cpu_saturation",
        "CPU saturation",
        "the CPUs are busy 90 % of the time; in a stall the server's threads queue for them 1.5"
        " times as long; between sides one has room left or does less work an operation",
        "https://docs.kernel.org/scheduler/sched-stats.html",
        ANY,
        look,
    ),
)
