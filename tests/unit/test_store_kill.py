"""A writer killed at any moment: what it reported as complete is there, and the run goes on."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from plans import plan

from dbdyno.store.run import Run

# Imports once, and forks a writer for each path that it reads.
WRITERS = """
import os, sys
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run

def write(path):
    print(os.getpid(), flush=True)
    with Run.resume(path) as run:
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

for line in sys.stdin:
    writer = os.fork()
    if writer == 0:
        write(line.rstrip("\\n"))
        os._exit(0)
    os.waitpid(writer, 0)
    print("\\nover", flush=True)
"""


@pytest.fixture(scope="module")
def writers() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", WRITERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def killed(writers: subprocess.Popen[str], path: Path, wait_s: float) -> str:
    """The output of a writer that is killed so long after its first trial."""
    assert writers.stdin is not None and writers.stdout is not None
    print(path, file=writers.stdin, flush=True)
    writer = int(writers.stdout.readline())
    lines = [writers.stdout.readline()]
    time.sleep(wait_s)
    with contextlib.suppress(ProcessLookupError):
        os.kill(writer, signal.SIGKILL)
    while lines[-1] != "over\n":
        lines.append(writers.stdout.readline())
        assert lines[-1]
    return "".join(lines[:-1])[:-1]  # without the newline that was put before `over`


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))]


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_any_moment(tmp_path: Path, writers: subprocess.Popen[str], seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "run"
    Run.create(path, plan(blocks=400), {}).close()
    said: list[str] = []
    for _ in range(4):
        # The last line may have been cut off in mid-word by the kill.
        output = killed(writers, path, rng.random() * 0.1)
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
