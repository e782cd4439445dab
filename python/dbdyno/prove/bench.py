"""A private server with the data, on which candidates are examined before anything is measured.

It is another copy than those that trials run on, and gone with its scratch directory.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Control
from dbdyno.execute.engine.job import Event, error_of
from dbdyno.execute.engine.request import run_request, with_values
from dbdyno.execute.listener import Listener
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.pool import ServerPool
from dbdyno.plan.types import Cell, GroupPlan, Plan, TrialPlan
from dbdyno.store.run import Run
from dbdyno.systems.base import Server
from dbdyno.systems.process.scratch import Scratch

DRAW_S = 0.1  # of load, after the examples have been drawn
LOAD_S = 1.5  # of today's load, to see which classes take the time


@dataclass(frozen=True)
class Loaded:
    """What a short load shows, by `group/class`: executions, mean service time in ns, and a
    statement of each."""

    counts: Mapping[str, int]
    means_ns: Mapping[str, float]
    statements: Mapping[str, str]

    @property
    def shares(self) -> dict[str, float]:
        """The share of the statements' time that each class takes."""
        spent = {key: count * self.means_ns[key] for key, count in self.counts.items()}
        whole = sum(spent.values()) or 1.0
        return {key: time / whole for key, time in spent.items()}


class Bench:
    """One server at a time, with today's data or a candidate's."""

    def __init__(self, context: ExecutionContext, pool: ServerPool) -> None:
        self._context = context
        self._pool = pool
        self._jobs = 0
        self._cell: Cell | None = None
        self.first_start_s: float | None = None  # of the first start, its data loaded

    @property
    def server(self) -> Server:
        server = self._deployment.server
        assert server is not None
        return server

    @property
    def database(self) -> str:
        return self._deployment.database

    @property
    def kind(self) -> str:
        return self._deployment.target.kind

    @property
    def _deployment(self) -> Deployment:
        return next(iter(self._pool.deployments.values()))

    def start(self, cell: Cell) -> None:
        """Starts the server of a cell afresh."""
        begun = time.monotonic()
        self._pool.start(cell)
        self._cell = cell
        if self.first_start_s is None:
            self.first_start_s = time.monotonic() - begun

    def run(self, *statements: str) -> Sequence[Sequence[Any]]:
        """Runs statements; the rows of the last."""
        self._context.control.check()
        return self.server.run(self.database, statements)

    def build(self, *statements: str) -> None:
        """Runs statements that change tables, and has the planner see what they made."""
        self.run(*statements)
        self.server.settle(self.database)

    def examples(self, groups: Sequence[GroupPlan], seed: int) -> dict[str, str]:
        """A statement of each class with its values, by `group/class`, as the load would send
        it. The groups only read."""
        statements, _ = self._drive(groups, seed, DRAW_S)
        return statements

    def loaded(self, seed: int, groups: Sequence[GroupPlan] | None = None) -> Loaded:
        """Runs today's load for a moment, which may change data; or that of other groups."""
        assert self._cell is not None
        chosen = self._cell.groups if groups is None else groups
        statements, end = self._drive(chosen, seed, LOAD_S)
        latencies = {
            f"{group}/{name}": latency
            for group, total in end["groups"].items()
            for name, latency in total["classes"].items()
            if latency and latency["count"]
        }
        return Loaded(
            {key: latency["count"] for key, latency in latencies.items()},
            {key: latency["mean_ns"] for key, latency in latencies.items()},
            statements,
        )

    def _drive(
        self, groups: Sequence[GroupPlan], seed: int, length_s: float
    ) -> tuple[dict[str, str], Event]:
        assert self._cell is not None
        cell = replace(
            self._cell,
            groups=tuple(groups),
            warmup_s=0.0,
            duration_s=length_s,
            interval_s=length_s,
        )
        self._jobs += 1
        directory = self._context.run.path / f"job-{self._jobs}"
        directory.mkdir()
        trial = TrialPlan(f"examine-{self._jobs}", 1, 1, cell.index, seed, fresh_servers=False)
        plan = self._context.plan
        request = run_request(
            *(cell, trial, self._deployment.engine_targets(), self._pool.reached_by, directory),
            *(plan.generator_cpus_of(cell), 1.0, 0),
        )
        statements: dict[str, str] = {}

        def on_event(event: Event) -> None:
            if event["event"] == "statement":
                statements[f"{event['group']}/{event['class']}"] = event["sql"]

        job = self._context.job(with_values(request, self._pool.looked_up(cell)), directory)
        outcome = self._context.drive(job, on_event)
        if outcome.end is None or outcome.spoilt:
            raise error_of(outcome, "examining the workload")
        return statements, outcome.end


@contextlib.contextmanager
def bench(plan: Plan, engine: Path, listener: Listener, root: Path) -> Iterator[Bench]:
    """A bench in a scratch directory of its own below `root`. Interrupted when the user wants to
    stop; nothing is left in any case."""
    with (
        Control(listener.say) as control,
        Scratch(root) as scratch,
        Run.create(scratch.path / "bench", plan, {}) as run,
    ):
        context = ExecutionContext(run, engine, control, listener, root)
        pool = ServerPool(context, scratch)
        try:
            yield Bench(context, pool)
        except DynoError:
            control.check()  # a server that a signal stopped has an error of its own
            raise
        finally:
            pool.close()
