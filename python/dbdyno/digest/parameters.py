"""The parameters of a workload made of a log: a generator for each place, one for all places of a
column that are alike, and one value for places that hold the same within a transaction."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.digest import generators
from dbdyno.digest.carried import Chosen
from dbdyno.digest.places import Place, renamed
from dbdyno.digest.shape import Statement, Summary, Unit
from dbdyno.spec import sqltext

NAME_MAX = 40
APART = 10_000_000  # between sequences on one column
WRITES_KEYS = ("insert", "replace")

Spot = tuple[int, int]  # a statement's position, and a place of it


@dataclass
class Names:
    """Names that are taken: in a group each once."""

    taken: set[str] = field(default_factory=lambda: {"begin", "commit", "other"})

    def new(self, wanted: str) -> str:
        base = re.sub(r"\W+", "_", wanted, flags=re.ASCII).strip("_")[:NAME_MAX]
        if not base or base[0].isdigit():
            base = f"s_{base}".rstrip("_")
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


class Parameters:
    """Those of a group, which has the units of one database. `made`: name -> what YAML says of it,
    and a note."""

    def __init__(self, chosen: Chosen, database: str) -> None:
        self._chosen = chosen
        self._ranges = _ranges(chosen, database)
        self._names = Names()
        self._known: dict[str, list[str]] = defaultdict(list)
        self.made: dict[str, tuple[dict[str, Any], str]] = {}

    def of_unit(self, unit: Unit) -> dict[int, str]:
        """The SQL of a unit's statements, by position, with the names of parameters in it."""
        tied = self._tied(unit)
        shared: dict[Spot, str] = {}
        return {
            number: self._sql(number, tied, shared)
            for number in dict.fromkeys(step.statement for step in unit.steps)
        }

    def _tied(self, unit: Unit) -> dict[Spot, Spot]:
        """Places that hold the same value -> the first of them. A value holds for a transaction, so
        a statement that is there twice, or is repeated before the other, cannot give it."""
        order = [step.statement for step in unit.steps]
        once = {number for number, times in Counter(order).items() if times == 1}
        single = {step.statement for step in unit.steps if step.repeat == 1}
        first: dict[Spot, Spot] = {}
        for tie in self._chosen.ties:
            if not {tie.statement, tie.earlier} <= once or tie.earlier not in single:
                continue
            if order.index(tie.earlier) > order.index(tie.statement):
                continue
            earlier = (tie.earlier, tie.earlier_place)
            root = first.setdefault(earlier, earlier)
            first.setdefault((tie.statement, tie.place), root)
        return first

    def _sql(self, number: int, tied: Mapping[Spot, Spot], shared: dict[Spot, str]) -> str:
        statement, places = self._chosen.statements[number], self._chosen.places[number]
        is_new = sqltext.keyword(statement.template) in WRITES_KEYS
        names: dict[int, str] = {}
        for place in places.places:
            root = tied.get((number, place.number))
            name = shared.get(root) if root is not None else None
            if name is None:
                summary = _summary(statement, place)
                assert summary is not None, "statements with more places are refused"
                key = _column(self._chosen, statement, place)
                made = generators.generator(
                    summary, self._ranges.get(key) if key is not None else None, is_new=is_new
                )
                made["per"] = "statement" if root is None else "transaction"
                table = key[0].rpartition(".")[2] if key is not None else ""
                wanted = f"{table}_{key[1]}" if key is not None else place.column or "value"
                note = generators.about(summary, made)
                name = self._name(wanted, made, note, {*names.values(), *shared.values()})
                if root is not None:
                    shared[root] = name
            names[place.number] = name
        return renamed(places.sql, names)

    def _name(self, wanted: str, made: dict[str, Any], note: str, used: set[str]) -> str:
        """The parameter with this generator that is not used yet."""
        first = made.get("sequence")
        alike = {**made, "sequence": None} if first is not None else made
        known = self._known[f"{wanted} {alike}"]
        for name in known:
            if name not in used:
                if first is not None:  # one for all, behind the greatest key of each statement
                    generator = self.made[name][0]
                    generator["sequence"] = max(generator["sequence"], first)
                return name
        if first is not None:
            counted = self._known[f"{wanted} sequence"]
            made["sequence"] = min(first + len(counted) * APART, generators.END_MAX)
            counted.append(wanted)
        name = self._names.new(wanted)
        known.append(name)
        self.made[name] = (made, note)
        return name


def _ranges(chosen: Chosen, database: str) -> dict[tuple[str, str], tuple[float, float]]:
    """The range of each column's whole numbers over all statements: hot keys are those of a range,
    so statements with the same range have the same hot keys."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for number, one in enumerate(chosen.statements):
        if one.database != database:
            continue
        for place in chosen.places[number].places:
            key, summary = _column(chosen, one, place), _summary(one, place)
            if key is None or summary is None or summary.kind != "whole" or summary.is_sequence:
                continue
            ends = (summary.least or 0.0, summary.greatest or 0.0)
            low, high = found.get(key, ends)
            found[key] = (min(low, ends[0]), max(high, ends[1]))
    return found


def _summary(statement: Statement, place: Place) -> Summary | None:
    within = place.number <= len(statement.parameters)
    return statement.parameters[place.number - 1] if within else None


def _column(chosen: Chosen, statement: Statement, place: Place) -> tuple[str, str] | None:
    """(table, column) of a place, where the statement has one table."""
    one = chosen.classes.get(statement.id)
    if place.column in (None, "limit", "offset") or one is None or len(one.tables) != 1:
        return None
    return one.tables[0], str(place.column)
