"""The parts of a statement that decide which index it can use."""

from __future__ import annotations

from dataclasses import dataclass

SELECT, INSERT, UPDATE, DELETE, REPLACE, OTHER = (
    *("select", "insert", "update", "delete", "replace"),
    "other",
)
# Operators of predicates.
EQUAL, IN, RANGE, IS_NULL, IS_NOT_NULL, DIFFERENT = (
    *("=", "in", "range", "is null", "is not null"),
    "<>",
)
LIKE, LIKE_PREFIX, LIKE_WILDCARD = "like", "like prefix", "like wildcard"
"""LIKE with a pattern that is not known, that begins with text, that begins with a wildcard."""
# What a column is compared with.
NUMBER, STRING, PARAMETER, COLUMN, SUBQUERY, EXPRESSION = (
    *("number", "string", "parameter", "column", "subquery"),
    "expression",
)
FUNCTION, ARITHMETIC, CAST = "function", "arithmetic", "cast"  # what wraps a column


@dataclass(frozen=True)
class Use:
    """One use of a table. `name` and `schema` (may be empty) as written, without quotes; `alias`:
    in small letters, the name of the table if it has none; `scope`: the number of its SELECT."""

    name: str
    alias: str
    schema: str = ""
    scope: int = 0


@dataclass(frozen=True)
class ColumnUse:
    """A column, its name as written, without quotes."""

    table: Use
    name: str


@dataclass(frozen=True)
class Predicate:
    """A condition on one column. `value`: what it is compared with; `expression`: SQL of what wraps
    the column, as written, empty for a bare one; `wrap`: FUNCTION, ARITHMETIC, CAST or empty;
    `function`: the outermost one's name, in capitals; `text`: the whole condition; `must_hold`:
    every row that is returned meets it (it is below no OR or NOT)."""

    column: ColumnUse
    operator: str
    value: str
    text: str
    expression: str = ""
    wrap: str = ""
    function: str = ""
    must_hold: bool = True


@dataclass(frozen=True)
class Join:
    """A column that equals a column of another table's use."""

    left: ColumnUse
    right: ColumnUse


@dataclass(frozen=True)
class Order:
    """An item of ORDER BY or GROUP BY. `expression`: SQL of what is no bare column, as written;
    `column`: None if it is of several columns, of none, or an aggregate."""

    column: ColumnUse | None
    descending: bool = False
    expression: str = ""
    scope: int = 0


@dataclass(frozen=True, kw_only=True)
class Statement:
    """`grouping` and `ordering` of all SELECTs in it, in their order; `selected`: columns in lists
    of SELECT; `stars`: uses of which all columns are selected; `read`: all columns that are read
    anywhere; `written`: columns that are set (all of `written_all`, where none is named);
    `partial`: what of it is not taken apart, a phrase each; empty: all is."""

    kind: str
    tables: tuple[Use, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    joins: tuple[Join, ...] = ()
    grouping: tuple[Order, ...] = ()
    ordering: tuple[Order, ...] = ()
    has_limit: bool = False
    selected: tuple[ColumnUse, ...] = ()
    stars: tuple[Use, ...] = ()
    read: tuple[ColumnUse, ...] = ()
    written: tuple[ColumnUse, ...] = ()
    written_all: tuple[Use, ...] = ()
    partial: tuple[str, ...] = ()
