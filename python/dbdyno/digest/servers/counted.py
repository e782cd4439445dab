"""What a server has counted of its statements: samples, and what lies between two of them.

Servers count since their start or the last reset, so that a digest of some minutes is made of
differences. Mean and variance of a difference: Chan, Golub, LeVeque (1979), run backwards.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

Key = Hashable


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations of some values."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def plus(self, other: Moments) -> Moments:
        """Those of both together."""
        if not self.count or not other.count:
            return other if not self.count else self
        count, away = self.count + other.count, other.mean - self.mean
        mean = self.mean + away * other.count / count
        between = away * away * self.count * other.count / count
        return Moments(count, mean, self.squares + other.squares + between)

    def minus(self, earlier: Moments) -> Moments:
        """Those of the values that came after `earlier`; which must be the first of these."""
        count = self.count - earlier.count
        if count <= 0 or not earlier.count:
            return self if not earlier.count else Moments()
        mean = (self.mean * self.count - earlier.mean * earlier.count) / count
        away = mean - earlier.mean
        between = away * away * earlier.count * count / self.count
        return Moments(count, mean, max(0.0, self.squares - earlier.squares - between))

    @property
    def stddev(self) -> float:
        """Of the population."""
        return math.sqrt(self.squares / self.count) if self.count else 0.0


@dataclass(frozen=True)
class Counted:
    """One row of a server's view: sums since some moment."""

    statement: (
        str  # what its text is asked for by; empty: statements that the server lumps together
    )
    database: str
    user: str
    count: int
    time_s: float
    moments: Moments | None = None  # of the query time, where the server keeps its variance
    errors: int = 0
    measures: Mapping[str, float] = field(default_factory=dict)

    def since(self, before: Counted | None) -> tuple[Counted, bool]:
        """What was added after `before`, and whether the row was begun again between (then all its
        counts are new, and those in between are lost)."""
        if before is None:
            return self, False
        if self.count < before.count or self.time_s < before.time_s * (1 - 1e-9) - 1e-6:
            return self, True
        moments = None
        if self.moments is not None and before.moments is not None:
            moments = self.moments.minus(before.moments)
        return (
            Counted(
                self.statement,
                self.database,
                self.user,
                self.count - before.count,
                max(0.0, self.time_s - before.time_s),
                moments,
                max(0, self.errors - before.errors),
                {k: max(0.0, v - before.measures.get(k, 0.0)) for k, v in self.measures.items()},
            ),
            False,
        )

    def plus(self, other: Counted) -> Counted:
        """Both together: the same statement in another stretch of time, database, or user."""
        moments = None
        if self.moments is not None and other.moments is not None:
            moments = self.moments.plus(other.moments)
        names = {**self.measures, **other.measures}
        return Counted(
            self.statement,
            self.database if self.database == other.database else "",
            self.user if self.user == other.user else "",
            self.count + other.count,
            self.time_s + other.time_s,
            moments,
            self.errors + other.errors,
            {k: self.measures.get(k, 0.0) + other.measures.get(k, 0.0) for k in names},
        )


@dataclass(frozen=True)
class Shot:
    """One sample. `evicted` counts rows that the server has dropped for want of room, `resets` is a
    word that changes with a reset, `executed` counts the statements that clients have sent, and
    `prepared` those of them that were prepared before (by the protocol, not by SQL); all empty if
    it has none (yet)."""

    at_unix_s: float
    rows: Mapping[Key, Counted]
    evicted: int | None = None
    resets: str = ""
    executed: int | None = None
    prepared: int | None = None


Histogram = Mapping[float, int]  # upper end of a bucket, seconds -> how many


class Source(Protocol):
    """A server whose statements are counted."""

    format: str  # its view's name, as the document's format
    language: str  # whose SQL its statements are: mysql, postgres
    place: str
    server: str  # name and version
    units: Mapping[str, str]  # of its measures: ns, count, bytes, flag

    def check(self) -> list[str]:
        """Notes on the view. DynoError, with the missing privilege or setting, if it cannot be
        read."""

    def take(self) -> Shot:
        """A sample."""

    def texts(self, statements: set[str]) -> dict[str, str]:
        """Their texts, as far as they are there."""

    def histograms(self) -> Mapping[str, Histogram] | None:
        """Query times by statement since the last reset; None if the server has none."""

    def close(self) -> None:
        """Logs out."""
