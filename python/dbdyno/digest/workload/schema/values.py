"""Generators for places whose column a schema describes: values that the column takes, existing
keys, values that are not there yet."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import Any

from dbdyno.digest.workload.profile import Summary, Text
from dbdyno.digest.workload.schema.catalog import WHOLE, Catalog
from dbdyno.digest.workload.schema.naming import Found, looked_up
from dbdyno.digest.workload.values import generators
from dbdyno.digest.workload.values.places import Place
from dbdyno.experiment.values.generators import END_MAX, VALUES_MAX

ROOM_MIN = 10**9  # different texts of a pattern, from which on two are hardly ever the same
ORDERS_MAX = 5040  # of an ENUM's values that are tried
KINDS = {"#": str.isdigit, "@": str.isalpha, "*": lambda _: True}


def generator(
    catalog: Catalog, found: Found, place: Place, summary: Summary
) -> dict[str, Any] | None:
    """The generator of a place; None where the schema does not decide it."""
    made = _present(catalog, found, place, summary)
    nulls = round(summary.nulls, 4)
    return made if made is None or not nulls else {**made, "nulls": nulls}


def _present(
    catalog: Catalog, found: Found, place: Place, summary: Summary
) -> dict[str, Any] | None:
    column = found.column
    if summary.kind in ("null", "unknown") or not (place.is_key or place.is_set):
        return None
    if column.choices and summary.kind == "text":
        return _choices(column.choices, summary)
    if place.is_set and is_document(found, summary):
        return _document(summary)
    if column.references is not None or (place.is_key and column.is_unique):
        return _keys(catalog, found, place, summary)
    if place.is_set and (column.is_unique or column.is_auto):
        return _new(found, summary)
    return None


def is_document(found: Found, summary: Summary) -> bool:
    """Whether a place takes JSON documents, which can be made up."""
    return found.column.is_json and summary.text is not None and summary.text.is_document


def clipped(made: Mapping[str, Any], found: Found) -> dict[str, Any]:
    """A generator whose texts are no longer than the column."""
    most = found.column.length
    if most is None or "text" not in made or len(made["text"]) <= most:
        return {**made}
    return {**made, "text": made["text"][:most]}


def _document(summary: Summary) -> dict[str, Any]:
    empty = len(json.dumps({"made_up": ""}))
    mean = round(summary.text.bytes_mean) if summary.text is not None else 0
    return {"const": json.dumps({"made_up": "a" * max(0, min(mean, 10_000) - empty)})}


def _choices(choices: Sequence[str], summary: Summary) -> dict[str, Any]:
    """As many of an ENUM's values as there were, in the order in which their lengths are the log's:
    it reveals no text."""
    of = summary.text
    fitting = [choice for choice in choices if of is None or _fits(choice, of)]
    if len(fitting) < summary.distinct:
        fitting = [*choices]
    many = max(1, min(summary.distinct, len(fitting)))
    hot = list(summary.hot[:many])
    shares = hot + [max(0.0, 1 - sum(hot)) / max(1, many - len(hot))] * (many - len(hot))
    orders = islice(permutations(fitting, many), ORDERS_MAX)
    best = min(orders, key=lambda order: _distance(order, shares, of))
    if many == 1:
        return {"const": best[0]}
    made: dict[str, Any] = {"values": list(best)}
    return made | ({"weights": [round(share, 4) for share in shares]} if hot else {})


def _fits(choice: str, text: Text) -> bool:
    size = len(choice.encode())
    if not text.bytes_least <= size <= text.bytes_greatest:
        return False
    if text.pattern is None or len(choice) != len(text.pattern):
        return True
    pairs = zip(choice, text.pattern, strict=True)
    return all(KINDS[kind](char) if kind in KINDS else char == kind for char, kind in pairs)


def _distance(order: Sequence[str], shares: Sequence[float], text: Text | None) -> float:
    """How far the lengths of texts with these shares are from those of the log."""
    if text is None:
        return 0.0
    sizes = [len(each.encode()) for each in order]
    mean = sum(size * share for size, share in zip(sizes, shares, strict=True))
    ends = abs(min(sizes) - text.bytes_least) + abs(max(sizes) - text.bytes_greatest)
    return abs(mean - text.bytes_mean) + ends


def _keys(catalog: Catalog, found: Found, place: Place, summary: Summary) -> dict[str, Any] | None:
    """Keys that are in the table, or in the one that it refers to; a range of numbers if there are
    more than can be listed, and none has to be there."""
    table, name = catalog.root(found.table.name, found.column.name)
    source, root = looked_up(table, name), catalog.column(table, name)
    rows = catalog.tables[table.lower()].rows
    if source is None or root is None or not rows:
        return None
    if rows > VALUES_MAX and summary.kind == "whole" and place.is_key:
        return None
    made: dict[str, Any] = {"column": source}
    n = min(rows, VALUES_MAX) if root.is_unique else summary.distinct
    if summary.hot and n > 1:
        made["theta"] = generators.exponent(summary.hot[0], n)
    return made


def _new(found: Found, summary: Summary) -> dict[str, Any] | None:
    """Values that no row has yet."""
    column = found.column
    if summary.kind == "whole":
        most = min(END_MAX, WHOLE.get(column.type, END_MAX))
        first = max(int(summary.greatest or 0), column.greatest or 0) + 1
        as_text = {"as_text": True} if summary.is_quoted else {}
        return {"sequence": first, **as_text} if first < most else None
    if summary.kind != "text" or summary.text is None:
        return None
    pattern = generators.pattern(summary.text)[: column.length]
    if math.prod(_kinds(pattern)) >= ROOM_MIN:
        return {"text": pattern}
    digits = min(column.length or 10, 10)
    return {"sequence": 10 ** (digits - 1) + found.table.rows, "as_text": True}


def _kinds(pattern: str) -> Iterator[int]:
    return (len(generators.WORDS[char]) for char in pattern if char in generators.WORDS)
