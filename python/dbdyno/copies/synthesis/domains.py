"""Checks that made-up rows meet: judged by what their columns' generators can make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Check, Column, DomainCheck, Schema, Table
from dbdyno.copies.synthesis.parents import Parents
from dbdyno.sql.checks.domain import ANYTHING, Domain, moment, number, of_values

VALUES_MAX = 1000  # of a column that are compared one by one
_SINGLE = ("float", "real")  # whose values are not the decimal ones that are written


class Domains:
    """What the columns of tables can have, table by table."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._found: dict[str, dict[str, Domain]] = {}

    def take(
        self, table: Table, parents: Parents, columns: Mapping[str, Mapping[str, Any]], rows: int
    ) -> None:
        """Notes a table with its declared columns, after those that it takes values of."""
        found = {name: of_column(table.columns[name], made) for name, made in columns.items()}
        for counter in parents.counters:
            first = Decimal(counter.first)
            found[counter.column] = Domain(low=first, high=first + rows - 1, has_null=False)
        for name, (at, other) in parents.assigned.items():
            link = parents.links[at]
            if link.is_own:  # these come last
                taken = found.get(other, ANYTHING)
            else:
                taken = self._found[link.key.table].get(other.lower(), ANYTHING)
            if table.columns[name].is_nullable:
                found[name] = taken.with_null(taken.has_null or link.has_nulls)
            else:
                own = found.get(name, ANYTHING) if link.has_nulls else taken
                found[name] = taken.or_(own).with_null(False)
        self._found[table.name] = {name.lower(): each for name, each in found.items()}

    def hold(self, table: Table, check: Check) -> bool:
        """Whether all rows of a table meet a check; a table without rows meets all."""
        from dbdyno.sql.checks.holds import holds  # sqlglot comes with it

        found = self._found.get(table.name)
        return found is None or holds(check.expression, self._schema.language, found)

    def hold_for(self, check: DomainCheck) -> bool:
        """Whether all columns of a domain of PostgreSQL's meet its check."""
        from dbdyno.sql.checks.holds import holds

        found = (
            self._found[table.name].get(column.name.lower(), ANYTHING)
            for table in self._schema.tables.values()
            for column in table.columns.values()
            if column.type == check.type and table.name in self._found
        )
        return all(holds(check.expression, self._schema.language, {"value": one}) for one in found)


def of_column(column: Column, made: Mapping[str, Any]) -> Domain:
    """What a declared column can have."""
    has_null = made.get("nulls", 0) > 0
    if "labels" in made:
        return of_values([str(label) for label in made["labels"]], has_null=has_null)
    if "pattern" in made:
        least, most = made.get("lengths", (0, 0))
        lengths = (least, most) if "lengths" in made and column.family == of.TEXT else None
        return Domain(lengths=lengths, has_null=has_null)
    if "histogram" not in made or column.family not in (*of.RANGED, of.BOOLEAN):
        return Domain(has_null=has_null)
    if column.type.lower().startswith(_SINGLE) or "with time zone" in column.type.lower():
        return Domain(has_null=has_null)
    pieces = made["histogram"]
    if "keys" not in made and column.family in (of.WHOLE, of.BOOLEAN):
        low, high = int(pieces[0][0]), int(pieces[-1][1])
        if high - low < VALUES_MAX and all(_is_full(piece) for piece in pieces):
            values = {each for a, b, *_ in pieces for each in range(int(a), int(b) + 1)}
            return of_values(map(Decimal, values), has_null=has_null)
    ends = made["keys"][:2] if "keys" in made else (pieces[0][0], pieces[-1][1])
    read = moment if column.family in (of.DAY, of.TIME) else number
    first, last = (read(each) for each in ends)
    return Domain(low=first, high=last, has_null=has_null)


def _is_full(piece: list[Any]) -> bool:
    """Whether a piece has all whole numbers between its ends."""
    return len(piece) == 3 or int(piece[3]) == int(piece[1]) - int(piece[0]) + 1


def with_labels(schema: Schema) -> Schema:
    """The schema whose texts of which a check allows some only are enumerations of these: the
    check's words belong to the schema, as those of an enumeration do."""
    from dbdyno.sql.checks.holds import listed

    tables = {}
    for table in schema.tables.values():
        columns = dict(table.columns)
        refers = {name for key in table.foreign for name in key.columns}
        for check in table.checks:
            for name, labels in listed(check.expression, schema.language).items():
                column = columns.get(name)
                if column is None or column.family != of.TEXT or name in refers:
                    continue
                if not table.is_key(name):
                    columns[name] = replace(column, family=of.ENUM, labels=labels)
        tables[table.name] = replace(table, columns=columns)
    return replace(schema, tables=tables)
