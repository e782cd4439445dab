"""How near two columns' positions are to each other, so that their values go together as measured.

A column's position is moved from the other's by up to `spread`, either way, and reflected at 0 and
1 (`engine/workloads/src/tables/position.rs`): both columns keep their own distributions. The spread
is found by trying: pairs of values, or correlation of ranks, are counted in made-up rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbdyno.copies.statistics.values import Pair, Piece

ROWS_MAX = 200_000
STEPS = 14
INDEPENDENT = 0.85  # of the pairs of independent columns: with as many there is nothing to couple
DETERMINED = 1.05  # pairs for each value of the column with more of them, at most
RANKED = 0.5  # correlation of ranks from which neighbours stay neighbours

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Coupling:
    """`shuffle`: values go together whatever their order; `determined`: which of the two columns
    has one value for each value of the other (0: the first)."""

    spread: float
    descending: bool = False
    shuffle: bool = False
    determined: int | None = None


class Positions:
    """Values at positions, numbered."""

    def __init__(self, pieces: Sequence[Piece], *, shuffle: bool = False) -> None:
        order = shuffled(len(pieces)) if shuffle else [*range(len(pieces))]
        there = [pieces[at] for at in order]
        weights = np.array([piece.rows for piece in there])
        self._starts = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])[:-1]
        self._shares = weights / weights.sum()
        self._counts = np.array([piece.distinct for piece in there], dtype=np.int64)
        self._before = np.concatenate([[0], np.cumsum(self._counts)])[:-1]

    def at(self, positions: Array) -> npt.NDArray[np.int64]:
        where = np.searchsorted(self._starts, positions, side="right") - 1
        within = (positions - self._starts[where]) / self._shares[where]
        number = np.minimum(
            (within * self._counts[where]).astype(np.int64), self._counts[where] - 1
        )
        found: npt.NDArray[np.int64] = self._before[where] + number
        return found


def shuffled(count: int) -> list[int]:
    """As the engine does it: every n-th, n near the golden section (`scatter.rs`)."""
    step = stride(count)
    return [at * step % count for at in range(count)]


def stride(count: int) -> int:
    """A step that leads through all of so many places, near the golden section of them."""
    near = min(max(int(count * 0.618033988749894), 1), count)
    return next((one for one in range(near, 0, -1) if math.gcd(one, count) == 1), 1)


def moved(positions: Array, spread: float, rng: np.random.Generator) -> Array:
    """Positions by up to `spread` away."""
    found = np.abs(positions + spread * (2 * rng.random(len(positions)) - 1))
    return np.where(found > 1, 2 - found, found)


def of_pair(a: Sequence[Piece], b: Sequence[Piece], pair: Pair) -> Coupling | None:
    """What gives as many different pairs, or the same correlation; None for independent columns."""
    rows = min(pair.rows, ROWS_MAX)
    if rows < 2 or len(a) == 0 or len(b) == 0:
        return None
    wanted = pair.distinct * rows / pair.rows
    counts = [sum(piece.distinct for piece in of_column) for of_column in (a, b)]
    if pair.distinct <= DETERMINED * max(counts) < pair.rows / 2:
        coarse = counts.index(min(counts))
        return Coupling(0.0, (pair.ranks or 0.0) < -RANKED, determined=coarse)
    ranks = pair.ranks or 0.0
    is_ranked = abs(ranks) >= RANKED
    of_a = Positions(a)

    def pairs(spread: float, *, shuffle: bool) -> int:
        rng = np.random.default_rng(1)
        positions = rng.random(rows)
        other = Positions(b, shuffle=shuffle).at(moved(positions, spread, rng))
        both = of_a.at(positions) * (int(other.max()) + 1) + other
        return len(np.unique(both))

    if wanted < INDEPENDENT * pairs(1.0, shuffle=False):
        spread = _solved(lambda s: pairs(s, shuffle=not is_ranked), wanted)
        return Coupling(spread, is_ranked and ranks < 0, shuffle=not is_ranked)
    return of_ranks(ranks) if is_ranked else None


def of_ranks(correlation: float) -> Coupling | None:
    """What gives this correlation of ranks; None for none."""
    if abs(correlation) < 0.1:
        return None

    def reached(spread: float) -> float:
        rng = np.random.default_rng(1)
        positions = rng.random(20_000)
        return float(-np.corrcoef(positions, moved(positions, spread, rng))[0, 1])

    return Coupling(_solved(reached, -min(abs(correlation), 1.0)), correlation < 0)


def _solved(of_spread: Callable[[float], float], wanted: float) -> float:
    """The spread at which a function that grows with it has a value."""
    low, high = 0.0, 1.0
    if of_spread(low) >= wanted:
        return 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if of_spread(middle) < wanted else (low, middle)
    return float(f"{high:.3g}")
