"""The parameters of a workload made of a log: a generator for each place, one for all places of a
column that are alike, one value for places that hold the same within a transaction, and for the
upper end of a range its lower end and a width."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.digest.workload.carried import Chosen
from dbdyno.digest.workload.profile import List, Range, Statement, Summary, Unit
from dbdyno.digest.workload.schema import handing, values
from dbdyno.digest.workload.values import generators, keys, lengths
from dbdyno.digest.workload.values.places import Place, renamed
from dbdyno.experiment.targets import sqltext

NAME_MAX = 40
APART = 10_000_000  # between sequences on one column
WRITES_KEYS = ("insert", "replace")
ADDABLE = frozenset({"uniform", "zipfian", "sequence", "dates", "times"})  # terms of sums

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
        self._held = {
            (tie.statement, tie.place)
            for tie in chosen.ties
            if (tie.statement, tie.place) == (tie.earlier, tie.earlier_place)
        }
        self._firsts = {
            (one.statement, one.place): one.first
            for one in chosen.counters
            for of in chosen.statements[one.statement].parameters[one.place - 1 : one.place]
            if not of.is_sequence
        }
        self._ranges = _ranges(chosen, database)
        self._names = Names()
        self._known: dict[str, list[str]] = defaultdict(list)
        self.made: dict[str, tuple[dict[str, Any], str]] = {}

    def of_unit(self, unit: Unit) -> dict[int, dict[str, Any]]:
        """`sql` and `lists` of a unit's statements, by position, with names of parameters."""
        tied = self._tied(unit)
        handed = self.handed(unit).spots
        shared: dict[Spot, str] = {}
        return {
            number: self._sql(
                number, tied, shared, handed, self._firsts if unit.is_transaction else {}
            )
            for number in dict.fromkeys(step.statement for step in unit.steps)
        }

    def _tied(self, unit: Unit) -> dict[Spot, Spot]:
        """Places whose value holds for the transaction -> the first one that has the same. A
        statement that occurs twice, or is repeated before the other, cannot give its value, unless
        it is the same each time."""
        held = self._held if unit.is_transaction else set()
        order = [step.statement for step in unit.steps]
        once = {number for number, times in Counter(order).items() if times == 1}
        single = once & {step.statement for step in unit.steps if step.repeat == 1}
        first: dict[Spot, Spot] = {}
        for tie in self._chosen.ties:
            later, earlier = (tie.statement, tie.place), (tie.earlier, tie.earlier_place)
            if later == earlier or not {tie.statement, tie.earlier} <= set(order):
                continue
            if earlier not in held and tie.earlier not in single:
                continue
            if later not in held and tie.statement not in once:
                continue
            if order.index(tie.earlier) > order.index(tie.statement):
                continue
            root = first.setdefault(earlier, earlier)
            first.setdefault(later, root)
        for spot in (*held, *self._keys(single)):
            first.setdefault(spot, spot)
        return first

    def _keys(self, single: Iterable[int]) -> Iterator[Spot]:
        """Keys of new rows in statements that a transaction sends once: it is all the same for how
        long they hold, so they come of one sequence with those that others are tied to."""
        for number in single:
            statement = self._chosen.statements[number]
            for place in self._chosen.places[number].places:
                summary = _summary(statement, place)
                is_key = summary is not None and summary.is_sequence and _is_new(statement)
                if is_key and not _is_in_list(statement, place, longest=1):
                    yield number, place.number

    def _sql(
        self,
        number: int,
        tied: Mapping[Spot, Spot],
        shared: dict[Spot, str],
        handed: Mapping[Spot, str],
        firsts: Mapping[Spot, int],
    ) -> dict[str, Any]:
        statement, places = self._chosen.statements[number], self._chosen.places[number]
        uppers = _uppers(statement)
        names: dict[int, str] = {}
        # The upper end of a range is made of the lower one, in any order.
        for place in sorted(places.places, key=lambda place: place.number in uppers):
            if (number, place.number) in handed:
                names[place.number] = handed[number, place.number]
                continue
            root = tied.get((number, place.number))
            name = shared.get(root) if root is not None else None
            if name in names.values() and _is_in_list(statement, place):
                root = name = None  # an element of a list is in its statement once
            if name is None:
                one = uppers.get(place.number)
                used = {*names.values(), *shared.values()}
                if one is not None and self._adds_up(names.get(one.low)):
                    name = self._upper(statement, place, names[one.low], one, used)
                elif root is None and (number, place.number) in firsts:
                    name = self._counter(number, place)
                else:
                    holds = root is not None or any(
                        (number, upper) in tied
                        for upper, one in uppers.items()
                        if one.low == place.number
                    )
                    name = self._drawn(number, place, used, holds=holds)
                if root is not None:
                    shared[root] = name
            names[place.number] = name
        made: dict[str, Any] = {"sql": renamed(places.sql, names)}
        lists = [
            _list(statement, each, places.element(each.element, names)) for each in statement.lists
        ]
        if any(each["lengths"] != [1] for each in lists):
            made["lists"] = [each for each in lists if each["lengths"] != [1]]
        return made

    def _drawn(self, number: int, place: Place, used: set[str], *, holds: bool) -> str:
        """A parameter for a place by itself. `holds`: for the whole transaction."""
        statement = self._chosen.statements[number]
        summary = _summary(statement, place)
        assert summary is not None, "statements with more places are refused"
        key = _column(self._chosen, statement, place)
        if summary.given is not None:
            found = self._chosen.found(statement, place)
            # By the schema's name: an INSERT without columns has new keys of the same sequence.
            key = (found.table.name, found.column.name) if found is not None else key
            drawn = {**summary.given, "per": "statement"}
            return self._name(_wanted(key, place), drawn, summary.about, used)
        ends = self._range(key, summary)
        is_low = any(one.low == place.number for one in _uppers(statement).values())
        if is_low and not summary.hot:
            ends = None  # ranges do not begin if there is no room for them
        made = self._by_schema(statement, place, summary)
        made = made or keys.drawn(self._chosen, statement, place, summary)
        made = made or generators.generator(summary, ends, is_new=_is_new(statement))
        if place.is_set and (found := self._chosen.found(statement, place)) is not None:
            made = values.clipped(made, found)
        if is_low and "const" in made:
            made = generators.alone(summary)  # something is added to it
        made["per"] = "transaction" if holds else "statement"
        return self._name(_wanted(key, place), made, generators.about(summary, made), used)

    def handed(self, unit: Unit) -> handing.Handed:
        """Keys that the server makes in a unit."""
        return handing.of_unit(self._chosen, unit, self._tied(unit))

    def _by_schema(
        self, statement: Statement, place: Place, summary: Summary
    ) -> dict[str, Any] | None:
        """The generator that the schema decides on, if it does."""
        catalog = self._chosen.catalogs.get(statement.database)
        found = self._chosen.found(statement, place)
        if catalog is None or found is None:
            return None
        return values.generator(catalog, found, place, summary)

    def _range(self, key: tuple[str, str] | None, summary: Summary) -> tuple[float, float] | None:
        """The range of its column that a place draws from."""
        if key is None or summary.kind != "whole":
            return None
        least = summary.least or 0.0
        ranges = self._ranges.get(key, ())
        return next((ends for ends in ranges if ends[0] <= least <= ends[1]), None)

    def _counter(self, number: int, place: Place) -> str:
        """A parameter that numbers what a transaction repeats: one for each statement, as another
        one that draws of it would be counted, too."""
        first = self._firsts[number, place.number]
        made: dict[str, Any] = {"sequence": first, "per": "repetition"}
        if self._chosen.statements[number].parameters[place.number - 1].is_quoted:
            made["as_text"] = True
        wanted = _wanted(_column(self._chosen, self._chosen.statements[number], place), place)
        spot = f"{number} {place.number}"
        if not self._known[spot]:
            name = self._names.new(wanted)
            self._known[spot].append(name)
            self.made[name] = (made, f"counts from {first} in each transaction")
        return self._known[spot][0]

    def _adds_up(self, name: str | None) -> bool:
        return name is not None and not ADDABLE.isdisjoint(self.made[name][0])

    def _upper(
        self, statement: Statement, place: Place, low: str, one: Range, used: set[str]
    ) -> str:
        """The upper end of a range whose lower end has the name `low`."""
        width = lengths.width(statement, one)
        assert width is not None, "such ranges are none"
        per = self.made[low][0]["per"]
        note = f"{one.widths.values[0]:,g} to {one.widths.values[-1]:,g}"
        note += " seconds" if statement.parameters[one.low - 1].kind in ("date", "moment") else ""
        wide = self._name(f"{low}_width", {**width, "per": per}, note, {*used, low})
        note = f"the upper end of a range from {low}"
        wanted = _wanted(_column(self._chosen, statement, place), place)
        return self._name(f"{wanted}_upto", {"sum": [low, wide]}, note, used)

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


def _ranges(chosen: Chosen, database: str) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """The ranges of each column's whole numbers, those that overlap as one: hot keys are those of a
    range, so statements with the same range have the same hot keys. What lies apart stays apart:
    new rows have keys behind those of the rows that are read."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for number, one in enumerate(chosen.statements):
        if one.database != database:
            continue
        uppers = _uppers(one)
        for place in chosen.places[number].places:
            key, summary = _column(chosen, one, place), _summary(one, place)
            if (
                place.number in uppers
                or key is None
                or summary is None
                or summary.kind != "whole"
                or (summary.is_sequence and _is_new(one))
            ):
                continue
            found[key].append((summary.least or 0.0, summary.greatest or 0.0))
    return {key: _overlapping(ranges) for key, ranges in found.items()}


def _overlapping(ranges: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined


def _summary(statement: Statement, place: Place) -> Summary | None:
    within = place.number <= len(statement.parameters)
    return statement.parameters[place.number - 1] if within else None


def _column(chosen: Chosen, statement: Statement, place: Place) -> tuple[str, str] | None:
    """(table, column) of a place, where the statement has one table."""
    one = chosen.classes.get(statement.id)
    if place.column in (None, "limit", "offset") or one is None or len(one.tables) != 1:
        return None
    return one.tables[0], str(place.column)


def _wanted(key: tuple[str, str] | None, place: Place) -> str:
    """What to call a place's parameter."""
    table = key[0].rpartition(".")[2] if key is not None else ""
    return f"{table}_{key[1]}" if key is not None else place.column or "value"


def _uppers(statement: Statement) -> dict[int, Range]:
    """Ranges that are made of a lower end and a width, by the place of their upper end."""
    lows: set[int] = set()
    found: dict[int, Range] = {}
    for one in statement.ranges:
        is_apart = not {one.low, one.high} & (found.keys() | lows) and one.high != one.low
        if is_apart and lengths.width(statement, one) is not None:
            found[one.high] = one
            lows.add(one.low)
    return found


def _is_new(statement: Statement) -> bool:
    """Whether it inserts rows."""
    return sqltext.keyword(statement.template) in WRITES_KEYS


def _is_in_list(statement: Statement, place: Place, *, longest: int = 0) -> bool:
    """Whether it is in a list that may have more than `longest` elements."""
    return any(
        one.place <= place.number < one.place + one.places
        and max(one.lengths.values, default=0) > longest
        for one in statement.lists
    )


def _list(statement: Statement, one: List, element: str) -> dict[str, Any]:
    """How long a list is, in `mix`."""
    many, shares = lengths.lengths(one.lengths, len(statement.lists), one.places, len(element))
    made: dict[str, Any] = {"of": element, "lengths": many}
    return made | ({"weights": shares} if len(set(shares)) > 1 else {})
