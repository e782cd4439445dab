"""What every part of an execution needs, handed on as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.execute.control import Control
from dbdyno.execute.engine.job import Event, Job, Outcome
from dbdyno.execute.listener import Listener
from dbdyno.execute.steadiness import Judge
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.plan.types import Plan
from dbdyno.store.run import Run


def _never(run: Run) -> str | None:
    return None


@dataclass(frozen=True)
class ExecutionContext:
    """Of one run. `decided` is asked after each whole block but the last; where it gives a reason,
    the run ends with it. `judge` says when a trial is steady: only a plan in which no trial waits
    for that does without."""

    run: Run
    engine: Path
    control: Control
    listener: Listener
    scratch: Path | None = None  # the directory that the scratch is made in
    decided: Callable[[Run], str | None] = _never
    judge: Judge | None = None
    host: Host = LOCAL  # where the engine runs

    @property
    def plan(self) -> Plan:
        """Unchanged: a run may cut its plan short."""
        return self.run.plan

    def say(self, message: str) -> None:
        """A sentence for the user and the run's log."""
        self.listener.say(message)

    def job(self, request: Mapping[str, Any], directory: Path) -> Job:
        """A job of the engine that leaves its events in a directory."""
        return Job(self.host, self.engine, request, directory / "events.ndjson")

    def drive(self, job: Job, on_event: Callable[[Event], None]) -> Outcome:
        """Runs a job to its end. Interrupted when the user wants to stop now."""
        with self.control.watching(job):
            outcome = job.run(on_event)
        self.control.check()
        return outcome
