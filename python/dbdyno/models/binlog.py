"""Inputs that models of the binary log share: how often it is synced, and whose default counts.

Sources: MySQL 8.4 Reference Manual and MySQL 5.7 Release Notes (5.7.7), MariaDB documentation,
`sync_binlog`; read 2026-11.
"""

from __future__ import annotations

from dbdyno.models.model import Input, Note

UNSET = "-1"  # `sync_binlog` is not given: the server's default

SYNC_BINLOG = Input(
    "sync_binlog", "number",
    "commit groups between two syncs of the binary log; 0: the kernel writes it when it likes;"
    " -1: the default of `server`", UNSET, UNSET, "4294967295", whole=True, example="1000",
    variables=("sync_binlog",),
)  # fmt: skip
SERVER = Input(
    "server", "word",
    "whose default of sync_binlog counts: mysql (5.7.7 and later) 1, mysql-5.6 (before 5.7.7) 0,"
    " mariadb (all versions so far) 0", "not-said",
    words=("mysql", "mysql-5.6", "mariadb", "not-said"), asked=True,
)  # fmt: skip
ASKED = (
    "sync_binlog is not given, and its default depends on the server and its version: give"
    " sync_binlog=N, or server=mysql (5.7.7 and later: 1), server=mysql-5.6 (before: 0) or"
    " server=mariadb (0)"
)


def asked(needed: str = "") -> Note:
    """The refusal where nothing says how often the log is synced; `needed`: where that counts."""
    also = f" and {needed}" if needed else ""
    return Note(f"sync_binlog < 0 and server == 'not-said'{also}", ASKED)
