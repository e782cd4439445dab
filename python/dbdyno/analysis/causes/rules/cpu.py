"""There is no CPU left, or others have it."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule

BUSY = 0.9
QUEUE_FACTOR = 1.5
QUEUE_MIN = 0.5  # seconds a second in which threads could run and had no CPU
MORE_MIN = 0.1  # of the time, than on the other side
STEAL_MIN = 0.1  # of the CPU time
PART_MIN = 0.5  # of the throughput that is missing


def busy(seen: Evidence) -> Match | None:
    """In a stall: all CPUs are busy and the server's threads queue for them far more than
    otherwise. Between sides: busy on the slower one, with room on the other."""
    used = seen.get("cpu.busy")
    if used is None or used.during < BUSY:
        return None
    queue = seen.get("server.runqueue_cores")
    if seen.question == STALL:
        if queue is None or queue.during < max(QUEUE_MIN, QUEUE_FACTOR * queue.otherwise):
            return None
        return Match(0.65, queue.metric, {"busy": used, "queue": queue})
    if used.during - used.otherwise < MORE_MIN:
        return None  # 100 % against 98 % explains nothing; nor does more work an operation
    return Match(0.6, used.metric, {"busy": used, "queue": None})


def steal(seen: Evidence) -> Match | None:
    """Taken CPU time that explains half of what is missing: a share of it takes such a share of
    throughput at most times."""
    taken = seen.get("cpu.steal")
    if taken is None:
        return None
    more = taken.during - taken.otherwise
    if more < STEAL_MIN or more < PART_MIN * (1.0 - seen.share):
        return None
    return Match(0.88, taken.metric, {"steal": taken})


RULES = (
    Rule("cpu_saturation", ANY, busy),
    Rule("steal", ANY, steal),
)
