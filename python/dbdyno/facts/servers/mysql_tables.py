"""Which tables are written and read, by the server's own counters of tables: MariaDB's
`userstat`, which it shows to accounts with SELECT on all schemas, else performance_schema. Both are
off in MariaDB unless they are switched on.

A write to a table throws away all results in the query cache that used it. Sources: MariaDB's page
"Information Schema TABLE_STATISTICS Table"; the MySQL manual, "Table I/O and Lock Wait
Summary Tables".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdyno.facts.servers.query import Query

TABLE = "watched_tables"
Counts = Mapping[tuple[str, str], tuple[int, int]]  # (schema, table) -> rows written, rows read
_SYSTEM = "('mysql', 'performance_schema', 'information_schema', 'sys')"
QUERIES = (
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
