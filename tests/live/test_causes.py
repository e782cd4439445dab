"""Causes that cannot be mistaken, made on a real MariaDB under `dyno run`: their names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from private_servers import binaries
from running import Place, place

from dbdyno.execute import engine

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
EXPERIMENT = """
experiment: causes
targets: {db: {kind: mariadb, durability: none, isolation: repeatable_read, memory: 64Mi}}
workload: {kind: oltp, preset: update_non_index, tables: 1, rows: 1000, sessions: 4, think: 2ms}
blocks: 1
warmup: 500ms
duration: 9s
interval: 500ms
"""


def disturbed(there: Place, kinds: list[tuple[str, float, float]]) -> dict[str, object]:
    """result.json of a run whose trial was disturbed: kind, moment, length in seconds."""
    job = {
        "arguments": ["run", str(there.experiment(EXPERIMENT)), "--dir", str(there.path / "run")],
        "injections": [kinds],
        "proxied": False,
        "null_server": str(engine.find()),
        "report": str(there.path / "report"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tools.proof.injecting.driven"],
        input=json.dumps(job),
        cwd=ROOT,
        env={**there.environment, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "python")))},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads((there.path / "run/result.json").read_text())
    return result


def test_a_stopped_server_and_held_locks_get_their_names() -> None:
    binaries("mariadb")
    with place() as there:
        result = disturbed(there, [("stop", 2.0, 1.5), ("table_lock", 6.0, 1.5)])
        (trial,) = result["inside"]  # type: ignore[misc]
        names = {
            name: [
                stall["cause"]
                for stall in trial["stalls"]
                if stall["start_s"] < end_s and stall["start_s"] + stall["length_s"] > begin_s
            ]
            for name, begin_s, end_s in (("stop", 2.0, 3.5), ("lock", 6.0, 7.5))
        }
        assert "server_stopped" in names["stop"], trial["stalls"]
        assert "lock_waits" in names["lock"], trial["stalls"]
        assert not there.until_clean()
