"""What is asked of the space that tables of MySQL and MariaDB take, of the 100 largest files.

Only files of one table each: DATA_FREE of a table in a shared tablespace is that of the whole
tablespace, and would count once a table. Sources: the manuals' pages on INNODB_TABLESPACES,
INNODB_SYS_TABLESPACES and TABLES.
"""

from __future__ import annotations

from dbdyno.facts.servers.query import Query

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
