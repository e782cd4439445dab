"""Which rows of each table are copied: small tables whole, of large ones some, and all rows that
these refer to.

Rows are known by their primary keys, or where they have none by a unique key without NULLs. Memory
grows with the keys that are chosen, not with the tables.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dbdyno.copies.copied import How
from dbdyno.copies.sampling.literals import Row, among, named
from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import ForeignKey, Schema, Table
from dbdyno.copies.source import Refused, Source
from dbdyno.errors import DynoError

KEYS_A_QUERY = 500
PARTS = 50  # of a primary key in which rows are chosen
KEYS_MAX = 5_000_000  # of all tables, kept in memory


@dataclass
class Choice:
    """`keys`: of the rows that are copied; None: all rows are. `limit`: of a table without a key,
    how many. `lost`: why there are none."""

    there: int
    said: str
    columns: Sequence[str] = ()
    keys: set[Row] | None = None
    limit: int | None = None
    lost: str = ""


def rows(source: Source, schema: Schema, how: How) -> dict[str, Choice]:
    """By table."""
    found: dict[str, Choice] = {}
    for table in schema.tables.values():
        try:
            found[table.name] = _begun(source, table, how)
        except Refused as refused:
            found[table.name] = Choice(0, "", keys=set(), lost=str(refused))
    _close(source, schema, found)
    return found


def _begun(source: Source, table: Table, how: How) -> Choice:
    inner = f"SELECT 1 FROM {source.table(table.name)} LIMIT {how.rows + 1}"
    counted = int(source.rows(f"SELECT COUNT(*) FROM ({inner}) AS d")[0][0])
    if counted <= how.rows:
        return Choice(counted, "all rows")
    there = max(table.rows, counted)
    key = identity(table)
    if not key:
        return Choice(there, f"the first {how.rows:,} rows: it has no key", limit=how.rows)
    keys, said = _some(source, table, key, there, how)
    return Choice(there, said, columns=key, keys=keys)


def identity(table: Table) -> Sequence[str]:
    """The columns by which a row is found again."""
    for key in table.keys:
        if not any(table.columns[name].is_nullable for name in key):
            return key
    return ()


def _some(
    source: Source, table: Table, key: Sequence[str], there: int, how: How
) -> tuple[set[Row], str]:
    read = named(source, table, key)
    ordered = ", ".join(source.name(each) for each in key)
    name = source.table(table.name)
    if source.is_postgres:
        return _of_pages(source, f"SELECT {read} FROM {name}", there, how), "pages at random"
    if table.columns[key[0]].family != of.WHOLE:
        answer = source.rows(f"SELECT {read} FROM {name} ORDER BY {ordered} LIMIT {how.rows}")
        return {tuple(row) for row in answer}, "its first rows by key"
    first = source.name(key[0])
    low, high = source.rows(f"SELECT MIN({first}), MAX({first}) FROM {name}")[0]
    found: set[Row] = set()
    rng = random.Random(how.seed)
    part = max(1, how.rows // PARTS)
    for at in range(PARTS):
        width = (int(high) - int(low)) / PARTS
        start = int(low) + int(at * width + rng.random() * width / 2)
        end = int(low) + int((at + 1) * width) + (at == PARTS - 1)
        found |= {
            tuple(row)
            for row in source.rows(
                f"SELECT {read} FROM {name} WHERE {first} >= {start} AND {first} < {end}"
                f" ORDER BY {ordered} LIMIT {part}"
            )
        }
    return found, f"rows of {PARTS} ranges of its key"


def _of_pages(source: Source, select: str, there: int, how: How) -> set[Row]:
    """Rows of pages at random. Few pages may have none: then of more."""
    found: list[Row] = []
    share = 1.2 * how.rows / there
    while len(found) < how.rows and share < 2:
        sampled = f"TABLESAMPLE SYSTEM ({min(100.0, 100 * share):.6f}) REPEATABLE ({how.seed})"
        found = [tuple(row) for row in source.rows(f"{select} {sampled}")]
        share *= 2
    return set(random.Random(how.seed).sample(sorted(found), min(how.rows, len(found))))


def _close(source: Source, schema: Schema, found: dict[str, Choice]) -> None:
    """Adds the rows that chosen ones refer to, and those that these do, until there are no more."""
    left: list[tuple[str, set[Row] | None]] = [(name, one.keys) for name, one in found.items()]
    while left:
        name, keys = left.pop()
        if keys is None and found[name].keys is not None:  # it has no key, and is referred to
            continue
        for key in schema.tables[name].foreign:
            parent = found.get(key.table)
            if parent is None or parent.lost or found[name].lost or _is_whole(parent):
                continue
            new = _referred(source, schema, name, found, key, keys)
            if new:
                parent.keys = (parent.keys or set()) | new
                left.append((key.table, new))
                _check_memory(found)


def _is_whole(choice: Choice) -> bool:
    return choice.keys is None and choice.limit is None


def _referred(
    source: Source, schema: Schema, name: str, found: dict[str, Choice], key: ForeignKey,
    keys: set[Row] | None,
) -> set[Row]:  # fmt: skip
    """Keys of rows that rows of a table (None: all that are chosen) refer to, and that are not
    chosen yet."""
    parent, to = found[key.table], schema.tables[key.table]
    if parent.limit is not None:  # rows of a table without a key: only a reference finds them
        parent.keys, parent.limit, parent.columns = set(), None, key.references
        parent.said = "rows that others refer to: it has no key"
    new: set[Row] = set()
    for values in _references(source, schema.tables[name], found[name], key, keys):
        new |= _keys_of(source, to, parent.columns, key.references, values)
    return new - (parent.keys or set())


def _references(
    source: Source, table: Table, child: Choice, key: ForeignKey, keys: set[Row] | None
) -> Iterator[set[Row]]:
    """What rows have in a foreign key's columns, without NULLs."""
    filled = " AND ".join(f"{source.name(each)} IS NOT NULL" for each in key.columns)
    rows_of = source.table(table.name)
    if child.limit is not None:
        rows_of = f"(SELECT * FROM {rows_of} LIMIT {child.limit}) d"
    select = f"SELECT DISTINCT {named(source, table, key.columns)} FROM {rows_of} WHERE {filled}"
    if keys is None:
        yield {tuple(row) for row in source.rows(select)}
        return
    for part in batches(keys):
        found = source.rows(f"{select} AND {among(source, child.columns, part)}")
        yield {tuple(row) for row in found}


def _keys_of(
    source: Source, table: Table, key: Sequence[str], references: Sequence[str], wanted: set[Row]
) -> set[Row]:
    """The keys of the rows that are referred to. Texts may be equal and not the same."""
    if [*key] == [*references] and all(table.columns[name].family == of.WHOLE for name in key):
        return wanted
    read = named(source, table, key)
    found: set[Row] = set()
    for part in batches(wanted):
        where = among(source, references, part)
        rows_of = source.rows(f"SELECT {read} FROM {source.table(table.name)} WHERE {where}")
        found |= {tuple(row) for row in rows_of}
    return found


def batches(keys: Iterable[Row]) -> Iterator[Sequence[Row]]:
    """Parts that fit a statement, in a fixed order."""
    ordered = sorted(keys, key=lambda row: [(str(type(each)), each) for each in row])
    for at in range(0, len(ordered), KEYS_A_QUERY):
        yield ordered[at : at + KEYS_A_QUERY]


def _check_memory(found: dict[str, Choice]) -> None:
    if sum(len(choice.keys or ()) for choice in found.values()) > KEYS_MAX:
        raise DynoError(
            f"more than {KEYS_MAX:,} rows would be copied",
            cause="the rows that are chosen refer to more and more others",
            fix="ask for fewer rows, or for some tables only",
        )
