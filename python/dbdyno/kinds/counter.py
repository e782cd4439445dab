"""Counters of servers as the columns of a report: what is shown, and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Amount:
    """A counter as it is, times a scale."""

    head: str
    metric: str
    scale: float = 1.0


@dataclass(frozen=True)
class Share:
    """A counter as a percentage of itself and others."""

    head: str
    part: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class Quotient:
    """The sum of counters over another metric; `transactions` and `operations` are those of the
    target's groups. `made_of`: how the sum is called, if it has several parts."""

    head: str
    parts: tuple[str, ...]
    whole: str
    scale: float = 1.0
    made_of: str = ""


Counter = Amount | Share | Quotient
