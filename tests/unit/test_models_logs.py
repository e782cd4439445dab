"""What the models `redis-restart`, `stall-period` and `parallel-replication` say next to their
numbers, and settings that mean "never" or "none"."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno import models
from dbdyno.errors import DynoError
from dbdyno.models import calculate, given, origins
from dbdyno.wording.models import words


def answer(name: str, file: Path | None = None, **typed: str) -> calculate.Answer:
    model = models.load(name)
    read = origins.read_file(model, file) if file else {}
    return calculate.answer(model, given.take(model, typed, read))


def notes(found: calculate.Answer) -> str:
    return " ".join(words.notes(found, words.all_shown(found)))


def test_a_log_that_is_never_rewritten_is_read_and_said(tmp_path: Path) -> None:
    file = tmp_path / "redis.conf"
    file.write_text("appendonly yes\naof-use-rdb-preamble no\nauto-aof-rewrite-percentage 0\n")
    found = answer("redis-restart", file, memory="1Gi")
    assert found.values["load"] == 30
    assert "never rewritten" in notes(found)
    shown = words.all_shown(found)
    assert {shown[name] for name in ("log_at_rewrite", "rewrite_every", "disk")} == {"–"}


def test_of_a_dump_nothing_is_said_about_rewriting() -> None:
    shown = words.all_shown(answer("redis-restart", memory="1Gi"))
    assert (shown["log_at_rewrite"], shown["rewrite_every"]) == ("–", "–")
    assert shown["disk"] == "2 GiB"


def test_commands_since_the_last_rewrite_come_on_top() -> None:
    assert "up to 1 GiB of commands" in notes(answer("redis-restart", memory="1Gi", method="aof"))


@pytest.mark.parametrize("name", ["replica_parallel_workers", "slave_parallel_threads"])
def test_no_workers_are_one(tmp_path: Path, name: str) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[mysqld]\n{name}=0\n")
    found = answer("parallel-replication", file, times="3s,1s")
    assert (found.values["workers"], found.values["speedup"]) == (1, 1)
    assert "one is no faster" in words.sentence(found, words.all_shown(found))


def test_published_costs_are_said_where_they_count() -> None:
    assert "about 4 %" in notes(
        answer("stall-period", sync_binlog="0", write="10MiB/s", log="64Mi")
    )
    assert "2.8 %" in notes(
        answer("stall-period", sync_binlog="0", write="10MiB/s", dirty_background="1%")
    )
    assert not notes(answer("stall-period", sync_binlog="0", write="10MiB/s"))


def test_write_back_in_the_background_stalls_nobody() -> None:
    found = answer("stall-period", sync_binlog="0", write="40MiB/s", dirty_background="1%")
    assert "that alone stalls no writer" in notes(found)
    assert "dirty_background_bytes" in notes(
        answer("stall-period", sync_binlog="0", write="40MiB/s", dirty_background="0%")
    )


def test_more_than_the_device_writes_is_refused() -> None:
    for each in ("0", "1", "1000"):
        with pytest.raises(DynoError, match="write=300MiB/s is more than device=200MiB/s"):
            answer("stall-period", write="300MiB/s", sync_binlog=each)


def test_a_log_that_is_full_before_it_is_synced_stalls_all_the_time() -> None:
    found = answer("stall-period", sync_binlog="0", write="20MiB/s", log="4Ki")
    assert found.values["share"] == 1 and "all the time" in notes(found)


@pytest.mark.parametrize("each", [2, 100, 1000, 65536])
def test_a_log_that_commits_sync_leaves_what_came_since_the_last_sync(each: int) -> None:
    found = answer("stall-period", write="20MiB/s", sync_binlog=str(each), commit="2Ki").values
    assert found["dirty"] == (each - 1) * 2048
    assert found["stall"] == pytest.approx((each - 1) * 2048 / (200 << 20) + 0.001)
    never = answer("stall-period", write="20MiB/s", sync_binlog="0", commit="2Ki").values
    assert found["stall"] < never["stall"]


@pytest.mark.parametrize(("server", "each"), [("mysql", 1), ("mysql-5.6", 0), ("mariadb", 0)])
def test_an_unset_sync_binlog_is_the_server_s_default(server: str, each: int) -> None:
    found = answer("stall-period", write="20MiB/s", server=server)
    assert found.values["syncs_each"] == each
    assert (found.values["stall"] == 0) == (each == 1)
    syncs = answer("commit-ceiling", fsyncs="100/s", binlog="yes", server=server)
    assert syncs.values["per_commit"] == 1 + each


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("stall-period", {"write": "20MiB/s"}),
        ("commit-ceiling", {"fsyncs": "1/s", "binlog": "yes"}),
    ],
)
def test_server_and_version_are_asked_for_where_sync_binlog_is_unset(
    model: str, given: dict[str, str]
) -> None:
    with pytest.raises(DynoError, match="server=mariadb") as error:
        answer(model, **given)
    assert "server=mysql" in str(error.value.fix)


@pytest.mark.parametrize(
    ("text", "per_commit"),
    [("sync_binlog=1000\n", 1.001), ("sync_binlog=1000\nlog_bin=OFF\n", 1),
     ("sync_binlog=1\nlog_bin=/var/log/mysql-bin\n", 2), ("sync_binlog=0\nlog_bin\n", 1)],
)  # fmt: skip
def test_an_option_file_says_whether_and_how_often_the_log_is_synced(
    tmp_path: Path, text: str, per_commit: float
) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[mysqld]\n{text}")
    found = answer("commit-ceiling", file, fsyncs="100/s").values
    assert found["per_commit"] == pytest.approx(per_commit)
