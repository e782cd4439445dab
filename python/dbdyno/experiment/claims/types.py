"""A claim as parsed, a claim as resolved, and what resolving needs to know of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from dbdyno.errors import DynoError, Where

CELL = "cell"
PEAK = "peak"
EQUAL = "~="  # within a margin
OPERATORS = (">=", "<=", ">", "<", EQUAL)
ALPHA = 0.05  # chance that any verdict on the claims of a run is wrong: they share it
ANY_SHARE = 0.5  # of trials with any of a count: what zeros must exclude to support "none"


@dataclass(frozen=True)
class Selector:
    """`sessions=20`, or `off` alone: then `factor` is None and the level must be unique."""

    factor: str | None
    level: str
    offset: int  # characters into the claim
    level_offset: int  # the same, of the level alone


@dataclass(frozen=True)
class Each:
    """`at each sessions`: one comparison a level."""

    factor: str
    offset: int


@dataclass(frozen=True)
class Term:
    """A measured quantity as written: a metric in the selected cell, or where it peaks."""

    metric: str  # as typed; resolved to a canonical name
    peak: str | None  # the factor of `peak(metric, factor)`
    selectors: tuple[Selector, ...]
    text: str
    offset: int


@dataclass(frozen=True)
class Claim:
    """A parsed claim in normal form. Without `right`, `left` is compared with `threshold`
    itself."""

    text: str
    left: Term
    right: Term | None
    operator: str
    threshold: float
    at: tuple[Selector, ...]
    each: tuple[Each, ...]
    where: Where | None = None  # of the claim's first character
    margin: float = 0.0  # of `~=`: `within 3%` is 0.03
    further: tuple[Claim, ...] = ()  # joined by `and`: comparisons that must hold as well
    say: str = ""  # the author's words for it, in a line


@dataclass(frozen=True)
class Condition:
    """One entry of `require:`: a trial of which it does not hold is void."""

    text: str
    metric: str  # canonical
    operator: str
    threshold: float

    def holds(self, value: float) -> bool:
        """Whether `value` of the metric meets the condition."""
        return compare(value, self.operator, self.threshold)


@dataclass(frozen=True)
class Side:
    """One side of a comparison. `cell` is set for kind "cell"; for kind "peak", `points` holds
    (level of the factor, cell index) in the order of the levels."""

    kind: str  # cell | peak
    metric: str  # canonical
    text: str  # as written
    cell: int | None = None
    points: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True)
class ResolvedPart:
    """One comparison of a claim: `left / right operator threshold`, or without `right`
    `left operator threshold`. `at` maps factors to the levels in force for both sides."""

    at: Mapping[str, str]
    left: Side
    right: Side | None
    operator: str
    threshold: float
    margin: float = 0.0  # of `~=`: a ratio minus one that still counts as equal


class FactorLike(Protocol):
    """What resolving needs of a factor; `spec` and `plan` each have their own."""

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> tuple[float, ...] | None: ...


class CellLike(Protocol):
    """What resolving needs of a cell."""

    @property
    def index(self) -> int: ...
    @property
    def levels(self) -> Mapping[str, str]: ...


class MissingCell(DynoError):
    """A claim names a combination of levels that is not among the cells."""


def within(threshold: float, margin: float) -> tuple[float, float]:
    """The ends of what equals `threshold` > 0 within `margin`: as far below it as above, as ratios
    go, so that `a ~= b` and `b ~= a` mean the same."""
    return threshold / (1 + margin), threshold * (1 + margin)


def compare(value: float, operator: str, threshold: float, margin: float = 0.0) -> bool:
    """`value operator threshold`; of `~=`, within `margin`."""
    if operator == EQUAL:
        low, high = within(threshold, margin)
        return low <= value <= high
    return {
        ">=": value >= threshold,
        "<=": value <= threshold,
        ">": value > threshold,
        "<": value < threshold,
    }[operator]


def shifted(where: Where | None, offset: int) -> Where | None:
    """The place `offset` characters after `where` on its line."""
    return replace(where, column=where.column + offset) if where else None


def claim_error(
    text: str, where: Where | None, offset: int, what: str, fix: str, kind: type = DynoError
) -> DynoError:
    error = kind(f"claim `{text}`: {what}", where=shifted(where, offset), fix=fix)
    assert isinstance(error, DynoError)
    return error
