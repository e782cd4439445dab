"""How much of an error budget each interim look may spend, for the t test.

Lan and DeMets (1983), "Discrete sequential boundaries for clinical trials": after the share s of
the planned values, looks so far may have erred with probability at most

    spent(s) = 2 (2 - 2 Phi(z(1 - alpha/4) / sqrt(s))),

their function of O'Brien and Fleming's type, alpha/2 for either direction, as gsDesign and rpact
have it: next to nothing early, nearly all at the end. The nominal level of a look makes the chance
of crossing at it, and not before, equal to what may be spent between the two.

That chance is worked out for the t statistics themselves. The usual way (Jennison and Turnbull
2000, "Group sequential methods", 3.8) takes the p-values of t tests for those of normal ones, which
is an approximation, and our samples are as small as 4. None is needed: let x_i be independent,
N(0, v), S_n their sum, V_n their sum of squares, R_n = S_n / sqrt(V_n), a function of the t
statistic. Then

    R_(n+1) = (R_n + Y) / sqrt(1 + Y^2),    Y = x_(n+1) / sqrt(V_n),

and Y is 1/sqrt(n) times a t variable of n degrees, independent of R_1..R_n, since V_n is
independent of the direction of (x_1..x_n). So R is a Markov chain with known steps, carried on here
from look to look on a grid (Armitage, McPherson and Rowe 1969 did so for the normal).
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

# |R_n| is kept as the z with the same tail, P(|Z| > z) = P(|R_n| > r): the same grid for all n.
_Z_MAX, _STEPS = 8.0, 240
_LEVEL_Z_MAX = 7.0  # a look that could only test at 3e-12 or less does not test
_EDGES = np.linspace(0.0, _Z_MAX, _STEPS + 1)
_MIDDLES = (_EDGES[1:] + _EDGES[:-1]) / 2
# Family levels for which boundaries are tabled, as z(1 - alpha/2): 0.88 down to 2e-9.
_FAMILY = np.arange(0.15, 6.0, 0.075)


@dataclass(frozen=True, eq=False)
class Boundary:
    """One look: nominal levels against family levels, both as two-sided z.

    Both increase. The table ends where a family level leaves the look almost nothing to spend.
    """

    family: Floats
    nominal: Floats
    part: float = 1.0  # of the family level, which is all that the looks may spend together

    def level(self, alpha: float) -> float:
        """The nominal level at which this look tests for a family level `alpha`; 0: not at all."""
        z = _z(alpha * self.part)
        if len(self.family) == 0 or z > self.family[-1] + 1e-9:
            return 0.0
        return _p(float(np.interp(z, self.family, self.nominal)))

    def family_p(self, p: float) -> float:
        """The smallest family level at which a test with this p crosses the look's boundary: its
        repeated p-value (Jennison and Turnbull 2000, 9.2). Never less than the table's least."""
        z = _z(p)
        if len(self.family) == 0 or z < self.nominal[0]:
            return 1.0
        return min(1.0, _p(float(np.interp(z, self.nominal, self.family))) / self.part)


def spent(alpha: float | Floats, share: float) -> Floats:
    """Part of `alpha` that all looks up to `share` (0 to 1) of the planned values may have
    spent."""
    if not 0 < share <= 1:
        raise ValueError(f"share {share} is not in (0, 1]")
    return np.asarray(4 * special.ndtr(special.ndtri(np.asarray(alpha) / 4) / np.sqrt(share)))


def t_boundaries(looks: tuple[int, ...], shares: tuple[float, ...]) -> tuple[Boundary, ...]:
    """Boundaries of looks at a t test after so many values (ascending, from 2 on) and shares of
    those planned (ascending, at most 1)."""
    _check(looks, shares)
    return _t_boundaries(looks, shares)


def any_boundaries(shares: tuple[float, ...]) -> tuple[Boundary, ...]:
    """The same for any test whatever: each look tests at what it may spend itself, so that the
    chances of crossing are at most added up (Boole's inequality). Costs power; right for every p
    that is right at each look alone."""
    _check(tuple(range(2, 2 + len(shares))), shares)
    levels = special.ndtr(-_FAMILY) * 2
    before = np.zeros_like(levels)
    found = []
    for share in shares:
        now = spent(levels, share)
        z = -special.ndtri((now - before) / 2)
        found.append(_boundary(np.where(z <= _LEVEL_Z_MAX, z, np.inf)))
        before = now
    return tuple(found)


def _check(looks: tuple[int, ...], shares: tuple[float, ...]) -> None:
    if len(looks) != len(shares):
        raise ValueError("as many shares as looks")
    for values, low in ((looks, 2), (shares, 0)):
        if any(a >= b for a, b in itertools.pairwise(values)) or min(values) < low:
            raise ValueError(f"looks must ascend from {low} on: {values}")
    if not 0 < shares[0] <= shares[-1] <= 1:
        raise ValueError(f"shares must lie in (0, 1]: {shares}")


@functools.lru_cache(maxsize=256)
def _t_boundaries(looks: tuple[int, ...], shares: tuple[float, ...]) -> tuple[Boundary, ...]:
    levels = special.ndtr(-_FAMILY) * 2  # shape (A,)
    start = special.ndtr(-_EDGES) * 2
    mass = np.tile(start[:-1] - start[1:], (len(levels), 1))  # shape (A, cells), not yet crossed
    tail = np.tile(start, (len(levels), 1))  # shape (A, edges): not crossed before, and beyond
    crossed = np.zeros_like(levels)
    found = []
    at = looks[0]
    for look, share in zip(looks, shares, strict=True):
        for n in range(at, look):
            tail = mass @ _tails(n)
            mass = tail[:, :-1] - tail[:, 1:]
        at = look
        z = _crossings(tail, spent(levels, share) - crossed)
        found.append(_boundary(z))
        kept = _left_of(mass, z)
        crossed = crossed + np.where(np.isfinite(z), mass.sum(1) - kept.sum(1), 0.0)
        mass = kept
    return tuple(found)


def _boundary(z: Floats) -> Boundary:
    """From a look's nominal z at each family level. Kept is where both rise together: at very loose
    family levels the first looks spend nearly all, and late ones less than at stricter levels."""
    z = np.maximum(z, _FAMILY)  # no look tests at more than the whole, whatever the grid's error
    usable = len(z) if np.isfinite(z).all() else int(np.argmin(np.isfinite(z)))
    falls = np.flatnonzero(np.diff(z[:usable]) <= 0)
    start = int(falls[-1]) + 1 if len(falls) else 0
    return Boundary(_FAMILY[start:usable], z[start:usable])


def _crossings(tail: Floats, wanted: Floats) -> Floats:
    """Where each row of `tail` (falling over the edges) comes down to `wanted`; inf: too far."""
    found = np.full(len(wanted), np.inf)
    for row, (beyond, target) in enumerate(zip(tail, wanted, strict=True)):
        if target >= beyond[0]:
            found[row] = 0.0
        elif target > beyond[-1]:
            reached = int(np.count_nonzero(beyond > 0))  # R cannot come further in a step
            logs = np.log(beyond[:reached][::-1])  # smooth, nearly a parabola
            found[row] = np.interp(np.log(target), logs, _EDGES[:reached][::-1])
    return np.where(found <= _LEVEL_Z_MAX, found, np.inf)


def _left_of(mass: Floats, z: Floats) -> Floats:
    """The mass below z, row by row; of the cell that z lies in, its share."""
    width = _EDGES[1]
    share = np.clip((z[:, None] - _EDGES[:-1]) / width, 0.0, 1.0)
    return np.asarray(mass * share)


@functools.lru_cache(maxsize=128)
def _tails(n: int) -> Floats:
    """P(|R_(n+1)| beyond each edge), from the middle of each cell of |R_n|; (cells, edges)."""
    r = _statistic(_MIDDLES, n)[:, None]
    x = _statistic(_EDGES, n + 1)[None, :]
    a = 1 - x * x
    a = np.where(np.abs(a) < 1e-9, 1e-9, a)
    inside = np.maximum(1 + r * r - x * x, 0.0)
    s = x * np.sqrt(inside)
    root = np.sqrt(n)
    one, other = (s - r) / a, (-s - r) / a  # where |r + y| = x sqrt(1 + y^2)
    below = special.stdtr(n, -root * one) + special.stdtr(n, root * other)  # a > 0: outside them
    between = special.stdtr(n, -root * one) - special.stdtr(n, -root * other)  # a < 0: r > 0 there
    return np.asarray(np.where(a > 0, below, np.where(inside > 0, between, 0.0)))


def _statistic(z: Floats, n: int) -> Floats:
    """The |R_n| with the tail of z: t sqrt(n / (n - 1 + t^2))."""
    t = -special.stdtrit(n - 1, special.ndtr(-z))
    t = np.maximum(t, 0.0)
    return np.asarray(np.sqrt(n / ((n - 1) / np.maximum(t * t, 1e-300) + 1)))


def _z(p: float) -> float:
    return float(-special.ndtri(p / 2))


def _p(z: float) -> float:
    return float(2 * special.ndtr(-z))
