"""A writer killed at any moment: what it said was complete is there, and the run goes on."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plans import plan

from dbdyno.store.run import Run

WRITER = """
import sys
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run

with Run.resume(sys.argv[1]) as run:
    over = {record.id for record in run.records()}
    for trial in run.plan.trials:
        if trial.id in over:
            continue
        directory = run.begin(trial.id, {"targets": {}})
        (directory / "events.ndjson").write_text('{"event": "end"}\\n' * 50)
        run.complete(
            TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, {"tps": 1.0})
        )
        print(trial.id, flush=True)
    run.set_status("complete")
"""


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "run"
    Run.create(path, plan(blocks=400), {}).close()
    said: list[str] = []
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(rng.random() * 0.1)
            writer.kill()
            rest = writer.stdout.read()
        # The last line may have been cut off in mid-word by the kill.
        said += [word for word in (first + rest).split("\n")[:-1] if word]
        run = Run.open(path)
        records = [record.id for record in run.records()]
        assert set(said) <= set(records)
        assert len(records) - len(said) <= 4  # complete, but killed before it could say so
        assert run.status in ("interrupted", "complete")
    with Run.resume(path) as again:
        assert [record.id for record in again.records()] == records
        for trial in again.plan.trials:
            directory = path / "trials" / trial.id
            assert not directory.exists() or (directory / "trial.json").exists()
    json.loads((path / "manifest.json").read_text())
