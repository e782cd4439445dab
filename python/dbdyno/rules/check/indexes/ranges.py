"""A condition on a function of a column, as a half-open range of the column itself.

Only where the two mean the same. A part of a date that comes again (the month without its year) is
no range: MONTH(c) = 10 is every October. An end is never included: BETWEEN '2019-10-01' AND
'2019-11-01' has the first midnight of November, and one that ends at '23:59:59' loses a fraction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbdyno.sql import parts
from dbdyno.sql.parts import Predicate

TIMES = ("date", "datetime", "timestamp")
TEXTS = ("char", "varchar", "character", "text")
RETURNING = frozenset(
    """MONTH MONTHNAME DAY DAYOFMONTH DAYNAME DAYOFWEEK DAYOFYEAR WEEK WEEKDAY WEEKOFYEAR QUARTER
    HOUR MINUTE SECOND MICROSECOND TIME""".split()  # noqa: SIM905
)
"""Functions of MySQL whose values come again: they are no range of time."""
_EXTRACTED = re.compile(r"(?:extract|date_part)\s*\(\s*'?(\w+)'?\s*(?:::text)?(?:from|,|\s)", re.I)
_BEGIN = re.compile(r"substr(ing)?\((?:[^,]+,|.+from)[01?](?:,|for)")
_FROM_FIRST = ", and that begins with character 1"
_PERIODS = {
    "year": ("make_date({year}, 1, 1)", "make_date({year} + 1, 1, 1)"),
    "month": (
        "make_date({year}, {month}, 1)",
        "make_date({year}, {month}, 1) + interval '1 month'",
    ),
}


def comes_again(one: Predicate) -> bool:
    """Whether a value of the function is many ranges of the column."""
    if one.function in ("EXTRACT", "DATE_PART"):
        return _unit(one) not in ("year", "epoch")
    return one.function in RETURNING


def _unit(one: Predicate) -> str:
    found = _EXTRACTED.match(one.expression.replace('"', ""))
    return found[1].lower() if found else ""


def of_mysql(one: Predicate, kind: str, others: Sequence[Predicate], collation: str) -> str:
    """The rewrite, its values as `?`; empty if there is none. `kind`: the column's type; `others`:
    conditions on the same column that hold together with it."""
    column = one.column.name
    if one.operator != parts.EQUAL:
        return _of_one_side(one, kind)
    if kind.startswith(TIMES):
        return _time_of_mysql(one, column, others)
    if kind.startswith(TEXTS):
        if one.function in ("LOWER", "UPPER", "LCASE", "UCASE") and collation.endswith("_ci"):
            return f"{column} = ?"
        if is_begin(one):
            return (
                f"{column} LIKE CONCAT(?, '%'), wildcards in the value escaped, where the value is"
                " as"
                f" long as the part that is cut off{'' if one.function == 'LEFT' else _FROM_FIRST}"
            )
    return ""


def _time_of_mysql(one: Predicate, column: str, others: Sequence[Predicate]) -> str:
    functions = {other.function for other in others if other.operator == parts.EQUAL}
    if one.function == "YEAR" and "MONTH" in functions:
        begin = "MAKEDATE(?year, 1) + INTERVAL"
        return f"{column} >= {begin} ?month - 1 MONTH AND {column} < {begin} ?month MONTH"
    if one.function == "YEAR":
        return f"{column} >= MAKEDATE(?, 1) AND {column} < MAKEDATE(? + 1, 1)"
    if one.function == "DATE" or _casts_to_date(one):
        return f"{column} >= ? AND {column} < ? + INTERVAL 1 DAY"
    if one.function == "TO_DAYS":
        return f"{column} >= FROM_DAYS(?) AND {column} < FROM_DAYS(? + 1)"
    if one.function == "UNIX_TIMESTAMP":
        return f"{column} = FROM_UNIXTIME(?)"
    return ""


def _of_one_side(one: Predicate, kind: str) -> str:
    """Of <, <=, >, >= and BETWEEN."""
    if one.function in ("YEAR", "DATE") and kind.startswith(TIMES) and one.operator == parts.RANGE:
        return (
            f"{one.column.name} >= the first moment of the period AND {one.column.name} < the first"
            " moment after it"
        )
    return ""


def _casts_to_date(one: Predicate) -> bool:
    text = "".join(one.expression.lower().split())
    return one.wrap == parts.CAST and text.endswith(("asdate)", "::date"))


def is_begin(one: Predicate) -> bool:
    """Whether it is the begin of a text. Where SUBSTR begins is mostly not known: digests have no
    literals, and numbers are 0 or `?` there."""
    text = "".join(one.expression.lower().split())
    return one.function == "LEFT" or _BEGIN.match(text) is not None


def of_postgres(one: Predicate, kind: str, others: Sequence[Predicate]) -> str:
    """The same in PostgreSQL. A cast of timestamptz to date, and its parts, are in the session's
    time zone, as the bounds are."""
    column = one.column.name
    if one.operator != parts.EQUAL or not kind.startswith(TIMES):
        return ""
    if one.function == "DATE" or _casts_to_date(one):
        return f"{column} >= ? AND {column} < ?::date + 1"
    if one.function == "DATE_TRUNC":
        return f"{column} >= ? AND {column} < ? + one unit of date_trunc"
    if _unit(one) == "year":
        units = {_unit(other) for other in others if other.operator == parts.EQUAL}
        begin, end = _PERIODS["month" if "month" in units else "year"]
        names = {"year": "?year" if "month" in units else "?", "month": "?month"}
        return f"{column} >= {begin.format(**names)} AND {column} < {end.format(**names)}"
    return ""
