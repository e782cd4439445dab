"""SQL that makes rows of the engine's rows in a table of their own and of rows that they refer to.

The engine fills the staging table; each of its rows is numbered, and has numbers of rows of other
tables by these tables' keys. One INSERT then joins them, in the order of the numbers. Rows that
refer to others of their own table are numbered once they have all other values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.copies.schema.tables import Column, Table
from dbdyno.copies.synthesis import own
from dbdyno.copies.synthesis.parents import Link, Parents

ROW = "dyno_row"
_PARENT = "dyno_parent_{}"
_NUMBER, _COUNT = "dyno_number", "dyno_count"
_DRAWN, _ROWS = "dyno_drawn", "dyno_rows"  # rows without and with their numbers


@dataclass(frozen=True, kw_only=True)
class Staging:
    """`create`: the table, empty; `fill`: statements that take its rows over, and remove it."""

    name: str
    columns: Mapping[str, Mapping[str, Any]]
    create: str
    fill: Sequence[str]


def staging(
    name: str, table: Table, parents: Parents, columns: Mapping[str, Mapping[str, Any]],
    quoted: Callable[[str], str],
) -> Staging:  # fmt: skip
    """`columns`: as the table itself would be declared; `quoted`: a name in the server's quotes."""
    numbers: dict[str, Mapping[str, Any]] = {ROW: {"type": "bigint", "sequence": 1}}
    for at, link in enumerate(parents.links):
        numbers[_PARENT.format(at)] = {"type": "bigint", **link.generator}
    made = {**columns, **numbers}
    lines = ", ".join(f"{quoted(column)} {each['type']} NULL" for column, each in made.items())
    taken = _Taken(table, parents, columns, quoted)
    return Staging(
        name=name,
        columns=made,
        create=f"CREATE TABLE {quoted(name)} ({lines})",
        fill=(taken.insert(name), f"DROP TABLE {quoted(name)}"),
    )


class _Taken:
    def __init__(
        self, table: Table, parents: Parents, columns: Mapping[str, Any],
        quoted: Callable[[str], str],
    ) -> None:  # fmt: skip
        self._table, self._parents, self._columns = table, parents, columns
        self._quoted = quoted

    def insert(self, name: str) -> str:
        counted = {counter.column for counter in self._parents.counters}
        known = {*self._columns, *self._parents.assigned, *counted}
        filled = [column for column in self._table.filled if column.name in known]
        into = ", ".join(self._quoted(column.name) for column in filled)
        values = [self._value(column) for column in filled]
        links = [*enumerate(self._parents.links)]
        joins = "".join(self._join(at, link) for at, link in links if not link.is_own)
        rows, before = f"{self._quoted(name)} s{joins}", ""
        if own_links := [(at, link) for at, link in links if link.is_own]:
            before = f"WITH {self._numbered(filled, values, rows, own_links)} "
            values = [self._of_own(column) for column in filled]
            rows = f"{_ROWS} s{''.join(self._join_own(at, link) for at, link in own_links)}"
        return (
            f"INSERT INTO {self._quoted(self._table.name)} ({into}) {before}"
            f"SELECT {', '.join(values)} FROM {rows} ORDER BY s.{ROW}"
        )

    def _numbered(
        self, filled: Sequence[Column], values: Sequence[str], rows: str,
        links: Sequence[tuple[int, Link]],
    ) -> str:  # fmt: skip
        """The rows with all values but those of the own table, and with their numbers among those
        that they may refer to."""
        named = [
            f"{value} AS {self._quoted(column.name)}"
            for column, value in zip(filled, values, strict=True)
            if column.name in self._columns or not self._is_of_own(column)
        ]
        drawn = ", ".join([*named, f"s.{ROW}", *(f"s.{_PARENT.format(at)}" for at, _ in links)])
        numbers = ""
        for at, link in links:
            within = self._names([*link.shared], "d.")
            part = f"PARTITION BY {within} " if within else ""
            numbers += f", ROW_NUMBER() OVER ({part}ORDER BY d.{ROW}) AS {_NUMBER}_{at}"
        return (
            f"{_DRAWN} AS (SELECT {drawn} FROM {rows}),"
            f" {_ROWS} AS (SELECT d.*{numbers} FROM {_DRAWN} d)"
        )

    def _join_own(self, at: int, link: Link) -> str:
        """The row that is referred to: one before, of the first the row itself if it must."""
        before = f"NULLIF(s.{_NUMBER}_{at} - 1, 0)"
        drawn = f"1 + MOD(s.{_PARENT.format(at)} - 1, {before})"
        if own.must_refer(self._table, link.key):
            drawn = f"COALESCE({drawn}, 1)"
        same = "".join(
            f"p{at}.{self._quoted(column)} = s.{self._quoted(column)} AND "
            for column in link.shared
        )
        return f" LEFT JOIN {_ROWS} p{at} ON {same}p{at}.{_NUMBER}_{at} = {drawn}"

    def _is_of_own(self, column: Column) -> bool:
        """Whether a column's values are those of another row of the table."""
        at, _ = self._parents.assigned.get(column.name, (None, ""))
        return at is not None and self._parents.links[at].is_own

    def _of_own(self, column: Column) -> str:
        """A value where all rows have their numbers."""
        if self._is_of_own(column):
            return self._from_parent(column)
        return f"s.{self._quoted(column.name)}"

    def _join(self, at: int, link: Link) -> str:
        """The rows that are referred to, numbered by their key from 1 on."""
        if link.shared:
            return self._join_shared(at, link)
        names = self._names(link.key.references)
        rows = f"{self._quoted(link.key.table)} o{self._needed(link)}"
        drawn = f"s.{_PARENT.format(at)}"
        if link.step != 1:
            drawn = f"1 + MOD(({drawn} - 1) * {link.step}, {link.rows})"
        if link.needs:  # fewer rows than there are
            drawn = f"1 + MOD({drawn} - 1, (SELECT COUNT(*) FROM {rows}))"
        return (
            f" LEFT JOIN (SELECT ROW_NUMBER() OVER (ORDER BY {names}) AS {_NUMBER}, {names}"
            f" FROM {rows}) p{at} ON p{at}.{_NUMBER} = {drawn}"
        )

    def _join_shared(self, at: int, link: Link) -> str:
        """Those that fit the row of another link, numbered, and how many these are."""
        names, within = self._names(link.key.references), self._names([*link.shared.values()])
        table = self._quoted(link.key.table)

        def same(alias: str) -> str:
            return " AND ".join(
                f"{alias}{at}.{self._quoted(other)} = {self._taken(self._table.columns[own])}"
                for own, other in link.shared.items()
            )

        return (
            f" LEFT JOIN (SELECT {within}, COUNT(*) AS {_COUNT} FROM {table} GROUP BY {within})"
            f" c{at} ON {same('c')}"
            f" LEFT JOIN (SELECT ROW_NUMBER() OVER (PARTITION BY {within} ORDER BY {names})"
            f" AS {_NUMBER}, {names} FROM {table}) p{at} ON {same('p')}"
            f" AND p{at}.{_NUMBER} = 1 + MOD(s.{_PARENT.format(at)} - 1, c{at}.{_COUNT})"
        )

    def _needed(self, link: Link) -> str:
        """Only the rows that others fit."""
        wanted = []
        for number in link.needs:
            other = self._parents.links[number]
            same = " AND ".join(
                f"q.{self._quoted(column)} = o.{self._quoted(self._parents.assigned[own][1])}"
                for own, column in other.shared.items()
            )
            wanted.append(f"EXISTS (SELECT 1 FROM {self._quoted(other.key.table)} q WHERE {same})")
        return f" WHERE {' AND '.join(wanted)}" if wanted else ""

    def _names(self, columns: Sequence[str], of: str = "") -> str:
        return ", ".join(f"{of}{self._quoted(column)}" for column in columns)

    def _value(self, column: Column) -> str:
        for counter in self._parents.counters:
            if counter.column == column.name:
                within = ", ".join(self._taken(self._table.columns[one]) for one in counter.within)
                number = f"ROW_NUMBER() OVER (PARTITION BY {within} ORDER BY s.{ROW})"
                return f"{counter.first} + {number} - 1"
        return self._taken(column)

    def _taken(self, column: Column) -> str:
        if column.name not in self._parents.assigned or self._is_of_own(column):
            return f"s.{self._quoted(column.name)}"
        return self._from_parent(column)

    def _from_parent(self, column: Column) -> str:
        at, other = self._parents.assigned[column.name]
        found = f"p{at}.{self._quoted(other)}"
        if column.is_nullable or column.name not in self._columns:
            return found
        return f"COALESCE({found}, s.{self._quoted(column.name)})"
