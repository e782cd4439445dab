"""Calls of the engine as `sysbench`, and servers with an account for scripts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from private_servers import Bench, running

from dbdyno.execute.engine import job
from dbdyno.systems.base import Server
from dbdyno.systems.mysql import mariadb
from dbdyno.systems.process import starting
from dbdyno.systems.process.paths import free_port

DRIVERS = {"mariadb": "mysql", "postgres": "pgsql"}
FIRST = {"mariadb": "mysql", "postgres": "postgres"}  # a schema that is always there
ACCOUNT = {
    "mariadb": [
        "CREATE DATABASE IF NOT EXISTS s",
        "CREATE OR REPLACE USER s@'%' IDENTIFIED BY 's'",
        "GRANT ALL ON s.* TO s@'%'",
    ],
    "postgres": ["CREATE USER s PASSWORD 's'", "CREATE DATABASE s OWNER s"],
}


@contextmanager
def serving(
    kind: str, monkeypatch: pytest.MonkeyPatch, **config: Any
) -> Iterator[tuple[Bench, Server, int]]:
    """A server with the account of the scripts, and its port, which stays after a restart."""
    port = free_port()
    monkeypatch.setattr(starting, "free_port", lambda: port)
    # A managed MariaDB knows the accounts that it is started with, and no other.
    logins = ACCOUNT["mariadb"]
    family = replace(
        mariadb.FAMILY, login_sql=lambda password: mariadb.login_sql(password) + logins
    )
    monkeypatch.setattr(mariadb.SYSTEM, "_family", family)
    with running(kind, config=config) as (bench, server):
        for statement in ACCOUNT[kind]:
            server.run(FIRST[kind], [statement])
        yield bench, server, port


def address(kind: str, port: int) -> list[str]:
    """The options that lead to such a server."""
    driver = DRIVERS[kind]
    where = ("host=127.0.0.1", f"port={port}", "user=s", "password=s", "db=s")
    return [f"--db-driver={driver}", *(f"--{driver}-{option}" for option in where)]


def command(script: Path | str, *arguments: str) -> list[str]:
    """A call of the engine; the last argument is the test's command."""
    return [str(job.find()), "sysbench", str(script), *arguments]


def call(
    script: Path | str, *arguments: str, cwd: Path | None = None, timeout_s: float = 180
) -> subprocess.CompletedProcess[str]:
    """The same, waited for; what it says on both channels is its `stdout`."""
    return subprocess.run(
        command(script, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=cwd,
        timeout=timeout_s,
    )


@contextmanager
def started(words: Sequence[str], mark: str) -> Iterator[subprocess.Popen[str]]:
    """A call that goes on, after the first line that begins with `mark`."""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(mark):
                    break
            yield process
        finally:
            process.kill()
