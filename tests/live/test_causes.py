"""Causes that cannot be mistaken, made on a real MariaDB under `dyno run`: their names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from private_servers import binaries
from running import Place, place, wait_for
from tools.proof.injecting import dirty, slow
from tools.proof.rows.measuring import causes as row

from dbdyno.execute.engine import job as engine
from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

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


def disturbed(
    there: Place, kinds: list[Disturbance], text: str = EXPERIMENT, proxied: bool = False
) -> dict[str, object]:
    """result.json of a run whose trial was disturbed, `proxied`: with a TCP proxy before it."""
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
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads((there.path / "run/result.json").read_text())
    return result


def names(result: dict[str, object], done: list[Disturbance]) -> list[list[str]]:
    """What the stalls are called that share time with each of what was done."""
    (trial,) = result["inside"]  # type: ignore[misc]
    print(trial["stalls"])  # shown where a test fails
    return [
        [
            stall["cause"]
            for stall in trial["stalls"]
            if stall["start_s"] < at_s + length_s and stall["start_s"] + stall["length_s"] > at_s
        ]
        for _, at_s, length_s in done
    ]


def test_a_stopped_server_and_held_locks_get_their_names() -> None:
    binaries("mariadb")
    with place() as there:
        done: list[Disturbance] = [("stop", 2.0, 1.5), ("table_lock", 6.0, 1.5)]
        stopped, locked = names(disturbed(there, done), done)
        assert "server_stopped" in stopped
        assert "lock_waits" in locked
        assert not there.until_clean()


def test_lost_packets_are_the_networks_and_a_frozen_proxy_is_not() -> None:
    """The kernel drops packets as they arrive (tools/proof/injecting/loss.py), so TCP sends them
    again; a proxy that stops reading loses none. After a second without an answer the next try is
    0.4 s away."""
    binaries("mariadb")
    done: list[Disturbance] = [("lose", 2.0, 1.0), ("freeze", 6.0, 1.2)]
    for _ in range(3):  # where the CPUs are taken for seconds, no stall is visible
        with place() as there:
            lost, frozen = names(disturbed(there, done, proxied=True), done)
            assert "network" not in frozen
            assert not there.until_clean()
        if "network" in lost:
            return
    raise AssertionError(lost)


@pytest.mark.timeout(600)
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
            result = disturbed(there, [("write_back", 6.0, 1.2)], text)
            assert kernel() == before
            assert not there.until_clean()
            report = json.loads((there.path / "report").read_text())
        if why := report["problem"]:
            continue
        begun_s = report["start_s"]  # when there were enough dirty pages
        (written,) = names(result, [("write_back", begun_s, report["end_s"] - begun_s)])
        if "write_back" in written:
            return
        assert {*written} <= {"unknown"}, written
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
    assert wait_for(lambda: limit.read_text() == "usual", 30)


def kernel() -> list[str]:
    """What the disturbance sets."""
    return [path.read_text() for path in (*dirty.LIMITS, slow.BLKIO / slow.LIMIT)]
