"""Facts of a running PostgreSQL.

Sources: the manual's pages on pg_settings, pg_file_settings, pg_stat_database and
pg_stat_bgwriter. Nothing but SELECT is sent, in a session that can only read.
"""

from __future__ import annotations

from dbdyno.facts import applies
from dbdyno.facts.fact import Facts, version_of
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema import workload
from dbdyno.facts.servers import postgres_accounts as accounts
from dbdyno.facts.servers import postgres_schema as schema
from dbdyno.facts.servers.query import TIMEOUT_S, Query
from dbdyno.systems.postgres.control import ERRORS, message
from dbdyno.systems.postgres.external import PostgresRemote

SESSION = (
    "SET default_transaction_read_only = on",
    f"SET statement_timeout = '{TIMEOUT_S}s'",
    "SET lock_timeout = '100ms'",
)
SETTINGS = "SELECT name, setting, unit, source, pending_restart FROM pg_settings ORDER BY name"
_COLUMNS = ("name", "setting", "unit", "source", "pending_restart")
_UNITS = {"B": 1, "kB": 1 << 10, "8kB": 8 << 10, "16kB": 16 << 10, "32kB": 32 << 10, "MB": 1 << 20}
QUERIES = (
    Query(
        "extensions",
        "SELECT extname AS name, extversion AS version FROM pg_extension",
        ("postgres",),
    ),
    Query(  # 8 kB pages of the table alone, as of its last VACUUM or ANALYZE: no lock is taken
        "dead_rows",
        "SELECT s.schemaname, s.relname, s.n_live_tup, s.n_dead_tup,"
        " c.relpages::bigint * current_setting('block_size')::bigint,"
        " floor(extract(epoch FROM now() - greatest(s.last_vacuum, s.last_autovacuum)))::bigint"
        " FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid"
        " ORDER BY s.n_dead_tup DESC LIMIT 100",
        ("postgres",),
    ),
    *accounts.QUERIES,
    Query(  # rows of others are hidden from a role without pg_read_all_stats
        "session_tls",
        "SELECT a.usename, host(a.client_addr), s.ssl, s.version, a.backend_type IS NULL, count(*)"
        " FROM pg_stat_activity a LEFT JOIN pg_stat_ssl s ON s.pid = a.pid WHERE a.usename IS NOT"
        " NULL AND (a.backend_type = 'client backend' OR a.backend_type IS NULL)"
        " GROUP BY 1, 2, 3, 4, 5",
        ("postgres >=10",),
    ),
    *schema.QUERIES,
)
_NAMES = {
    "extensions": ("name", "version"),
    "session_tls": ("user", "host", "tls", "tls_version", "hidden", "sessions"),
    "dead_rows": ("schema", "name", "live", "dead", "bytes", "last_vacuum_age_s"),
    **accounts.NAMES,
    **schema.NAMES,
}  # of columns: the protocol's simple form has none


def read(server: PostgresRemote, found: Gathered, *, statements: bool) -> Facts:
    """All facts. DynoError if it does not answer; what it refuses is missing. Settings in units of
    memory are in bytes. `statements`: statement classes too, without their literals."""
    try:
        for statement in SESSION:
            server.rows(statement)
        rows = [dict(zip(_COLUMNS, row, strict=True)) for row in server.rows(SETTINGS)]
    except ERRORS as error:
        raise server.unanswered(error) from None
    for row in rows:
        name, value = str(row["name"]), str(row["setting"])
        factor = _UNITS.get(str(row["unit"]))
        if factor and value.lstrip("-").isdigit() and int(value) > 0:
            value = str(int(value) * factor)
        found.setting(name, value, f"{SETTINGS.partition(' ORDER')[0]} ({row['source']})")
    known = found.facts(server.place, "server", "postgres", version_of(server.version))
    for query in QUERIES:
        if not applies.matches(query.applies, known):
            continue
        reason = schema.not_asked(query.table, known, statements)
        if reason:
            found.lacks(query.table, reason)
            continue
        try:
            names = _NAMES[query.table]
            told = [dict(zip(names, row, strict=True)) for row in server.rows(query.sql)]
        except ERRORS as error:
            found.lacks(query.table, message(error))
            continue
        if query.table == "statements":
            told = workload.kept(told, known.engine, found)
        found.table(query.table, told, query.sql)
    return known
