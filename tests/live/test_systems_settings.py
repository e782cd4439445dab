"""Settings of real servers: what a server does not keep is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from private_servers import (
    SERVERS,
    bench,
    running,
)

from dbdyno.errors import DynoError

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("temp")]

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
    ("mariadb", {"log_bin": False}),
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
