"""Declared tables of a schema and of its statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Check, DomainCheck, ForeignKey, Index, Schema, Table
from dbdyno.copies.statistics.values import TableStatistics
from dbdyno.copies.synthesis import coupling, keys, own, parents
from dbdyno.copies.synthesis.column import Values, stand_in, values
from dbdyno.copies.synthesis.coupling import Coupling
from dbdyno.copies.synthesis.domains import Domains
from dbdyno.copies.synthesis.keys import Key
from dbdyno.copies.synthesis.parents import Parents, Planner
from dbdyno.copies.synthesis.staging import Staging, staging
from dbdyno.experiment.targets.setups import SQL_NAME

_NAME, _FOLDED = re.compile(SQL_NAME), re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass
class Synthesis:
    """`tables`: as under `setup.tables`; `rows`: of each table of the schema that has some;
    `staged`: tables that the engine fills for those whose rows take values of others, in their
    order; `broken`: unique indexes and foreign keys that the rows do not keep, by table and name;
    `checks`, `domain_checks`: those that they do, by table; `omitted`: a sentence for each."""

    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    staged: list[Staging] = field(default_factory=list)
    broken: set[tuple[str, str]] = field(default_factory=set)
    checks: dict[str, list[Check]] = field(default_factory=dict)
    domain_checks: list[DomainCheck] = field(default_factory=list)
    omitted: list[str] = field(default_factory=list)


def synthesised(schema: Schema, statistics: Mapping[str, TableStatistics]) -> Synthesis:
    """All tables that have rows, and what these keep of the schema's constraints."""
    making = _Making(schema, statistics)
    for table in making.order:
        making.declare(table)
        making.judge(table)
    making.judge_domains()
    for table in making.order:
        making.keep_keys(table)
    return making.made


class _Making:
    """`order`: all tables, each after those whose rows it takes values of."""

    def __init__(self, schema: Schema, statistics: Mapping[str, TableStatistics]) -> None:
        self._schema, self._statistics = schema, statistics
        self.made = Synthesis()
        self.order, circular = parents.ordered(schema)
        self._known = keys.all_keys(schema, statistics)
        broken = self.made.broken
        self._planner = Planner(schema, statistics, self.made.rows, broken, circular)
        self._parents: dict[str, Parents] = {}
        self._domains = Domains(schema)
        self._kept: set[tuple[str, str]] = set()  # foreign keys

    def declare(self, table: Table) -> None:
        """Has the engine make its rows, if it has some."""
        found = self._statistics.get(table.name)
        self._parents[table.name] = Parents()
        if found is None or not found.rows:
            return
        if not _NAME.fullmatch(table.name):
            self.made.omitted.append(f"rows of `{table.name}`: its name needs quotes")
            return
        taken = self._parents[table.name] = self._planner.parents(table)
        columns = _Table(self._schema, table, found, self._known, self.made, taken).columns()
        if columns is None:
            return
        name = self._stage(table, taken, columns) if taken.links else table.name
        declared = dict(self.made.staged[-1].columns) if taken.links else columns
        self.made.tables[name] = {"rows": found.rows, "existing": True, "columns": declared}
        self.made.rows[table.name] = found.rows
        self._domains.take(table, taken, columns, found.rows)

    def _stage(self, table: Table, taken: Parents, columns: dict[str, dict[str, Any]]) -> str:
        name = f"dyno_made_{len(self.made.staged) + 1}"
        self.made.staged.append(staging(name, table, taken, columns, self._schema.quoted))
        return name

    def judge(self, table: Table) -> None:
        """Keeps the checks that its rows meet."""
        kept = self.made.checks[table.name] = [
            check for check in table.checks if self._domains.hold(table, check)
        ]
        for check in table.checks:
            if check not in kept:
                self._omit_check(check.name, f"`{table.name}`")

    def judge_domains(self) -> None:
        """Keeps the checks of domains that all rows meet."""
        for check in self._schema.domain_checks:
            if self._domains.hold_for(check):
                self.made.domain_checks.append(check)
            else:
                self._omit_check(check.name, f"domain `{check.type}`")

    def _omit_check(self, name: str, of_what: str) -> None:
        said = f"check `{name}` of {of_what}: made-up rows need not pass it"
        self.made.omitted.append(said)

    def keep_keys(self, table: Table) -> None:
        """Keeps the foreign keys that its rows keep; of tables before it this is known."""
        for key in table.foreign:
            why = self._unkept(table, key)
            if not why:
                self._kept.add((table.name, key.name))
            elif table.name in self.made.rows:
                self.made.broken.add((table.name, key.name))
                self.made.omitted.append(f"foreign key `{key.name}` of `{table.name}`: {why}")

    def _unkept(self, table: Table, key: ForeignKey) -> str:
        """Why the rows do not keep a foreign key; empty: they do."""
        taken = self._parents[table.name]
        if key.table not in self.made.rows:
            return f"`{key.table}` has no rows in the copy"
        if key.name in taken.refused:
            return taken.refused[key.name]
        if own.is_own(table, key) and not parents.is_referable(table, key, self.made.broken):
            return f"it refers to no unique columns of `{key.table}`"
        follows = parents.follows(self._schema, table, taken, key, self._kept)
        if follows is False:
            return "its columns have the values that another foreign key needs"
        if len(key.columns) > 1:
            return "" if follows else "it is of several columns"
        # Where nothing is taken, its column has the value that the engine makes.
        is_sure = table.columns[key.columns[0]].is_nullable or not taken.has_nulls
        if (follows and is_sure) or self._refers(table, key):
            return ""
        return f"it refers to no unique column of `{key.table}`"

    def _refers(self, table: Table, key: ForeignKey) -> bool:
        """Whether the values that the engine makes for its only column are keys of the other."""
        to = keys.references(self._schema, table).get(key.columns[0], ("", ""))
        target = self._known.get(to)
        return target is not None and not target.is_part


class _Table:
    def __init__(
        self, schema: Schema, table: Table, found: TableStatistics,
        known: Mapping[tuple[str, str], Key], made: Synthesis, parents_: Parents,
    ) -> None:  # fmt: skip
        self._table, self._found, self._made = table, found, made
        self._unique = [[*columns] for columns in parents_.unique]  # by what others have
        self._name = _FOLDED if schema.folds_names else _NAME
        self._known = known
        self._references = keys.references(schema, table)
        self._values: dict[str, Values] = {}
        self._columns: dict[str, dict[str, Any]] = {}
        self._by: dict[str, tuple[str, Coupling]] = {}
        self._is_lost = False

    def columns(self) -> dict[str, dict[str, Any]] | None:
        """All columns, those that others follow before these; None if one cannot be made."""
        if not self._read():
            return None
        for column in self._table.filled:
            if self._table.is_key(column.name) and column.name not in self._columns:
                self._once(column.name)
        for key in self._table.keys:
            if len(key) > 1 and [*key] not in self._unique:
                self._several([*key])
        if self._is_lost:
            return None
        for index in self._table.indexes:
            if index.is_unique and not index.is_whole:
                self._loosen(index)
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
            if not self._name.fullmatch(column.name):
                if column.is_nullable:
                    self._say(column.name, "NULL: its name needs quotes")
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
        rows = self._found.rows
        room = {name: key.count for name in names if (key := self._target(name)) is not None}
        chosen = keys.numbered(names, self._values, rows, room) if free else None
        if chosen is None:
            self._break(names)
            return
        first, last = chosen
        largest = self._values[first].largest(rows)
        of_last = keys.grown(self._values[last], largest, room.get(last))
        self._values[last] = of_last
        self._columns[first] = self._values[first].generator() | {"spread": 0}
        spread = 1 if of_last.distinct > 2 * largest else 0
        self._columns[last] = of_last.generator() | {"numbered": first, "spread": spread}
        self._by[last] = (first, Coupling(0))

    def _break(self, names: list[str]) -> None:
        for index in self._table.indexes:
            if index.is_primary and [*index.columns] == names:
                self._is_lost = True
                self._say(", ".join(names), "without it no row: no such primary keys are made")
            elif index.is_unique and [*index.columns] == names:
                self._loosen(index)

    def _loosen(self, index: Index) -> None:
        self._made.broken.add((self._table.name, index.name))
        self._made.omitted.append(
            f"`{index.name}` of `{self._table.name}` is not unique in the copy"
        )

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
