"""What is asked of MySQL's and MariaDB's dictionary and statement counters: tables of users, their
columns, indexes and foreign keys, how often an index was read, and statement classes.

Sources: the two manuals' pages on TABLES, COLUMNS, STATISTICS, KEY_COLUMN_USAGE of
information_schema, mysql.innodb_index_stats, and of performance_schema
table_io_waits_summary_by_index_usage and events_statements_summary_by_digest. Every answer ends
after a number of rows. Members of ENUM and SET are values, and not read.
"""

from __future__ import annotations

from dbdyno.facts.fact import Facts
from dbdyno.facts.schema.bounds import MOST, STATEMENTS
from dbdyno.facts.schema.workload import NOT_COLLECTED
from dbdyno.facts.servers.query import Query

_SYSTEM = "('mysql', 'sys', 'information_schema', 'performance_schema')"
_BOTH = ("mysql", "mariadb")


def _columns(generated: str) -> str:
    return (
        "SELECT table_schema AS `schema`, table_name AS `table`, column_name AS `column`,"
        " ordinal_position AS position, CASE WHEN data_type IN ('enum', 'set') THEN data_type ELSE"
        " column_type END AS type, collation_name AS collation, is_nullable AS nullable,"
        f" {generated} AS `generated` FROM information_schema.columns WHERE table_schema NOT IN"
        f" {_SYSTEM} ORDER BY table_schema, table_name, ordinal_position"
        f" LIMIT {MOST['user_columns']}"
    )


def _indexes(expression: str, usable: str) -> str:
    return (
        "SELECT table_schema AS `schema`, table_name AS `table`, index_name AS `index`,"
        f" seq_in_index AS position, column_name AS `column`, {expression} AS expression, sub_part"
        " AS prefix, collation = 'D' AS descending, non_unique = 0 AS is_unique, index_name ="
        f" 'PRIMARY' AS is_primary, LOWER(index_type) AS kind, {usable} AS usable, '' AS predicate,"
        f" 0 AS included FROM information_schema.statistics WHERE table_schema NOT IN {_SYSTEM}"
        f" ORDER BY table_schema, table_name, index_name, seq_in_index LIMIT {MOST['user_indexes']}"
    )


_DIGESTS = "performance_schema.events_statements_summary_by_digest"
_OF_USERS = f"DIGEST IS NOT NULL AND IFNULL(SCHEMA_NAME, '') NOT IN {_SYSTEM}"
QUERIES = (
    Query(
        "user_tables",
        "SELECT table_schema AS `schema`, table_name AS `table`, LOWER(engine) AS engine,"
        " table_rows AS `rows`, data_length AS bytes FROM information_schema.tables WHERE"
        f" table_type = 'BASE TABLE' AND table_schema NOT IN {_SYSTEM} ORDER BY table_schema,"
        f" table_name LIMIT {MOST['user_tables']}",
        _BOTH,
    ),
    Query("user_columns", _columns("''"), ("mysql <5.7", "mariadb <10.2")),
    Query("user_columns", _columns("generation_expression"), ("mysql >=5.7", "mariadb >=10.2")),
    Query("user_indexes", _indexes("''", "1"), ("mysql <8.0", "mariadb <10.6")),
    Query("user_indexes", _indexes("''", "is_visible = 'YES'"), ("mysql >=8.0 <8.0.13",)),
    Query("user_indexes", _indexes("expression", "is_visible = 'YES'"), ("mysql >=8.0.13",)),
    Query("user_indexes", _indexes("''", "ignored = 'NO'"), ("mariadb >=10.6",)),
    Query(
        "index_sizes",
        "SELECT database_name AS `schema`, table_name AS `table`, index_name AS `index`, stat_value"
        " * @@innodb_page_size AS bytes FROM mysql.innodb_index_stats WHERE stat_name = 'size' AND"
        f" database_name NOT IN {_SYSTEM} LIMIT {MOST['user_indexes']}",
        _BOTH,
    ),
    Query(
        "user_foreign_keys",
        "SELECT table_schema AS `schema`, table_name AS `table`, constraint_name AS `key`,"
        " ordinal_position AS position, column_name AS `column`, referenced_table_schema AS"
        " references_schema, referenced_table_name AS references_table, referenced_column_name AS"
        " references_column FROM information_schema.key_column_usage WHERE referenced_table_name IS"
        f" NOT NULL AND table_schema NOT IN {_SYSTEM} ORDER BY table_schema, table_name,"
        f" constraint_name, ordinal_position LIMIT {MOST['user_foreign_keys']}",
        _BOTH,
    ),
    Query(
        "index_usage",
        "SELECT OBJECT_SCHEMA AS `schema`, OBJECT_NAME AS `table`, INDEX_NAME AS `index`,"
        " COUNT_READ AS `reads` FROM performance_schema.table_io_waits_summary_by_index_usage"
        f" WHERE INDEX_NAME IS NOT NULL AND OBJECT_SCHEMA NOT IN {_SYSTEM}"
        f" LIMIT {MOST['user_indexes']}",
        _BOTH,
    ),
    Query(
        "statements",
        "SELECT DIGEST AS id, SCHEMA_NAME AS `schema`, DIGEST_TEXT AS `sql`, COUNT_STAR AS `count`,"
        " SUM_TIMER_WAIT / 1000000000000 AS time_s, SUM_ROWS_EXAMINED AS rows_examined,"
        f" SUM_ROWS_SENT AS rows_sent FROM {_DIGESTS} WHERE {_OF_USERS} ORDER BY SUM_TIMER_WAIT"
        f" DESC LIMIT {MOST['statements']}",
        _BOTH,
    ),
    Query(
        "statements_total",
        f"SELECT COUNT(*) AS classes, SUM(SUM_TIMER_WAIT) / 1000000000000 AS time_s FROM {_DIGESTS}"
        f" WHERE {_OF_USERS}",
        _BOTH,
    ),
)
COUNTED = (*STATEMENTS, "index_usage")


def not_asked(table: str, known: Facts, statements: bool) -> str:
    """Why a table is not read; empty if it is. Counters that are off are empty, which is not 0."""
    if table in STATEMENTS and not statements:
        return NOT_COLLECTED
    counts = known.get("setting.performance_schema")
    if table in COUNTED and (counts is None or not counts.on):
        return "performance_schema is off"
    return ""
