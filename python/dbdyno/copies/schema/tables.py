"""Tables of a schema as a copy needs them: what its columns hold, and the SQL that makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno import kinds

# Families of types: what can be made for a column.
WHOLE, DECIMAL, FLOAT, DAY, TIME, TEXT = "whole", "decimal", "float", "day", "time", "text"
ENUM, BOOLEAN, JSON, BINARY, UUID, OTHER = "enum", "boolean", "json", "binary", "uuid", "other"
RANGED = (WHOLE, DECIMAL, FLOAT, DAY, TIME)
DOCUMENT = '{"made_up": "text"}'  # of all made-up JSON
CODED = (TEXT, BINARY, UUID)  # values are made up: only their frequencies are measured


@dataclass(frozen=True, kw_only=True)
class Column:
    """`type`: as in CREATE TABLE; `length`: greatest, characters; `scale`: decimal places;
    `labels`: of an enumeration; `is_generated`: computed by the server; `has_stand_in`: the copy's
    table fills it by a made-up default, since no loader can."""

    name: str
    type: str
    family: str
    length: int | None = None
    scale: int = 0
    labels: Sequence[str] = ()
    is_nullable: bool = True
    is_generated: bool = False
    has_stand_in: bool = False


@dataclass(frozen=True, kw_only=True)
class Index:
    """`columns`: in index order, up to the first expression; `is_whole`: it is of these columns,
    whole, and of all rows; `prefixes`: different values of the first, of the first two, ...
    columns, as the server estimates them (empty: it does not)."""

    name: str
    columns: Sequence[str]
    is_unique: bool = False
    is_primary: bool = False
    is_whole: bool = True
    prefixes: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class ForeignKey:
    """`sql`: the statement that adds it."""

    name: str
    columns: Sequence[str]
    table: str
    references: Sequence[str]
    sql: str


@dataclass(frozen=True, kw_only=True)
class Check:
    """`expression`: what must not be false; `sql`: its line in CREATE TABLE."""

    name: str
    expression: str
    sql: str


@dataclass(frozen=True, kw_only=True)
class DomainCheck:
    """A check of PostgreSQL's domains. `type`: the domain, as columns have it; `expression`: of
    VALUE; `sql`: the statement that adds it."""

    name: str
    type: str
    expression: str
    sql: str


@dataclass(frozen=True, kw_only=True)
class View:
    """`select`: what it shows; `create`: the statements that make it, on tables without a schema's
    name; `lacks`: why it cannot be copied (empty: it can)."""

    name: str
    select: str
    create: Sequence[str]
    lacks: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """`rows`: about how many, as the server estimates; `create`: without secondary indexes and
    checks; `after`: statements that make these indexes."""

    name: str
    columns: Mapping[str, Column]
    indexes: Sequence[Index]
    foreign: Sequence[ForeignKey]
    rows: int
    create: str
    after: Sequence[str] = ()
    checks: Sequence[Check] = ()

    def created(self, checks: Sequence[Check]) -> str:
        """CREATE TABLE with some of its checks."""
        head, end, tail = self.create.partition("\n)")
        return "".join([head, *(f",\n  {check.sql}" for check in checks), end, tail])

    @property
    def primary(self) -> Sequence[str]:
        """Columns of its primary key; none: it has no such key."""
        return next((each.columns for each in self.indexes if each.is_primary), ())

    @property
    def keys(self) -> Sequence[Sequence[str]]:
        """Columns of its unique keys, the primary one first."""
        found = [each for each in self.indexes if each.is_unique and each.is_whole]
        return [each.columns for each in sorted(found, key=lambda each: not each.is_primary)]

    def is_key(self, column: str) -> bool:
        """Whether no two rows have the same value in it."""
        return any(list(columns) == [column] for columns in self.keys)

    @property
    def filled(self) -> list[Column]:
        """Columns that a copy must fill."""
        return [column for column in self.columns.values() if not column.is_generated]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """`before`: statements that come before the tables; `after`: those after all indexes and
    foreign keys; `omitted`: a sentence for each thing that is not copied; `folds_names`:
    capital letters in names need quotes."""

    tables: Mapping[str, Table]
    views: Mapping[str, View] = field(default_factory=dict)
    domain_checks: Sequence[DomainCheck] = ()
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    omitted: Sequence[str] = ()
    folds_names: bool = False

    @property
    def language(self) -> str:
        """Of its SQL."""
        return kinds.POSTGRES if self.folds_names else kinds.MYSQL

    def quoted(self, name: str) -> str:
        """A name in the server's quotes."""
        quote = '"' if self.folds_names else "`"
        return quote + name.replace(quote, quote * 2) + quote


def not_copied(what: str, names: Sequence[str]) -> str:
    """The sentence on things that no copy has; empty for no names."""
    listed = ", ".join(f"`{name}`" for name in names)
    return f"{what} {listed}: only tables and views are copied" if names else ""
