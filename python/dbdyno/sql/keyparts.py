"""Definitions of keys in a tree, as indexes."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from dbdyno.sql.parsing import Parsed
from dbdyno.sql.schema import BTREE, Index, Part

Node = exp.Expr
PRIMARY = "PRIMARY"


def index(node: Node, parsed: Parsed) -> Index | None:
    """Of a definition in CREATE TABLE or ALTER TABLE; None for one of no index."""
    if isinstance(node, exp.PrimaryKey):
        return Index(name=PRIMARY, parts=parts(node.expressions, parsed), unique=True, primary=True)
    if isinstance(node, exp.UniqueColumnConstraint):
        inner = node.this
        named = inner.this if isinstance(inner, exp.Schema) else None
        listed = inner.expressions if isinstance(inner, exp.Schema) else ()
        found = parts(listed, parsed)
        name = named.name if named is not None else (found[0].column if found else "")
        return Index(name=name, parts=found, unique=True)
    if isinstance(node, exp.IndexColumnConstraint):
        found = parts(node.expressions, parsed)
        return Index(
            name=node.name or (found[0].column if found else ""),
            parts=found,
            kind=kind(node.args.get("kind") or node.args.get("index_type") or _using(node)),
        )
    return None


def of_column(column: str, primary: bool) -> Index:
    """PRIMARY KEY or UNIQUE behind a column."""
    name = PRIMARY if primary else column
    return Index(name=name, parts=(Part(column),), unique=True, primary=primary)


def parts(nodes: Iterable[Node], parsed: Parsed) -> tuple[Part, ...]:
    """Columns, prefixes and expressions, with their directions."""
    return tuple(_part(node, parsed) for node in nodes)


def _part(node: Node, parsed: Parsed) -> Part:
    descending = isinstance(node, exp.Ordered) and bool(node.args.get("desc"))
    bare = node.this if isinstance(node, exp.Ordered) else node
    if isinstance(bare, exp.Opclass):  # another order than the column's own
        words = f"{parsed.written(bare.this)} {bare.expression.name}"
        return Part(expression=words, descending=descending)
    if isinstance(bare, exp.Identifier | exp.Column):
        return Part(bare.name, descending=descending)
    if isinstance(bare, exp.ColumnPrefix):
        return Part(bare.this.name, prefix=int(bare.expression.name), descending=descending)
    prefix = _prefix(bare)
    if prefix is not None:
        return Part(bare.name, prefix=prefix, descending=descending)
    while isinstance(bare, exp.Paren) and parsed.written(bare).startswith("("):
        bare = bare.this
    return Part(expression=parsed.written(bare), descending=descending)


def _prefix(node: Node) -> int | None:
    """`a(10)` in CREATE INDEX has the form of a function."""
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1:
        value = node.expressions[0]
        if isinstance(value, exp.Literal) and str(value.this).isdigit():
            return int(value.this)
    return None


def _using(node: Node) -> object:
    for one in node.args.get("options") or ():
        if one.args.get("using"):
            return one.args["using"]
    return None


def kind(found: object) -> str:
    """In small letters; a B-tree where none is named."""
    name = found.name if isinstance(found, exp.Expr) else found
    return str(name or BTREE).lower()
