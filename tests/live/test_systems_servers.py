"""Real servers: started, described, refused, stopped; private and gone afterwards."""

from __future__ import annotations

import importlib
import json
import os
import pwd
import signal
import socket
import ssl
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pg8000.native
import pymysql
import pytest
from private_servers import (
    SERVERS,
    bench,
    binaries,
    gone,
    own_temp,
    running,
    shared_memory_of,
    still_there,
)
from running import wait_for

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.postgres.system import LOADING, LOADING_WAL
from dbdyno.systems.process import managed, starting
from needed import missing

pytestmark = pytest.mark.live

WORDS = {"durability": "full", "isolation": "repeatable_read", "memory_bytes": 256 << 20}
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"


@pytest.fixture(autouse=True)
def temp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sockets of this test, and no other's."""
    tmp_path_factory.getbasetemp()  # pytest's own is made before the place is another
    with own_temp() as path:
        yield path


def log_in(target: dict[str, Any], password: str | None = None) -> list[tuple[Any, ...]]:
    """Logs in as the engine does, and selects 1 and the isolation level."""
    password = target["password"] if password is None else password
    by_socket = "unix" in target["address"]
    tcp = target["address"].get("tcp", {})
    if target["driver"] == "postgres":
        connection = pg8000.native.Connection(
            target["user"],
            password=password,
            database=target["database"],
            timeout=10,
            **({"unix_sock": target["address"]["unix"]} if by_socket else tcp),
        )
        try:
            for statement in target["session_sql"]:
                connection.run(statement)
            return [tuple(row) for row in connection.run("SHOW transaction_isolation")]
        finally:
            connection.close()
    mysql = pymysql.connect(
        user=target["user"],
        password=password,
        database=target["database"],
        connect_timeout=10,
        **({"unix_socket": target["address"]["unix"]} if by_socket else tcp),
    )
    with mysql, mysql.cursor() as cursor:
        for statement in target["session_sql"]:
            cursor.execute(statement)
        cursor.execute(
            "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"
        )
        return [(row[1],) for row in cursor.fetchall()]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_is_private_answers_and_stops(kind: str, temp: Path) -> None:
    with running(kind, **WORDS) as (made, server):
        assert server.pid is not None
        assert server.alive()
        assert server.version[0].isdigit()
        # unprivileged
        owner = os.stat(f"/proc/{server.pid}").st_uid
        if os.geteuid() == 0:
            assert pwd.getpwuid(owner).pw_name in ("mysql", "postgres")
        # private
        for path in (made.directory, made.directory / "data"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        target = server.engine_target(made.target, made.resolved, "dyno_test")
        server.create_schema("dyno_test")
        server.create_schema("dyno_test")  # ours already
        # loopback only
        assert listeners(server) == {("127.0.0.1", target["address"]["tcp"]["port"])}
        # both ways in, with the isolation asked for
        by_socket = {**target, "address": {"unix": str(socket_of(server))}}
        assert len(os.fsencode(socket_of(server))) <= 107
        for way in (target, by_socket):
            assert "repeatable" in str(log_in(way)).lower()
        # and none without the password, nor as the account that initialisation made
        for user in (target["user"], "root", "postgres"):
            with pytest.raises((pymysql.Error, pg8000.exceptions.Error)):
                log_in({**target, "user": user}, "")
        secret = target["password"]
        assert len(secret) >= 24
        assert_not_written(secret, made.directory, socket_of(server).parent)
        assert secret not in command_lines()
        pid = server.pid
    assert gone(pid)
    assert not server.alive()
    assert list(temp.iterdir()) == []


def socket_of(server: Server) -> Path:
    """The Unix socket of a managed server."""
    return server.socket_path  # type: ignore[attr-defined, no-any-return]


def assert_not_written(secret: str, *directories: Path) -> None:
    for directory in directories:
        for path in directory.rglob("*"):
            if path.is_file() and path.stat().st_size < 64 << 20:
                assert secret.encode() not in path.read_bytes(), path


def command_lines() -> str:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(lines)


def listeners(server: Server) -> set[tuple[str, int]]:
    """(address, port) of each listening TCP socket of the server's process."""
    inodes = set()
    for descriptor in Path(f"/proc/{server.pid}/fd").iterdir():
        name = os.readlink(descriptor)
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    found = set()
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                address, port = words[1].split(":")
                if family == "tcp":
                    host = socket.inet_ntoa(int(address, 16).to_bytes(4, sys.byteorder))
                else:
                    host = address
                found.add((host, int(port, 16)))
    return found


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_describes_itself(kind: str) -> None:
    with running(kind, **WORDS) as (made, server):
        server.create_schema("dyno_test")
        settings = server.settings()
        for name, value in made.resolved.settings.items():
            if name != "skip_log_bin":
                assert name in settings, (name, value)
        first = server.counters()
        assert len(first) > 30
        assert server.gauges() <= set(first)
        second = server.counters()
        sums = set(first) - server.gauges()
        assert all(second[name] >= first[name] for name in sums), "a sum ran backwards"
        assert sum(server.sessions_by_state().values()) == 0
        assert "1" in server.explain("dyno_test", "SELECT 1 AS one") or kind == "postgres"
        server.settle("dyno_test")
        with pytest.raises(DynoError, match="explain"):
            server.explain("dyno_test", "SELEKT")


def test_what_was_just_loaded_is_marked_visible_once_it_is_settled() -> None:
    """Also if its commit's log is not flushed when VACUUM comes."""
    with running("postgres", config={**LOADING, **LOADING_WAL}) as (_, server):
        server.create_schema("dyno_test")
        made = "CREATE TABLE t AS SELECT * FROM generate_series(1, 200000)"
        server.run("dyno_test", ["CREATE TABLE s (i INT)", made, "CREATE TABLE u (i INT)"])
        server.settle("dyno_test")
        marked = "SELECT relpages, relallvisible FROM pg_class WHERE relname = 't'"
        ((pages, visible),) = server.run("dyno_test", [marked])
        assert 0 < pages == visible


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_knows_what_it_does_again_and_again(kind: str) -> None:
    """Periods from the server's own settings: a steady trial must be longer than they are."""
    writes = {"Innodb_os_log_written": 1 << 20, "pg_stat_wal.wal_bytes": 1 << 20}
    with running(kind, **WORDS) as (_, server):
        counted = dict.fromkeys(server.counters(), 1.0)
        (period_s,) = server.cycles({**counted, **writes}).values()
        if kind == "postgres":
            [[setting]] = server.rows("SHOW checkpoint_timeout")
            assert setting == f"{period_s / 60:g}min"
            assert server.cycles({"pg_stat_wal.wal_bytes": 0.0}) == {}
        else:
            [[_, size]] = server.rows(
                "SHOW VARIABLES WHERE Variable_name = IF(@@version LIKE '%Maria%',"
                " 'innodb_log_file_size', 'innodb_redo_log_capacity')"
            )
            assert period_s == int(size) / (1 << 20)
            assert server.cycles({"Innodb_os_log_written": 0.0}) == {}


@pytest.mark.parametrize("kind", SERVERS)
def test_sessions_are_counted_by_state(kind: str) -> None:
    with running(kind) as (made, server):
        server.create_schema("dyno_test")
        target = server.engine_target(made.target, made.resolved, "dyno_test")
        tcp = target["address"]["tcp"]
        if kind == "postgres":
            idle = pg8000.native.Connection(
                target["user"], password=target["password"], database="dyno_test", **tcp
            )
        else:
            idle = pymysql.connect(
                user=target["user"], password=target["password"], database="dyno_test", **tcp
            )
        try:
            assert wait_for(lambda: server.sessions_by_state() == {"idle": 1}, 10)
        finally:
            idle.close()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_schema_that_is_not_ours_is_not_touched(kind: str) -> None:
    with running(kind) as (_, server):
        rows = server.rows  # type: ignore[attr-defined]
        rows("CREATE DATABASE foreigner")
        for name in ("foreigner", "postgres" if kind == "postgres" else "mysql"):
            with pytest.raises(DynoError, match="not made by dyno"):
                server.create_schema(name)
        with pytest.raises(DynoError, match="cannot be"):
            server.create_schema("x`; DROP DATABASE foreigner")


@pytest.mark.parametrize("kind", SERVERS)
def test_data_survives_a_restart_on_a_copy(kind: str, tmp_path: Path) -> None:
    with bench(kind) as made:
        first = made.start()
        first.create_schema("dyno_test")
        first.stop()
        copy = made.directory.with_name("copy")
        subprocess.run(["cp", "-a", made.directory, copy], check=True)
        made.directory = copy
        second = made.start()
        try:
            second.create_schema("dyno_test")  # marked: still known as dbdyno's
            with pytest.raises(DynoError):
                second.create_schema("postgres" if kind == "postgres" else "sys")
        finally:
            second.stop()


@pytest.mark.parametrize("kind", SERVERS)
def test_two_servers_of_a_kind_side_by_side(kind: str) -> None:
    with running(kind) as (_, one), running(kind) as (_, two):
        assert one.pid != two.pid
        assert one.alive()
        assert two.alive()


WRONG = [
    ("mariadb", {"query_cache_tpye": 1}, "query_cache_tpye"),
    ("mariadb", {"query_cache_type": "maybe"}, "query_cache_type"),
    ("mariadb", {"join_buffer_size": 1000001}, "999936"),
    ("mysql", {"query_cache_type": 1}, "query_cache_type"),
    ("mysql", {"innodb_buffer_pool_size": "200M"}, "268435456"),
    ("postgres", {"shared_bufers": "64MB"}, "shared_bufers"),
    ("postgres", {"shared_buffers": "64M"}, "kB, MB, GB"),
    ("postgres", {"work_mem": "1000B"}, "work_mem"),
    ("postgres", {"no_such.setting": "1"}, "no_such.setting"),
    ("postgres", {"wal_segment_size": "64MB"}, "wal_segment_size"),
]


@pytest.mark.parametrize(("kind", "config", "message"), WRONG)
def test_a_setting_that_the_server_does_not_keep_is_an_error(
    kind: str, config: dict[str, Any], message: str, temp: Path
) -> None:
    with bench(kind) as made:
        with pytest.raises(DynoError) as caught:
            made.start(**config)
        assert message in str(caught.value)
        assert caught.value.fix
    assert list(temp.iterdir()) == []


RIGHT = [
    ("mariadb", {"query_cache_type": 2, "query_cache_size": "64M", "sql_mode": "ANSI_QUOTES"}),
    ("mariadb", {"query_cache_type": 0, "innodb_flush_method": "O_DIRECT", "userstat": True}),
    ("mariadb", {"log_bin": "binlog", "sync_binlog": 1, "server_id": 7}),
    ("mysql", {"log_bin": "binlog", "innodb_io_capacity": 300, "performance_schema": False}),
    ("postgres", {"shared_buffers": "64MB", "checkpoint_timeout": "10min", "jit": False}),
    ("postgres", {"random_page_cost": 1.1, "wal_level": "minimal", "max_wal_senders": 0}),
    ("postgres", {"search_path": 'it\'s, "odd"', "wal_writer_delay": "0.5s"}),
]


@pytest.mark.parametrize(("kind", "config"), RIGHT)
def test_settings_in_any_spelling_are_kept(kind: str, config: dict[str, Any]) -> None:
    with bench(kind) as made:
        made.start(**config).stop()


@pytest.mark.parametrize("kind", SERVERS)
def test_loading_settings_are_kept_too(kind: str) -> None:
    with bench(kind, durability="full") as made:
        settings = {**made.resolved.settings, **made.resolved.load_settings}
        made.resolved = type(made.resolved)(settings=settings, session_sql=(), words=())
        made.start().stop()


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("durability", ["full", "os_crash_unsafe", "none"])
def test_every_durability_is_one_the_server_keeps(kind: str, durability: str) -> None:
    with running(kind, durability=durability) as (_, server):
        assert server.alive()


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("mebibytes", [8, 100, 1000, 1536])
def test_memory_is_not_rounded_by_the_server(kind: str, mebibytes: int) -> None:
    with bench(kind, memory_bytes=(mebibytes << 20) + 1) as made:
        made.start().stop()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_hung_server_is_killed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = "postgres" if kind == "postgres" else "mysql"
    control_module = importlib.import_module(f"dbdyno.systems.{family}.control")
    monkeypatch.setattr(control_module, "CONTROL_TIMEOUT_S", 1)
    monkeypatch.setattr(managed, "HUNG_TIMEOUT_S", 0.5)
    with bench(kind) as made:
        server = made.start()
        assert server.pid is not None
        for pid in (server.pid, *children(server.pid)):
            os.kill(pid, signal.SIGSTOP)
        assert not server.alive()
        server.stop()
        assert server.was_killed  # type: ignore[attr-defined]
        assert gone(server.pid)


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_port_in_use_is_an_error_that_names_it(kind: str) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with bench(kind) as made, pytest.raises(DynoError, match=str(port)):
            made.start(port=port)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_port_that_someone_takes_first_is_tried_elsewhere(
    kind: str, monkeypatch: pytest.MonkeyPatch, temp: Path
) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        free = starting.free_port
        ports = iter([taken])
        monkeypatch.setattr(starting, "free_port", lambda: next(ports, None) or free())
        with running(kind) as (_, server):
            assert server.port != taken  # type: ignore[attr-defined]
            assert len(list(temp.iterdir())) == 1, "the first attempt's sockets are gone"


@pytest.mark.parametrize("kind", SERVERS)
def test_a_directory_that_the_account_cannot_reach_is_an_error(kind: str, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("only root changes accounts: run the tests as root")
    found = binaries(kind)
    tmp_path.chmod(0o700)
    system = systems.load(kind)
    resolved = system.resolve(TargetPlan(name="db", kind=kind))
    with pytest.raises(DynoError, match="cannot reach"):
        system.prepare(found, tmp_path / "db", resolved)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_stays_on_its_cpus(kind: str) -> None:
    last = max(os.sched_getaffinity(0))
    with bench(kind) as made:
        server = made.system.start(made.binaries, made.directory, made.resolved, cpus=[last])
        try:
            assert server.pid is not None
            assert os.sched_getaffinity(server.pid) == {last}
        finally:
            server.stop()


@pytest.mark.parametrize("kind", SERVERS)
def test_tls_is_offered_as_the_target_asks(kind: str) -> None:
    with running(kind) as (made, server):
        server.create_schema("dyno_test")
        for tls in ("off", "prefer", "require", "verify"):
            plan = replace(made.target, tls=tls)
            target = server.engine_target(plan, made.resolved, "dyno_test")
            if tls in ("off", "prefer"):
                assert target["tls"] == "off"
                continue
            context = ssl.create_default_context()
            if tls == "verify":
                context.load_verify_locations(target["tls"]["ca"])
            else:
                assert target["tls"] == "require"
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            user, password = target["user"], target["password"]
            tcp = target["address"]["tcp"]
            if kind == "postgres":
                encrypted = pg8000.native.Connection(
                    user, password=password, database="dyno_test", ssl_context=context, **tcp
                )
            else:
                encrypted = pymysql.connect(user=user, password=password, ssl=context, **tcp)
            encrypted.close()
        plan = replace(made.target, tls="ca:/some/ca.pem")
        target = server.engine_target(plan, made.resolved, "dyno_test")
        assert target["tls"] == {"ca": "/some/ca.pem"}


# ---- unplanned ends


@pytest.mark.parametrize("kind", SERVERS)
def test_a_killed_server_is_noticed_and_cleaned_up(kind: str, temp: Path) -> None:
    with bench(kind) as made:
        server = made.start()
        assert server.pid is not None
        assert wait_for(lambda: watched(server.pid or 0), 10)
        memory = shared_memory_of(server.pid)
        assert kind != "postgres" or len(memory) == 2
        os.kill(server.pid, signal.SIGKILL)
        assert wait_for(lambda: not server.alive(), 10)
        server.stop()
        assert gone(server.pid)
        assert made.directory.exists(), "the log is still needed"
    assert list(temp.iterdir()) == []
    assert still_there(memory) == set()


def watched(pid: int) -> bool:
    """The guardian checks four times a second; the test must not be faster than that."""
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return uptime_s - int(ticks) / os.sysconf("SC_CLK_TCK") > 1.0


@pytest.mark.parametrize("kind", SERVERS)
def test_a_killed_guardian_takes_its_server_along(kind: str, temp: Path) -> None:
    with bench(kind) as made:
        server = made.start()
        assert server.pid is not None
        os.kill(server.process.guardian_pid, signal.SIGKILL)  # type: ignore[attr-defined]
        assert wait_for(lambda: gone(server.pid or 0), 60)
        assert not server.alive()
        server.stop()
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_dyno_dies(kind: str, number: signal.Signals, temp: Path) -> None:
    binaries(kind)
    program = textwrap.dedent(f"""
        import json, sys, time
        from private_servers import running
        with running({kind!r}) as (made, server):
            print(json.dumps({{
                "pid": server.pid,
                "guardian": server.process.guardian_pid,
                "directory": str(made.directory.parent),
                "sockets": str(server.socket_path.parent),
            }}), flush=True)
            time.sleep(600)
    """)
    dyno = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},  # what tests import, it can too
        text=True,
    )
    try:
        assert dyno.stdout is not None
        facts = json.loads(dyno.stdout.readline())
        assert not gone(facts["pid"])
        assert Path(facts["directory"]).exists()
        memory = shared_memory_of(facts["pid"])
    finally:
        dyno.send_signal(number)
        dyno.wait()
    assert wait_for(lambda: gone(facts["pid"]), 60)
    assert wait_for(lambda: gone(facts["guardian"]), 60)
    assert wait_for(lambda: not Path(facts["directory"]).exists(), 60)
    assert not Path(facts["sockets"]).exists()
    assert wait_for(lambda: list(temp.iterdir()) == [], 30)
    assert still_there(memory) == set()


def test_the_terminal_cannot_stop_a_server() -> None:
    with running("mariadb") as (_, server):
        process = server.process  # type: ignore[attr-defined]
        for number in (signal.SIGHUP, signal.SIGINT):
            os.kill(process.guardian_pid, number)
        assert os.getsid(process.guardian_pid) != os.getsid(0)
        assert os.getsid(server.pid or 0) != os.getsid(process.guardian_pid)
        assert server.alive()
