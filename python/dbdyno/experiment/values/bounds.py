"""Values known on one side only: a percentile of at least 1,160 ms, a rate below 200/s."""

from __future__ import annotations

from collections.abc import Iterable

# Where the truth lies, seen from a value that is a bound.
AT_LEAST = ">="
AT_MOST = "<="
NEITHER = "><"  # of what is made of bounds of either side: nothing is known about it

_OF_INVERSE = {"": "", AT_LEAST: AT_MOST, AT_MOST: AT_LEAST, NEITHER: NEITHER}
_NAMED = {
    AT_LEAST: ("a lower bound", "lower bounds"),
    AT_MOST: ("an upper bound", "upper bounds"),
    NEITHER: ("a lower bound in some trials and an upper bound in others",) * 2,
}


def together(bounds: Iterable[str]) -> str:
    """The bound of a sum, from those of its parts (empty: exact)."""
    sides = {bound for bound in bounds if bound}
    return NEITHER if len(sides) > 1 else next(iter(sides), "")


def of_inverse(bound: str) -> str:
    """The bound of 1 / X, from that of an X > 0."""
    return _OF_INVERSE[bound]


def named(bound: str, *, several: bool = False) -> str:
    """`a lower bound`; of several values `lower bounds`."""
    return _NAMED[bound][several]
