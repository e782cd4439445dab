"""Indexes that might serve a workload: what to ask the planner about, and then to measure.

Of each use of a table, an index begins with its columns of equality (those that most of the
workload compares first, so that classes share an index), then has one range, or what the rows are
ordered or grouped by; then, to be covering, all other columns that are read. This is the order in
which a B-tree can use conditions: whatever is behind a range is only filtered.

Source: the MySQL manual, "Multiple-Column Indexes", "Range Optimization", "ORDER BY Optimization";
the PostgreSQL manual, "Multicolumn Indexes", "Indexes and ORDER BY", "Index-Only Scans".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.sql import parts
from dbdyno.sql.existing import covers, serves
from dbdyno.sql.parts import Order, Predicate, Statement, Use
from dbdyno.sql.schema import Features, Index, Part, Schema, Table

COLUMNS_MAX = 16  # of an index of MySQL
COVERING_MAX = 6  # columns that are only carried
RANGES_MAX = 2  # of a use, of which each makes a candidate
WAYS_MAX = 2  # into a table, where an index for one also carries the columns of the other
_LONG = ("text", "blob", "json", "xml", "bytea", "geometry", "point", "polygon", "vector", "[]")
_UNINDEXED = {True: ("json", "xml", "geometry", "point", "polygon"), False: _LONG}
_ANY_ORDER = ("=", "is null")

Form = tuple[str, str, tuple[Part, ...], str]  # schema, table, parts, predicate
Classes = Iterable[tuple[Statement, float, str]]  # statement, weight, class


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An index that is not there. `include`: columns that are only carried, where the engine has
    that; `predicate`: of a partial index; `covering`: it holds all that some class reads, of which
    the parts from `carried_from` on are only carried; `classes`: those that it may serve; `weight`:
    the sum of theirs."""

    schema: str
    table: str
    parts: tuple[Part, ...]
    include: tuple[str, ...] = ()
    predicate: str = ""
    covering: bool = False
    carried_from: int = field(default=COLUMNS_MAX, compare=False)
    classes: tuple[str, ...] = ()
    weight: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns among its parts, in their order, as the table spells them."""
        return tuple(part.column for part in self.parts if part.column)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Expressions among its parts."""
        return tuple(part.expression for part in self.parts if part.expression)

    @property
    def form(self) -> Form:
        """Without what makes it covering."""
        return self.schema, self.table, self.parts, self.predicate

    @property
    def narrower(self) -> Candidate | None:
        """The same without what is only carried; None: nothing is."""
        if not self.include and self.carried_from >= len(self.parts):
            return None
        return replace(self, parts=self.parts[: self.carried_from], include=(), covering=False)

    @property
    def index(self) -> Index:
        """As an index without a name."""
        return Index(name="", parts=self.parts, include=self.include, predicate=self.predicate)


def candidates(schema: Schema, classes: Classes) -> list[Candidate]:
    """The heaviest first. None has the form of an existing index; one that is the begin of
    another is merged into it, covering ones and others apart."""
    known = list(classes)
    order = _order(schema, known)
    found: dict[Candidate, set[str]] = {}
    keys: dict[Form, int] = {}  # the first so many parts are what some class searches or sorts by
    for statement, _, name in known:
        for use in statement.tables:
            table = schema.find(use.name, use.schema)
            if table is None:
                continue
            for one in _of_use(_Wanted.of(statement, use, table, order), table, schema.features):
                found.setdefault(one, set()).add(name)
                number = one.carried_from if one.covering else len(one.parts)
                keys[one.form] = max(number, keys.get(one.form, 0))
    weights = {name: weight for _, weight, name in known}
    new = {one: whose for one, whose in found.items() if not is_there(one, schema)}
    made = [
        replace(
            one,
            carried_from=keys[one.form],
            classes=tuple(sorted(whose)),
            weight=sum(weights[name] for name in whose),
        )
        for one, whose in _merged(new).items()
    ]
    return sorted(made, key=lambda one: (-one.weight, one.table, str(one.parts), one.include))


def is_there(one: Candidate, schema: Schema) -> bool:
    """Whether an index that exists has its form."""
    table = schema.find(one.table, one.schema)
    assert table is not None
    primary = table.primary
    if schema.features.clustered and primary is not None:
        begin = one.parts[: len(primary.parts)]  # of one row, which the primary key has whole
        if serves(primary, begin, table, schema.features) and len(begin) == len(primary.parts):
            return True
    return any(
        serves(index, one.parts, table, schema.features)
        and (not one.include or covers(index, one.include, table, schema.features))
        and index.predicate in ("", one.predicate)
        for index in table.indexes
    )


def _order(schema: Schema, classes: Sequence[tuple[Statement, float, str]]) -> Mapping[str, float]:
    """How much of the workload compares a column (`schema.table.column`) for equality."""
    weights: defaultdict[str, float] = defaultdict(float)
    for statement, weight, _ in classes:
        joined = (column for one in statement.joins for column in (one.left, one.right))
        equal = (one.column for one in statement.predicates if one.operator == parts.EQUAL)
        for column in {*joined, *equal}:
            table = schema.find(column.table.name, column.table.schema)
            if table is not None:
                weights[f"{table.full_name}.{column.name.lower()}"] += weight
    return weights


@dataclass
class _Wanted:
    """What a use of a table asks of an index: columns as the table spells them."""

    equal: list[Part]
    listed: list[Part]  # IN: several values, after which nothing is in order
    joined: list[tuple[Part, ...]]  # columns that another use is joined by, for each one
    ranges: list[Part]
    ordered: list[Part]
    grouped: list[Part]
    read: list[str]  # empty: all columns are selected
    conditions: list[str]  # of partial indexes

    @classmethod
    def of(
        cls, statement: Statement, use: Use, table: Table, order: Mapping[str, float]
    ) -> _Wanted:
        own = [one for one in statement.predicates if one.column.table == use and one.must_hold]
        place = _places(table)

        def sorted_parts(operators: Sequence[str], leave: Iterable[Part] = ()) -> list[Part]:
            found = dict.fromkeys(
                part
                for one in own
                if one.operator in operators and (part := _part(one, table)) is not None
            )
            return sorted(
                (one for one in found if one not in leave),
                key=lambda part: (
                    -order.get(f"{table.full_name}.{part.column.lower()}", 0.0),
                    place.get(part.column.lower(), len(place)),
                    part.column,
                    part.expression,
                ),
            )

        equal = sorted_parts(_ANY_ORDER)
        listed = sorted_parts((parts.IN,), equal)
        compared = {part.column.lower() for part in (*equal, *listed)}
        return cls(
            equal=equal,
            listed=listed,
            joined=_joined(statement, use, table, compared),
            ranges=sorted_parts((parts.RANGE, parts.LIKE_PREFIX), (*equal, *listed)),
            ordered=_ordered(statement.ordering, use, table),
            grouped=_ordered(statement.grouping, use, table),
            read=_read(statement, use, table),
            conditions=sorted(
                f"{_spelled(one, table)} {one.operator.upper()}"
                for one in own
                if one.operator in (parts.IS_NULL, parts.IS_NOT_NULL)
                and not one.expression
                and one.column.name.lower() in table.columns
            ),
        )


def _places(table: Table) -> Mapping[str, int]:
    """Columns in the order of the existing indexes, the primary key's first: among columns that are
    compared alike, the existing order needs no further index."""
    primary_first = sorted(table.indexes, key=lambda index: not index.primary)
    names = dict.fromkeys(name for index in primary_first for name in index.columns)
    return {name: number for number, name in enumerate(names)}


def _joined(
    statement: Statement, use: Use, table: Table, compared: Collection[str]
) -> list[tuple[Part, ...]]:
    """Columns by which the table is reached from another: those of each other use apart, since an
    index serves a way into the table if that way's columns come first."""
    ways: dict[Use, set[str]] = {}
    for one in statement.joins:
        for own, other in ((one.left, one.right), (one.right, one.left)):
            name = own.name.lower()
            if own.table == use and name in table.columns and name not in compared:
                ways.setdefault(other.table, set()).add(name)
    distinct = dict.fromkeys(tuple(sorted(names)) for names in ways.values())
    return [tuple(Part(table.columns[name].name) for name in names) for names in distinct]


def _spelled(one: Predicate, table: Table) -> str:
    return table.columns[one.column.name.lower()].name


def _part(one: Predicate, table: Table) -> Part | None:
    """None: of a column that is not known, or of an expression whose constants are not."""
    if one.column.name.lower() not in table.columns:
        return None
    if not one.expression:
        return Part(_spelled(one, table))
    is_known = one.wrap == parts.FUNCTION and "?" not in one.expression
    return Part(expression=one.expression) if is_known else None


def _ordered(items: Sequence[Order], use: Use, table: Table) -> list[Part]:
    """The items of the use's SELECT; empty if an index cannot have them."""
    own = [one for one in items if one.scope == use.scope]
    if any(
        one.column is None
        or one.expression
        or one.column.table != use
        or one.column.name.lower() not in table.columns
        for one in own
    ):
        return []
    found = [
        Part(table.columns[one.column.name.lower()].name, descending=one.descending)
        for one in own
        if one.column is not None
    ]
    # Read backwards, an index has the opposite order.
    same_way = len({part.descending for part in found}) == 1
    return [replace(part, descending=False) for part in found] if same_way else found


def _read(statement: Statement, use: Use, table: Table) -> list[str]:
    if use in statement.stars or statement.kind not in (parts.SELECT, parts.OTHER):
        return []
    names = dict.fromkeys(one.name.lower() for one in statement.read if one.table == use)
    return [table.columns[name].name for name in names if name in table.columns]


def _of_use(wanted: _Wanted, table: Table, features: Features) -> Iterator[Candidate]:
    """Candidates without their classes."""
    for begin in _begins_with(wanted):
        if _gives_one_row(begin, table):
            if not features.clustered:  # where the row lies elsewhere, it may be spared
                for made in _made([_once(begin)], table, features):
                    yield from _covering(made, wanted.read, table, features)
            continue
        for made in _made(_keys(begin, wanted), table, features):
            yield made
            if features.partial and wanted.conditions:
                yield from _partial(made, wanted.conditions)
            yield from _covering(made, wanted.read, table, features)


def _made(
    keys: Iterable[tuple[Part, ...]], table: Table, features: Features
) -> Iterator[Candidate]:
    for one in keys:
        if allowed := _allowed(one, table, features):
            yield Candidate(schema=table.schema, table=table.name, parts=allowed)


def _begins_with(wanted: _Wanted) -> Iterator[tuple[Part, ...]]:
    """Columns of equality in their order: those of a join first, where the table is reached from
    another use, or last, or none of them, where it is read first."""
    yield tuple(wanted.equal)
    for way in wanted.joined:
        others = [part for other in wanted.joined if other != way for part in other]
        more = others if len(wanted.joined) <= WAYS_MAX else []
        yield (*way, *wanted.equal, *more)
        yield (*wanted.equal, *way, *more)


def _gives_one_row(parts_: Iterable[Part], table: Table) -> bool:
    """Whether a unique index finds the row by these already."""
    names = {part.column.lower() for part in parts_}
    return any(
        index.unique and index.usable and not index.predicate and len(index.parts) > 0
        and len(index.columns) == len(index.parts) and names.issuperset(index.columns)
        for index in table.indexes
    )  # fmt: skip


def _keys(begin: Sequence[Part], wanted: _Wanted) -> Iterator[tuple[Part, ...]]:
    """What follows the columns of equality: at most one range, or an order."""
    yield _once([*begin, *wanted.listed])
    for one in wanted.ranges[:RANGES_MAX]:
        yield _once([*begin, *wanted.listed, one])
    for tail in (wanted.ordered, wanted.grouped):
        if tail:
            yield _once([*begin, *tail])


def _once(found: Iterable[Part]) -> tuple[Part, ...]:
    """Each column once, where it comes first."""
    kept: dict[str, Part] = {}
    for part in found:
        kept.setdefault(part.column.lower() or part.expression, part)
    return tuple(kept.values())


def _allowed(keys: tuple[Part, ...], table: Table, features: Features) -> tuple[Part, ...]:
    """Up to the first part that the engine cannot index; empty if one is an expression that it
    cannot."""
    found = []
    for part in keys[:COLUMNS_MAX]:
        if part.expression:
            if not features.expressions:
                return ()
        elif not is_indexable(table, part.column, features):
            break
        if part.descending and not features.descending:
            return ()
        found.append(part)
    return tuple(found)


def is_indexable(table: Table, column: str, features: Features) -> bool:
    """Whether all of a column can be in a B-tree: long texts of MySQL by a prefix only."""
    found = table.columns.get(column.lower())
    unindexed = _UNINDEXED[features.include]
    return found is not None and not any(word in found.type for word in unindexed)


def _partial(made: Candidate, conditions: Sequence[str]) -> Iterator[Candidate]:
    named = {condition.partition(" ")[0] for condition in conditions}
    rest = tuple(part for part in made.parts if part.column not in named)
    if rest:
        yield replace(made, parts=rest, predicate=" AND ".join(conditions))


def _covering(
    made: Candidate, read: Sequence[str], table: Table, features: Features
) -> Iterator[Candidate]:
    held = {part.column.lower() for part in made.parts}
    if features.clustered and table.primary is not None:
        held |= {*table.primary.columns}
    rest = [name for name in read if name.lower() not in held]
    if not read or not rest or len(rest) > COVERING_MAX:
        return
    if not all(is_indexable(table, name, features) for name in rest):
        return
    keys = len(made.parts)
    if features.include:
        yield replace(made, include=tuple(rest), covering=True, carried_from=keys)
    elif keys + len(rest) <= COLUMNS_MAX:
        wide = (*made.parts, *map(Part, rest))
        yield replace(made, parts=wide, covering=True, carried_from=keys)


def _merged(found: Mapping[Candidate, set[str]]) -> dict[Candidate, set[str]]:
    """Those that begin another one go into all that they begin."""
    return {
        one: whose.union(*(found[other] for other in found if _begins(other, one)))
        for one, whose in found.items()
        if not any(_begins(one, other) for other in found)
    }


def _begins(one: Candidate, other: Candidate) -> bool:
    same = (one.schema, one.table, one.predicate, one.covering, one.include)
    return (
        one is not other
        and same == (other.schema, other.table, other.predicate, other.covering, other.include)
        and len(one.parts) < len(other.parts)
        and other.parts[: len(one.parts)] == one.parts
    )
