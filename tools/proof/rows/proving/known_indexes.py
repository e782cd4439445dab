"""Whether the indexes that `dyno prove` finds are near those that an expert adds to schemas that
everybody knows: TPC-C's without its secondary indexes, and films with joins of up to six tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.proof.proving import dexter, measuring, movies, tpcc
from tools.proof.proving.dexter import Choice
from tools.proof.proving.measuring import FOUND, KINDS, NEAR, NONE, Lengths, Workload
from tools.proof.row import Effort, Outcome, Row

EXPERT, BOTH = "expert", "both"
FULL, QUICK = Lengths(6, "2s"), Lengths(1, "300ms")
FIND_S = 300  # the default of `--time`
QUICK_S, QUICK_MOST = 10, 1


@dataclass(frozen=True)
class Case:
    """`text`: the experiment by kind of server and whether it is quick; `expert`: the indexes that
    an expert adds; `most`: how many `dyno prove` may find."""

    name: str
    text: Callable[[str, bool], str]
    expert: Sequence[str]
    most: int


CASES = (
    Case("tpcc", tpcc.experiment, tpcc.EXPERT, 4),
    Case("movies", movies.experiment, movies.EXPERT, 12),
)


@dataclass(frozen=True)
class Measured:
    """What is found, what dexter finds, and transactions a second of all sets."""

    chosen: Sequence[str]
    dexter: Choice
    speeds: Mapping[str, float]

    def sentence(self) -> str:
        """The found set's throughput over that of others."""
        speeds = self.speeds
        return (
            f"{measuring.near(speeds):.0%} of the best, {speeds[FOUND] / speeds[EXPERT]:.2f} times"
            f" the expert's, {speeds[FOUND] / speeds[NONE]:.1f} times no index"
            f"{self.dexter.ratio(speeds)}"
        )


def measure(effort: Effort) -> Outcome:
    """Of each workload on each server: what is found, and its throughput over that of the best."""
    measured = {
        f"{case.name} on {kind}": of_kind(effort, case, kind) for case in CASES for kind in KINDS
    }
    notes = dict.fromkeys(note for one in measured.values() for note in one.dexter.notes)
    return Outcome(
        "; ".join(f"{name}: {one.sentence()}" for name, one in measured.items()),
        all(measuring.near(one.speeds) >= 1 - NEAR for one in measured.values()),
        tuple(
            measuring.table(
                f"{name}: throughput of sets of indexes",
                *(one.chosen, one.speeds),
                others=one.dexter.sets,
            )
            for name, one in measured.items()
        ),
        (
            "no set is known to be the best: these are none, the expert's, the found one, both, and"
            " dexter's where it is installed",
            *notes,
        ),
    )


def of_kind(effort: Effort, case: Case, kind: str) -> Measured:
    """What is found, and transactions a second of all sets."""
    workload = Workload(f"{case.name}-{kind}", case.text(kind, effort.quick))
    total_s, most = (QUICK_S, QUICK_MOST) if effort.quick else (FIND_S, case.most)
    chosen = measuring.found(effort, workload, total_s, most)
    other = dexter.choice(effort, workload, kind)
    sets = {
        NONE: (),
        EXPERT: case.expert,
        FOUND: chosen,
        BOTH: (*case.expert, *chosen),
        **other.sets,
    }
    lengths = QUICK if effort.quick else FULL
    return Measured(chosen, other, measuring.throughputs(effort, workload, sets, lengths))


ROW = Row(
    name="known_indexes",
    claim="The indexes that `dyno prove` finds are as good as an expert's for known schemas",
    how=(
        "On private servers of MariaDB and PostgreSQL, with primary keys alone: TPC-C's tables and"
        " main statements in the specification's proportions, whose expert adds the two secondary"
        " indexes of the usual schema; and films with people, companies, facts and keywords as in"
        " the Join Order Benchmark (made-up rows, some values far more frequent), asked by joins"
        " of three to six tables next to inserts, whose expert indexes all foreign keys and three"
        " filters. `dyno prove` finds indexes for each; so does dexter, where it is installed, on a"
        " PostgreSQL with the same data, by a statement of each class. Then no index, the expert's,"
        " the found ones, both together and dexter's are measured in the same blocks."
    ),
    bar=(
        "the found set has at least 90 % of the throughput of the best of these sets, on each"
        " server"
    ),
    measure=measure,
    timed=True,
)
