"""Real servers set up wrongly, and their healthy twins: a rule fires there and only there."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from private_servers import Bench, running
from servers_there import PASSWORD, There, there
from test_check import check, found

ONLY = ("--only", "configuration")  # other packs have low findings on defaults
# kind -> settings of the server with a defect, what is given to the check, and the rule
PLANTED = {
    "a pool larger than the host": (
        "mariadb",
        {"innodb_buffer_pool_size": "256M"},
        ("--memory", "200Mi"),
        "mysql-memory-budget",
    ),
    "shared buffers larger than the host": (
        "postgres",
        {"shared_buffers": "256MB"},
        ("--memory", "200Mi"),
        "postgres-memory-budget",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found_and_nothing_else(name: str) -> None:
    kind, settings, options, rule = PLANTED[name]
    with there(kind, **settings) as server:
        assert found(check(server.url, "--json", *ONLY, *options)) == {rule}
    with there(kind) as server:
        assert found(check(server.url, "--json", *ONLY, "--memory", "16Gi")) == set()


def test_a_size_of_the_query_cache_turns_it_on_at_start_up() -> None:
    """What a file says is not what MariaDB does: a type of OFF is overruled by a size."""
    with there("mariadb") as server:
        server.sql("SET GLOBAL query_cache_size = 32 * 1024 * 1024")
        assert found(check(server.url, "--json", *ONLY, "--memory", "16Gi")) == {
            "mysql-query-cache-half-off"
        }
    with (
        pytest.raises(Exception, match="the server uses ON"),
        there("mariadb", query_cache_type="OFF", query_cache_size="32M"),
    ):
        pass


@contextmanager
def sending(server: There, sql: str, *, differently: bool) -> Iterator[None]:
    """A client that goes on sending, the same or something else each time; it has begun."""
    begun, stop = threading.Event(), threading.Event()

    def send() -> None:
        with closing(server.server._connect("shop", 60)) as session, session.cursor() as cursor:
            for number in itertools.count():
                value = number if differently else 0
                cursor.execute(f"{sql} AND {value} = {value}")
                session.rollback()  # counts, and waits for no disk
                begun.set()
                if stop.is_set():
                    return

    thread = threading.Thread(target=send)
    thread.start()
    try:
        assert begun.wait(120)
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(("differently", "severity"), [(False, "info"), (True, "medium")])
def test_the_query_cache_is_judged_by_what_it_does_now(differently: bool, severity: str) -> None:
    settings = {"query_cache_type": "ON", "query_cache_size": "32M"}
    sql = "SELECT COUNT(*) FROM sbtest1 WHERE pad > 'a'"
    with there("mariadb", **settings) as server:
        with sending(server, sql, differently=not differently):
            server.server.run("shop", [sql])
        with sending(server, sql, differently=differently):
            document = check(server.url, "--json", *ONLY, "--for", "2s", "--memory", "16Gi")
    by_rule = {one["rule"]: one["severity"] for one in document["findings"]}
    assert by_rule == {"mysql-query-cache-verdict": severity}


@pytest.mark.parametrize(
    ("counters", "schemas"), [("userstat", "*"), ("performance_schema", "performance_schema")]
)
def test_the_verdict_names_the_tables_that_are_written(counters: str, schemas: str) -> None:
    settings = {"query_cache_type": "ON", "query_cache_size": "32M", counters: "ON"}
    select = "SELECT COUNT(*) FROM sbtest2 WHERE pad > 'a'"
    with (
        there("mariadb", **settings) as server,
        sending(server, "UPDATE sbtest1 SET k = k + 1 WHERE id = 1", differently=True),
        sending(server, select, differently=True),
    ):
        server.sql(f"GRANT SELECT ON {schemas}.* TO app@'127.0.0.1'")
        document = check(server.url, "--json", *ONLY, "--for", "2s", "--memory", "16Gi")
    (one,) = document["findings"]
    assert "Each write to shop.sbtest1 (" in one["what"]
    assert "shop.sbtest2" in " ".join(one["fix"]["edits"])


def test_redis_is_read_and_its_password_hidden() -> None:
    with running("redis", config={"maxmemory": "100mb", "save": "900 1"}) as (_, server):
        server.ask("CONFIG", "SET", "requirepass", PASSWORD)
        server.ask("SET", "key", "needle-value")
        url = f"redis://127.0.0.1:{server.port}"
        text = json.dumps(check(url, "--collect"))
        small = check(url, "--json", *ONLY, "--memory", "150Mi")
        large = check(url, "--json", *ONLY, "--memory", "16Gi")
    assert "needle" not in text and PASSWORD not in text
    assert '"setting.requirepass", "value": "(hidden)"' in text
    assert found(small) == {"redis-memory-budget"} and found(large) == set()


# -- two servers on one directory ----------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="another account's processes hide their files")
def test_a_second_server_on_a_directory_leaves_its_refusal_in_the_log(tmp_path: Path) -> None:
    with running("mariadb") as (made, server):
        directory = datadir(server)
        log = tmp_path / "second.log"
        second(made, directory, log)
        document = check("--json", log)
        assert found(document) == {"innodb-lock-refused"}
        assert "ibdata1" in document["findings"][0]["what"]
        held = check("--json", "--only", "platform", directory)
        assert found(held) == set() and held["counts"]["fine"] == 1
        with open(directory / "ibdata1", "rb"):  # our own process is the second
            twice = check("--json", "--only", "platform", directory)
        assert found(twice) == {"mysql-datadir-two-processes"}


def datadir(server: Any) -> Path:
    return Path(str(server.rows("SELECT @@datadir")[0][0]))


def second(made: Bench, directory: Path, log: Path) -> None:
    """Another mariadbd of the same account, which must not get the files."""
    owner = directory.stat().st_uid
    program = str(made.binaries.paths["server"])
    with log.open("wb") as output:
        subprocess.run(
            [
                *(program, "--no-defaults", f"--datadir={directory}", "--skip-networking"),
                *(f"--socket={directory}/second.sock", f"--pid-file={directory}/second.pid"),
                *("--aria-log-dir-path=" + str(made_directory(directory)), "--skip-log-bin"),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=300,
            user=owner,
            check=False,
        )


def made_directory(directory: Path) -> Path:
    """Aria has a lock of its own, which a second server would wait for first."""
    path = directory.parent / f"{directory.name}-aria"
    path.mkdir(exist_ok=True)
    shutil.chown(path, directory.stat().st_uid)
    return path
