"""What transactions there are: a log of them, or sessions that write one after the other."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from dbdyno.models.cluster.conflicts.keys import UPDATE
from dbdyno.models.cluster.conflicts.run import Run
from dbdyno.models.cluster.conflicts.transaction import (
    TRANSACTIONS_MAX,
    Costs,
    Outcome,
    Transaction,
)

Draw = Callable[[random.Random], Mapping[str, str]]  # keys of the next transaction


def of_log(log: Sequence[Transaction], costs: Costs | None = None) -> Outcome:
    """Runs a log: each transaction starts when the log says, whatever became of others."""
    if len(log) > TRANSACTIONS_MAX:
        raise ValueError(f"at most {TRANSACTIONS_MAX:,} transactions")
    run = Run(costs or Costs())
    for one in log:
        run.begin_at(one.start_s, one)
    return run.finish()


def of_sessions(
    sessions: Mapping[str, int],
    draw: Draw,
    execute_s: float,
    length_s: float,
    costs: Costs | None = None,
    pause_s: float = 0.0,
) -> Outcome:
    """Closed loops: so many sessions on each node, each with one transaction after the other for a
    time. `draw` gives the keys of the next one. `pause_s`: from the answer to a commit until the
    next transaction asks for its rows: its BEGIN and the way of its first statement."""
    rng = random.Random(0)
    run = Run(costs or Costs())

    def next_one(node: str, now_s: float) -> None:
        if now_s < length_s:
            length = rng.expovariate(1 / execute_s) if execute_s else 0.0
            begin_s = now_s + pause_s
            run.begin_at(begin_s, Transaction(node, begin_s, begin_s + length, draw(rng)))

    run.when_done = next_one
    for node, count in sessions.items():
        for _ in range(count):
            next_one(node, 0.0)
    return run.finish()


def hot_rows(rows: int, share: float) -> Draw:
    """One row a transaction: with that probability one of `rows` hot ones, else one of its own."""
    own = itertools.count()

    def draw(rng: random.Random) -> Mapping[str, str]:
        hot = rng.random() < share
        return {f"hot{rng.randrange(rows)}" if hot else f"own{next(own)}": UPDATE}

    return draw


def single_writer(log: Iterable[Transaction]) -> list[Transaction]:
    """The same transactions, all on one node."""
    return [Transaction("writer", one.start_s, one.commit_s, one.keys) for one in log]
