"""Loads that leave one transaction a statement in a source's log, in a known order."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tools.proof.replica.pair import SCHEMAS, STATEMENT, Pair

LONGEST_RUN = 200


def even(count: int) -> Iterator[int]:
    """Schemas by chance, all alike."""
    drawn = random.Random(1)
    return (drawn.randrange(SCHEMAS) for _ in range(count))


def skewed(count: int) -> Iterator[int]:
    """One schema has half of them."""
    drawn = random.Random(1)
    return (0 if drawn.random() < 0.5 else drawn.randrange(1, SCHEMAS) for _ in range(count))


def runs(count: int) -> Iterator[int]:
    """One schema after the other, each for a while."""
    drawn = random.Random(1)
    made: list[int] = []
    while len(made) < count:
        made += [drawn.randrange(SCHEMAS)] * drawn.randint(1, LONGEST_RUN)
    return iter(made[:count])


def in_turn(order: Callable[[int], Iterator[int]]) -> Callable[[Pair, int], None]:
    """A session for each schema, one statement after the other; in MariaDB each session has a
    domain of its own."""

    def send(pair: Pair, count: int) -> None:
        sessions = [pair.source.connect() for _ in range(SCHEMAS)]
        for number, session in enumerate(sessions):
            if pair.kind == "mariadb":
                session.query(f"SET gtid_domain_id = {number + 1}")
        for schema in order(count):
            sessions[schema].query(STATEMENT.format(schema))
        for session in sessions:
            session.close()

    return send


def at_once(pair: Pair, count: int) -> None:
    """All sessions send as fast as answers come."""

    def work(schema: int) -> None:
        session = pair.source.connect()
        for _ in range(count // SCHEMAS):
            session.query(STATEMENT.format(schema))
        session.close()

    threads = [threading.Thread(target=work, args=(schema,)) for schema in range(SCHEMAS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@dataclass(frozen=True)
class Load:
    """A kind of server, its settings, and what is sent to it."""

    about: str
    kind: str
    send: Callable[[Pair, int], None]
    settings: Mapping[str, str]


GROUPS: Mapping[str, Mapping[str, str]] = {
    "mysql": {
        "binlog_group_commit_sync_delay": "3000",
        "binlog_group_commit_sync_no_delay_count": "6",
    },
    "mariadb": {"binlog_commit_wait_count": "6", "binlog_commit_wait_usec": "3000"},
}
LOADS = (
    Load("MariaDB, 8 domains by chance", "mariadb", in_turn(even), {}),
    Load("MariaDB, one of 8 domains has half", "mariadb", in_turn(skewed), {}),
    Load("MariaDB, domains in runs of 1 to 200", "mariadb", in_turn(runs), {}),
    Load("MariaDB, group commits of 8 sessions", "mariadb", at_once, GROUPS["mariadb"]),
    Load("MySQL, group commits of 8 sessions", "mysql", at_once, GROUPS["mysql"]),
)
