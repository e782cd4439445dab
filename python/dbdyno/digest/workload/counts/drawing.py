"""A generator for each place of a counted statement, from the column that the place belongs to, or
the reason why there is none: values are never invented.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.digest.workload.counts import columns as of
from dbdyno.digest.workload.counts import ranges
from dbdyno.digest.workload.counts.columns import Columns, Ends
from dbdyno.digest.workload.counts.counted import Statement as Counted
from dbdyno.digest.workload.profile import Summary
from dbdyno.digest.workload.schema.catalog import WHOLE, Catalog, Column
from dbdyno.digest.workload.schema.naming import Found, looked_up
from dbdyno.experiment.values.generators import END_MAX, VALUES_MAX
from dbdyno.sql.parts import Statement as Parsed

NO_COLUMN = "values whose column the text does not tell"
NO_VALUES = "values of columns that hold none"
NO_TYPE = "values of a type that no parameter has"
NO_ENDS = "values between a column's ends, which could not be read"
QUOTED = "values of columns whose names take quotes"
PATTERNS = "patterns of LIKE and the like: a column does not tell them"
WIDTHS = "ranges whose width the server's counts do not tell"
LIMITS = "limits of rows that the server does not count"
UNIQUE = "new values of a unique column of this type"
GAP = 1_000_000  # keys of rows that come between the reading of keys and the copy
DOCUMENT = {"made_up": "a" * 100}
DOMAINS = {  # of functions of dates and times: every value that there is
    "month": (1, 12), "day": (1, 31), "dayofmonth": (1, 31), "dayofweek": (1, 7),
    "weekday": (0, 6), "quarter": (1, 4), "hour": (0, 23), "minute": (0, 59),
}  # fmt: skip
RANGES = (*ranges.UPWARDS, *ranges.DOWNWARDS)
EQUAL, UNEQUAL = ("=", "<=>", "in"), ("<>", "!=")


class NotDrawn(Exception):
    """Why a place has no generator."""


@dataclass(frozen=True)
class Given:
    """`about`: where it is from, for people. `kind`, `decimals`: of a range's ends."""

    generator: dict[str, Any]
    about: str
    kind: str = "text"
    decimals: int = 0

    def summary(self, count: int) -> Summary:
        """As the other parts of a workload take it."""
        return Summary(
            count=count,
            kind=self.kind,
            is_quoted=self.kind == "text",
            decimals=self.decimals,
            given=self.generator,
            about=self.about,
        )


@dataclass(frozen=True)
class Drawing:
    """A schema and what its tables hold."""

    catalog: Catalog
    columns: Columns

    def compared(self, found: Found, counted: Counted, parsed: Parsed, many: int) -> Given:
        """Values that rows have in a column, as often as the rows tell that a call met. `many`:
        values that a call compares with it."""
        rows = ranges.met(counted, parsed, found.column.name)
        if rows is None or not self._is_drawn_by_rows(found):
            return self.held(found)
        share = min(1.0, rows / many / max(1.0, self._rows(found)))
        if share == 0.0 or share * self._referred(found) <= 1.0:
            return self._of_root(found)  # values that rows refer to, and others that none does
        given = self._of(found.table.name, found.column)
        about = f"values of the data, so that a call meets {rows:,.3g} rows on average"
        return Given({**given.generator, "meets": float(f"{share:.3g}")}, about)

    def held(self, found: Found) -> Given:
        """Values that rows have in a column, as often as they have them."""
        if not self._is_drawn_by_rows(found):
            return self._of_root(found)
        given = self._of(found.table.name, found.column)
        return Given({**given.generator, "by_rows": True}, "values of the data, as often as there")

    def _is_drawn_by_rows(self, found: Found) -> bool:
        """Whether some values may have more rows than others, and can be queried."""
        table, column = found.table.name, found.column
        if column.is_unique or not of.kind(column) or looked_up(table, column.name) is None:
            return False
        return self.columns.is_filled(table, column.name)

    def _of_root(self, found: Found) -> Given:
        """Of a foreign key the values that it may have."""
        table, name = self.catalog.root(found.table.name, found.column.name)
        return self._of(table, self.catalog.column(table, name) or found.column)

    def _referred(self, found: Found) -> float:
        """Rows that a foreign key may refer to; none: it is no foreign key."""
        root = self.catalog.root(found.table.name, found.column.name)
        table, column = self.catalog.table(root[0]), self.catalog.column(*root)
        if found.column.references is None or table is None or column is None:
            return math.inf
        return self._rows(Found(table, column))

    def written(self, found: Found) -> Given:
        """What new rows get there."""
        column = found.column
        if column.references is not None:
            if column.is_unique:
                raise NotDrawn(UNIQUE)
            return self.held(found)
        if column.is_unique or column.is_auto:
            return self._new(found)
        if column.choices:
            return Given({"values": [*column.choices]}, "any value of the type")
        if column.is_json:
            return Given({"const": json.dumps(DOCUMENT)}, "a made-up document")
        try:
            return self.held(found)
        except NotDrawn as why:
            if str(why) != NO_VALUES:
                raise
            return _made_up(column)

    def of_function(self, found: Found, function: str) -> Given:
        """Values of a function of a column."""
        column = f"{found.table.name}.{found.column.name}"
        if function in DOMAINS:
            return Given({"uniform": [*DOMAINS[function]]}, f"any {function}, evenly")
        if function == "lower":
            given = self.held(found)
            return Given(given.generator, f"{given.about}, in letters as a made-up copy has them")
        if function not in ("year", "date") or of.kind(found.column) not in ("date", "moment"):
            raise NotDrawn(NO_COLUMN)
        ends = self.ends(found)
        if function == "date":
            return Given(ranges.anywhere(ends, "date"), f"any day of {column}, evenly")
        years = [ranges.year(ends.least), ranges.year(ends.greatest)]
        return Given({"uniform": years}, f"any year of {column}, evenly")

    def reach(self, found: Found, counted: Counted, parsed: Parsed) -> ranges.Reach:
        """Of a range on a column. NotDrawn where the counts do not tell its width."""
        kind = of.kind(found.column)
        if kind not in ("whole", "decimal", "date", "moment"):
            raise NotDrawn(WIDTHS)
        rows = ranges.met(counted, parsed, found.column.name)
        if rows is None:
            raise NotDrawn(WIDTHS)
        return ranges.Reach(rows, self._rows(found), self.ends(found), kind)

    def ends(self, found: Found) -> Ends:
        """Of a column. NotDrawn if there are none."""
        ends = self.columns.ends(found.table.name, found.column)
        if ends is None:
            raise NotDrawn(NO_ENDS)
        return ends

    def _rows(self, found: Found) -> float:
        """Of its table: counted up to a bound, and estimated beyond it."""
        counted = float(found.table.rows)
        if counted <= VALUES_MAX:
            return counted
        return max(counted, self.columns.rows.get(found.table.name.lower(), 0.0))

    def _of(self, table: str, column: Column) -> Given:
        """Values that a column holds."""
        if not of.kind(column):
            raise NotDrawn(NO_TYPE)
        source = looked_up(table, column.name)
        if source is None:
            raise NotDrawn(QUOTED)
        if not self.columns.is_filled(table, column.name):
            raise NotDrawn(NO_VALUES)
        return Given({"column": source}, "values of the data, all as often")

    def _new(self, found: Found) -> Given:
        column = found.column
        if of.kind(column) == "whole":
            greatest = column.greatest or 0
            room = min(END_MAX, WHOLE.get(column.type, END_MAX)) - greatest
            if room < 2:
                raise NotDrawn(UNIQUE)
            first = greatest + 1 + min(GAP, room // 2)
            return Given({"sequence": first}, "behind the greatest key")
        if column.type not in of.PLAIN_TEXTS:
            raise NotDrawn(UNIQUE)
        digits = min(column.length or 12, 12)
        first = 10 ** (digits - 1) + found.table.rows
        if digits < 6:
            raise NotDrawn(UNIQUE)
        return Given({"sequence": first, "as_text": True}, "made-up texts, each once")


def _made_up(column: Column) -> Given:
    """What is written to a column in which no row has a value."""
    kind, about = of.kind(column), "made up: no row has a value"
    if kind == "text" and column.type in of.PLAIN_TEXTS:
        return Given({"text": "*" * min(column.length or 8, 8)}, about)
    constants = {"whole": 1, "decimal": 1, "date": "2020-01-01", "moment": "2020-01-01 00:00:00"}
    if kind not in constants:
        raise NotDrawn(NO_VALUES)
    return Given({"const": constants[kind]}, about)


def called(words: Sequence[str], at: int) -> tuple[str, str] | None:
    """(function, column) of `FUNCTION(column) = :p1` or `EXTRACT(FIELD FROM column) = :p1`, in
    small letters; `at`: the place's index among a statement's words and signs."""
    before = [word.strip('`"').lower() for word in words[:at]]
    if len(before) < 5 or before[-1] != "=" or before[-2] != ")":
        return None
    opening = max((i for i, word in enumerate(before) if word == "("), default=0)
    if opening < 1:
        return None
    inside, name = before[opening + 1 : -2], before[opening - 1]
    if name == "extract" and inside[1:2] == ["from"]:
        name, inside = inside[0], inside[2:]
    if len(inside) == 3 and inside[1] == ".":
        inside = inside[2:]
    return (name, inside[0]) if len(inside) == 1 and name not in ("extract", "and", "or") else None


def is_selected(words: Sequence[str], at: int) -> bool:
    """Whether a place is a constant that is selected: `SELECT 1 FROM ...`."""
    before = words[at - 1].lower() if at else ""
    after = words[at + 1].lower() if at + 1 < len(words) else "from"
    return before == "select" and after in ("from", "as", ",", ";")


def is_amount(words: Sequence[str], at: int) -> bool:
    """Whether a place is added to a column that is set: `SET n = n + 1`."""
    if at < 4 or words[at - 1] not in ("+", "-") or words[at - 3] != "=":
        return False
    return words[at - 2].strip('`"').lower() == words[at - 4].strip('`"').lower()


def collides(keys: Sequence[frozenset[str]], written: Mapping[str, Given]) -> bool:
    """Whether new rows would meet others in a key of several columns: all of these are written, by
    column in small letters, and none by values that come once."""
    return any(
        key <= written.keys() and not any("sequence" in written[one].generator for one in key)
        for key in keys
    )
