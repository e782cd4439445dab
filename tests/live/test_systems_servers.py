"""Real servers: started, described, refused, stopped; private and gone afterwards."""

from __future__ import annotations

import os
import pwd
import socket
import ssl
import stat
import subprocess
import sys
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
    running,
)
from running import wait_for

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.postgres.system import LOADING, LOADING_WAL
from dbdyno.systems.process import starting
from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("temp")]

WORDS = {"durability": "full", "isolation": "repeatable_read", "memory_bytes": 256 << 20}


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
            timeout=60,
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
        connect_timeout=60,
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
        # Those that have just ended are still listed for a moment.
        assert wait_for(lambda: sum(server.sessions_by_state().values()) == 0)
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
            assert wait_for(lambda: server.sessions_by_state() == {"idle": 1})
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
