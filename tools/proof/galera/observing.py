"""Watches nodes while things are done to them: their state, and the commits of a steady writer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import pymysql
from tools.proof.galera.nodes import Node

POLL_S = 0.02
ANSWER_S = 60.0  # a commit may wait that long for the group
DOWN = "down"
PRIMARY, NON_PRIMARY = "Primary", "non-Primary"


@dataclass
class Seen:
    """What one node was seen to be, and what it committed; seconds on the watch's clock."""

    states: list[tuple[float, str, int]] = field(default_factory=list)  # since, state, members
    commits: list[float] = field(default_factory=list)
    errors: list[tuple[float, int]] = field(default_factory=list)


class Watch:
    """Threads that look and write; a context manager."""

    def __init__(self, nodes: Iterable[Node], writers: Iterable[str] = ()) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.writers = tuple(writers)
        self.seen = {name: Seen() for name in self.nodes}
        self._begun = time.monotonic()
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []

    def now(self) -> float:
        """Seconds since the watch began."""
        return time.monotonic() - self._begun

    @property
    def began(self) -> bool:
        """Whether every node has been seen and every writer has committed."""
        written = all(self.seen[name].commits for name in self.writers)
        return written and all(seen.states for seen in self.seen.values())

    def __enter__(self) -> Watch:
        jobs = [(self._look, name) for name in self.nodes]
        jobs += [(self._write, name) for name in self.writers]
        self._threads = [threading.Thread(target=f, args=(n,), daemon=True) for f, n in jobs]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(2.0)

    def _look(self, name: str) -> None:
        node, seen = self.nodes[name], self.seen[name]
        session: pymysql.connections.Connection | None = None
        while not self._end.wait(POLL_S):
            state, members = DOWN, 0
            with suppress(pymysql.MySQLError, OSError):
                session = session or node.connect(1.0)
                state, members = _state(session)
                if state not in (PRIMARY, NON_PRIMARY):  # shutting down
                    state, members = DOWN, 0
            if state == DOWN:
                session = None
                if node.process is not None and seen.states:
                    continue  # silent, or on its way up: its last state counts
            if not seen.states or seen.states[-1][1:] != (state, members):
                seen.states.append((self.now(), state, members))

    def _write(self, name: str) -> None:
        node, seen = self.nodes[name], self.seen[name]
        session: pymysql.connections.Connection | None = None
        while not self._end.wait(POLL_S / 2):
            try:
                session = session or node.connect(ANSWER_S)
                with session.cursor() as cursor:
                    cursor.execute("INSERT INTO watched.steps VALUES (NULL)")
                seen.commits.append(self.now())
            except (pymysql.MySQLError, OSError) as error:
                code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
                seen.errors.append((self.now(), code))
                if code != 1047 and code != 1213:
                    session = None


def prepare(node: Node) -> None:
    """The table that writers write to."""
    node.ask("CREATE DATABASE IF NOT EXISTS watched")
    node.ask("CREATE TABLE watched.steps (id BIGINT AUTO_INCREMENT PRIMARY KEY)")


def _state(session: pymysql.connections.Connection) -> tuple[str, int]:
    with session.cursor() as cursor:
        cursor.execute(
            "SHOW GLOBAL STATUS WHERE Variable_name IN"
            " ('wsrep_cluster_status', 'wsrep_cluster_size')"
        )
        found = dict(cursor.fetchall())
    return str(found["wsrep_cluster_status"]), int(found["wsrep_cluster_size"])
