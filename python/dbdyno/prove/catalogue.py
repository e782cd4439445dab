"""The schema of the bench's data, as candidates are proposed for: columns and indexes.

Sources: the MySQL manual on information_schema's COLUMNS and STATISTICS; the PostgreSQL manual on
pg_attribute and pg_index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dbdyno import kinds
from dbdyno.facts.fact import Facts, version_of
from dbdyno.facts.schema.features import features
from dbdyno.prove.bench import Bench
from dbdyno.sql.schema import Column, Index, Part, Schema, Table

# Each gives: schema, table, column, type.
_COLUMNS = {
    kinds.MYSQL: "SELECT '', table_name, column_name, column_type FROM information_schema.columns"
    " WHERE table_schema = database() ORDER BY table_name, ordinal_position",
    kinds.POSTGRES: "SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod)"
    " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n"
    " ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND a.attnum > 0"
    " AND NOT a.attisdropped AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
    " ORDER BY c.relname, a.attnum",
}
# Each gives: schema, table, index, method, unique, primary, column, prefix, carried.
_INDEXES = {
    kinds.MYSQL: "SELECT '', table_name, index_name, index_type, non_unique = 0,"
    " index_name = 'PRIMARY', column_name, sub_part, 0 FROM information_schema.statistics"
    " WHERE table_schema = database() ORDER BY table_name, index_name, seq_in_index",
    kinds.POSTGRES: "SELECT n.nspname, t.relname, i.relname, am.amname, x.indisunique,"
    " x.indisprimary, CASE WHEN x.indpred IS NULL THEN a.attname END, NULL,"
    " k.number > x.indnkeyatts FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"
    " JOIN pg_class t ON t.oid = x.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace"
    " JOIN pg_am am ON am.oid = i.relam"
    " CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY k (attribute, number)"
    " LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attribute"
    " WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
    " ORDER BY t.relname, i.relname, k.number",
}
_OF_NOBODY = Part(expression="?")  # of an expression or a partial index: serves no candidate


def schema(bench: Bench) -> Schema:
    """All tables of the data."""
    language = kinds.of(bench.kind).language
    columns: dict[tuple[str, str], list[Column]] = defaultdict(list)
    for place, table, name, type_ in map(_texts, bench.run(_COLUMNS[language])):
        columns[place, table].append(Column(name=name, type=type_.lower()))
    indexes: dict[tuple[str, str], dict[str, Index]] = defaultdict(dict)
    for row in bench.run(_INDEXES[language]):
        place, table, name, method = _texts(row[:4])
        known = indexes[place, table].get(name) or Index(
            name=name, parts=(), unique=bool(row[4]), primary=bool(row[5]), kind=method.lower()
        )
        indexes[place, table][name] = _with(known, row)
    facts = Facts("bench", "server", bench.kind, version_of(bench.server.version))
    return Schema(
        tables=tuple(
            Table(
                name=table,
                schema=place,
                columns={one.name.lower(): one for one in found},
                indexes=tuple(indexes[place, table].values()),
            )
            for (place, table), found in columns.items()
        ),
        features=features(facts),
    )


def _with(known: Index, row: Sequence[Any]) -> Index:
    column, prefix, carried = row[6], row[7], row[8]
    if carried:
        return replace(known, include=(*known.include, str(column)))
    part = Part(str(column), prefix=prefix) if column is not None else _OF_NOBODY
    return replace(known, parts=(*known.parts, part))


def _texts(row: Sequence[Any]) -> list[str]:
    return [one.decode() if isinstance(one, bytes) else str(one) for one in row]
