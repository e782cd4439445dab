"""Servers whose answers have no end: every command comes to one, says why, and keeps its memory."""

from __future__ import annotations

import os
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engine_jobs
import pytest
from endless_answers import MODES
from refusals import plain_words
from tools.attack.servers.listening import PASSWORD, USER, Hostile, hostile

from dbdyno.execute.engine import job as engine

pytestmark = pytest.mark.live

MEMORY_MAX = 1 << 30
DRIVERS = {"mysql": "mysql", "postgres": "pgsql"}
ALL = [(protocol, mode) for protocol, modes in MODES.items() for mode in modes]
SLOW = ("drip", "silence")
ENDLESS = [(protocol, mode) for protocol, mode in ALL if mode not in SLOW]
KEPT = ("endless_rows", "endless_row", "endless_results")  # what a script has in memory


@dataclass(frozen=True)
class Call:
    """A call of sysbench's surface that is over."""

    code: int
    text: str
    peak_bytes: int


def sysbench(server: Hostile, protocol: str, *words: str, memory: int | None = None) -> Call:
    """One session against the server; `memory` is all that it may ask of the system."""
    driver = DRIVERS[protocol]
    where = [f"--{driver}-user={USER}", f"--{driver}-password={PASSWORD}", f"--{driver}-db=shop"]
    where += [f"--{driver}-host=127.0.0.1", f"--{driver}-port={server.port}"]
    command = [engine.find(), "sysbench", "oltp_read_only", f"--db-driver={driver}", *where]
    limit = ["prlimit", f"--as={memory}"] if memory else []
    with subprocess.Popen(
        [*limit, *command, "--db-ps-mode=disable", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    plain_words(text)
    assert "memory allocation" not in text, text
    return Call(process.returncode, text, peak_bytes(used))


def peak_bytes(used: resource.struct_rusage) -> int:
    return used.ru_maxrss * 1024


@pytest.mark.parametrize(("protocol", "mode"), ALL)
def test_a_run_ends_soon_after_its_time(protocol: str, mode: str) -> None:
    with hostile(MODES[protocol][mode], "plain") as server:
        call = sysbench(server, protocol, "--time=1", "run")
    assert call.peak_bytes < MEMORY_MAX
    if mode in KEPT:
        assert call.code == 1, call.text
        assert "256 MiB" in call.text and server.place in call.text and "LIMIT" in call.text
    elif mode in SLOW:
        assert call.code == 2, call.text
        assert "no server answers any more" in call.text
        assert "unfinished transactions on forced shutdown: 1" in call.text
    else:  # by what comes first, a bound or the time
        assert call.code in (1, 2), call.text
        assert ("320 MiB" if call.code == 1 else "no server answers any more") in call.text


@pytest.mark.parametrize(("protocol", "mode"), ENDLESS)
def test_prepare_ends_though_it_has_no_time(protocol: str, mode: str) -> None:
    with hostile(MODES[protocol][mode], "plain") as server:
        call = sysbench(server, protocol, "--tables=1", "prepare")
    assert (call.code, call.peak_bytes < MEMORY_MAX) == (1, True), call.text
    assert ("256 MiB" if mode in KEPT else "320 MiB") in call.text, call.text
    assert server.place in call.text


@pytest.mark.parametrize("protocol", DRIVERS)
def test_memory_that_is_short_is_said(protocol: str) -> None:
    with hostile(MODES[protocol]["endless_rows"], "plain") as server:
        call = sysbench(server, protocol, "--time=1", "run", memory=300 << 20)
    assert call.code == 1, call.text
    assert "no memory left" in call.text and "ulimit" in call.text


def plan(server: Hostile, protocol: str, job: str, directory: Path) -> dict[str, Any]:
    target = {
        "driver": protocol,
        "address": {"tcp": {"host": "127.0.0.1", "port": server.port}},
        "user": USER,
        "password": PASSWORD,
        "database": "shop",
        "protocol": "text",
    }
    return engine_jobs.plan(directory, target, job, 1.0)


@pytest.mark.parametrize(("protocol", "mode"), ALL)
def test_a_trial_ends_in_time(protocol: str, mode: str, tmp_path: Path) -> None:
    with hostile(MODES[protocol][mode], "plain") as server:
        said = engine_jobs.run(plan(server, protocol, "run", tmp_path))
    assert (said.code, said.total["transactions"]) == (0, 0), said.last
    assert said.last["generator"]["rss_max_bytes"] < MEMORY_MAX // 8, "rows are not kept"


@pytest.mark.parametrize(("protocol", "mode"), ENDLESS)
def test_a_load_ends_though_it_has_no_time(protocol: str, mode: str, tmp_path: Path) -> None:
    with hostile(MODES[protocol][mode], "plain") as server:
        said = engine_jobs.run(plan(server, protocol, "load", tmp_path))
    said.failure("protocol", "320 MiB", server.place)
