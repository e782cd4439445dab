"""`dyno check mongodb://` on FerretDB/DocumentDB: the real protocol and logins of a real server,
which is no MongoDB.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from running import listens, place, wait_for

from dbdyno import systems
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.account import account_for
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.paths import free_port, in_prefixes, prefixes, socket_directory
from dbdyno.systems.process.scratch import Scratch
from dbdyno.systems.process.starting import TRIES
from needed import missing

pytestmark = pytest.mark.live

PASSWORD = "app-Secret:4711"
PRELOADED = "pg_cron,pg_documentdb_core,pg_documentdb"
USER = {
    "createUser": "auditor",
    "pwd": PASSWORD,
    "roles": [{"role": "readAnyDatabase", "db": "admin"}],
}


def programs() -> tuple[Path, Path]:
    """FerretDB, and the directory of its PostgreSQL."""
    ferretdb = [root / "ferretdb/ferretdb" for root in prefixes()]
    postgres = [
        one for root in in_prefixes("documentdb") for one in root.glob("usr/lib/postgresql/*")
    ]
    there = [path for path in ferretdb if path.exists()]
    if not there or not postgres:
        missing("FerretDB is not here: run `make servers`, which takes Go")
    return there[0], postgres[0]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The environment's URL of a PostgreSQL with DocumentDB, which has the user `auditor`."""
    system = systems.load("postgres")
    config = {"shared_preload_libraries": PRELOADED, "cron.database_name": "postgres"}
    target = TargetPlan(name="db", kind="postgres", basedir=str(programs()[1]), config=config)
    binaries, resolved = system.find(target.basedir), system.resolve(target)
    with Scratch() as scratch:
        directory = scratch.path / "db"
        system.prepare(binaries, directory, resolved)
        server: Any = system.start(binaries, directory, resolved, cpus=[])
        try:
            made = f"SELECT documentdb_api.create_user('{json.dumps(USER)}')"
            server.run_in("postgres", ["CREATE EXTENSION documentdb CASCADE"])
            server.run_in("postgres", [f"CREATE ROLE ferret SUPERUSER LOGIN PASSWORD '{PASSWORD}'"])
            server.run_in("postgres", [made])
            yield f"postgres://ferret:{PASSWORD}@127.0.0.1:{server.port}/postgres?sslmode=disable"
        finally:
            server.stop()


@contextmanager
def ferretdb(postgres: str, *options: str) -> Iterator[int]:
    """One on a port of loopback, which somebody else may take before: then on another one."""
    for _ in range(TRIES):
        port = free_port()
        guarded = started(port, postgres, *options)
        try:
            assert wait_for(lambda: listens(port) or not guarded.alive())  # noqa: B023
            if guarded.alive():
                yield port
                return
        finally:
            guarded.stop(5)
    raise AssertionError("FerretDB ends at its start")


def started(port: int, postgres: str, *options: str) -> Guarded:
    account = account_for("postgres")
    state = socket_directory(account)
    command = [
        programs()[0],
        f"--listen-addr=127.0.0.1:{port}",
        "--debug-addr=",
        f"--state-dir={state}",
    ]
    guarded = Guarded(account=account, make=[state])
    environment = {"FERRETDB_POSTGRESQL_URL": postgres, "DO_NOT_TRACK": "1"}
    guarded.launch([*command, *options], environment=environment)
    return guarded


def checked(url: str, *options: str) -> dict[str, Any]:
    with place() as here:
        here.environment["APP"] = PASSWORD
        done = here.dyno("check", url, *options, "--fail-on", "critical")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_ferretdb_is_read_under_its_own_name(postgres: str) -> None:
    with ferretdb(postgres) as port:
        url = f"mongodb://auditor@127.0.0.1:{port}"
        whole = checked(url, "--password-env", "APP", "--json")
        facts = checked(url, "--password-env", "APP", "--collect")
    [subject] = whole["subjects"]
    assert (subject["engine"], subject["version"][:1]) == ("ferretdb", [2])
    assert whole["findings"] == []
    text = json.dumps(facts)
    assert "FerretDB v2" in text and PASSWORD not in text
    [users] = [one["tables"]["users"] for one in facts["subjects"]]
    assert [row["user"] for row in users["rows"]] == ["auditor"]


def test_ferretdb_without_logins_is_found_out(postgres: str) -> None:
    with ferretdb(postgres, "--no-auth") as port:
        whole = checked(f"mongodb://127.0.0.1:{port}", "--json")
    assert [one["rule"] for one in whole["findings"]] == ["ferretdb-authentication-off"]
