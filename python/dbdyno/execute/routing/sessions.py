"""Sessions through a router, as the cases of an examination need them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import pg8000.exceptions

from dbdyno.audit.routing.cases import ERROR, EXTENDED, NAMED, PREPARED, TABLE, Case, Step, Tag
from dbdyno.audit.routing.judge import Answer, Reads

LOST = f"{ERROR}08006"  # connection_failure: PostgreSQL's manual, "PostgreSQL Error Codes"
READS = 20
STALE_MAX_S = 10.0  # how long a change is waited for
SPARE_ID = 10  # of the row that only `stale_reads` changes

Open = Callable[[], Any]
"""A new connection."""


class Sessions:
    """The sessions of one case, by their names; use as a context manager."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened
        self._connections: dict[str, Any] = {}
        self._prepared: dict[str, Any] = {}  # by session

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._connections):
            self._close(name)

    def answer(self, tag: Tag, case: Case, step: Step) -> Answer:
        """Sends one statement, and takes its answer down."""
        try:
            result = self._result(tag, case, step)
        except pg8000.exceptions.DatabaseError as error:
            said = error.args[0] if error.args else {}
            code = said.get("C", "") if isinstance(said, dict) else ""
            result = f"{ERROR}{code}" if code else LOST
        except (pg8000.exceptions.Error, OSError):
            result = LOST
        if result == LOST:
            self._close(step.session)
        return Answer(tag, case, step, result)

    def _result(self, tag: Tag, case: Case, step: Step) -> str:
        connection = self._connection(step.session)
        if step.way == PREPARED:
            sql = tag.executed(case).behind(step.sql)
            self._prepared[step.session] = connection.prepare(sql)
            return ""
        if step.way == NAMED:
            if step.session not in self._prepared:
                return LOST  # with the connection that had it
            return _first(self._prepared[step.session].run())
        sql = tag.behind(step.sql)
        if step.way == EXTENDED:
            return _first(connection.execute_unnamed(sql).rows)
        return _first(connection.execute_simple(sql).rows)

    def _connection(self, name: str) -> Any:
        if name not in self._connections:
            self._connections[name] = self._opened()
        return self._connections[name]

    def _close(self, name: str) -> None:
        self._prepared.pop(name, None)
        connection = self._connections.pop(name, None)
        if connection is not None:
            with contextlib.suppress(pg8000.exceptions.Error, OSError):
                connection.close()


def _first(rows: Any) -> str:
    return str(rows[0][0]) if rows else ""


def stale_reads(opened: Open, number: int, check: Callable[[], None]) -> Reads:
    """Reads what one session has changed and committed, again and again, until it has the change;
    so many changes, with numbers from `number` on, or until one is waited for in vain."""
    done, stale, longest_s = 0, 0, 0.0
    with contextlib.closing(opened()) as connection:
        for n in range(number, number + READS):
            check()
            connection.execute_simple(f"UPDATE {TABLE} SET v = {n} WHERE id = {SPARE_ID}")
            committed, last_s = time.monotonic(), 0.0
            while last_s < STALE_MAX_S:
                begun_s = time.monotonic() - committed
                rows = connection.execute_simple(f"SELECT v FROM {TABLE} WHERE id = {SPARE_ID}")
                if _first(rows.rows) == str(n):
                    break
                last_s = max(begun_s, 1e-6)
            done += 1
            stale += last_s > 0
            longest_s = max(longest_s, last_s)
            if longest_s >= STALE_MAX_S:  # a standby that is stuck: each further one would wait
                break
    return Reads(done, stale, round(longest_s * 1e3, 3), longest_s >= STALE_MAX_S)
