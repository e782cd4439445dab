"""What a workload is made of, from the statements that a server counts: each is a unit by itself,
since counts have no order and no sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno import kinds
from dbdyno.digest.workload import profile
from dbdyno.digest.workload.carried import FRAME, SESSION, WORK
from dbdyno.digest.workload.counts import drawing, ranges, template
from dbdyno.digest.workload.counts.columns import Columns
from dbdyno.digest.workload.counts.counted import Statement as Counted
from dbdyno.digest.workload.counts.drawing import Drawing, Given, NotDrawn
from dbdyno.digest.workload.counts.template import Listed, Template
from dbdyno.digest.workload.profile import Range, Shape, Spread, Step, Summary, Unit
from dbdyno.digest.workload.schema import naming
from dbdyno.digest.workload.schema.catalog import Catalog
from dbdyno.digest.workload.schema.naming import Found
from dbdyno.digest.workload.values import places
from dbdyno.digest.workload.values.places import Place
from dbdyno.experiment.targets import sqltext
from dbdyno.sql.parts import Statement as Parsed
from dbdyno.sql.statement import read

ELSEWHERE = "on views, or on tables of other schemas: the copy has none of them"
LENGTHS = "lists whose length the server's counts do not tell"
CALLS = "calls of procedures: the copy has none"
UNKNOWN = "statements that cannot be taken apart, or that hold variables"
KEYS = "new rows with a key of several columns, none of which comes once"
_QUOTED_CALL = re.compile(r"`(\w+)`\s*\(")
_IGNORES = ("ignore", "duplicate", "conflict")  # words of an INSERT whose rows may be there


@dataclass(frozen=True)
class Schema:
    """One schema of a server. `language`: of its statements."""

    language: str
    catalog: Catalog
    columns: Columns

    @classmethod
    def of(cls, catalog: Catalog, columns: Columns) -> Schema:
        """A schema as it was read."""
        return cls(kinds.of(catalog.kind).language, catalog, columns)


def shape(counted: Iterable[Counted], schemas: Mapping[str, Schema], duration_s: float) -> Shape:
    """`schemas`: by database, as far as they are known."""
    made: list[profile.Statement] = []
    for one in counted:
        # As of logs: what a driver sends by itself is no statement of the load.
        if sqltext.keyword(one.text) not in (*FRAME, *SESSION):
            made.append(_statement(one, schemas.get(one.database)))
    units = (
        Unit(
            count=one.count,
            is_transaction=False,
            is_rolled_back=False,
            steps=(Step(statement=number, repeat=1),),
        )
        for number, one in enumerate(made)
    )
    return Shape(
        statements=tuple(made),
        units=tuple(units),
        units_dropped=0,
        statements_dropped=0,
        sessions=0,
        duration_s=duration_s,
    )


def _statement(one: Counted, schema: Schema | None) -> profile.Statement:
    if sqltext.keyword(one.text) not in WORK:
        return _without(one, None)  # what it is says enough
    if sqltext.keyword(one.text) == "call":
        return _without(one, CALLS)
    if schema is None:
        return _without(one, ELSEWHERE)
    try:
        return _Made(one, schema).statement()
    except NotDrawn as why:
        return _without(one, str(why))


def _without(one: Counted, refused: str | None) -> profile.Statement:
    return profile.Statement(
        id=one.identity.id,
        template=one.text,
        template_share=1.0,
        database=one.database,
        count=one.count,
        parameters=(),
        refused=refused,
    )


@dataclass
class _Made:
    """A statement on the way. `given`: by place; `ranges`: pairs of places."""

    one: Counted
    schema: Schema
    given: dict[int, Given] = field(default_factory=dict)
    ranges: list[Range] = field(default_factory=list)
    _bare: profile.Statement = field(init=False)  # without what is drawn
    _parsed: Parsed = field(init=False)

    def statement(self) -> profile.Statement:
        """NotDrawn if it cannot be sent."""
        self._refuse_elsewhere()
        made = template.made(self.one.text, self.schema.language, self._columns_of)
        if made.refused is not None:
            raise NotDrawn(made.refused)
        made = replace(made, sql=self._named(made.sql))
        texts = [Summary(count=self.one.count, kind="text", is_quoted=True)] * made.places
        looked = places.look(made.sql, texts)
        if looked.refused is not None:
            raise NotDrawn(looked.refused)
        if places.in_syntax(made.sql):
            raise NotDrawn(template.SYNTAX)
        parsed = _read(self.one.text, self.schema.language)
        if parsed is None or "@" in made.sql:
            raise NotDrawn(UNKNOWN)
        self._bare, self._parsed = replace(_without(self.one, None), template=made.sql), parsed
        self._draw(made, looked.places)
        numbers = range(1, made.places + 1)
        return replace(
            self._bare,
            parameters=tuple(self.given[number].summary(self.one.count) for number in numbers),
            lists=tuple(self._list(listed, looked.places) for listed in made.lists),
            ranges=tuple(self.ranges),
        )

    @property
    def _drawing(self) -> Drawing:
        return Drawing(self.schema.catalog, self.schema.columns)

    def _named(self, sql: str) -> str:
        if self.schema.language == kinds.POSTGRES:
            return sql
        used = {name.lower().rpartition(".")[2] for name in self.one.identity.tables}
        known = (self.schema.catalog.table(name) for name in used)
        return template.named(sql, {one.name.lower(): one.name for one in known if one is not None})

    def _columns_of(self, table: str) -> int:
        found = self.schema.catalog.table(table)
        return len(found.columns) if found is not None else 0

    def _refuse_elsewhere(self) -> None:
        here = {"", self.one.database.lower(), self.schema.catalog.schema.lower()}
        for name in self.one.identity.tables:
            of_schema, _, table = name.lower().rpartition(".")
            if of_schema not in here or table not in self.schema.columns.rows:
                raise NotDrawn(ELSEWHERE)

    def _draw(self, made: Template, all_: Sequence[Place]) -> None:
        words = [*places.pieces(made.sql)]
        texts = [word for word, _ in words]
        at = {number: index for index, (_, number) in enumerate(words) if number is not None}
        found = {place.number: self._found(place) for place in all_}
        self._draw_ranges(all_, found)
        for place in all_:
            if place.number not in self.given:
                here = found[place.number]
                many = sum(_is_compared(one) and found[one.number] == here for one in all_)
                self.given[place.number] = self._drawn(place, here, texts, at[place.number], many)
        self._refuse_collisions(all_, found, texts)

    def _found(self, place: Place) -> Found | None:
        tables = self.one.identity.tables
        return naming.resolve(self.schema.catalog, self._bare, tables, place)

    def _drawn(
        self, place: Place, found: Found | None, words: Sequence[str], at: int, many: int
    ) -> Given:
        """`at`: its index among words; `many`: places that its column is compared with."""
        if place.operator == "offset":
            raise NotDrawn(template.OFFSET)
        if place.operator == "limit":
            limit = ranges.limit(self.one)
            if limit is None:
                raise NotDrawn(drawing.LIMITS)
            return Given({"const": limit}, "at least the rows a call brought", "whole")
        if drawing.is_selected(words, at):
            return Given({"const": 1}, "a constant that is selected: any", "whole")
        if drawing.is_amount(words, at):
            return Given({"const": 1}, "an amount that is added: any", "whole")
        function = drawing.called(words, at)
        if function is not None:
            return self._of_function(place, *function)
        if found is None:
            raise NotDrawn(drawing.NO_COLUMN)
        if place.is_set:
            return self._drawing.written(found)
        if place.operator in drawing.EQUAL:
            return self._drawing.compared(found, self.one, self._parsed, many)
        if place.operator in drawing.UNEQUAL:
            return self._drawing.held(found)
        if place.operator in (*drawing.RANGES, "between"):
            return self._open(place, found)
        raise NotDrawn(drawing.PATTERNS if place.operator else drawing.NO_COLUMN)

    def _of_function(self, place: Place, function: str, column: str) -> Given:
        named = Place(place.number, column)
        found = self._found(named)
        if found is None:
            raise NotDrawn(drawing.NO_COLUMN)
        return self._drawing.of_function(found, function)

    def _open(self, place: Place, found: Found) -> Given:
        """The only end of a range."""
        parsed, name = self._parsed, found.column.name.lower()
        ordered = (one.column.name.lower() for one in parsed.ordering if one.column is not None)
        if parsed.has_limit and name in ordered:
            given = self._drawing.held(found)
            return Given(given.generator, f"{given.about}: pages begin anywhere")
        reach = self._drawing.reach(found, self.one, parsed)
        made = ranges.open_end(reach, place.operator)
        return Given(made, _said(reach), reach.kind, reach.ends.decimals)

    def _draw_ranges(self, all_: Sequence[Place], found: Mapping[int, Found | None]) -> None:
        """Both ends of each range that has two."""
        for low, high in _pairs(all_):
            here, other = found[low.number], found[high.number]
            if here is None or other is None or here.column != other.column:
                continue
            reach = self._drawing.reach(here, self.one, self._parsed)
            includes_end = high.operator in ("between", "<=") and low.operator != ">"
            made, width = ranges.between(reach, includes_end=includes_end)
            kind, decimals = reach.kind, reach.ends.decimals
            self.given[low.number] = Given(made, _said(reach), kind, decimals)
            self.given[high.number] = Given({}, "", kind, decimals)
            self.ranges.append(Range(low=low.number, high=high.number, widths=_always(width)))

    def _list(self, listed: Listed, all_: Sequence[Place]) -> profile.List:
        if listed.of == template.ROWS:
            rows = ranges.length(self.one.changed)
        else:
            place = next(place for place in all_ if place.number == listed.place)
            found = self._found(place)
            is_unique = found is not None and found.column.is_unique
            column = found.column.name if found is not None else ""
            rows = ranges.length(ranges.met(self.one, self._parsed, column)) if is_unique else None
        if rows is None:
            raise NotDrawn(LENGTHS)
        return profile.List(
            place=listed.place,
            places=listed.places,
            element=listed.element,
            lengths=_always(float(rows)),
        )

    def _refuse_collisions(
        self, all_: Sequence[Place], found: Mapping[int, Found | None], words: Sequence[str]
    ) -> None:
        lows = [word.lower() for word in words]
        if lows[0] != "insert" or not {*_IGNORES}.isdisjoint(lows):
            return
        written = {
            here.column.name.lower(): self.given[place.number]
            for place in all_
            if place.is_set and (here := found[place.number]) is not None
        }
        for name in self.one.identity.tables[:1]:
            table = name.lower().rpartition(".")[2]
            if drawing.collides(self.schema.columns.keys.get(table, ()), written):
                raise NotDrawn(KEYS)


def _read(text: str, language: str) -> Parsed | None:
    """The statement taken apart. MySQL's family quotes the names of some functions."""
    return read(text, language) or read(_QUOTED_CALL.sub(r"\1(", text), language)


def _pairs(all_: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """(lower end, upper end) of ranges: of BETWEEN, or of two comparisons of one column, if it has
    no others."""
    by_column: dict[tuple[str | None, str | None], list[Place]] = {}
    for place in all_:
        if place.column is not None and place.operator in (*drawing.RANGES, "between"):
            by_column.setdefault((place.qualifier, place.column), []).append(place)
    for several in by_column.values():
        if len(several) != 2:
            continue
        first, second = several
        are = (_side(first), _side(second))
        if are in ((0, 0), (1, -1)):
            yield first, second
        elif are == (-1, 1):
            yield second, first


def _is_compared(place: Place) -> bool:
    """For equality."""
    return place.operator in drawing.EQUAL and not place.is_set


def _side(place: Place) -> int:
    """1: the lower end of a range; -1: the upper one; 0: of BETWEEN, which has both."""
    return (place.operator in ranges.UPWARDS) - (place.operator in ranges.DOWNWARDS)


def _always(value: float) -> Spread:
    return Spread(count=1, values=(value,), shares=(1.0,))


def _said(reach: ranges.Reach) -> str:
    return f"ranges of {reach.rows:,.3g} rows, as a call brought, if these lie evenly"
