"""Foreign keys of several columns: which of them made-up rows can keep, and how.

Each made-up row has the number of a row of the table that it refers to, as frequent as at the
original, and takes that row's values (`staging`). Columns that make it unique besides are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import ForeignKey, Schema, Table
from dbdyno.copies.statistics.values import Piece, TableStatistics
from dbdyno.copies.synthesis.coupling import stride

Kept = Collection[tuple[str, str]]  # foreign keys that the rows keep: table, name


@dataclass(frozen=True, kw_only=True)
class Link:
    """A foreign key whose values are taken from rows of its table, which has `rows` of them;
    `generator`: their numbers; `step`: from the number to the row, modulo `rows`."""

    key: ForeignKey
    rows: int
    generator: Mapping[str, Any]
    step: int = 1
    has_nulls: bool = False


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A column that numbers the rows alike in other columns, from `first` on."""

    column: str
    within: Sequence[str]
    first: int


@dataclass(frozen=True, kw_only=True)
class Parents:
    """`assigned`: by column the number of the link, and the column that it is taken from;
    `unique`: keys of several columns that are unique by that; `refused`: why other foreign keys of
    several columns are not kept, by name."""

    links: Sequence[Link] = ()
    counters: Sequence[Counter] = ()
    assigned: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    unique: Sequence[Sequence[str]] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_nulls(self) -> bool:
        """Whether some rows refer to none."""
        return any(link.has_nulls for link in self.links)


def several(table: Table) -> list[ForeignKey]:
    """Its foreign keys of several columns."""
    return [key for key in table.foreign if len(key.columns) > 1]


def ordered(schema: Schema) -> tuple[list[Table], set[tuple[str, str]]]:
    """All tables, each after those that its foreign keys of several columns refer to, and such
    keys for which that is not possible: table, name."""
    found: dict[str, Table] = {}
    circular: set[tuple[str, str]] = set()

    def visit(table: Table, within: Sequence[str]) -> None:
        for key in several(table):
            if key.table in within:
                circular.add((table.name, key.name))
            elif key.table in schema.tables and key.table not in found:
                visit(schema.tables[key.table], [*within, key.table])
        found[table.name] = table

    for table in schema.tables.values():
        if table.name not in found:
            visit(table, [table.name])
    return [*found.values()], circular


class _Refused(Exception):
    def __init__(self, key: ForeignKey, why: str) -> None:
        self.key, self.why = key, why


class Planner:
    """`rows`: of the tables whose rows are made so far; `broken`: unique indexes that they do not
    keep, and foreign keys, by table and name."""

    def __init__(
        self, schema: Schema, statistics: Mapping[str, TableStatistics], rows: Mapping[str, int],
        broken: Kept, circular: Kept,
    ) -> None:  # fmt: skip
        self._schema, self._statistics, self._rows = schema, statistics, rows
        self._broken, self._circular = broken, circular

    def parents(self, table: Table) -> Parents:
        """How the rows of a table refer to others."""
        refused: dict[str, str] = {}
        wanted = []
        for key in several(table):
            if why := next(self._unfit(table, key), ""):
                refused[key.name] = why
            else:
                wanted.append(key)
        while True:
            try:
                return self._planned(table, wanted, refused)
            except _Refused as one:
                refused[one.key.name] = one.why
                wanted.remove(one.key)

    def _unfit(self, table: Table, key: ForeignKey) -> Iterator[str]:
        if key.table == table.name:
            yield "it refers to its own table"
        if (table.name, key.name) in self._circular:
            yield "tables refer to each other in a circle"
        if not self._rows.get(key.table):
            yield f"`{key.table}` has no rows in the copy"
            return
        to, known = self._schema.tables[key.table], self._statistics[key.table]
        same = [one for one in to.indexes if {*one.columns} == {*key.references} and one.is_whole]
        if not any(one.is_unique and (to.name, one.name) not in self._broken for one in same):
            yield f"it refers to no unique columns of `{key.table}`"
        for column in key.references:
            if column in known.columns and known.columns[column].nulls > 0:
                yield f"`{column}` of `{key.table}` has NULLs"
        for column in key.columns:
            if table.is_key(column):
                yield f"`{column}` is unique by itself"

    def _planned(
        self, table: Table, wanted: Sequence[ForeignKey], refused: Mapping[str, str]
    ) -> Parents:
        assigned: dict[str, tuple[int, str]] = {}
        chosen: list[ForeignKey] = []
        for key in sorted(wanted, key=lambda key: (-len(key.columns), key.name)):
            # What others have assigned may refer to the right rows, too: `follows`.
            if not any(column in assigned for column in key.columns):
                pairs = zip(key.columns, key.references, strict=True)
                assigned |= {column: (len(chosen), other) for column, other in pairs}
                chosen.append(key)
        once: set[str] = set()
        counters: dict[str, Counter] = {}
        unique: list[Sequence[str]] = []
        for columns in (key for key in table.keys if len(key) > 1):
            links = {assigned[column][0] for column in columns if column in assigned}
            if not links or any(table.is_key(column) for column in columns):
                continue
            unique.append(columns)
            key = chosen[min(links)]
            if {*columns} == {*key.columns}:
                if self._statistics[table.name].rows > self._rows[key.table]:
                    raise _Refused(key, f"`{key.table}` has too few rows")
                once.add(key.name)
                continue
            counter = self._counter(table, columns, assigned)
            if counter is None or counters.get(counter.column, counter) != counter:
                listed = ", ".join(columns)
                raise _Refused(key, f"made-up rows would not be unique in `{listed}`")
            counters[counter.column] = counter
        links_ = [self._link(table, key, once, counters.values()) for key in chosen]
        return Parents(
            links=links_,
            counters=[*counters.values()],
            assigned=assigned,
            unique=unique,
            refused={**refused},
        )

    def _counter(
        self, table: Table, columns: Sequence[str], assigned: Mapping[str, Any]
    ) -> Counter | None:
        """The last column of a key that can be counted: a number that refers to nothing."""
        refers = {key.columns[0] for key in table.foreign if len(key.columns) == 1}
        known = self._statistics[table.name].columns
        for name in reversed(columns):
            column = table.columns[name]
            if name in assigned or name in refers or column.family != of.WHOLE:
                continue
            if column.is_generated or not known[name].pieces:
                continue
            within = [each for each in columns if each != name]
            return Counter(column=name, within=within, first=known[name].pieces[0].low)
        return None

    def _link(
        self, table: Table, key: ForeignKey, once: Collection[str], counters: Collection[Counter]
    ) -> Link:
        found, rows = self._statistics[table.name], self._rows[key.table]
        nulls = max(
            (found.columns[name].nulls for name in key.columns if table.columns[name].is_nullable),
            default=0.0,
        )
        pieces = _numbers(found.tuples.get(key.name, ()), rows)
        step = 1
        if key.name in once:
            made: dict[str, Any] = {"histogram": [_listed(Piece(1, rows, 1, found.rows))]}
            made["spread"] = 0
        elif len(pieces) < 2:
            distinct = pieces[0].distinct if pieces else rows
            made = {"histogram": [_listed(Piece(1, rows, 1, distinct))]}
        else:  # frequent ones lie anywhere among the rows
            made = {"histogram": [_listed(piece) for piece in pieces]}
            step = stride(rows)
        if any({*one.within} == {*key.columns} for one in counters):
            made["spread"] = 0  # rows that are counted are as many as at the original, exactly
        if nulls:
            made["nulls"] = round(nulls, 6)
        return Link(key=key, rows=rows, generator=made, step=step, has_nulls=nulls > 0)


def _listed(piece: Piece) -> list[Any]:
    made = [piece.low, piece.high, float(f"{piece.rows:.6g}")]
    return made if piece.distinct == piece.high - piece.low + 1 else [*made, piece.distinct]


def _numbers(pieces: Sequence[Piece], rows: int) -> list[Piece]:
    """Pieces of numbers from 1 to at most so many rows."""
    found: list[Piece] = []
    for piece in pieces:
        low = found[-1].high + 1 if found else 1
        left = rows - low + 1
        if left <= 0:
            last = found[-1]
            found[-1] = Piece(last.low, last.high, last.rows + piece.rows, last.distinct)
        else:
            count = min(piece.distinct, left)
            found.append(Piece(low, low + count - 1, piece.rows, count))
    return found


def follows(
    schema: Schema, table: Table, found: Parents, key: ForeignKey, kept: Kept
) -> bool | None:
    """Whether rows that take their values from others keep a foreign key by that; None: it has no
    column of these. `kept`: of the tables that they are taken from."""
    numbers = {found.assigned[column][0] for column in key.columns if column in found.assigned}
    if not numbers:
        return None
    link = found.links[min(numbers)]
    if link.key is key or link.key.name == key.name:
        return True
    if len(numbers) > 1 or not all(column in found.assigned for column in key.columns):
        return False
    nullable = any(table.columns[column].is_nullable for column in key.columns)
    if link.has_nulls and len(key.columns) > 1 and not nullable:
        return False  # where nothing is taken, the columns have values of their own
    to = schema.tables[link.key.table]
    wanted = {
        found.assigned[column][1]: other
        for column, other in zip(key.columns, key.references, strict=True)
    }
    if key.table == to.name and all(one == other for one, other in wanted.items()):
        return True
    return any(
        one.table == key.table
        and dict(zip(one.columns, one.references, strict=True)) == wanted
        and (to.name, one.name) in kept
        for one in to.foreign
    )
