"""What is asked of PostgreSQL's catalogue and counters, of one database: tables of users, their
columns, indexes and foreign keys, how often an index was scanned, and statement classes.

Sources: the manual's pages on pg_class, pg_attribute, pg_index, pg_constraint,
pg_stat_user_indexes, pg_stat_database, pg_stat_statements. Sizes are pages of pg_class: functions
that tell a size lock the table. Partitions are not read: their parents have the indexes.
"""

from __future__ import annotations

from dbdyno.facts.fact import Facts
from dbdyno.facts.schema.bounds import MOST, STATEMENTS
from dbdyno.facts.schema.workload import NOT_COLLECTED
from dbdyno.facts.servers.query import Query

_OF_USERS = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND NOT t.relispartition"
_TABLES = (
    "FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace AND t.relkind IN ('r', 'p')"
)
_BYTES = "relpages::bigint * current_setting('block_size')::bigint"
_STATEMENTS = (
    "FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname ="
    " current_database())"
)
_BLOCKS = "shared_blks_hit + shared_blks_read"
QUERIES = (
    Query(
        "user_tables",
        f"SELECT n.nspname, t.relname, '', NULLIF(t.reltuples, -1)::bigint, t.{_BYTES} {_TABLES}"
        f" WHERE {_OF_USERS} ORDER BY 1, 2 LIMIT {MOST['user_tables']}",
        ("postgres >=11",),
    ),
    Query(
        "user_columns",
        "SELECT n.nspname, t.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod),"
        " l.collname, NOT a.attnotnull, CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin,"
        f" d.adrelid) END {_TABLES} JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND"
        " NOT a.attisdropped LEFT JOIN pg_collation l ON l.oid = a.attcollation LEFT JOIN"
        " pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum"
        f" WHERE {_OF_USERS} ORDER BY 1, 2, 4 LIMIT {MOST['user_columns']}",
        ("postgres >=12",),
    ),
    Query(
        "user_indexes",
        "SELECT n.nspname, t.relname, c.relname, k, CASE WHEN o.opcdefault AND"
        " i.indcollation[k - 1] = a.attcollation OR k > i.indnkeyatts THEN a.attname END, CASE WHEN"
        " a.attname IS NULL THEN pg_get_indexdef(c.oid, k, true) ELSE a.attname || ' ' ||"
        " o.opcname END, NULL,"
        " (i.indoption[k - 1] & 1) = 1, i.indisunique OR i.indisexclusion, i.indisprimary,"
        " m.amname, i.indisvalid, pg_get_expr(i.indpred, i.indrelid), k > i.indnkeyatts,"
        f" c.{_BYTES} {_TABLES} JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid ="
        " i.indexrelid JOIN pg_am m ON m.oid = c.relam CROSS JOIN LATERAL generate_series(1,"
        " i.indnatts::int) k LEFT JOIN pg_opclass o ON o.oid = i.indclass[k - 1] LEFT JOIN"
        " pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[k - 1] AND a.attnum > 0"
        f" WHERE {_OF_USERS} ORDER BY 1, 2, 3, 4 LIMIT {MOST['user_indexes']}",
        ("postgres >=11",),
    ),
    Query(
        "user_foreign_keys",
        "SELECT n.nspname, t.relname, c.conname, k.position, a.attname, rn.nspname, r.relname,"
        f" ra.attname {_TABLES} JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype = 'f' JOIN"
        " pg_class r ON r.oid = c.confrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace CROSS"
        " JOIN LATERAL unnest(c.conkey, c.confkey) WITH ORDINALITY k(own, other, position) JOIN"
        " pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.own JOIN pg_attribute ra ON"
        f" ra.attrelid = r.oid AND ra.attnum = k.other WHERE {_OF_USERS} ORDER BY 1, 2, 3, 4"
        f" LIMIT {MOST['user_foreign_keys']}",
        ("postgres >=9.5",),
    ),
    Query(
        "index_usage",
        "SELECT schemaname, relname, indexrelname, idx_scan FROM pg_stat_user_indexes"
        f" LIMIT {MOST['user_indexes']}",
        ("postgres",),
    ),
    Query(  # never reset: they are at least as old as the server's process
        "usage_since",
        "SELECT EXTRACT(EPOCH FROM now() - COALESCE(stats_reset, pg_postmaster_start_time()))"
        "::bigint FROM pg_stat_database WHERE datname = current_database()",
        ("postgres >=9.1",),
    ),
    *(
        Query(
            "statements",
            f"SELECT queryid::text, '', query, calls, {time} / 1000, {_BLOCKS}, rows {_STATEMENTS}"
            f" ORDER BY {time} DESC LIMIT {MOST['statements']}",
            (versions,),
        )
        for time, versions in (
            ("total_time", "postgres >=9.4 <13"),
            ("total_exec_time", "postgres >=13"),
        )
    ),
    *(
        Query(
            "statements_total",
            f"SELECT COUNT(*), SUM({time}) / 1000 {_STATEMENTS}",
            (versions,),
        )
        for time, versions in (
            ("total_time", "postgres >=9.4 <13"),
            ("total_exec_time", "postgres >=13"),
        )
    ),
)
NAMES = {
    "user_tables": ("schema", "table", "engine", "rows", "bytes"),
    "user_columns": (
        *("schema", "table", "column", "position", "type", "collation", "nullable"),
        "generated",
    ),
    "user_indexes": (
        *("schema", "table", "index", "position", "column", "expression", "prefix", "descending"),
        *("is_unique", "is_primary", "kind", "usable", "predicate", "included", "bytes"),
    ),
    "user_foreign_keys": (
        *("schema", "table", "key", "position", "column", "references_schema"),
        *("references_table", "references_column"),
    ),
    "index_usage": ("schema", "table", "index", "reads"),
    "usage_since": ("seconds",),
    "statements": ("id", "schema", "sql", "count", "time_s", "blocks", "rows_sent"),
    "statements_total": ("classes", "time_s"),
}
EXTENSION = "pg_stat_statements"


def not_asked(table: str, known: Facts, statements: bool) -> str:
    """Why a table is not read; empty if it is. A server logs a question for what it does not
    have."""
    if table not in STATEMENTS:
        return ""
    if not statements:
        return NOT_COLLECTED
    extensions = known.tables.get("extensions")
    has = extensions is not None and any(row["name"] == EXTENSION for row in extensions.rows)
    return "" if has else f"{EXTENSION} is not created in this database"
