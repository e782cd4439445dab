"""Tables of a dump as rows of facts, in the form in which servers tell them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dbdyno.facts.gathered import Gathered
from dbdyno.sql.schema import Index, Table

Row = dict[str, Any]


def add(tables: Iterable[tuple[Table, str]], found: Gathered, place: str) -> None:
    """`tables`: each with its own place."""
    rows: dict[str, list[Row]] = {
        "user_tables": [],
        "user_columns": [],
        "user_indexes": [],
        "user_foreign_keys": [],
    }
    for table, where in tables:
        whose = {"schema": table.schema, "table": table.name, "place": where}
        rows["user_tables"].append({**whose, "engine": table.engine, "rows": None, "bytes": None})
        rows["user_columns"] += [
            {
                **whose,
                "column": column.name,
                "position": number,
                "type": _without_members(column.type),
                "collation": column.collation,
                "nullable": column.nullable,
                "generated": column.generated,
            }
            for number, column in enumerate(table.columns.values(), 1)
        ]
        for index in table.indexes:
            rows["user_indexes"] += [{**whose, **row} for row in _index(index)]
        rows["user_foreign_keys"] += [
            {
                **whose,
                "key": key.name or ", ".join(key.columns),
                "position": number,
                "column": column,
                "references_schema": key.references_schema,
                "references_table": key.references_table,
                "references_column": other,
            }
            for key in table.foreign_keys
            for number, (column, other) in enumerate(
                zip(key.columns, key.references_columns or key.columns, strict=False), 1
            )
        ]
    for name, several in rows.items():
        found.table(name, several, place)


def _without_members(kind: str) -> str:
    """Members of ENUM and SET are values."""
    return kind.partition("(")[0] if kind.startswith(("enum", "set(")) else kind


def _index(index: Index) -> Iterable[Row]:
    common = {
        "index": index.name,
        "is_unique": index.unique,
        "is_primary": index.primary,
        "kind": index.kind,
        "usable": index.usable,
        "predicate": index.predicate,
    }
    for number, part in enumerate(index.parts, 1):
        yield {
            **common,
            "position": number,
            "column": part.column,
            "expression": part.expression,
            "prefix": part.prefix,
            "descending": part.descending,
            "included": False,
        }
    for number, name in enumerate(index.include, len(index.parts) + 1):
        yield {
            **common,
            "position": number,
            "column": name,
            "expression": "",
            "prefix": None,
            "descending": False,
            "included": True,
        }
