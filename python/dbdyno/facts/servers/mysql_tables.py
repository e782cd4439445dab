"""Tables of MySQL and MariaDB: which are written and read, and the space of their files.

Writes and reads are by the server's own counters of tables: MariaDB's
`userstat`, which it shows to accounts with SELECT on all schemas, else performance_schema. Both are
off in MariaDB unless they are switched on.

A write to a table throws away all results in the query cache that used it. Sources: MariaDB's page
"Information Schema TABLE_STATISTICS Table"; the MySQL manual, "Table I/O and Lock Wait
Summary Tables".

The files of the 100 largest tables: only of one table each, since DATA_FREE of a table in a shared
tablespace is that of the whole tablespace, and would count once a table. Sources: the manuals'
pages on INNODB_TABLESPACES, INNODB_SYS_TABLESPACES and TABLES.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdyno.facts.servers.query import Query

TABLE = "watched_tables"
Counts = Mapping[tuple[str, str], tuple[int, int]]  # (schema, table) -> rows written, rows read
_SYSTEM = "('mysql', 'performance_schema', 'information_schema', 'sys')"
COUNTED = (
    Query(
        TABLE,
        "SELECT table_schema, table_name, rows_changed, rows_read"
        f" FROM information_schema.table_statistics WHERE table_schema NOT IN {_SYSTEM}",
        ("mariadb >=10.1.1",),
    ),
    Query(
        TABLE,
        "SELECT object_schema, object_name, count_write, count_read"
        " FROM performance_schema.table_io_waits_summary_by_table"
        f" WHERE object_type = 'TABLE' AND object_schema NOT IN {_SYSTEM}",
        ("mysql >=5.6 <8.0.3", "mariadb"),
    ),
)
_LENGTHS = "t.table_schema, t.table_name, t.data_length, t.index_length, t.data_free"
_JOINED = (
    " JOIN information_schema.tables t ON t.table_schema = SUBSTRING_INDEX(s.name, '/', 1)"
    " AND t.table_name = SUBSTRING_INDEX(s.name, '/', -1) ORDER BY s.file_size DESC"
)


def _largest(table: str, columns: str, condition: str) -> str:
    return (
        f"SELECT {_LENGTHS}, {columns} FROM (SELECT * FROM information_schema.{table}"
        f" WHERE name LIKE '%/%'{condition} ORDER BY file_size DESC LIMIT 100) s{_JOINED}"
    )


QUERIES = (
    Query(
        "table_files",
        _largest(
            "innodb_tablespaces",
            "s.file_size, s.allocated_size, s.autoextend_size",
            " AND space_type = 'Single'",
        ),
        ("mysql >=8.0.23",),
    ),
    Query(
        "table_files",
        _largest("innodb_sys_tablespaces", "s.file_size, s.allocated_size", ""),
        ("mariadb >=10.2.1",),
    ),
)


def counts(rows: Any) -> Counts:
    """Of a query's rows."""
    return {
        (str(schema), str(name)): (int(written or 0), int(read or 0))
        for schema, name, written, read in rows
    }


def grown(before: Counts, after: Counts) -> list[dict[str, Any]]:
    """Tables whose counters grew, most written first. A counter that fell was reset."""
    found = []
    for name, (written, read) in after.items():
        old = before.get(name, (0, 0))
        if (written, read) != old and written >= old[0] and read >= old[1]:
            row = {"schema": name[0], "table": name[1]}
            found.append({**row, "written": written - old[0], "read": read - old[1]})
    return sorted(found, key=lambda row: (-row["written"], row["schema"], row["table"]))
