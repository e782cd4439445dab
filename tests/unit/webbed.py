"""`dyno serve` without a socket, and runs to be shown."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path
from typing import Any

import plans

from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run
from dbdyno.web import app
from dbdyno.web.security import Access

with warnings.catch_warnings():  # of httpx, by the test client
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

TOKEN = "a-token-for-the-tests-only"
BASE = "http://127.0.0.1:8137"


def client(directory: Path, *, enter: bool = True, read_only: bool = False) -> TestClient:
    """A browser that has, or has not, opened the address with the token."""
    made, _ = app.create(directory, Access(8137, TOKEN), read_only=read_only)
    opened = TestClient(made, BASE)
    if enter:
        opened.get(f"/?token={TOKEN}")
    return opened


def csrf(browser: TestClient) -> str:
    """The second token, from a page."""
    found = re.search(r"x-csrf-token.*?([0-9a-f]{64})", browser.get("/runs").text)
    assert found is not None
    return found[1]


def make_run(directory: Path, name: str, **changes: Any) -> Path:
    """A run that is over, without trials."""
    with Run.create(directory / name, plans.plan(**changes), {"cores": 4}) as run:
        run.set_status("complete")
    return directory / name


def measured(directory: Path, name: str, tps: float = 100.0, **changes: Any) -> Path:
    """A run with three blocks of two cells, whose second one is twice as fast."""
    with Run.create(directory / name, plans.plan(**changes), {"cores": 4}) as run:
        for trial in run.plan.trials:
            add_trial(run, trial.id, tps)
        run.set_status("complete")
    return directory / name


def add_trial(run: Run, trial_id: str, tps: float = 100.0) -> None:
    """A trial that is over."""
    trial = next(one for one in run.plan.trials if one.id == trial_id)
    run.begin(trial.id)
    value = tps * (1 + trial.cell) * (1 + 0.01 * trial.block)
    metrics = {"transactions_per_s": value, "service_ms_p95": 1000 / value}
    run.complete(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, time.time(), metrics))


def ids(browser: TestClient) -> dict[str, str]:
    """Ids of runs by their names."""
    return {one["name"]: one["id"] for one in browser.get("/runs.json").json()["runs"]}
