"""Tests of log ratios d_b, one a block, against independent normal noise about one mean.

All are free of the mean and of the size of the noise, and under that noise independent of both. So
whatever is chosen by its size, the largest of several ratios say, is tested at the level stated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

_DUST = 1e-18  # share of the squares that rounding leaves where nothing varies

Floats = NDArray[np.float64]


def outlier(logs: Sequence[float], grain: float = 0.0) -> tuple[int, float]:
    """The value farthest from the others, by its place, and the p of none being an outlier.

    The externally studentised residual, Student's t with n - 2 degrees of freedom, times n
    (Bonferroni); n >= 4. Source: Cook and Weisberg (1982), Residuals and Influence in Regression,
    section 2.2.2. `grain`: how far a log may be off by rounding, added to the noise of the others.
    Others that agree exactly say nothing about the noise: p is 1.
    """
    away, n = _centred(logs), len(logs)
    left = 1 - 1 / n  # share of its noise that a residual keeps
    squares = float(away @ away)
    others = (squares - away**2 / left) / (n - 2)
    at = int(np.argmax(np.abs(away)))
    if others[at] <= _DUST * squares:
        return at, 1.0
    t = abs(float(away[at])) / np.sqrt((others[at] + grain**2) * left)
    return at, min(1.0, 2 * n * float(special.stdtr(n - 2, -t)))


def trend(blocks: Sequence[int], logs: Sequence[float]) -> tuple[float, float]:
    """Slope a block of the straight line through the logs, and the two-sided p of there being none:
    t with n - 2 degrees of freedom; n >= 3."""
    away, n = _centred(logs), len(logs)
    x = _centred(blocks)
    slope = float(x @ away) / float(x @ x)
    squares, left = float(away @ away), float(((away - slope * x) ** 2).sum())
    if left <= _DUST * squares:
        return slope, 1.0
    t = abs(slope) * float(np.sqrt((x @ x) * (n - 2) / left))
    return slope, 2 * float(special.stdtr(n - 2, -t))


def neighbours(blocks: Sequence[int], logs: Sequence[float]) -> tuple[float, float]:
    """Lag-1 autocorrelation r, and the p of one at least so high in independent noise; n >= 3. 0
    and 1 where no two blocks are next to each other.

    r = e'Ae / e'e with residuals e, where A pairs blocks whose numbers are next to each other. p is
    P(e'(A - rI)e >= 0), the exact distribution of Durbin and Watson's ratio (Durbin and Watson
    1971, Testing for serial correlation in least squares regression III).
    """
    away = _centred(logs)
    numbers = np.asarray(blocks)
    pairs = (np.abs(numbers[:, None] - numbers[None, :]) == 1) / 2.0
    squares = float(away @ away)
    if squares == 0.0 or not pairs.any():
        return 0.0, 1.0
    r = float(away @ pairs @ away) / squares
    n = len(away)
    # Columns 2 to n span what is orthogonal to the mean.
    free = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
    return r, _positive(np.linalg.eigvalsh(free.T @ pairs @ free) - r)


def _positive(weights: Floats) -> float:
    """P(sum of weights_i z_i^2 > 0) for independent standard normal z.

    1/2 + (1/pi) times the integral over u > 0 of sin(theta) / (u rho), with theta = sum
    arctan(w u) / 2 and rho = product (1 + w^2 u^2)^(1/4) (Imhof 1961, Computing the distribution of
    quadratic forms in normal variables). By trapezoids over ln u, of a function that vanishes at
    both ends with all of its derivatives: exact to 1e-12.
    """
    step = 0.25
    u = np.exp(np.arange(-40.0, 40.0, step))[:, None] * (weights / np.abs(weights).max())
    theta = np.arctan(u).sum(axis=1) / 2
    rho = np.log1p(u**2).sum(axis=1) / 4
    return float(np.clip(0.5 + (np.sin(theta) * np.exp(-rho)).sum() * step / np.pi, 0.0, 1.0))


def _centred(values: Sequence[float] | Sequence[int]) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    return found - found.mean()
