"""Foreign keys of several columns: which of them made-up rows can keep, and how.

Each made-up row has the number of a row of the table that it refers to, as frequent as at the
original, and takes that row's values (`staging`). Columns that make it unique besides are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import ForeignKey, Schema, Table
from dbdyno.copies.statistics.values import Piece, TableStatistics
from dbdyno.copies.synthesis import own
from dbdyno.copies.synthesis.coupling import stride

Kept = Collection[tuple[str, str]]  # foreign keys that the rows keep: table, name


@dataclass(frozen=True, kw_only=True)
class Link:
    """A foreign key whose values are taken from rows of its table, which has `rows` of them;
    `generator`: their numbers; `step`: from the number to the row, modulo `rows`; `shared`: columns
    whose values another link gives, with the referenced ones, among whose rows it is chosen;
    `needs`: numbers of such links that need a row for each of this one's; `is_own`: its table is
    that of the rows themselves (`own`)."""

    key: ForeignKey
    rows: int
    generator: Mapping[str, Any]
    step: int = 1
    has_nulls: bool = False
    shared: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[int] = ()
    is_own: bool = False


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
        """Whether some rows refer to none of another table."""
        return any(link.has_nulls for link in self.links if not link.is_own)


def several(table: Table) -> list[ForeignKey]:
    """Its foreign keys of several columns."""
    return [key for key in table.foreign if len(key.columns) > 1]


def is_referable(to: Table, key: ForeignKey, broken: Kept) -> bool:
    """Whether the columns that a foreign key refers to are unique in a copy. `broken`: unique
    indexes that its rows do not keep."""
    return any(
        one.is_unique and (to.name, one.name) not in broken
        for one in to.indexes
        if {*one.columns} == {*key.references} and one.is_whole
    )


def ordered(schema: Schema) -> tuple[list[Table], set[tuple[str, str]]]:
    """All tables, each after those that its foreign keys of several columns refer to, and such
    keys for which that is not possible: table, name."""
    found: dict[str, Table] = {}
    circular: set[tuple[str, str]] = set()

    def visit(table: Table, within: Sequence[str]) -> None:
        for key in several(table):
            if own.is_own(table, key):
                continue
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
    """A foreign key that made-up rows cannot keep."""

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
        refused = {
            key.name: why for key in several(table) if (why := next(self._unfit(table, key), ""))
        }
        while True:
            wanted = [key for key in several(table) if key.name not in refused]
            plan = _Plan(table, self._statistics[table.name], self._rows)
            try:
                return plan.made(wanted, refused)
            except _Refused as one:
                refused[one.key.name] = one.why

    def _unfit(self, table: Table, key: ForeignKey) -> Iterator[str]:
        is_own = own.is_own(table, key)
        if (table.name, key.name) in self._circular:
            yield "tables refer to each other in a circle"
        if not is_own and not self._rows.get(key.table):
            yield f"`{key.table}` has no rows in the copy"
            return
        to, known = self._schema.tables[key.table], self._statistics[key.table]
        if not is_referable(to, key, self._broken):
            yield f"it refers to no unique columns of `{key.table}`"
        for column in key.references:
            if column in known.columns and known.columns[column].nulls > 0:
                yield f"`{column}` of `{key.table}` has NULLs"
        for column in own.taken(key) if is_own else key.columns:
            if table.columns[column].is_generated:
                yield f"the server computes `{column}`"
            if table.is_key(column):
                yield f"`{column}` is unique by itself"


class _Plan:
    """Foreign keys of one table, tried together. `bases`: of keys that share columns with an
    earlier one, its number; `once`: keys whose rows each refer to another row."""

    def __init__(self, table: Table, found: TableStatistics, rows: Mapping[str, int]) -> None:
        self._table, self._found, self._rows = table, found, rows
        self._chosen: list[ForeignKey] = []
        self._assigned: dict[str, tuple[int, str]] = {}
        self._bases: dict[str, int] = {}
        self._once: set[str] = set()
        self._counters: dict[str, Counter] = {}

    def made(self, wanted: Sequence[ForeignKey], refused: Mapping[str, str]) -> Parents:
        """All links. _Refused for the first key that does not go with the others."""
        for key in sorted(wanted, key=lambda key: (-len(key.columns), key.name)):
            if not own.is_own(self._table, key):
                self._take(key)
        several_ = [key for key in self._table.keys if len(key) > 1]
        unique = [columns for columns in several_ if self._keeps(columns)]
        for key in wanted:
            if own.is_own(self._table, key):
                self._take_own(key)
        links = [self._link(key) for key in self._chosen]
        return Parents(
            links=[self._joined(link, links) for link in links],
            counters=[*self._counters.values()],
            assigned=self._assigned,
            unique=unique,
            refused={**refused},
        )

    def _take(self, key: ForeignKey) -> None:
        """Chooses a key, unless others give all of its values: these may be right (`follows`)."""
        shared = {self._assigned[one][0] for one in key.columns if one in self._assigned}
        if len(shared) > 1 or all(column in self._assigned for column in key.columns):
            return
        for base in shared:
            if not self._may_share(key, self._chosen[base]):
                return
            self._bases[key.name] = base
        for column, other in zip(key.columns, key.references, strict=True):
            self._assigned.setdefault(column, (len(self._chosen), other))
        self._chosen.append(key)

    def _take_own(self, key: ForeignKey) -> None:
        """Chooses a key to the own table, whose rows then have all other values."""
        if why := own.unfit(self._table, key, {*self._assigned, *self._counters}):
            raise _Refused(key, why)
        for column, other in own.taken(key).items():
            self._assigned[column] = (len(self._chosen), other)
        self._chosen.append(key)

    def _may_share(self, key: ForeignKey, base: ForeignKey) -> bool:
        """Whether rows of a key can be chosen among those that fit another key's row."""
        has_nulls = any(self._found.columns[column].nulls > 0 for column in base.columns)
        return base.name not in self._bases and (self._may_lack(key) or not has_nulls)

    def _may_lack(self, key: ForeignKey) -> bool:
        """Whether rows may refer to none by it."""
        return any(self._table.columns[column].is_nullable for column in key.columns)

    def _keeps(self, columns: Sequence[str]) -> bool:
        """Whether what is assigned keeps a key of several columns unique; False: it has nothing to
        do with that."""
        links = {self._assigned[column][0] for column in columns if column in self._assigned}
        if not links or any(self._table.is_key(column) for column in columns):
            return False
        key = self._chosen[min(links)]
        if {*columns} == {*key.columns} and len(links) == 1:
            self._take_once(key, min(links))
            return True
        counter = self._counter(columns)
        if counter is None or self._counters.get(counter.column, counter) != counter:
            last = self._chosen[max(links)]
            raise _Refused(last, f"made-up rows would not be unique in `{', '.join(columns)}`")
        self._counters[counter.column] = counter
        return True

    def _take_once(self, key: ForeignKey, number: int) -> None:
        for other in self._chosen:  # which needs only some of the rows
            if self._bases.get(other.name) == number and not self._may_lack(other):
                raise _Refused(other, f"it shares columns with `{key.name}`")
        if self._found.rows > self._rows[key.table]:
            raise _Refused(key, f"`{key.table}` has too few rows")
        self._once.add(key.name)

    def _counter(self, columns: Sequence[str]) -> Counter | None:
        """The last column of a key that can be counted: a number that refers to nothing."""
        refers = {key.columns[0] for key in self._table.foreign if len(key.columns) == 1}
        for name in reversed(columns):
            column = self._table.columns[name]
            if name in self._assigned or name in refers or column.family != of.WHOLE:
                continue
            if column.is_generated or not self._found.columns[name].pieces:
                continue
            within = [each for each in columns if each != name]
            first = self._found.columns[name].pieces[0].low
            return Counter(column=name, within=within, first=first)
        return None

    def _link(self, key: ForeignKey) -> Link:
        is_own = own.is_own(self._table, key)
        rows = self._found.rows if is_own else self._rows[key.table]
        nulls = [
            self._found.columns[name].nulls
            for name in key.columns
            if self._table.columns[name].is_nullable
        ]
        frequent = own.frequencies(self._found, key) if is_own else self._found.tuples.get(key.name)
        pieces = _numbers(frequent or (), rows)
        if key.name in self._once:
            pieces = [Piece(1, rows, 1, self._found.rows)]
        elif len(pieces) < 2:
            pieces = [Piece(1, rows, 1, pieces[0].distinct if pieces else rows)]
        made: dict[str, Any] = {"histogram": [_listed(piece) for piece in pieces]}
        within = [{*one.within} for one in self._counters.values()]
        in_order = not own.shared(key) if is_own else {*key.columns} in within
        if key.name in self._once or in_order:
            made["spread"] = 0  # in the rows' order each number is as frequent as it should be
        if (most := max(nulls, default=0.0)) > 0:
            made["nulls"] = round(most, 6)
        if is_own:
            has_nulls = most > 0 or not own.must_refer(self._table, key)
            return Link(key=key, rows=rows, generator=made, has_nulls=has_nulls,
                        shared=own.shared(key), is_own=True)  # fmt: skip
        # Frequent ones come first, and should lie anywhere among the rows.
        step = stride(rows) if len(pieces) > 1 else 1
        return Link(key=key, rows=rows, generator=made, step=step, has_nulls=most > 0)

    def _joined(self, link: Link, links: Sequence[Link]) -> Link:
        """With what it shares with another link, or with the links that share columns with it."""
        if (base := self._bases.get(link.key.name)) is not None:
            pairs = zip(link.key.columns, link.key.references, strict=True)
            shared = {one: other for one, other in pairs if self._assigned[one][0] == base}
            has_nulls = link.has_nulls or self._may_lack(link.key)
            return replace(link, shared=shared, has_nulls=has_nulls)
        number = links.index(link)
        return replace(
            link,
            needs=[
                at
                for at, one in enumerate(links)
                if self._bases.get(one.key.name) == number and not self._may_lack(one.key)
            ],
        )


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
    if any(link.key.name == key.name for link in found.links):
        return True
    link = found.links[min(numbers)]
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
