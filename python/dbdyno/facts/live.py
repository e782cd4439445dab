"""Facts of the server behind a URL."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials
from dbdyno.facts.at_rest import keys
from dbdyno.facts.fact import HOST, Facts
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.servers import mongodb, mysql, mysql_tables, postgres, redis
from dbdyno.systems.external import reach
from dbdyno.systems.mongodb.external import MongoRemote
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres.external import PostgresRemote
from dbdyno.systems.redis.external import RedisRemote
from dbdyno.systems.server_errors import understanding

WATCHED = "watched"  # `watched.qcache_hits`: what a counter grew by in `watched.seconds`


def read(
    text: str,
    credentials: Credentials,
    tls: str | None,
    *,
    for_s: float = 0.0,
    statements: bool = True,
) -> Facts:
    """Logs in, reads and logs out. DynoError as `reach.open_url`. `for_s`: counters
    are read twice, so long apart; `statements`: statement classes are read, without literals."""
    server: Any = reach.open_url(text, credentials, tls, for_check=True)
    found = Gathered()
    try:
        with understanding(server.place, "its facts"):
            if _is_near(text):
                found.add(f"{HOST}.memory_bytes", _memory_bytes(), "/proc/meminfo", "bytes")
            if for_s > 0 and not isinstance(server, MysqlRemote):
                raise DynoError(
                    f"`--for` watches counters of MySQL and MariaDB, not of {server.place}",
                    fix="remove it: no rule on this server needs it",
                )
            if isinstance(server, MysqlRemote):
                facts = mysql.read(server, found, statements=statements)
                if _is_near(text):
                    keys.place(facts, found)
                if for_s > 0:
                    _watch(server, found, for_s)
                return facts
            if isinstance(server, PostgresRemote):
                return postgres.read(server, found, statements=statements)
            if isinstance(server, MongoRemote):
                return mongodb.read(server, found)
            assert isinstance(server, RedisRemote)
            return redis.read(server, found)
    finally:
        server.stop()


def read_late(text: str, credentials: Credentials, tls: str | None, facts: Facts) -> Facts:
    """The same facts, and what a server of MySQL's family has executed by now."""
    if facts.engine not in ("mysql", "mariadb"):
        return facts
    server = reach.open_url(text, credentials, tls)
    found = Gathered()
    try:
        with understanding(server.place, "its facts"):
            assert isinstance(server, MysqlRemote)
            mysql.read_late(server, found, facts)
    finally:
        server.stop()
    late = found.facts(facts.subject, facts.source, facts.engine)
    return replace(
        facts,
        facts={**facts.facts, **late.facts},
        tables={**facts.tables, **late.tables},
        missing={**facts.missing, **late.missing},
    )


def _is_near(text: str) -> bool:
    return server_url.parse(text, for_check=True).on_this_machine


def _watch(server: MysqlRemote, found: Gathered, for_s: float) -> None:
    """What counters grow by, over a moment: totals since the start hide what is now."""
    before, began = mysql.counters(server), time.monotonic()
    tables, _ = mysql.table_counts(server)
    time.sleep(for_s)
    later, source = mysql.table_counts(server)
    after, seconds = mysql.counters(server), time.monotonic() - began
    place = f"{mysql.COUNTERS}, twice"
    found.add(f"{WATCHED}.seconds", round(seconds, 3), place, "s")
    for name, value in after.items():
        old = before.get(name, "")
        if value.isdigit() and old.isdigit() and int(value) >= int(old):
            found.add(f"{WATCHED}.{name}", int(value) - int(old), place)
    if later:
        found.table(mysql_tables.TABLE, mysql_tables.grown(tables, later), f"{source}, twice")
    else:
        found.lacks(
            mysql_tables.TABLE,
            "neither userstat nor performance_schema shows tables to this account",
        )


def _memory_bytes() -> int:
    """Of this machine, or of the control group that it lends us."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):  # `max`, or another kind of control groups
        return physical
    return min(physical, limit)
