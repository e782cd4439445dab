"""Starts `dyno run` with disturbances, and reads what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.proof.row import Effort

from dbdyno.store.run import Run

ROOT = Path(__file__).resolve().parents[3]
TIMEOUT_S = 1800


@dataclass(frozen=True)
class Injection:
    """What was done in trial number `trial` of the run, on the trial's clock."""

    trial: int
    kind: str
    start_s: float
    end_s: float
    problem: str = ""


Planned = tuple[str, float, float]  # kind, moment, length (s)


def drive(
    effort: Effort,
    name: str,
    experiment: str,
    injections: Sequence[Sequence[Planned]],
    *,
    proxied: bool = False,
) -> tuple[Run, list[Injection]]:
    """Runs an experiment, its trials disturbed by `injections`, in the order in which they run.
    RuntimeError with the output of `dyno` if it fails."""
    place = effort.scratch / name
    place.mkdir()
    place.chmod(0o755)
    effort.scratch.chmod(0o755)
    file, run, report = place / "experiment.yaml", place / "run", place / "report.ndjson"
    file.write_text(experiment)
    job = {
        "arguments": ["run", str(file), "--dir", str(run)],
        "injections": injections,
        "proxied": proxied,
        "null_server": str(effort.engine),
        "report": str(report),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tools.proof.injecting.driven"],
        input=json.dumps(job),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"dyno run ended with {done.returncode}:\n{done.stderr[-3000:]}")
    lines = report.read_text().splitlines() if report.exists() else []
    return Run.open(run), [Injection(**json.loads(line)) for line in lines]
