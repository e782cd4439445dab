"""How much faster could a replica be that applies schemas in parallel?

Replication in parallel by schema (MySQL 5.6's `slave_parallel_workers`, and what the default
`DATABASE` type did until 8.0.26) applies each schema's changes one after the other. No number of
workers can be faster than the longest schema.

Formula:
    total [duration] = sum(times)
        what one worker takes
    longest [duration] = max(times)
        the schema that nothing can shorten
    bound [number] = total / longest
        speed-up with a worker for each schema
    taken [duration] = spread(times, workers)
        time with so many workers, if the longest schemas go first
    speedup [number] = total / taken
        speed-up with so many workers
    three_busy [share] = nth(times, 3) / longest
        part of the time in which three or more are busy, with a worker each
    two_busy [share] = (nth(times, 2) - nth(times, 3)) / longest
        part of the time in which exactly two are
    one_busy [share] = (longest - nth(times, 2)) / longest
        part of the time in which one works alone

Assumptions:
    Work of a schema can be applied without pause, and costs as much next to others as alone: the
    bound is one from above. Transactions over several schemas wait for both, and make it worse.

    With fewer workers than schemas the longest goes first, each to the worker that is free first.
    That is near the best plan, not always the best: 3, 3, 2, 2, 2 on two workers take 7 so, and 6
    is possible. It never takes more than a third longer. A replica does not know the lengths
    beforehand, and may do worse.

    `dyno digest --parallelism` measures the times from a log, and computes the same bound.

Versions:
    MySQL 5.6 and later with replica_parallel_type=DATABASE; MariaDB 10.0 and later where each
    schema has its own domain.

    LOGICAL_CLOCK, WRITESET and MariaDB's optimistic modes are not bound by schemas, and this
    formula says nothing about them. `dyno digest --parallelism` does, given binary logs: it
    simulates replicas with up to 128 workers, with commit order kept and not, by schema (each
    worker with its queue of 16,384 events), by the log's order (LOGICAL_CLOCK, group commits) and
    by rows (WRITESET).

Source:
    Own derivation (bound by the longest chain), 2026-11. Golden times: a published log. "Never more
    than a third longer": R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969.

Trap:
    The article considers the time in which all three schemas are busy, a quarter of the longest,
    and concludes "hardly 50 % faster". For another 40.6 % of the time two are busy: the bound is
    1.92, 92 % faster.
"""

from __future__ import annotations

import heapq

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("times", "duration", "time that each schema's writes took", None, "0s", many=True,
          example="791.6195s,525.1231s,203.4649s"),
    Input("workers", "count", "workers of the replica", "4", "1", "1024", whole=True,
          variables=("replica_parallel_workers", "slave_parallel_workers",
                     "slave_parallel_threads"),
          meanings=(("0", "1"),)),  # 0: the replica's one thread applies all by itself
)  # fmt: skip
OUTPUTS = ("bound", "speedup", "total", "longest", "taken", "three_busy", "two_busy", "one_busy")
SAYS = (
    ("workers <= 1", "At most {bound} times as fast with more workers; one is no faster."),
    ("speedup >= bound * 0.999", "At most {bound} times as fast, which {workers} workers reach."),
    ("", "At most {bound} times as fast; {workers} workers reach {speedup} times, the longest"
     " schemas first."),
)  # fmt: skip
REFUSALS = (Note("max(times) <= 0", "times={times}: nothing took any time"),)
NOTES = (
    Note("bound < 1.1", "one schema takes nearly all: parallel by schema brings nothing here"),
    Note("workers > len(times)", "more workers than schemas: some have nothing to do"),
)


def spread(times: tuple[float, ...], workers: float) -> float:
    """When the last of the workers is done: each next longest schema goes to the one that is free
    first."""
    free = [0.0] * max(1, min(int(workers), len(times)))
    for time in sorted(times, reverse=True):
        heapq.heapreplace(free, free[0] + time)
    return max(free)


FUNCTIONS = {"spread": spread}
_PUBLISHED = "791.6195s,525.1231s,203.4649s"
GOLDEN = (
    Golden({"times": _PUBLISHED},
           {"bound": "1.92", "three_busy": "25.7%", "two_busy": "40.6%", "one_busy": "33.7%"},
           "a published log; the same as `dyno digest --parallelism`"),
    Golden({"times": _PUBLISHED, "workers": "2"}, {"speedup": "1.92"}, "by hand"),
    Golden({"times": "3s,3s,2s,2s,2s", "workers": "2"}, {"taken": "7s", "bound": "4"},
           "by hand: the longest first; the best is 6 s"),
    Golden({"times": _PUBLISHED, "workers": "1"}, {"speedup": "1", "taken": "1520.2075s"},
           "by hand: one after the other"),
)  # fmt: skip
