"""The probe for the number of load threads: short runs of the engine before the first trial."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.rate_search.probing import probe_seed
from dbdyno.experiment.targets.server_url import is_loopback
from dbdyno.plan import load_threads
from dbdyno.plan.types import Cell, TrialPlan

# The engine's plan of a trial, whose files go to the directory.
Request = Callable[[Cell, TrialPlan, Path], Mapping[str, Any]]


class Layout:
    """Finds the number once for each number of sessions, and keeps it in the run's plan."""

    def __init__(self, context: ExecutionContext, request: Request) -> None:
        self._context = context
        self._request = request
        self._failed: set[int] = set()  # numbers of sessions

    def probe(self, cell: Cell, trial: TrialPlan) -> bool:
        """Whether the cell's servers, which are running, were under load for a probe just now."""
        cpus = len(os.sched_getaffinity(0))
        sessions = load_threads.sessions_of(cell)
        if sessions in self._failed or not load_threads.wants_probe(self._context.plan, cell, cpus):
            return False
        per_s: dict[int, list[float]] = {}
        with tempfile.TemporaryDirectory(prefix="dyno-probe-") as directory:
            request = self._request(cell, trial, Path(directory))
            if not _beside_servers(request):
                return False
            numbers = load_threads.candidates(cpus, sessions)
            for nth, threads in enumerate(load_threads.turns(numbers), start=1):
                request = {**request, "seed": probe_seed(trial.seed, nth), "workers": threads}
                rate = self._round(request, Path(directory))
                if not rate:  # the trial will say why
                    self._failed.add(sessions)
                    return True
                per_s.setdefault(threads, []).append(rate)
        found = load_threads.best(cpus, sessions, per_s)
        said = load_threads.sentence(found)
        self._context.run.amend(said, probed=found)
        self._context.say(said)
        return True

    def _round(self, request: Mapping[str, Any], directory: Path) -> float | None:
        """Transactions a second of all groups; None where nothing could be measured."""
        times = {
            "warmup_s": load_threads.SETTLE_S,
            "duration_s": load_threads.ROUND_S,
            "interval_s": load_threads.ROUND_S,
        }
        job = self._context.job({**request, **times}, directory)
        outcome = self._context.drive(job, lambda event: None)
        end = outcome.end
        if end is None or outcome.spoilt or not end["measured_s"] > 0:
            return None
        committed: int = sum(group["transactions"] for group in end["groups"].values())
        return committed / float(end["measured_s"])


def _beside_servers(request: Mapping[str, Any]) -> bool:
    """Whether a server under test is on this machine."""
    addresses = [target["address"] for target in request["targets"].values()]
    return any(
        "unix" in address or ("tcp" in address and is_loopback(address["tcp"]["host"]))
        for address in addresses
        if isinstance(address, Mapping)
    )
