"""Real runs to damage: made by `dyno` itself, small, with every file that a run may hold."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

_EXPERIMENT = """
experiment: victim
question: Is a server that answers at once faster than one that does not?
targets:
  db: {kind: null, durability: full, isolation: serializable, memory: 64Mi}
groups:
  readers: {kind: oltp, preset: read_only, rows: 100, target: db, sessions: 2}
  buyers: {kind: oltp, preset: read_write, rows: 100, target: db, sessions: 2, rate: 200/s}
factors:
  delay:
    none: {db.options: {delay_us: 100}}
    some: {db.options: {delay_us: 300}}
blocks: 3
warmup: 100ms
duration: 400ms
interval: 100ms
hooks:
  before_run: ["echo begins"]
  during_trial: {run: echo within, at_s: 0.2}
  after_trial: ["echo over"]
claims: ["readers.tps[none] > readers.tps[some]", "readers.p95[none] < 100"]
"""


def run(place: Path) -> Path:
    """A complete run in a new directory below `place`."""
    (place / "victim.yaml").write_text(_EXPERIMENT)
    made = place / "victim"
    command = [str(Path(sys.executable).with_name("dyno")), "run", "victim.yaml", "--dir", "victim"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"no run to attack: {done.stderr}")
    _lengthen(made)
    return made


def _lengthen(made: Path) -> None:
    """What only unlucky runs have: a void attempt, an outage, probes of a search."""
    first = min((made / "trials").iterdir())
    record = json.loads((first / "trial.json").read_text())
    away = first.with_name(f"{first.name}.void-1")
    away.mkdir()
    void = {**record, "status": "void", "void_reason": "somebody stopped it"}
    (away / "trial.json").write_text(json.dumps(void))
    outage = {"event": "outage", "group": "readers", "session": 1, "start_s": 0.2, "end_s": 0.3}
    record["outages"] = [{**outage, "cause": "the server went away"}]
    record["probes"] = [{"rate_per_s": 100.0, "passed": True, "why": ""}]
    (first / "trial.json").write_text(json.dumps(record))


def copied(victim: Path, to: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(victim, to, ignore=shutil.ignore_patterns("report.*", "run.log"))
    return to
