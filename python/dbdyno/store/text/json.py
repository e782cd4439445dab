"""JSON as RFC 8259 has it, and no more than our own writers write: for files that may be anybody's.

Python's parser also takes NaN and Infinity, numbers that overflow to infinity, whole numbers of any
length, halves of surrogate pairs, and nesting up to the limit of recursion, all of which fail only
later, where the file is no longer known.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEPTH_MAX = 64
DIGITS_MAX = 39  # of a whole number: 128 bits

# What a plain number cannot be; text may hold it too, so that it only asks for a closer check.
_ODD = re.compile(rb"NaN|Infinity|[0-9]{19}|[eE]\+?[0-9]{3}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def loads(raw: bytes) -> Any:
    """The value of a text in UTF-8. ValueError, with what is wrong, for anything else."""
    try:
        text = raw.decode("utf-8")
        if _ODD.search(raw):
            value = json.loads(text, parse_constant=_constant, parse_float=_float, parse_int=_whole)
        else:
            value = json.loads(text)
    except RecursionError:
        raise ValueError(_DEEP) from None
    if raw.count(b"[") + raw.count(b"{") > DEPTH_MAX:
        _refuse_deep(value)
    if _SURROGATE.search(raw):
        _refuse_halves(value)
    return value


_DEEP = f"it is nested more than {DEPTH_MAX} levels deep"


def _constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _whole(text: str) -> int:
    """Servers have counters of 64 bits, whose sums have more."""
    if len(text) > DIGITS_MAX:
        raise ValueError(f"the number {text[:20]}... is too large")
    return int(text)


def _refuse_deep(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            child
            for one in level
            if isinstance(one, list | dict)
            for child in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    raise ValueError(_DEEP)


def _refuse_halves(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("a text contains half of a surrogate pair") from None
