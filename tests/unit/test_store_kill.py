"""A writer killed at any moment: what it reported as complete is there, and the run goes on."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from plans import plan

from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run
from fixtures.forked import FORK


def write(path: Path, out: int) -> None:
    """Goes on with a run to its end, and says which trials are complete."""
    with Run.resume(path) as run:
        over = {record.id for record in run.records()}
        for trial in run.plan.trials:
            if trial.id in over:
                continue
            directory = run.begin(trial.id, {"targets": {}})
            (directory / "events.ndjson").write_text('{"event": "end"}\n' * 50)
            run.complete(
                TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, {"tps": 1.0})
            )
            os.write(out, f"{trial.id}\n".encode())
        run.set_status("complete")


def killed(path: Path, wait_s: float) -> str:
    """The output of a writer that is killed so long after its first trial."""
    ours, theirs = os.pipe()
    writer = FORK.Process(target=write, args=(path, theirs))
    writer.start()
    os.close(theirs)
    with open(ours) as output:
        first = output.readline()
        time.sleep(wait_s)
        writer.kill()
        writer.join()
        return first + output.read()


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))]


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "run"
    Run.create(path, plan(blocks=400), {}).close()
    said: list[str] = []
    for _ in range(4):
        # The last line may have been cut off in mid-word by the kill.
        output = killed(path, rng.random() * 0.1)
        said += [word for word in output.split("\n")[:-1] if word]
        run = Run.open(path)
        records = [record.id for record in run.records()]
        assert set(said) <= set(records)
        assert len(records) - len(said) <= 4  # complete, but killed before it could report that
        assert run.status in ("interrupted", "complete")
    with Run.resume(path) as again:
        assert [record.id for record in again.records()] == records
        for trial in again.plan.trials:
            directory = path / "trials" / trial.id
            assert not directory.exists() or (directory / "trial.json").exists()
    json.loads((path / "manifest.json").read_text())
