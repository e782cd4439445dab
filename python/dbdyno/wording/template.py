"""Sentences with places for values: `str.format`, and kinds of text after the colon.

{n:count block}          3 blocks
{n:be}                   is, are
{flag:either yes|no}     by whether it is true
{x:number} {x:ratio} {x:percent} {x:MB}; {x:M}: without its unit
{names:list}             a, b and c
{levels:levels}          16 sessions, cache off; {levels:at}: the same after ", at ", or nothing
{levels:cell}            sessions=16 cache=off
{side:bound}             a lower bound; {side:bounds}: lower bounds
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbdyno.experiment.values.bounds import named
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers, plurals


def fill(template: str, plan: Plan | None, values: Mapping[str, Any]) -> str:
    """A template with its values; `plan`: that levels are of."""
    return _Formatter(plan).vformat(template, (), values)


class _Formatter(string.Formatter):
    def __init__(self, plan: Plan | None) -> None:
        self._plan = plan

    def format_field(self, value: Any, format_spec: str) -> str:
        kind, _, more = format_spec.partition(" ")
        if kind == "count":
            return plurals.count(value, more)
        if kind == "either":
            yes, _, no = more.partition("|")
            return yes if value else no
        if kind in ("levels", "at"):
            assert self._plan is not None
            levels = level_text.levels(self._plan, value)
            return f", at {levels}" if kind == "at" and levels else levels
        if kind in _KINDS:
            return _KINDS[kind](value)
        return str(super().format_field(value, format_spec))


def _list(values: Iterable[object]) -> str:
    return numbers.listed([f"{one:g}" if isinstance(one, float) else f"{one}" for one in values])


def _cell(levels: Mapping[str, str]) -> str:
    return " ".join(f"{name}={level}" for name, level in levels.items()) or "the only cell"


_KINDS: Mapping[str, Callable[[Any], str]] = {
    "number": numbers.number,
    "ratio": numbers.ratio,
    "percent": numbers.percent,
    "M": lambda size: numbers.number(size / 1e6),
    "MB": lambda size: f"{numbers.number(size / 1e6)} MB",
    "be": lambda n: "is" if n == 1 else "are",
    "list": _list,
    "cell": _cell,
    "bound": named,
    "bounds": lambda side: named(side, several=True),
}
