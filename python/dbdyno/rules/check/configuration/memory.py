"""The memory that settings promise, against the host's.

Of MySQL and MariaDB:

    shared  = buffer pool x 1.05 + log buffer + key buffer + Aria page cache + query cache
    session = sort + join + read + read_rnd buffers + binary log cache + stack
    seen    = shared + Max_used_connections x session
    most    = shared + max_connections x session

The 5 % are InnoDB's descriptors of pages. No session takes all of its buffers, and some take one of
them several times: `most` is what the settings promise, not what will be used, so it alone is of
low severity. What cannot fit at all is `shared`.

Of PostgreSQL: shared = shared_buffers + wal_buffers; most = shared + max_connections x work_mem x
hash_mem_multiplier + autovacuum_max_workers x (autovacuum_work_mem or maintenance_work_mem).

Of Redis: maxmemory, and as much again in the worst case while a child saves (copy on write).

Sources: the MySQL manual, "How MySQL Uses Memory"; the PostgreSQL manual, "Resource Consumption";
Redis documentation, "Memory optimization" and "Redis persistence".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Found, Rule, edits, setting
from dbdyno.wording.numbers import gib

HOST = "host.memory_bytes"
DESCRIPTORS = 1.05
_SHARED = ("innodb_log_buffer_size", "key_buffer_size")
_SESSION = (
    *("sort_buffer_size", "join_buffer_size", "read_buffer_size", "read_rnd_buffer_size"),
    *("binlog_cache_size", "thread_stack"),
)


@dataclass(frozen=True)
class Budget:
    """Bytes, and the facts behind them."""

    host: Fact
    shared: float
    session: float
    most_sessions: float
    seen_sessions: float | None
    facts: Sequence[Fact]

    @property
    def most(self) -> float:
        """With all connections that are allowed."""
        return self.shared + self.most_sessions * self.session

    @property
    def seen(self) -> float | None:
        """With as many as were seen at once; None: not known."""
        if self.seen_sessions is None:
            return None
        return self.shared + self.seen_sessions * self.session


def of_mysql(facts: Facts) -> Budget:
    """Missing for a setting without which the sum would be too small."""
    pool = facts.setting("innodb_buffer_pool_size")
    shared = [facts.setting(name) for name in _SHARED]
    caches = [facts.get(f"setting.{name}") for name in ("aria_pagecache_buffer_size",)]
    cache_type = facts.get("setting.query_cache_type")
    if cache_type is not None and cache_type.text.upper() not in ("OFF", "0"):
        caches.append(facts.get("setting.query_cache_size"))
    shared += [fact for fact in caches if fact is not None]
    session = [facts.setting(name) for name in _SESSION]
    connections = facts.setting("max_connections")
    seen = facts.get("status.max_used_connections")
    return Budget(
        host=facts.fact(HOST),
        shared=pool.number * DESCRIPTORS + sum(fact.number for fact in shared),
        session=sum(fact.number for fact in session),
        most_sessions=connections.number,
        seen_sessions=seen.number if seen is not None else None,
        facts=[pool, *shared, *session, connections, *([seen] if seen is not None else [])],
    )


def of_postgres(facts: Facts) -> Budget:
    """`session` holds a session's work memory; autovacuum counts as shared."""
    names = ("shared_buffers", "wal_buffers", "work_mem", "max_connections")
    shared, wal, work, connections = (facts.setting(name) for name in names)
    multiplier = facts.get("setting.hash_mem_multiplier")
    workers, maintenance = (
        facts.setting(name) for name in ("autovacuum_max_workers", "maintenance_work_mem")
    )
    own = facts.get("setting.autovacuum_work_mem")
    each = own if own is not None and own.number > 0 else maintenance
    factor = multiplier.number if multiplier is not None else 1.0
    return Budget(
        host=facts.fact(HOST),
        shared=shared.number + wal.number + workers.number * each.number,
        session=work.number * factor,
        most_sessions=connections.number,
        seen_sessions=None,
        facts=[shared, wal, work, connections, workers, each],
    )


def _judge(facts: Facts) -> Iterator[Found]:
    mysql = facts.engine != "postgres"
    budget = of_mysql(facts) if mysql else of_postgres(facts)
    memory = budget.host.number
    name = "innodb_buffer_pool_size" if mysql else "shared_buffers"
    own = facts.setting(name)
    if budget.shared > memory:
        rest = budget.shared - own.number * (DESCRIPTORS if mysql else 1)
        wanted = max(0.0, memory * 0.7 - rest) / (DESCRIPTORS if mysql else 1)
        yield Found(
            what=f"shared memory of {gib(budget.shared)} on a host of {gib(memory)}",
            evidence=(*budget.facts, budget.host),
            effect=f"{budget.shared / memory:.0%} of the host's memory before any session: it"
            " swaps, or the kernel kills it",
            fix=setting(name, _whole(wanted)),
            undo=setting(name, own.text),
            severity="high",
        )
    elif budget.seen is not None and budget.seen > memory:
        yield Found(
            what=f"{gib(budget.seen)} with the {budget.seen_sessions:.0f} connections seen at"
            f" once, on a host of {gib(memory)}",
            evidence=(*budget.facts, budget.host),
            effect=f"{budget.seen / memory:.0%} of the host's memory if each of those sessions"
            " uses its buffers once",
            fix=edits("Lower the buffers of sessions, or pool connections."),
            undo=edits("Write the old values back."),
            severity="medium",
        )
    elif budget.most > memory:
        yield Found(
            what=f"settings promise {gib(budget.most)}: {budget.most_sessions:.0f} connections of"
            f" {budget.session / 2**20:,.1f} MiB beside {gib(budget.shared)} shared, on a host of"
            f" {gib(memory)}",
            evidence=(*budget.facts, budget.host),
            effect=f"{budget.most / memory:.0%} of the host's memory in a case that was never seen:"
            " sessions rarely use all of their buffers",
            fix=edits("Nothing unless connections grow: then lower max_connections, or pool them."),
            undo=edits("Nothing to undo."),
            severity="low",
        )


def _redis(facts: Facts) -> Iterator[Found]:
    limit, host = facts.setting("maxmemory"), facts.fact(HOST)
    saves = _saves(facts)
    need = limit.number * (2 if saves else 1)
    if limit.number == 0 or need <= host.number:
        return
    wanted = host.number * 0.8 / (2 if saves else 1)
    over = limit.number > host.number
    yield Found(
        what=f"maxmemory {gib(limit.number)} on a host of {gib(host.number)}"
        + ("" if over else ", with snapshots or rewrites by a child"),
        evidence=(limit, host),
        effect=f"up to {need / host.number:.0%} of the host's memory"
        + ("" if over else " while a child saves and every page is written"),
        fix=setting("maxmemory", _whole(wanted)),
        undo=setting("maxmemory", limit.text),
        severity="high" if over else "medium",
    )


def _saves(facts: Facts) -> bool:
    """Whether a child writes snapshots or rewrites the log. Missing if neither is known."""
    return bool(facts.setting("save").text.strip(' "')) or facts.setting("appendonly").on


def _mongod(facts: Facts) -> Iterator[Found]:
    cache = facts.get("setting.storage.wiredTiger.engineConfig.cacheSizeGB")
    host = facts.fact(HOST)
    if cache is None or cache.number * 2**30 <= 0.8 * host.number:
        return
    own = max(0.25, 0.5 * (host.number / 2**30 - 1))
    name = "storage.wiredTiger.engineConfig.cacheSizeGB"
    yield Found(
        what=f"a cache of {cache.number:g} GB on a host of {gib(host.number)}",
        evidence=(cache, host),
        effect=f"{cache.number * 2**30 / host.number:.0%} of the host's memory; connections, sorts"
        " and the file cache need the rest",
        fix=setting(name, f"{own:.2f}"),
        undo=setting(name, cache.text),
    )


def _whole(size: float) -> int:
    """In whole MiB, as bytes."""
    return int(size / 2**20) * 2**20


RULES = (
    Rule(
        id="mysql-memory-budget",
        pack="configuration",
        title="More memory promised than the host has",
        about="Shared memory and that of sessions, from the settings, against the host: high if"
        " shared memory alone exceeds it, medium with the connections seen at once, low with all"
        " that are allowed. The formula: buffer pool x 1.05 + log, key, Aria and query caches +"
        " connections x (sort + join + read + read_rnd + binary log cache + stack).",
        severity="medium",
        applies=("mysql", "mariadb"),
        needs=(HOST, "setting.innodb_buffer_pool_size"),
        judge=_judge,
        source="https://dev.mysql.com/doc/refman/8.4/en/memory-use.html",
    ),
    Rule(
        id="postgres-memory-budget",
        pack="configuration",
        title="More memory promised than the host has",
        about="shared_buffers, WAL buffers, autovacuum's workers and all connections' work memory"
        " against the host: high if shared memory alone exceeds it, low with all connections.",
        severity="medium",
        applies=("postgres",),
        needs=(HOST, "setting.shared_buffers"),
        judge=_judge,
        source="https://www.postgresql.org/docs/current/runtime-config-resource.html",
    ),
    Rule(
        id="redis-memory-budget",
        pack="configuration",
        title="maxmemory does not fit into the host",
        about="maxmemory against the host's memory; twice of it where a child saves, since each"
        " page that is written meanwhile is copied.",
        severity="medium",
        applies=("redis",),
        needs=(HOST, "setting.maxmemory"),
        judge=_redis,
        source="https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/memory-optimization/",
    ),
    Rule(
        id="mongodb-memory-budget",
        pack="configuration",
        title="WiredTiger's cache does not fit into the host",
        about="`cacheSizeGB` above 80 % of the host's memory: mongod warns, and the kernel may kill"
        " it.",
        severity="high",
        applies=("mongodb",),
        needs=(HOST, "options"),
        judge=_mongod,
        source="https://www.mongodb.com/docs/manual/reference/configuration-options/#mongodb-setting-storage.wiredTiger.engineConfig.cacheSizeGB",
    ),
)
