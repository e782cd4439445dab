"""`redis-restart` compared with a real Redis: what it loads, how large its files are, when it
rewrites its log. How long loading takes is measured by `make proof ROWS=redis`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tools.proof.redis import server
from tools.proof.redis.server import Redis, until

import needed
from dbdyno import models
from dbdyno.models import calculate, given
from dbdyno.models.kinds import Value

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

VALUE = 100  # bytes
AOF = {"appendonly": "yes", "aof-use-rdb-preamble": "no", "auto-aof-rewrite-percentage": "0"}


@pytest.fixture(autouse=True)
def _installed() -> None:
    if lacking := server.missing():
        needed.missing(f"{lacking} is not installed: run `make servers`")


def computed(**typed: str) -> Mapping[str, Value]:
    model = models.load("redis-restart")
    return calculate.answer(model, given.take(model, typed, {})).values


def number(value: Value) -> float:
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize("keys", [10_000, 40_000])
@pytest.mark.parametrize("settings", [{}, AOF], ids=["rdb", "aof"])
def test_all_keys_are_loaded_again(settings: Mapping[str, str], keys: int) -> None:
    with Redis(settings) as redis:
        sent = redis.write(range(keys), VALUE)
        redis.restart()
        assert int(redis.ask("DBSIZE")) == keys
        if settings:
            (log,) = redis.data.glob("appendonlydir/*.incr.aof")
            select = len(server.command(b"SELECT", b"0"))
            assert log.stat().st_size == sent + select, "the log is the commands"
        else:
            assert redis.info("rdb_last_load_keys_loaded") == keys
            assert keys * VALUE * 0.2 < (redis.data / "dump.rdb").stat().st_size < sent


def test_the_log_is_rewritten_at_the_size_that_is_computed() -> None:
    never = {"auto-aof-rewrite-min-size": "1mb", "auto-aof-rewrite-percentage": "0"}
    with Redis({"appendonly": "yes", **never}) as redis:
        redis.write(range(40_000), VALUE)
        rewrite(redis)
        (base,) = redis.data.glob("appendonlydir/*.base.rdb")
        assert base.read_bytes()[:5] == b"REDIS", "a rewritten log begins with a dump"
        redis.ask("CONFIG", "SET", "auto-aof-rewrite-percentage", "100")
        done, at = redis.info("aof_rewrites"), redis.info("aof_base_size")
        typed = {"memory": "64Mi", "method": "aof", "file": str(int(at)), "rewrite_min": "1Mi"}
        limit = number(computed(**typed)["log_at_rewrite"])
        each = len(server.command(b"SET", b"key:%09d" % 0, b"v" * VALUE))
        short = int((0.9 * limit - redis.info("aof_current_size")) / each)
        redis.write(range(short), VALUE)
        assert redis.info("aof_current_size") < limit
        assert redis.info("aof_rewrites") == done, "not before"
        redis.write(range(short, short + int(0.2 * limit / each)), VALUE)
        assert until(lambda: redis.info("aof_rewrites") > done, 60)


def rewrite(redis: Redis) -> None:
    """Asks for it, and waits until it is done: it is counted when it begins."""
    redis.ask("BGREWRITEAOF")
    assert until(lambda: redis.info("aof_rewrites") >= 1, 60)
    assert until(lambda: not redis.info("aof_rewrite_in_progress"), 60)


def test_a_log_below_the_least_size_is_not_rewritten() -> None:
    typed = {"memory": "10Mi", "method": "aof", "file": "1Mi"}
    assert computed(**typed)["log_at_rewrite"] == 64 << 20
    with Redis({"appendonly": "yes"}) as redis:
        redis.write(range(10_000), VALUE)
        rewrite(redis)
        redis.write(range(40_000), VALUE)
        assert redis.info("aof_current_size") > 2 * redis.info("aof_base_size")
        assert redis.info("aof_rewrites") == 1
        assert not redis.info("aof_rewrite_in_progress")
