"""`session:` of an external server: SET of the session's own settings, to plain values.

Such a statement runs on every connection of the load, next to somebody else's data. Its allowed
forms are listed; all else is refused, unread. Expressions are refused since they may call
functions, quoted names and comments since servers do not agree on where they end.

Sources: MySQL 8.4 and MariaDB manuals ("SET Syntax for Variable Assignment", "SET NAMES", "SET
TRANSACTION", "System Variables"); PostgreSQL 17's ("SET", "SET SESSION CHARACTERISTICS").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbdyno import kinds

_NAME = r"[a-z_][a-z0-9_]*"
_VALUE = r"""(?:'[^'\\]*'|"[^"\\]*"|[-+]?\d[\d.]*(?:e[-+]?\d+)?|[a-z_][a-z0-9_]*)"""
_ISOLATION = r"isolation\s+level\s+(?:read\s+(?:un)?committed|repeatable\s+read|serializable)"
_FLAGS = re.IGNORECASE | re.ASCII
_ASSIGNMENT = rf"(?:(?:session|local)\s+|@@(?:(?:session|local)\s*\.\s*)?|@)?(?P<name>{_NAME})"
_MYSQL_ASSIGNMENT = re.compile(rf"\s*{_ASSIGNMENT}\s*:?=\s*{_VALUE}\s*(?P<more>,|\Z)", _FLAGS)
_MYSQL_WHOLE = re.compile(
    rf"names\s+{_VALUE}(?:\s+collate\s+{_VALUE})?"
    rf"|(?:character\s+set|charset)\s+{_VALUE}"
    rf"|(?:(?:session|local)\s+)?transaction\s+{_ISOLATION}",
    _FLAGS,
)
_POSTGRES_ASSIGNMENT = re.compile(
    rf"(?:(?:session|local)\s+)?(?P<name>{_NAME}(?:\.{_NAME})?)"
    rf"(?:\s*=\s*|\s+to\s+){_VALUE}(?:\s*,\s*{_VALUE})*",
    _FLAGS,
)
_POSTGRES_WHOLE = re.compile(
    rf"names\s+{_VALUE}"
    rf"|(?:(?:session|local)\s+)?time\s+zone\s+{_VALUE}"
    rf"|session\s+characteristics\s+as\s+transaction\s+{_ISOLATION}",
    _FLAGS,
)
# Settings by which a session gets more rights, lifts its guard, runs other code, or hides from logs
# and replicas what it does.
_KEPT = frozenset(
    """
    transaction_read_only tx_read_only default_transaction_read_only read_only super_read_only
    role default_role password session_authorization session_replication_role
    sql_log_bin sql_log_off binlog_format binlog_row_image binlog_direct_non_transactional_updates
    gtid_next gtid_domain_id gtid_seq_no gtid_purged server_id insert_id
    pseudo_slave_mode pseudo_replica_mode pseudo_thread_id wsrep_on wsrep_osu_method
    wsrep_ignore_apply_errors debug debug_dbug debug_sync
    session_track_system_variables allow_system_table_mods ignore_system_indexes
    zero_damaged_pages ignore_checksum_failure lo_compat_privileges dynamic_library_path
    local_preload_libraries session_preload_libraries global persist persist_only
    """.split()  # noqa: SIM905
)


def refusal(statement: str, kind: str) -> str:
    """Why an external server of this kind is not sent a session statement; empty: it may be."""
    found = re.fullmatch(r"\s*set\s+(?P<rest>.*?)\s*;?\s*", statement, _FLAGS | re.DOTALL)
    if found is None:
        return "only SET of a session's own settings is sent to an external server"
    names = (_postgres if kinds.of(kind).language == kinds.POSTGRES else _mysql)(found["rest"])
    if names is None:
        return (
            "it is none of `SET name = value` (MySQL, MariaDB: several, with commas; PostgreSQL: "
            "TO too), SET NAMES, SET TIME ZONE, SET ... ISOLATION LEVEL, with numbers, words and "
            "strings as values"
        )
    kept = next((name for name in names if name.lower() in _KEPT), None)
    return f"`{kept}` is not a load's to set on an external server" if kept else ""


def _mysql(rest: str) -> list[str] | None:
    """The names that are set; None for unrecognised text."""
    return [] if _MYSQL_WHOLE.fullmatch(rest) else _all(_assignments(rest))


def _assignments(rest: str) -> Iterator[str | None]:
    at = 0
    while True:
        found = _MYSQL_ASSIGNMENT.match(rest, at)
        yield found["name"] if found else None
        if not found or not found["more"]:
            return
        at = found.end()


def _all(names: Iterator[str | None]) -> list[str] | None:
    found = list(names)
    return None if None in found else [name for name in found if name]


def _postgres(rest: str) -> list[str] | None:
    if _POSTGRES_WHOLE.fullmatch(rest):
        return []
    found = _POSTGRES_ASSIGNMENT.fullmatch(rest)
    return [found["name"]] if found else None
