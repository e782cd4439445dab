"""Tables, columns, indexes and foreign keys: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

BTREE = "btree"  # the kind of index that serves equality, ranges and order


@dataclass(frozen=True, kw_only=True)
class Features:
    """What indexes of an engine and version can be. `clustered`: rows lie in the primary key, whose
    columns end every other index."""

    expressions: bool = False
    descending: bool = False
    include: bool = False
    partial: bool = False
    clustered: bool = False


@dataclass(frozen=True, kw_only=True)
class Column:
    """`type`: as the server writes it, in small letters; `generated`: the expression of a generated
    column; `average_bytes`: from statistics, None without them."""

    name: str
    type: str
    collation: str | None = None
    nullable: bool = True
    generated: str = ""
    average_bytes: float | None = None


@dataclass(frozen=True)
class Part:
    """A column or an expression of an index. `prefix`: characters that are indexed; None: all."""

    column: str = ""
    expression: str = ""
    prefix: int | None = None
    descending: bool = False


@dataclass(frozen=True, kw_only=True)
class Index:
    """`kind`: `btree`, `hash`, `fulltext`, `spatial`, `gin` and so on, in small letters; `include`:
    columns that are only carried; `predicate`: of a partial one. `usable`: neither invisible,
    ignored nor invalid."""

    name: str
    parts: tuple[Part, ...]
    unique: bool = False
    primary: bool = False
    kind: str = BTREE
    include: tuple[str, ...] = ()
    predicate: str = ""
    usable: bool = True
    bytes: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns in order, in small letters, up to the first expression or prefix."""
        found = []
        for part in self.parts:
            if not part.column or part.prefix is not None:
                break
            found.append(part.column.lower())
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class ForeignKey:
    """`columns` of this table refer to `references_columns` of another."""

    name: str
    columns: tuple[str, ...]
    references_schema: str
    references_table: str
    references_columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """`columns`: by name in small letters, in their order. `rows`: an estimate; `bytes`: of the
    rows, without indexes. None: not known. `engine`: of storage, in small letters."""

    name: str
    schema: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)
    indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: int | None = None
    bytes: int | None = None
    engine: str = ""

    @property
    def primary(self) -> Index | None:
        """Its primary key."""
        return next((one for one in self.indexes if one.primary), None)

    @property
    def full_name(self) -> str:
        """`shop.orders`."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, kw_only=True)
class Schema:
    """All tables that are known."""

    tables: tuple[Table, ...]
    features: Features = field(default_factory=Features)

    def find(self, name: str, schema: str = "") -> Table | None:
        """The table of that name in that schema, or the only one of that name where no schema is
        given, here or there. Letters' case is ignored, as long as that leaves one."""
        for same in (lambda a, b: a == b, lambda a, b: a.lower() == b.lower()):
            found = [
                one
                for one in self.tables
                if same(one.name, name)
                and (not schema or not one.schema or same(one.schema, schema))
            ]
            if len(found) == 1:
                return found[0]
        return None
