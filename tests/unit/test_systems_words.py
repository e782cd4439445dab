"""From words to settings: mapping, contradictions, normal forms. Nothing starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.kinds.kind import TRANSACTIONS
from dbdyno.systems import portable_options, verify
from dbdyno.systems.base import DURABILITY, ISOLATION, TargetPlan
from dbdyno.systems.mysql import control as mysqlcontrol
from dbdyno.systems.mysql import family, mysql
from dbdyno.systems.postgres import control as postgrescontrol
from dbdyno.systems.postgres import managed
from dbdyno.systems.postgres import system as postgres
from dbdyno.systems.process.account import Account


def resolve(kind: str, **target: Any) -> Any:
    return systems.load(kind).resolve(TargetPlan(name="db", kind=kind, **target))


def test_an_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(DynoError) as caught:
        systems.load("oracle")
    for kind in systems.KINDS:
        assert kind in caught.value.fix


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_a_data_directory_is_made_with_what_shapes_its_files(kind: str) -> None:
    found = resolve(kind, config={"innodb_page_size": "8k", "max_connections": 10})
    assert systems.load(kind).initial_settings(found) == {"innodb_page_size": "8k"}


def test_each_system_says_what_it_is() -> None:
    for kind in systems.KINDS:
        system = systems.load(kind)
        assert system.kind == kind
        assert system.driver in ("null", "sqlite", "files", "mysql", "postgres", "redis")
        assert "\n" not in system.about
        assert len(system.about) > 20


@pytest.mark.parametrize(
    "kind", [name for name, kind in systems.KINDS.items() if TRANSACTIONS in kind.capabilities]
)
@pytest.mark.parametrize("durability", DURABILITY)
@pytest.mark.parametrize("isolation", ISOLATION)
def test_every_word_is_mapped_and_said(kind: str, durability: str, isolation: str) -> None:
    found = resolve(kind, durability=durability, isolation=isolation, memory_bytes=1 << 30)
    said = {word.word.partition(":")[0] for word in found.words}
    assert {"durability", "isolation", "memory"} <= said
    for word in found.words:
        for name, value in word.settings.items():
            if name != "session":
                assert found.settings[name] == value
            else:
                assert value in found.session_sql


DURABLE = [
    ("mariadb", "full", {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON"}),
    ("mariadb", "os_crash_unsafe", {"innodb_flush_log_at_trx_commit": "2"}),
    ("mariadb", "none", {"innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "OFF"}),
    ("mysql", "full", {"innodb_flush_log_at_trx_commit": "1", "skip_log_bin": "ON"}),
    ("postgres", "full", {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}),
    ("postgres", "os_crash_unsafe", {"fsync": "off", "synchronous_commit": "on"}),
    ("postgres", "none", {"fsync": "off", "synchronous_commit": "off"}),
    ("sqlite", "full", {"journal_mode": "WAL", "synchronous": "FULL"}),
    ("sqlite", "os_crash_unsafe", {"synchronous": "OFF"}),
    ("sqlite", "none", {"journal_mode": "MEMORY", "synchronous": "OFF"}),
]


@pytest.mark.parametrize(("kind", "durability", "settings"), DURABLE)
def test_durability(kind: str, durability: str, settings: dict[str, str]) -> None:
    found = resolve(kind, durability=durability).settings
    assert settings.items() <= found.items()


def test_durability_honours_the_journal_and_the_binary_log() -> None:
    delete = resolve("sqlite", durability="full", config={"journal_mode": "delete"})
    assert delete.settings["synchronous"] == "EXTRA"
    wal = {"journal_mode": "WAL", "synchronous": "NORMAL"}
    assert resolve("sqlite", durability="os_crash_unsafe", config=wal).settings == wal
    logged = resolve("mysql", durability="full", config={"log_bin": "binlog"})
    assert logged.settings["sync_binlog"] == "1"
    assert "skip_log_bin" not in logged.settings
    lax = resolve("mariadb", durability="none", config={"log_bin": "binlog"})
    assert lax.settings["sync_binlog"] == "0"
    for off in ({"log_bin": "off"}, {"log_bin": "binlog", "skip_log_bin": True}):
        assert "sync_binlog" not in resolve("mariadb", durability="full", config=off).settings


CONTRADICTIONS = [
    ("mariadb", {"durability": "full"}, {"innodb-flush-log-at-trx-commit": 2}),
    ("mysql", {"durability": "none"}, {"innodb_doublewrite": "ON"}),
    ("mysql", {"memory_bytes": 1 << 30}, {"innodb_buffer_pool_size": "2G"}),
    ("mariadb", {"isolation": "serializable"}, {"transaction_isolation": "READ-COMMITTED"}),
    ("postgres", {"durability": "full"}, {"fsync": False}),
    ("postgres", {"memory_bytes": 1 << 30}, {"shared_buffers": "64MB"}),
    (
        "postgres",
        {"isolation": "serializable"},
        {"default_transaction_isolation": "read committed"},
    ),
    ("sqlite", {"durability": "full"}, {"synchronous": "NORMAL"}),
    ("sqlite", {"durability": "full"}, {"journal_mode": "OFF"}),
    ("sqlite", {"memory_bytes": 1 << 30}, {"cache_size": 10}),
]


@pytest.mark.parametrize(("kind", "words_", "config"), CONTRADICTIONS)
def test_a_setting_that_contradicts_a_word_is_an_error(
    kind: str, words_: dict[str, Any], config: dict[str, Any]
) -> None:
    with pytest.raises(DynoError, match="contradicts"):
        resolve(kind, config=config, **words_)


def test_the_same_said_twice_is_no_contradiction() -> None:
    config = {"innodb_flush_log_at_trx_commit": 1, "innodb_doublewrite": True}
    assert resolve("mariadb", durability="full", config=config).settings["innodb_doublewrite"]
    assert resolve("postgres", durability="full", config={"fsync": True}).settings["fsync"] == "ON"


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("mariadb", {"datadir": "/var/lib/mysql"}),
        ("mariadb", {"bind-address": "0.0.0.0"}),
        ("mysql", {"loose_anything": 1}),
        ("mysql", {"sql_mode": "a\nport=1"}),
        ("mysql", {"x y": 1}),
        ("mysql", {"max-connections": 1, "max_connections": 2}),
        ("postgres", {"listen_addresses": "*"}),
        ("postgres", {"include": "/etc/passwd"}),
        ("null", {"anything": 1}),
    ],
)
def test_what_may_not_be_set(kind: str, config: dict[str, Any]) -> None:
    with pytest.raises(DynoError) as caught:
        resolve(kind, config=config)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("durability", "maybe"),
        ("isolation", "snapshot"),
        ("protocol", "binary"),
        ("tls", "yes"),
        ("transport", "pigeon"),
        ("memory_bytes", 1024),
    ],
)
@pytest.mark.parametrize("kind", systems.KINDS)
def test_a_word_that_is_not_known_is_an_error(kind: str, word: str, value: Any) -> None:
    with pytest.raises(DynoError) as caught:
        resolve(kind, **{word: value})
    assert caught.value.fix


@given(st.integers(min_value=8 << 20, max_value=1 << 42))
def test_mysql_is_given_memory_that_it_does_not_round(size_bytes: int) -> None:
    wanted, _ = mysql.memory(size_bytes, {})
    pool, chunk, instances = (
        int(wanted[f"innodb_buffer_pool_{name}"]) for name in ("size", "chunk_size", "instances")
    )
    assert pool % (chunk * instances) == 0
    assert pool <= size_bytes
    assert chunk % portable_options.MIB == 0
    assert pool > size_bytes / 2
    # Only pools of 1 GiB and more may be split.
    assert instances == 1 or pool >= portable_options.GIB


def test_what_files_depend_on() -> None:
    config = {"innodb_page_size": "8k", "query_cache_size": "64M", "innodb_flush_method": "fsync"}
    found = resolve("mariadb", config=config, durability="full", memory_bytes=1 << 30)
    assert found.data_settings == {"innodb_page_size": "8k"}
    found = resolve("sqlite", config={"page_size": 8192, "cache_size": 100}, durability="full")
    assert found.data_settings == {"page_size": "8192"}
    for name in ("character_set_server", "innodb_log_file_size", "never_heard_of"):
        assert family.depends_on_files(name), "in doubt a setting belongs to the files"


# ---- normal forms

SAME = [
    ("64M", "67108864"),
    ("64m", "67108864"),
    ("1Gi", "1073741824"),
    ("ON", "1"),
    ("off", "OFF"),
    ("true", "ON"),
    ("75", "75.000000"),
    ("O_DIRECT", "o_direct"),
    ("A,B", "b,a"),
    ("/data", "/data/"),
]


@pytest.mark.parametrize(("asked", "got"), SAME)
def test_spellings_of_one_value(asked: str, got: str) -> None:
    assert portable_options.same(asked, got)


@pytest.mark.parametrize(
    ("asked", "got"),
    [("64M", "64"), ("1", "OFF"), ("2", "1"), ("a", "b"), ("a,b", "a"), ("1", "2")],
)
def test_different_values(asked: str, got: str) -> None:
    assert not portable_options.same(asked, got)


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_number_is_itself(value: int) -> None:
    assert portable_options.number(str(value)) == value
    assert portable_options.same(str(value), str(value))
    assert value == 0 or not portable_options.same(str(value), str(value * 2 + 3))


def test_verify_names_what_was_asked_and_what_is() -> None:
    effective = {"join_buffer_size": "999936", "optimizer_switch": "a=on,b=off", "mode": "x"}
    verify.check("mariadb", {"optimizer_switch": "b=off"}, effective, aliases={})
    verify.check("mariadb", {"option": "x"}, effective, aliases={"option": "mode"})
    with pytest.raises(DynoError, match="`join_buffer_size: 1000001`, the server uses 999936"):
        verify.check("mariadb", {"join_buffer_size": "1000001"}, effective, aliases={})
    with pytest.raises(DynoError) as caught:
        verify.check("mariadb", {"join_bufer_size": "1"}, effective, aliases={})
    assert "join_buffer_size" in caught.value.fix


@pytest.mark.parametrize(
    ("value", "unit", "units"),
    [
        ("64MB", "8kB", 8192),
        ("64MB", "kB", 65536),
        ("8192", "8kB", 8192),
        ("10min", "s", 600),
        ("0.5s", "ms", 500),
        ("1.1", None, 1.1),
        ("64M", "8kB", None),
        ("10min", "kB", None),
        ("on", None, None),
    ],
)
def test_postgres_units(value: str, unit: str | None, units: float | None) -> None:
    assert postgrescontrol.in_units(value, unit) == units


def test_a_scram_verifier_is_the_one_that_postgres_would_make() -> None:
    # Client and server keys of RFC 7677's example (user "user", password "pencil").
    import base64

    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    made = managed.scram_verifier("pencil", salt=salt)
    assert made == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )


# ---- configuration files


def test_my_cnf_quotes_what_would_be_cut() -> None:
    # As a value it would be the name of the log, which is on then.
    for word in ("OFF", "off", "0", "false"):
        assert family.configuration({"log_bin": word}).splitlines()[2:] == ["skip_log_bin"]
    assert "log_bin=off1" in family.configuration({"log_bin": "off1"})
    made = family.configuration({"skip_log_bin": "ON", "init_connect": 'SET @a="#1"', "x": "1"})
    assert made.splitlines()[1:] == [
        "[server]",
        "skip_log_bin",
        r'init_connect="SET @a=\"#1\""',
        "x=1",
    ]


def test_postgresql_conf_quotes_everything() -> None:
    made = postgres.configuration({"search_path": "it's", "port": "5432"})
    assert made.splitlines()[1:] == ["search_path = 'it''s'", "port = '5432'"]


# ---- states and levels


@pytest.mark.parametrize(
    ("command", "state", "named"),
    [
        ("Sleep", "", "idle"),
        ("Query", "Waiting for query cache lock", "waiting: query cache lock"),
        ("Query", "Waiting for table metadata lock", "waiting: table metadata lock"),
        ("Execute", "Sending data", "running: sending data"),
        ("Query", "", "running"),
        ("Query", "checking query cache for query", "query cache: checking"),
        ("Query", "storing result in query cache", "query cache: storing result"),
        ("Query", "invalidating query cache entries (table)", "query cache: invalidating"),
        ("Connect", "login", "connecting"),
    ],
)
def test_process_list_states(command: str, state: str, named: str) -> None:
    assert mysqlcontrol.session_state(command, state) == named


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (("idle", "Client", "ClientRead"), "idle"),
        (("idle in transaction", "Client", "ClientRead"), "idle in transaction"),
        (("active", "Lock", "transactionid"), "waiting: Lock:transactionid"),
        (("active", None, None), "running"),
        ((None, None, None), "connecting"),
    ],
)
def test_pg_stat_activity_states(row: tuple[str | None, ...], named: str) -> None:
    assert postgrescontrol.session_state(*row) == named


def test_levels_are_told_from_sums() -> None:
    levels = ("Threads_running", "Innodb_buffer_pool_pages_dirty", "Qcache_free_memory", "Uptime")
    sums = ("Threads_created", "Questions", "Innodb_rows_read", "Qcache_hits", "Opened_tables")
    assert all(map(mysqlcontrol.is_gauge, levels))
    assert not any(map(mysqlcontrol.is_gauge, sums))


# ---- binaries


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "postgres"])
def test_a_basedir_without_a_server_is_an_error_that_says_what_to_do(
    kind: str, tmp_path: Path
) -> None:
    with pytest.raises(DynoError) as caught:
        systems.load(kind).find(str(tmp_path))
    assert str(tmp_path) in caught.value.what
    assert "make servers" in caught.value.fix


def test_a_mariadb_that_calls_itself_mysqld_is_not_taken_for_mysql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "mysqld"
    fake.write_text("#!/bin/sh\necho 'mysqld  Ver 10.11.14-MariaDB for debian-linux-gnu'\n")
    fake.chmod(0o755)
    monkeypatch.setattr(mysql, "check_reachable", lambda *_: None)
    monkeypatch.setattr(mysql, "account_for", lambda _: Account("me", 0, 0, switch=False))
    with pytest.raises(DynoError, match="not a MySQL"):
        systems.load("mysql").find(str(tmp_path))
    fake.write_text("#!/bin/sh\necho '/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 (Debian)'\n")
    found = systems.load("mysql").find(str(tmp_path))
    assert found.version == "MySQL 9.7.4"
    assert found.paths["server"] == fake


def test_mysql_is_looked_for_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_MYSQL_BASEDIR", str(tmp_path))
    assert mysql.default_bases() == [tmp_path]
    monkeypatch.delenv("DYNO_MYSQL_BASEDIR")
    monkeypatch.setenv("DYNO_PREFIX", str(tmp_path))
    assert mysql.default_bases()[0] == tmp_path / "mysql"
