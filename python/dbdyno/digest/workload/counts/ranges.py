"""How wide ranges are, how long lists are, and where LIMIT ends: the counts have no values, but
rows a call, from which they follow where a statement has no other condition.

Rows are taken to lie evenly between a column's ends.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from dbdyno.digest.workload.counts.columns import Ends
from dbdyno.digest.workload.counts.counted import Statement as Counted
from dbdyno.digest.workload.values import generators
from dbdyno.digest.workload.values.lengths import DAY_S, VALUES_MAX
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.values.generators import END_MAX
from dbdyno.sql import parts
from dbdyno.sql.parts import Statement as Parsed

_AGGREGATES = re.compile(
    r"\b(?:count|sum|min|max|avg|std\w*|var\w*|bit_\w+|bool_\w+|every|group_concat|string_agg"
    r"|array_agg|jsonb?_\w*agg\w*|distinct)\b",
    re.IGNORECASE,
)
UPWARDS, DOWNWARDS = (">", ">="), ("<", "<=")


@dataclass(frozen=True)
class Reach:
    """What is known of a condition on one column: rows that meet it a call, and rows of the table;
    the column's ends and what its values are (`whole`, `decimal`, `date`, `moment`)."""

    rows: float
    table_rows: float
    ends: Ends
    kind: str

    @property
    def step(self) -> float:
        """How far apart two neighbouring values are."""
        if self.kind == "decimal":
            return 10.0**-self.ends.decimals
        return DAY_S if self.kind == "date" else 1.0

    @property
    def width(self) -> float:
        """Of the values that these rows have, in what the ends are in; a whole number of steps."""
        span = self.ends.greatest - self.ends.least + self.step
        values = self.rows / max(1.0, self.table_rows) * span
        return min(span, max(self.step, round(values / self.step) * self.step))


def met(counted: Counted, parsed: Parsed, column: str) -> float | None:
    """Rows a call that meet the conditions on a column, if there are no others; else None."""
    if parsed.partial or parsed.joins or len(parsed.tables) != 1:
        return None
    if any(one.column.name.lower() != column.lower() for one in parsed.predicates):
        return None
    if any(one.expression or not one.must_hold for one in parsed.predicates) or parsed.has_limit:
        return None
    if parsed.kind in (parts.UPDATE, parts.DELETE):
        return counted.changed
    if parsed.kind != parts.SELECT:
        return None
    if parsed.grouping or _AGGREGATES.search(counted.text):
        return counted.examined if counted.scans == 0 else None
    return counted.sent


def between(reach: Reach, *, includes_end: bool) -> tuple[dict[str, Any], float]:
    """The generator of a range's lower end, and its width in the units of `Range`."""
    width = max(0.0, reach.width - reach.step * includes_end)
    ends = reach.ends
    return _spread(reach, ends.least, max(ends.least, ends.greatest - width)), width


def open_end(reach: Reach, operator: str) -> dict[str, Any]:
    """The generator of the only end of a range: the one that as many rows lie behind."""
    ends, width = reach.ends, reach.width
    includes = operator in (">=", "<=")
    if operator in UPWARDS:
        end = ends.greatest - width + reach.step * includes
    else:
        end = ends.least + width - reach.step * includes
    return _spread(reach, end, end)


def anywhere(ends: Ends, kind: str) -> dict[str, Any]:
    """A generator of values between a column's ends."""
    return _spread(Reach(0.0, 1.0, ends, kind), ends.least, ends.greatest)


def _spread(reach: Reach, low: float, high: float) -> dict[str, Any]:
    if reach.kind == "date":
        return {"dates": [generators.moment(low)[:10], generators.moment(high)[:10]]}
    if reach.kind == "moment":
        return {"times": [generators.moment(low), generators.moment(high)]}
    if reach.kind == "decimal":
        places = reach.ends.decimals
        return {"uniform": [round(low, places), round(high, places)], "decimals": places}
    return {"uniform": [_whole(low), _whole(high)]}


def _whole(value: float) -> int:
    return int(max(-END_MAX, min(END_MAX, value)))


def year(unix_s: float) -> int:
    """Of a moment."""
    return int(generators.moment(unix_s)[:4])


def limit(counted: Counted) -> int | None:
    """The LIMIT of a statement: at least the rows that a call brings; None if they are not
    counted."""
    writes = sqltext.keyword(counted.text) in ("update", "delete")
    rows = counted.changed if writes else counted.sent
    return None if rows is None else max(1, math.ceil(rows))


def length(rows: float | None) -> int | None:
    """Of a list that brings, or inserts, so many rows."""
    return None if rows is None else max(1, min(VALUES_MAX, round(rows)))
