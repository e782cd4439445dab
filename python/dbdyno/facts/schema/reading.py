"""Facts of tables as a `Schema`. Rows of a server's dictionary and of a schema dump have the same
columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from dbdyno.facts.fact import Facts, Missing
from dbdyno.facts.schema.bounds import MOST
from dbdyno.facts.schema.features import features
from dbdyno.sql.schema import BTREE, Column, ForeignKey, Index, Part, Schema, Table

Key = tuple[str, str]
Row = Mapping[str, Any]
_TRUE = ("1", "yes", "true", "t", "y")
TABLES = ("user_tables", "user_columns", "user_indexes", "user_foreign_keys")


def schema_of(facts: Facts) -> Schema:
    """All tables that are known whole. Missing if tables, columns or indexes were not read."""
    rows = {name: _whole(facts, name) for name in TABLES}
    if not rows["user_tables"][0]:
        reason = "no table of users is seen: there is none, or the account has no grant on any"
        raise Missing("user_tables", reason)
    cut = min((end for _, end in rows.values() if end is not None), default=None)
    sizes = _sizes(facts)
    columns = _grouped(rows["user_columns"][0])
    indexes = _grouped(rows["user_indexes"][0])
    keys = _grouped(rows["user_foreign_keys"][0])
    return Schema(
        tables=tuple(
            Table(
                name=str(row["table"]),
                schema=str(row["schema"]),
                columns=_columns(columns[key]),
                indexes=tuple(_indexes(key, indexes[key], sizes)),
                foreign_keys=tuple(_foreign_keys(keys[key])),
                rows=_whole_number(row.get("rows")),
                bytes=_whole_number(row.get("bytes")),
                engine=str(row.get("engine") or ""),
            )
            for row in rows["user_tables"][0]
            for key in [_key(row)]
            if cut is None or key < cut
        ),
        features=features(facts),
    )


def _whole(facts: Facts, name: str) -> tuple[tuple[Row, ...], Key | None]:
    """Rows, and the table from which on they are not all there."""
    rows = facts.table(name).rows
    if facts.is_server and len(rows) >= MOST[name]:
        return rows, _key(rows[-1])
    return rows, None


def _key(row: Row) -> Key:
    return (str(row["schema"]), str(row["table"]))


def _grouped(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[_key(row)].append(row)
    for several in found.values():
        several.sort(key=lambda row: int(row["position"]))
    return found


def _columns(rows: Iterable[Row]) -> dict[str, Column]:
    return {
        str(row["column"]).lower(): Column(
            name=str(row["column"]),
            type=str(row["type"]).lower(),
            collation=row.get("collation"),
            nullable=is_true(row.get("nullable")),
            generated=str(row.get("generated") or ""),
        )
        for row in rows
    }


def _indexes(
    key: Key, rows: Iterable[Row], sizes: Mapping[tuple[Key, str], int]
) -> Iterable[Index]:
    by_name: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[str(row["index"])].append(row)
    for name, several in by_name.items():
        first = several[0]
        yield Index(
            name=name,
            parts=tuple(_part(row) for row in several if not is_true(row.get("included"))),
            unique=is_true(first["is_unique"]),
            primary=is_true(first["is_primary"]),
            kind=str(first.get("kind") or BTREE),
            include=tuple(str(row["column"]) for row in several if is_true(row.get("included"))),
            predicate=str(first.get("predicate") or ""),
            usable=is_true(first["usable"]),
            bytes=_whole_number(first.get("bytes")) or sizes.get((key, name)),
        )


def _part(row: Row) -> Part:
    column = str(row.get("column") or "")
    prefix = _whole_number(row.get("prefix"))
    expression = "" if column else str(row.get("expression") or "?")
    return Part(column, expression, prefix, is_true(row.get("descending")))


def _foreign_keys(rows: Iterable[Row]) -> Iterable[ForeignKey]:
    by_name: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[str(row["key"])].append(row)
    for name, several in by_name.items():
        yield ForeignKey(
            name=name,
            columns=tuple(str(row["column"]) for row in several),
            references_schema=str(several[0]["references_schema"]),
            references_table=str(several[0]["references_table"]),
            references_columns=tuple(str(row["references_column"]) for row in several),
        )


def _sizes(facts: Facts) -> dict[tuple[Key, str], int]:
    try:
        rows = facts.table("index_sizes").rows
    except Missing:
        return {}
    return {
        (_key(row), str(row["index"])): size
        for row in rows
        if (size := _whole_number(row["bytes"])) is not None
    }


def is_true(value: object) -> bool:
    """Of a row's column, whatever a server writes for true."""
    return str(value).lower() in _TRUE


def _whole_number(value: object) -> int | None:
    try:
        return None if value is None or value == "" else int(float(str(value)))
    except ValueError:
        return None
