"""Every command that logs in, led to a hostile server: its output, as one text."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import engine_jobs
import pytest
from refusals import plain_words
from tools.attack.servers import mysql, postgres
from tools.attack.servers.listening import PASSWORD, USER, Hostile

from dbdyno.errors import DynoError
from dbdyno.execute.engine import job as engine
from dbdyno.experiment.types import Credentials
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.external import reach
from dbdyno.systems.logins.policy import Protocol

Leave = Literal["nothing", "named", "get", "pinned"]
SECRET_VARIABLE = "HOSTILE_PASSWORD"
MODES = {"mysql": mysql, "postgres": postgres}
SOCKET = {"mysql": "s", "postgres": ".s.PGSQL.5432"}


@dataclass(frozen=True)
class Attempt:
    """A login: at whom, by which protocol, and what the user allows."""

    server: Hostile
    protocol: Protocol
    leave: Leave
    directory: Path

    @property
    def tls(self) -> str:
        """`prefer` if there is none: anyone on the way can take it away."""
        return "require" if self.server.way == "tls" else "prefer"

    @property
    def key(self) -> str | None:
        """What `server_public_key` is."""
        if self.leave != "pinned":
            return "get" if self.leave == "get" else None
        file = self.directory / "key.pem"
        file.write_bytes(mysql.public_key())
        return str(file)

    @property
    def url(self) -> str:
        path = self.server.path
        if path is None:
            return f"{self.protocol}://{USER}@{self.server.place}/shop"
        if self.protocol == "mysql":
            return f"mysql://{USER}@/shop?socket={path}"
        return f"postgres://{USER}@{str(path.parent).replace('/', '%2F')}/shop"


def control(attempt: Attempt) -> str:
    """A control connection, as `dyno run`, `dyno digest` and `dyno model` open it."""
    login = Credentials(
        env=SECRET_VARIABLE,
        cleartext=attempt.leave == "named",
        server_public_key=attempt.key,
    )
    target = TargetPlan(
        name="db", kind=attempt.protocol, url=attempt.url, credentials=login, tls=attempt.tls
    )
    with pytest.raises(DynoError) as raised:  # those that let us in hang up next
        reach.connect(target, attempt.url)
    assert raised.value.cause and raised.value.fix, raised.value
    plain_words(str(raised.value))
    return str(raised.value)


def run(attempt: Attempt) -> str:
    """A measured trial."""
    return _job(attempt, "run")


def load(attempt: Attempt) -> str:
    """The loading of a data set."""
    return _job(attempt, "load")


def _job(attempt: Attempt, job: str) -> str:
    server = attempt.server
    allowed: dict[str, Any] = {"cleartext_password": True} if attempt.leave == "named" else {}
    if attempt.leave == "get":
        allowed["server_public_key"] = "get"
    if attempt.leave == "pinned":
        allowed["server_public_key"] = {"pem": mysql.public_key().decode()}
    where = {"tcp": {"host": "127.0.0.1", "port": server.port}}
    target = {
        "driver": attempt.protocol,
        "address": {"unix": str(server.path)} if server.path else where,
        "user": USER,
        "password": PASSWORD,
        "database": "shop",
        "tls": attempt.tls,
        "login": allowed,
    }
    said = engine_jobs.run(engine_jobs.plan(attempt.directory, target, job, 0.1))
    assert (said.code, said.last["event"]) == (2, "failed"), said.last
    assert said.last["hint"], said.last
    return f"{said.last['what']}; {said.last['hint']}"


def sysbench(attempt: Attempt) -> str:
    """sysbench's surface."""
    server, mysql = attempt.server, attempt.protocol == "mysql"
    driver = "mysql" if mysql else "pgsql"
    options = [f"--{driver}-user={USER}", f"--{driver}-password={PASSWORD}", f"--{driver}-db=shop"]
    if server.path is None:
        options += [f"--{driver}-host=127.0.0.1", f"--{driver}-port={server.port}"]
    else:
        options.append(
            f"--mysql-socket={server.path}" if mysql else f"--pgsql-host={server.path.parent}"
        )
    if server.way == "tls":
        options.append("--mysql-ssl=on" if mysql else "--pgsql-sslmode=require")
    if attempt.key is not None:
        options.append(f"--mysql-server-public-key={attempt.key}")
    named = {"LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN": "1"} if attempt.leave == "named" else {}
    done = subprocess.run(
        [engine.find(), "sysbench", "oltp_point_select", f"--db-driver={driver}", *options, "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **named},
    )
    assert done.returncode == 1, done.stdout
    plain_words(done.stdout)
    return done.stdout


COMMANDS: dict[str, Callable[[Attempt], str]] = {
    "control": control,
    "run": run,
    "load": load,
    "sysbench": sysbench,
}


def experiment(attempt: Attempt) -> str:
    """An experiment file that leads to the server."""
    target = {"url": attempt.url, "tls": attempt.tls, "password_env": SECRET_VARIABLE}
    return "\n".join(
        [
            "experiment: hostile",
            f"targets: {{db: {json.dumps(target)}}}",
            "workload: {kind: oltp, preset: point_select}",
        ]
    )
