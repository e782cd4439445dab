"""There is no CPU left, or others have it."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule
from dbdyno.wording import numbers

BUSY = 0.9
QUEUE_FACTOR = 1.5
QUEUE_MIN = 0.5  # seconds a second in which threads could run and had no CPU
MORE_MIN = 0.1  # of the time, than on the other side


def look(seen: Evidence) -> Match | None:
    """In a stall: all CPUs are busy and the server's threads queue for them far more than
    otherwise. Between sides: busy on the slower one, with room on the other."""
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
            f" for one {numbers.number(queue.during)} s a second, against"
            f" {numbers.number(queue.otherwise)} {seen.there}.",
            "Find who uses them (`pidstat`): fewer sessions, other processes elsewhere, or more"
            " CPUs.",
            queue.metric,
        )
    if busy.during - busy.otherwise < MORE_MIN:
        return None  # 100 % against 98 % explains nothing; nor does more work an operation
    return Match(
        0.6,
        f"All CPUs are busy ({busy.during:.0%}) {seen.here}, against {busy.otherwise:.0%}"
        f" {seen.there}.",
        "Less work an operation (indexes, plans, fewer round trips), or more CPUs.",
        busy.metric,
    )


RULES = (
    Rule(
        "cpu_saturation",
        "CPU saturation",
        "the CPUs are busy 90 % of the time; in a stall the server's threads queue for them 1.5"
        " times as long; between sides the faster one has a tenth of its CPU time left",
        "https://docs.kernel.org/scheduler/sched-stats.html",
        ANY,
        look,
    ),
)
