"""SQL files into SQLite: statement by statement, in this process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

from dbdyno.systems.sql_files import Rejected

STATEMENT_BYTES_MAX = 1 << 30  # SQLite's own limit


class SqliteImporter:
    """Sends each statement once it is whole. Other files cannot be attached."""

    def __init__(self, opened: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
        self._stack = ExitStack()
        self._connection = self._stack.enter_context(opened())
        self._connection.isolation_level = None  # BEGIN and COMMIT are the file's
        self._connection.set_authorizer(_confine)
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._line = 0
        self._first = 1  # line where the pending statement begins

    def feed(self, line: bytes) -> None:
        self._line += 1
        if not self._held:
            if not line.strip() or line.lstrip().startswith(b"--"):
                return
            self._first = self._line
        self._held.append(line)
        self._held_bytes += len(line)
        if self._held_bytes > STATEMENT_BYTES_MAX:
            raise Rejected(self._first, "a statement is longer than 1 GiB", "a missing semicolon")
        if line.rstrip().endswith(b";"):
            text = b"".join(self._held).decode("utf-8", "replace")
            if sqlite3.complete_statement(text):
                self._run(text)

    def finish(self) -> None:
        text = b"".join(self._held).decode("utf-8", "replace")
        if text.strip():
            self._run(text)
        if self._connection.in_transaction:
            raise Rejected(self._line, "the file ends inside a transaction", "it was cut short")
        self._stack.close()

    def abort(self) -> None:
        self._stack.close()

    def stop(self) -> None:
        self._connection.interrupt()

    def _run(self, text: str) -> None:
        self._held, self._held_bytes = [], 0
        try:
            for statement in self._parts(text):
                self._connection.execute(statement)
        except sqlite3.Error as error:
            what = str(error)
            if "not authorized" in what:
                what = "another file would be attached, and only our database may be touched"
            raise Rejected(self._first, what) from None

    def _parts(self, text: str) -> Iterator[str]:
        """The statements of a text that ends with one: mostly it is just that one."""
        begin = end = 0
        if text.count(";") <= 1:
            yield text
            return
        while (end := text.find(";", end) + 1) > 0:
            if sqlite3.complete_statement(text[begin:end]):
                yield text[begin:end]
                begin = end
        if text[begin:].strip():
            yield text[begin:]


def _confine(action: int, *_: object) -> int:
    attaching = action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
    return sqlite3.SQLITE_DENY if attaching else sqlite3.SQLITE_OK
