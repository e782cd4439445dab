"""Declared tables of a schema and of its statistics."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Schema, Table
from dbdyno.copies.statistics.values import TableStatistics
from dbdyno.copies.synthesis import coupling, keys
from dbdyno.copies.synthesis.column import Values, stand_in, values
from dbdyno.copies.synthesis.coupling import Coupling
from dbdyno.copies.synthesis.keys import Key
from dbdyno.experiment.targets.setups import SQL_NAME

_NAME = re.compile(SQL_NAME)


@dataclass
class Synthesis:
    """`tables`: as under `setup.tables`; `broken`: unique indexes and foreign keys that the rows do
    not keep, by table and name; `omitted`: a sentence for each."""

    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: set[tuple[str, str]] = field(default_factory=set)
    omitted: list[str] = field(default_factory=list)


def synthesised(schema: Schema, statistics: Mapping[str, TableStatistics]) -> Synthesis:
    """All tables that have rows."""
    made = Synthesis()
    known = keys.all_keys(schema, statistics)
    for table in schema.tables.values():
        found = statistics.get(table.name)
        if found is None or found.rows == 0:
            continue
        if not _NAME.fullmatch(table.name):
            made.omitted.append(f"rows of `{table.name}`: its name needs quotes")
            continue
        one = _Table(schema, table, found, known, made)
        columns = one.columns()
        if columns is not None:
            made.tables[table.name] = {"rows": found.rows, "existing": True, "columns": columns}
    for table in schema.tables.values():
        _check_foreign(schema, table, known, made)
    return made


def _check_foreign(
    schema: Schema, table: Table, known: Mapping[tuple[str, str], Key], made: Synthesis
) -> None:
    """Foreign keys whose rows cannot be there are not made."""
    references = keys.references(schema, table)
    for key in table.foreign:
        target = known.get(references.get(key.columns[0], ("", "")))
        is_made = len(key.columns) == 1 and target is not None and not target.is_part
        if is_made and key.table in made.tables:
            continue
        if table.name in made.tables:
            made.broken.add((table.name, key.name))
            why = (
                "it is of several columns" if len(key.columns) > 1 else "it refers to made-up rows"
            )
            made.omitted.append(f"foreign key `{key.name}` of `{table.name}`: {why}")


class _Table:
    def __init__(
        self, schema: Schema, table: Table, found: TableStatistics,
        known: Mapping[tuple[str, str], Key], made: Synthesis,
    ) -> None:  # fmt: skip
        self._table, self._found, self._made = table, found, made
        self._known = known
        self._references = keys.references(schema, table)
        self._values: dict[str, Values] = {}
        self._columns: dict[str, dict[str, Any]] = {}
        self._by: dict[str, tuple[str, Coupling]] = {}

    def columns(self) -> dict[str, dict[str, Any]] | None:
        """All columns, those that others follow before these; None if one cannot be made."""
        if not self._read():
            return None
        for column in self._table.filled:
            if self._table.is_key(column.name) and column.name not in self._columns:
                self._once(column.name)
        for key in self._table.keys:
            if len(key) > 1:
                self._several([*key])
        for (a, b), pair in self._found.pairs.items():
            if a in self._values and b in self._values:
                self._couple(a, b, pair)
        ordered: dict[str, dict[str, Any]] = {}
        for name in self._values:
            self._put(name, ordered)
        rest = {name: made for name, made in self._columns.items() if name not in ordered}
        types = {column.name: column.type for column in self._table.filled}
        return {name: {"type": types[name], **made} for name, made in (ordered | rest).items()}

    def _read(self) -> bool:
        for column in self._table.filled:
            if not _NAME.fullmatch(column.name):
                if column.is_nullable:
                    continue
                return self._lost(column.name, "its name needs quotes")
            if column.has_stand_in:
                continue
            made = values(column, self._found.columns[column.name])
            if made is not None and made.pieces:
                target = self._target(column.name)
                self._values[column.name] = keys.referring(made, target) if target else made
                continue
            if self._found.columns[column.name].nulls == 1.0:
                continue
            value = stand_in(column)
            if value is not None:
                self._columns[column.name] = {"const": value}
            elif not column.is_nullable:
                return self._lost(column.name, f"no values of type {column.type} are made")
            else:
                self._say(column.name, f"NULL: no values of type {column.type} are made")
        return bool(self._values)

    def _target(self, column: str) -> Key | None:
        """The keys that a column refers to."""
        found = self._known.get(self._references.get(column, ("", "")))
        return found if found is not None and not found.is_part else None

    def _lost(self, column: str, why: str) -> bool:
        self._say(column, f"without it no row: {why}")
        return False

    def _say(self, column: str, why: str) -> None:
        self._made.omitted.append(f"column `{self._table.name}.{column}`: {why}")

    def _once(self, name: str) -> None:
        key = self._known.get((self._table.name, name))
        if key is None:
            self._break([name])
            return
        referred = self._target(name)
        order = self._found.columns[name].order
        made = keys.once(key, referred, order if name not in self._table.primary else None)
        nulls = self._found.columns[name].nulls
        self._columns[name] = made | ({"nulls": round(nulls, 6)} if nulls else {})

    def _several(self, names: list[str]) -> None:
        """A key of several columns: unique by itself where one of them is."""
        if any(self._table.is_key(name) for name in names):
            return
        free = not any(name in self._columns for name in names)
        chosen = keys.numbered(names, self._values, self._found.rows) if free else None
        if chosen is None:
            self._break(names)
            return
        first, last = chosen
        of_first = self._values[first]
        total = sum(piece.rows for piece in of_first.pieces)
        largest = math.ceil(of_first.largest * self._found.rows / total) + 2
        of_last = self._values[last] = keys.grown(self._values[last], largest)
        self._columns[first] = of_first.generator() | {"spread": 0}
        spread = 1 if of_last.distinct > 2 * largest else 0
        self._columns[last] = of_last.generator() | {"numbered": first, "spread": spread}
        self._by[last] = (first, Coupling(0))

    def _break(self, names: list[str]) -> None:
        for index in self._table.indexes:
            if index.is_unique and [*index.columns] == names:
                self._made.broken.add((self._table.name, index.name))
                said = f"`{index.name}` of `{self._table.name}` is not unique in the copy"
                self._made.omitted.append(said)

    def _couple(self, a: str, b: str, pair: Any) -> None:
        found = coupling.of_pair(self._values[a].pieces, self._values[b].pieces, pair)
        if found is not None and found.determined == 0:
            a, b = b, a
        if found is None or b in self._by or b in self._columns or self._follows(a, b):
            return
        self._by[b] = (a, found)

    def _follows(self, name: str, other: str) -> bool:
        """Whether a column's position comes from the other's."""
        while name in self._by:
            name = self._by[name][0]
            if name == other:
                return True
        return False

    def _put(self, name: str, ordered: dict[str, dict[str, Any]]) -> None:
        if name in ordered:
            return
        if name in self._by:
            self._put(self._by[name][0], ordered)
        if name not in self._columns:
            self._columns[name] = self._values[name].generator() | self._position(name)
        ordered[name] = self._columns[name]

    def _position(self, name: str) -> dict[str, Any]:
        order = self._found.columns[name].order
        by, found = self._by.get(name, ("", None))
        if found is None and order is not None and self._values[name].family in of.RANGED:
            found = coupling.of_ranks(order)
        if found is None:
            return {}
        made: dict[str, Any] = {"by": by} if by else {}
        made |= {"spread": found.spread} if found.determined is None else {"determined": True}
        made |= {"descending": True} if found.descending else {}
        return made | ({"shuffle": True} if found.shuffle else {})
