"""The engine against the null server that writes down how long each request was there."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.proof.row import Effort

from dbdyno.errors import DynoError
from dbdyno.execute.engine.job import Job, error_of
from dbdyno.hosts import LOCAL
from dbdyno.store.metrics.histogram import Histogram, by_tag, read_log

SESSIONS = 32
ENDS_S = 60.0


@dataclass(frozen=True)
class Pair:
    """The same requests seen from either end of the wire."""

    ours: Histogram  # service time: from before the send to after the receive
    record: Histogram  # from the server's receive to its send


def pair(effort: Effort, delay: str, pause_s: float, length_s: float) -> Pair:
    """One run of `length_s` seconds: each session pauses for `pause_s` and then sends a statement,
    which is answered after a draw of `delay`."""
    directory = effort.scratch / "wire"
    directory.mkdir(exist_ok=True)
    record = directory / "record.hlog"
    with null_server(effort.engine, delay, record) as port:
        request = plan(directory, port, pause_s, length_s)
        job = Job(LOCAL, effort.engine, request, directory / "events.ndjson")
        outcome = job.run(lambda event: None)
    if outcome.end is None:
        raise error_of(outcome, "a run against the null server")
    ours = by_tag(read_log(directory / "latency.hlog"))["wire"]
    return Pair(ours, by_tag(read_log(record))["receive-to-send"])


@contextlib.contextmanager
def null_server(engine: Path, delay: str, record: Path) -> Iterator[int]:
    """The port of a null server; its record is complete when it has ended."""
    command: list[str | Path] = [engine, "null-server", "--delay", delay, "--record", record]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise DynoError("the null server did not start", fix="see what it says on stderr")
        try:
            yield json.loads(line)["port"]
        finally:
            process.stdin.close()
            process.wait(ENDS_S)


def plan(directory: Path, port: int, pause_s: float, length_s: float) -> dict[str, Any]:
    """What the engine is asked: one group, one class of statement, no warm-up, so that both ends
    count the same requests."""
    address = {"tcp": {"host": "127.0.0.1", "port": port}}
    target = {"driver": "mysql", "address": address, "user": "x", "database": "x", "tls": "off"}
    group = {
        "name": "wire",
        "target": "null",
        "workload": "oltp",
        "options": {"preset": "point_select", "tables": 1, "rows": 10_000},
        "sessions": SESSIONS,
        "think": {"mean_s": pause_s, "distribution": "exponential", "per": "transaction"},
    }
    return {
        "schema_version": 1,
        "job": "run",
        "trial": "wire",
        "directory": str(directory),
        "seed": 1,
        "targets": {"null": {**target, "protocol": "text"}},
        "warmup_s": 0.0,
        "duration_s": length_s,
        "interval_s": length_s,
        "workers": 1,
        "groups": [group],
    }
