"""Whether the indexes that `dyno prove` finds are near the best: all sets of five indexes that a
DBA would try, and the found ones, measured in the same blocks on real servers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.proof.proving import dexter, measuring
from tools.proof.proving.dexter import Choice
from tools.proof.proving.measuring import FOUND, KINDS, NEAR, NONE, Lengths, Workload
from tools.proof.proving.shop import INDEXES, experiment
from tools.proof.row import Effort, Outcome, Row

FULL, QUICK = Lengths(4, "1500ms"), Lengths(1, "300ms")
FIND_S, QUICK_S = 420, 10
MOST = 5


@dataclass(frozen=True)
class Measured:
    """What is found, what dexter finds, and transactions a second of all sets."""

    chosen: Sequence[str]
    dexter: Choice
    speeds: Mapping[str, float]

    def sentence(self) -> str:
        """The found set's throughput over that of others."""
        return (
            f"{measuring.near(self.speeds):.0%} of the best of {len(self.speeds) - 1} sets,"
            f" {self.speeds[FOUND] / self.speeds[NONE]:.1f} times no index"
            f"{self.dexter.ratio(self.speeds)}"
        )


def measure(effort: Effort) -> Outcome:
    """On each server: what is found, and its throughput over that of the best set."""
    measured = {kind: of_kind(effort, kind) for kind in KINDS}
    return Outcome(
        "; ".join(f"{kind}: {one.sentence()}" for kind, one in measured.items()),
        all(measuring.near(one.speeds) >= 1 - NEAR for one in measured.values()),
        tuple(
            measuring.table(
                f"{kind}: throughput of sets of indexes",
                *(one.chosen, one.speeds),
                most=5,
                others=one.dexter.sets,
            )
            for kind, one in measured.items()
        ),
        (
            "the best of many measured sets is flattered by its noise, so the share is a low one",
            *(note for one in measured.values() for note in one.dexter.notes),
        ),
    )


def of_kind(effort: Effort, kind: str) -> Measured:
    """What is found, and transactions a second of all sets."""
    workload = Workload(f"shop-{kind}", experiment(kind, effort.quick))
    chosen = measuring.found(effort, workload, QUICK_S if effort.quick else FIND_S, MOST)
    other = dexter.choice(effort, workload, kind)
    sets = {NONE: (), FOUND: chosen, **other.sets} | {
        "_".join(names): tuple(INDEXES[name] for name in names)
        for size in range(1, 2 if effort.quick else len(INDEXES) + 1)
        for names in itertools.combinations(INDEXES, size)
    }
    lengths = QUICK if effort.quick else FULL
    return Measured(chosen, other, measuring.throughputs(effort, workload, sets, lengths))


ROW = Row(
    name="best_indexes",
    claim="The indexes that `dyno prove` finds are near the best set",
    how=(
        "A shop of three tables without secondary indexes, on private servers of MariaDB and"
        " PostgreSQL: reads by customer, mail and order, a join, and inserts and updates. `dyno"
        " prove` finds indexes for it. So does dexter, where it is installed, on a PostgreSQL with"
        " the same data, by a statement of each class. Then all 31 sets of five indexes that a DBA"
        " would try, no index, the found ones and dexter's are measured in the same blocks."
    ),
    bar="the found set has at least 90 % of the throughput of the best set, on each server",
    measure=measure,
    timed=True,
)
