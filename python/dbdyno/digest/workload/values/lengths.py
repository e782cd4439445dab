"""Widths of ranges and lengths of lists, as `mix` takes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dbdyno.digest.workload.profile import Range, Spread, Statement, Summary

LENGTHS_MAX = 12  # of one list: each is a statement that drivers prepare
FORMS_MAX = 16  # of a statement with several lists; the engine takes 4,096 in all
VALUES_MAX = 20_000  # in a list: servers take 65,535 parameters
TEXT_MAX = 500_000  # characters of a list
DAY_S = 86_400


def lengths(
    spread: Spread, lists: int, places: int, characters: int
) -> tuple[list[int], list[float]]:
    """Lengths with weights for a list of a statement that has so many, whose element has so many
    places and characters. Neighbours are put together until they are few."""
    most = max(1, min(LENGTHS_MAX, int(FORMS_MAX ** (1 / lists))))
    longest = max(1, min(VALUES_MAX // max(1, places), TEXT_MAX // max(1, characters)))
    groups = [
        (min(value, longest), share)
        for value, share in zip(spread.values, spread.shares, strict=True)
    ]
    made: dict[int, float] = {}
    for value, share in few(groups, most):
        length = max(1, round(value))
        made[length] = made.get(length, 0.0) + share
    return list(made), [round(share, 4) for share in made.values()]


def forms(statement: Statement) -> int:
    """With how many different lengths of its lists a statement is sent, at most."""
    many = math.prod(min(LENGTHS_MAX, len(one.lengths.values)) for one in statement.lists)
    return min(FORMS_MAX, many)


def few(ranked: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """Ascending values with weights as at most so many of them: neighbours become their means, the
    lightest ones first."""
    groups = list(ranked)
    while len(groups) > most:
        at = min(range(len(groups) - 1), key=lambda at: groups[at][1] + groups[at + 1][1])
        groups[at : at + 2] = [_together(groups[at], groups[at + 1])]
    return groups


def _together(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    share = one[1] + other[1]
    return (one[0] * one[1] + other[0] * other[1]) / share, share


def values_a_call(statement: Statement) -> float:
    """How many values a call of it has, on average."""
    more = sum(
        one.places * (sum(map(float.__mul__, one.lengths.values, one.lengths.shares)) - 1)
        for one in statement.lists
    )
    return len(statement.parameters) + more


def width(statement: Statement, one: Range) -> dict[str, Any] | None:
    """The generator of a range's width, in what `sum` adds to its lower end: units, days, seconds.
    None: its ends are of different kinds, so that they are drawn each for itself."""
    if max(one.low, one.high) > len(statement.parameters):
        return None
    low, high = (statement.parameters[number - 1] for number in (one.low, one.high))
    if low.kind != high.kind or low.is_quoted != high.is_quoted:
        return None
    values = _numbers(low, one.widths.values)
    if values is None:
        return None
    shares: dict[float | int, float] = {}
    for value, share in zip(values, one.widths.shares, strict=True):
        shares[value] = shares.get(value, 0.0) + share
    if len(shares) == 1:
        return {"const": values[0]}
    weights = [round(share, 4) for share in shares.values()]
    alike = {} if len(set(weights)) == 1 else {"weights": weights}
    return {"values": list(shares), **alike}


def _numbers(low: Summary, widths: Sequence[float]) -> list[float | int] | None:
    if low.kind == "date":
        return [round(width / DAY_S) for width in widths]
    if low.kind in ("whole", "moment"):
        return [round(width) for width in widths]
    if low.kind == "decimal":
        return [round(width, low.decimals) for width in widths]
    return None
