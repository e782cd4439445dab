"""Whether the indexes that `dyno prove` finds are near the best: all sets of five indexes that a
DBA would try, and the found ones, measured in the same blocks on real servers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tools.proof.proving import measuring
from tools.proof.proving.measuring import FOUND, KINDS, NEAR, NONE, Lengths, Workload
from tools.proof.proving.shop import INDEXES, experiment
from tools.proof.row import Effort, Outcome, Row

FULL, QUICK = Lengths(4, "1500ms"), Lengths(1, "300ms")
FIND_S, QUICK_S = 420, 10
MOST = 5


def measure(effort: Effort) -> Outcome:
    """On each server: what is found, and its throughput over that of the best set."""
    measured = {kind: of_kind(effort, kind) for kind in KINDS}
    near = {kind: measuring.near(speeds) for kind, (_, speeds) in measured.items()}
    return Outcome(
        "; ".join(
            f"{kind}: {near[kind]:.0%} of the best of {len(speeds) - 1} sets,"
            f" {speeds[FOUND] / speeds[NONE]:.1f} times no index"
            for kind, (_, speeds) in measured.items()
        ),
        all(share >= 1 - NEAR for share in near.values()),
        tuple(
            measuring.table(f"{kind}: throughput of sets of indexes", chosen, speeds, most=5)
            for kind, (chosen, speeds) in measured.items()
        ),
        ("the best of many measured sets is flattered by its noise, so the share is a low one",),
    )


def of_kind(effort: Effort, kind: str) -> tuple[Sequence[str], Mapping[str, float]]:
    """What is found, and transactions a second of all sets."""
    workload = Workload(f"shop-{kind}", experiment(kind, effort.quick))
    chosen = measuring.found(effort, workload, QUICK_S if effort.quick else FIND_S, MOST)
    sets = {NONE: (), FOUND: chosen} | {
        "_".join(names): tuple(INDEXES[name] for name in names)
        for size in range(1, 2 if effort.quick else len(INDEXES) + 1)
        for names in itertools.combinations(INDEXES, size)
    }
    lengths = QUICK if effort.quick else FULL
    return chosen, measuring.throughputs(effort, workload, sets, lengths)


ROW = Row(
    name="best_indexes",
    claim="The indexes that `dyno prove` finds are near the best set",
    how=(
        "A shop of three tables without secondary indexes, on private servers of MariaDB and"
        " PostgreSQL: reads by customer, mail and order, a join, and inserts and updates. `dyno"
        " prove` finds indexes for it. Then all 31 sets of five indexes that a DBA would try, no"
        " index and the found ones are measured in the same blocks."
    ),
    bar="the found set has at least 90 % of the throughput of the best set, on each server",
    measure=measure,
    timed=True,
)
