"""The null server under sysbench, whose client library is not dbdyno's: both are measured on it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest

from dbdyno.execute.engine import job
from needed import missing

pytestmark = pytest.mark.live


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A null server and its port; stopped by the end of its standard input at the latest."""
    command = [str(job.find()), "null-server"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())["port"]
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


@pytest.mark.parametrize("mode", ["auto", "disable"])
@pytest.mark.parametrize(
    ("script", "per_transaction"), [("oltp_point_select", 1), ("oltp_read_write", 20)]
)
def test_sysbench_runs_and_every_request_is_counted(
    server: tuple[subprocess.Popen[str], int], script: str, per_transaction: int, mode: str
) -> None:
    sysbench = shutil.which("sysbench")
    if sysbench is None:
        missing("sysbench is missing; `make servers` installs it")
    process, port = server
    done = subprocess.run(
        [
            sysbench,
            "--db-driver=mysql",
            "--mysql-host=127.0.0.1",
            f"--mysql-port={port}",
            "--mysql-user=x",
            "--mysql-db=sbtest",
            f"--db-ps-mode={mode}",
            "--tables=1",
            "--table-size=10000",
            "--threads=4",
            "--events=200",
            "--time=120",
            script,
            "run",
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    queries = re.search(r"queries:\s+(\d+)", done.stdout)
    assert queries is not None, done.stdout
    assert int(queries[1]) == 200 * per_transaction, done.stdout
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    spent = json.loads(process.stdout.readline())
    assert process.wait(60) == 0
    # Preparations and session settings come on top.
    assert spent["requests"] >= 200 * per_transaction
    assert 0 < spent["cpu_s"] < spent["wall_s"]
    assert spent["busy"] == pytest.approx(spent["cpu_s"] / spent["wall_s"])
