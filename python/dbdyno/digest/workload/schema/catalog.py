"""The tables of one schema as information_schema describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CHOICES = ("enum", "set")
WHOLE = {  # type -> its greatest value, signed
    "tinyint": 127,
    "smallint": 32_767,
    "mediumint": 8_388_607,
    "int": 2_147_483_647,
    "integer": 2_147_483_647,
    "bigint": 9_223_372_036_854_775_807,
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """`type`: small letters, without lengths; `choices`: the values of an ENUM or SET; `length`: of
    texts, characters; `is_unique`: no two rows have the same value in it; `is_auto`: the server
    makes its values; `is_required`: an INSERT must name it; `references`: the table and column of
    which it must hold a value; `greatest`: the greatest value there is, of unique whole numbers."""

    name: str
    type: str
    choices: tuple[str, ...] = ()
    length: int | None = None
    is_unique: bool = False
    is_auto: bool = False
    is_required: bool = False
    is_json: bool = False
    references: tuple[str, str] | None = None
    sequence: str | None = None  # PostgreSQL's, of which its values are
    greatest: int | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """`columns`: by name in small letters, in their order; `rows`: how many, counted up to a bound;
    `auto`: its column whose values the server makes."""

    name: str
    columns: Mapping[str, Column]
    rows: int = 0

    @property
    def auto(self) -> Column | None:
        """The column whose values the server makes."""
        return next((one for one in self.columns.values() if one.is_auto), None)


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """`kind`: of the server; `schema`: its name there; `tables`: by name in small letters."""

    kind: str
    schema: str
    tables: Mapping[str, Table] = field(default_factory=dict)

    def table(self, name: str) -> Table | None:
        return self.tables.get(name.lower())

    def column(self, table: str, name: str) -> Column | None:
        found = self.table(table)
        return found.columns.get(name.lower()) if found is not None else None

    def root(self, table: str, name: str) -> tuple[str, str]:
        """The column whose values a column holds in the end: along its foreign keys, as the server
        spells it."""
        seen: set[tuple[str, str]] = set()
        here = (table, name)
        while (found := self.column(*here)) is not None:
            here = (self.tables[here[0].lower()].name, found.name)
            if found.references is None or here in seen:
                return here
            seen.add(here)
            if self.column(*found.references) is None:
                return here
            here = found.references
        return here
