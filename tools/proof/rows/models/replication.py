"""What workers in parallel gain on a replica, compared with real ones."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.proof.replica.loads import LOADS, Load
from tools.proof.replica.pair import PAUSE_S, Pair
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno import systems
from dbdyno.digest import parallelism
from dbdyno.errors import DynoError

TRANSACTIONS, QUICK = 2000, 80
WORKERS = (2, 4, 8)
ROUNDS = 3
WITHIN = 0.15


@dataclass(frozen=True)
class Held:
    """One load with so many workers: times as fast as with one."""

    load: Load
    workers: int
    predicted: float
    observed: float

    @property
    def off(self) -> float:
        """How far the prediction is from what was observed, as a share of it."""
        return abs(self.predicted / self.observed - 1)


def measure(effort: Effort) -> Outcome:
    """Each load is logged once, simulated, and applied with each number of workers."""
    for kind in sorted({load.kind for load in LOADS}):
        try:
            systems.load(kind).find(None)
        except DynoError as error:
            return Outcome(measured=error.what, met=None)
    held: list[Held] = []
    for load in LOADS:
        found = list(_held(load, effort))
        held += found
        said = ", ".join(f"{one.predicted:.2f} ({one.observed:.2f})" for one in found)
        effort.say(f"    {load.about}: {said}")
    worst = max(one.off for one in held)
    return Outcome(
        measured=f"gains at most {worst:.0%} off",
        met=None if effort.quick else worst <= WITHIN,
        tables=(_table(held),),
        notes=(
            f"A transaction takes {1000 * PAUSE_S:g} ms at the replica and no processor, so that"
            " two processors do not bound eight workers. What the server itself takes for one is"
            " what workers cannot share.",
            "MariaDB applies domains in parallel with GTIDs only (MASTER_USE_GTID=slave_pos), in"
            " slave_parallel_mode=conservative. MySQL keeps the commit order.",
            "By schema (replica_parallel_type=DATABASE) is not compared with a server: MySQL 9.7"
            " does not have it any more.",
        ),
    )


def _held(load: Load, effort: Effort) -> Iterator[Held]:
    count, rounds = (QUICK, 1) if effort.quick else (TRANSACTIONS, ROUNDS)
    with Pair(load.kind, load.settings) as pair:
        load.send(pair, count)
        predicted = _predicted(effort.engine, pair.log())
        took = {workers: float("inf") for workers in (1, *WORKERS)}
        for _ in range(rounds):
            for workers in took:
                took[workers] = min(took[workers], pair.apply_s(workers))
    for workers in WORKERS:
        yield Held(load, workers, predicted[workers], took[1] / took[workers])


def _predicted(engine: Path, log: Path) -> dict[int, float]:
    """By number of workers, by the log's order, commit order kept."""
    command: list[str | Path] = [engine, "digest", "--parallelism", log]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = parallelism.parse(json.loads(done.stdout.splitlines()[-1])["parallelism"])
    [curve] = (one for one in found.curves if one.rule == "log" and one.commit_order)
    return {point.workers: point.speedup for point in curve.points}


def _table(held: list[Held]) -> Table:
    rows = tuple(
        (one.load.about, str(one.workers), f"{one.predicted:.2f}", f"{one.observed:.2f}")
        for one in held
    )
    head = ("binary log", "workers", "predicted, times as fast", "observed")
    return Table("A replica with workers in parallel", head, rows)


ROW = Row(
    name="replication",
    claim="A simulated replica gains by workers in parallel what a real one does",
    how=(
        "A private source logs transactions that cost the same at the replica: of eight domains in"
        " three orders (MariaDB), and in group commits of eight sessions (MariaDB, MySQL). `dyno"
        " digest --parallelism` says from that log how much faster 2, 4 and 8 workers are than one;"
        " then the replica applies it, read beforehand, three times with each number of workers,"
        " of which the fastest counts."
    ),
    bar="gains within 15 % of the observed ones",
    measure=measure,
    timed=True,
    before=(
        "8 domains by chance with 8 workers: 3.25 times predicted, 4.5 observed"
        " (the coordinator waited for a busy domain)"
    ),
)
