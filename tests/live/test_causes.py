"""Causes that cannot be mistaken, made on a real MariaDB under `dyno run`: their names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from private_servers import binaries
from running import Place, place, wait_for
from tools.proof.injecting import dirty, slow
from tools.proof.rows.measuring import causes as row

from dbdyno.execute.engine import job as engine
from needed import missing

pytestmark = pytest.mark.live

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


Disturbance = tuple[str, float, float]  # kind, moment, length in seconds
Result = dict[str, Any]
TRIES = 3  # where the CPUs are taken for seconds, no stall is visible


def disturbed(
    there: Place, kinds: list[Disturbance], text: str = EXPERIMENT, proxied: bool = False
) -> tuple[Result, list[Result]]:
    """result.json of a run whose trial was disturbed, and what the disturbances report, by the
    clock; they are fewer where the machine was so late that the trial ended first. `proxied`: with
    a TCP proxy before it."""
    job = {
        "arguments": ["run", str(there.experiment(text)), "--dir", str(there.path / "run")],
        "injections": [kinds],
        "proxied": proxied,
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
        timeout=480,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = there.path / "report"
    lines = report.read_text().splitlines() if report.exists() else []
    result: Result = json.loads((there.path / "run/result.json").read_text())
    return result, [json.loads(line) for line in lines]


def names(result: Result, done: list[Result]) -> dict[str, list[str]]:
    """What the stalls are called that share time with each of what was done, by its kind."""
    (trial,) = result["inside"]
    print(trial["stalls"])  # shown where a test fails
    return {
        one["kind"]: [
            stall["cause"]
            for stall in trial["stalls"]
            if stall["start_s"] < one["end_s"]
            and stall["start_s"] + stall["length_s"] > one["start_s"]
        ]
        for one in done
    }


def tried(kinds: list[Disturbance], wanted: dict[str, str], **how: Any) -> dict[str, list[str]]:
    """The names by kind, of the first run in which each kind has its wanted one, else of the
    last."""
    for _ in range(TRIES):
        with place() as there:
            found = names(*disturbed(there, kinds, **how))
            assert not there.until_clean()
        if all(cause in found.get(kind, ()) for kind, cause in wanted.items()):
            break
    return found


def test_a_stopped_server_and_held_locks_get_their_names() -> None:
    binaries("mariadb")
    wanted = {"stop": "server_stopped", "table_lock": "lock_waits"}
    found = tried([("stop", 2.0, 1.5), ("table_lock", 6.0, 1.5)], wanted)
    assert all(cause in found.get(kind, ()) for kind, cause in wanted.items()), found


def test_lost_packets_are_the_networks_and_a_frozen_proxy_is_not() -> None:
    """The kernel drops packets as they arrive (tools/proof/injecting/loss.py), so TCP sends them
    again; a proxy that stops reading loses none. After a second without an answer the next try is
    0.4 s away."""
    binaries("mariadb")
    found = tried([("lose", 2.0, 1.0), ("freeze", 6.0, 1.2)], {"lose": "network"}, proxied=True)
    assert "network" in found.get("lose", ()) and "network" not in found.get("freeze", ()), found


@pytest.mark.timeout(1800)
def test_pages_that_the_kernel_writes_back_are_named_and_its_limit_is_put_back() -> None:
    """The row's load: a binary log that is never synced, whose pages the kernel writes on
    request."""
    binaries("mariadb")
    if not dirty.can_write_back():
        missing("takes root, for vm.dirty_bytes, and cgroup v1, for a slow disk")
    before = kernel()
    load = row.DIRTY
    text = row.EXPERIMENT.format(target=load.target, load=load.workload, blocks=1, duration=16)
    for _ in range(8):  # another process that syncs leaves too few dirty pages, or a short stall
        with place() as there:
            result, done = disturbed(there, [("write_back", 6.0, 1.2)], text)
            assert wait_for(lambda: kernel() == before)
            assert not there.until_clean()
        why = done[0]["problem"] if done else "the trial ended first"
        if why:
            continue
        written = names(result, done)["write_back"]  # since there were enough dirty pages
        if "write_back" in written:
            return
        why = f"stalls: {written}"
    pytest.fail(why)


def test_the_kernels_limit_is_put_back_after_kill_9(tmp_path: Path) -> None:
    """Of a file in its place."""
    limit = tmp_path / "limit"
    limit.write_text("usual")
    code = (
        "import os, sys, signal; from pathlib import Path; from tools.proof.injecting.setting"
        " import held; limit = Path(sys.argv[1])\n"
        "with held((limit, 'low'), lambda: (limit, 'usual')):\n"
        "    print(limit.read_text(), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, limit], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "low\n"), killed.stderr
    assert wait_for(lambda: limit.read_text() == "usual")


def kernel() -> list[str]:
    """What the disturbance sets."""
    return [path.read_text() for path in (*dirty.LIMITS, slow.BLKIO / slow.LIMIT)]
