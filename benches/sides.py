"""Both sides of a bench: our engine and sysbench, each as a whole process with its CPU time."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.execute.engine import job

TIMEOUT_S = 900


@dataclass(frozen=True)
class Finished:
    """A process that has ended: its CPU, and what it printed."""

    cpu_s: float
    rss_max_bytes: int
    stdout: str


def run(
    argv: Sequence[str | Path], stdin: str = "", cpu: int | None = None, env: Any = None
) -> Finished:
    """Runs a command to its end; user and system CPU come from the kernel's own accounting."""
    pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            [*pin, *map(str, argv)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            text=True,
            env=env,
            preexec_fn=_many_files,
        )
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        killer = threading.Timer(TIMEOUT_S, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        stdout = out.read()
        if process.returncode != 0:
            raise SystemExit(
                f"{argv[0]} failed ({process.returncode}): {stdout[-800:]}{err.read()[-800:]}"
            )
    return Finished(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, stdout)


def _many_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# ---- our side


def ours(plan: Mapping[str, Any], cpu: int | None = None) -> tuple[Finished, dict[str, Any]]:
    """One engine run; returns the process and its `end` (or `loaded`) event."""
    with tempfile.TemporaryDirectory() as directory:
        text = json.dumps({**plan, "directory": directory})
        done = run([job.find(), "run"], text, cpu)
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if last["event"] not in ("end", "loaded"):
        raise SystemExit(f"dyno-engine: {last}")
    return done, last


def plan(
    target: Mapping[str, Any],
    sessions: int,
    duration_s: float,
    preset: str,
    rows: int = 10000,
    rate_per_s: float | None = None,
    workers: int = 1,
    tables: int = 1,
    cpus: Sequence[int] = (),
) -> dict[str, Any]:
    """A one-group plan without warm-up, so that the whole process is what is measured. With a
    rate: an open loop of evenly spaced arrivals."""
    options = {"preset": preset, "tables": tables, "rows": rows, "distribution": "uniform"}
    group = {
        "name": "bench",
        "target": "db",
        "workload": "oltp",
        "options": options,
        "sessions": sessions,
        "arrivals": None
        if rate_per_s is None
        else {
            "process": "uniform",
            "steps": [{"for_s": None, "from_per_s": rate_per_s, "to_per_s": rate_per_s}],
        },
    }
    return {
        "schema_version": 1,
        "job": "run",
        "trial": "bench",
        "seed": 1,
        "targets": {"db": dict(target)},
        "warmup_s": 0,
        "duration_s": duration_s,
        "workers": workers,
        "cpus": list(cpus),
        "groups": [group],
    }


# ---- sysbench's side


THEIRS = ["sysbench"]
OURS = [str(job.find()), "sysbench"]


def sysbench(
    script: str,
    options: Mapping[str, object],
    command: str,
    cpu: int | None = None,
    program: Sequence[str] = THEIRS,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """One sysbench call; `env` adds to the environment. A password goes through a private
    file: sysbench reads its own options from there, but not those that scripts declare, which go
    as arguments."""
    secret = {key: value for key, value in options.items() if key.endswith("-password")}
    argv = [f"--{key}={value}" for key, value in options.items() if key not in secret]
    with tempfile.NamedTemporaryFile("w", prefix="dbdyno-", suffix=".conf") as file:
        file.writelines(f"{key}={value}\n" for key, value in secret.items())
        file.flush()
        argv = [*program, f"--config-file={file.name}", *argv, script, command]
        return run(argv, cpu=cpu, env={**os.environ, **(env or {})})


def sysbench_statements(text: str) -> int:
    """Statements of a whole sysbench run, from its final report."""
    found = re.search(r"^\s*total:\s+(\d+)\s*$", text, re.M)
    if not found:
        raise SystemExit(f"sysbench printed no total: {text[-500:]}")
    return int(found[1])


# ---- the null server


def null_target(port: int) -> dict[str, object]:
    """The engine's target for a null server."""
    address = {"tcp": {"host": "127.0.0.1", "port": port}}
    return {"driver": "mysql", "address": address, "user": "x", "database": "sbtest", "tls": "off"}


def null_options(port: int) -> dict[str, object]:
    """sysbench's options for a null server."""
    return {
        "db-driver": "mysql",
        "mysql-host": "127.0.0.1",
        "mysql-port": port,
        "mysql-user": "x",
        "mysql-db": "sbtest",
        "tables": 1,
        "table-size": 10000,
        "rand-type": "uniform",
    }


@dataclass
class NullServer:
    """A running null server; `busy` is set once it has ended."""

    port: int
    pid: int
    busy: float = 0.0


@contextlib.contextmanager
def null_server(cpu: int | None = None) -> Iterator[NullServer]:
    """`dyno-engine null-server` on a free port of the loopback."""
    argv = [str(job.find()), "null-server", "--port", "0"]
    argv += ["--cpu", str(cpu)] if cpu is not None else []
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=_many_files
    )
    assert process.stdout is not None
    server = NullServer(json.loads(process.stdout.readline())["port"], process.pid)
    try:
        yield server
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=20)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        server.busy = json.loads(lines[-1])["busy"] if lines else 1.0
