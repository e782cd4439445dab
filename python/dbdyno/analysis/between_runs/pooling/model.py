"""The random-effects model: k runs with effects y_i and variances v_i,

    y_i = mu + u_i + e_i,     var u_i = tau^2 between runs,     var e_i = v_i within run i.

tau^2 is where the generalised Q(tau^2) = sum (y_i - mu)^2 / (v_i + tau^2) equals k - 1, 0 if it
never does (Paule and Mandel (1982), "Consensus values and weighting factors", J. Res. NBS 87;
DerSimonian and Kacker 2007). The interval of mu is that of Hartung and Knapp (2001) and Sidik and
Jonkman (2002): Student's t with k - 1 degrees of freedom about the weighted mean, with the variance

    q = sum w_i (y_i - mu)^2 / ((k - 1) sum w_i),     w_i = 1 / (v_i + tau^2),

and not less than 1 / sum w_i (Knapp and Hartung 2003), which few runs that agree by chance would
else undercut. The prediction interval, where a further run's own effect is expected, is that of
Higgins, Thompson and Spiegelhalter (2009): mu +- t(k - 2) sqrt(tau^2 + q); it needs three runs.

Heterogeneity: Cochran's Q with weights 1 / v_i, its p by chi squared, and I^2 = (Q - (k - 1)) / Q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

LEVEL = 0.95
RUNS_MIN, PREDICTED_MIN = 2, 3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pooled:
    """Logarithms. `tau`: standard deviation between runs beyond what they vary within; `i2`: the
    share of it in all that they differ by; `q_p`: of "all runs have one effect"."""

    mean: float
    low: float
    high: float
    predicted: tuple[float, float] | None
    tau: float
    i2: float
    q: float
    q_p: float
    weights: tuple[float, ...]  # shares, by run; their sum is 1


def combine(effects: Sequence[float], variances: Sequence[float], level: float = LEVEL) -> Pooled:
    """The model of at least `RUNS_MIN` runs with finite effects and variances above zero."""
    y, v = np.asarray(effects, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    k = len(y)
    if k < RUNS_MIN or not (np.isfinite(y).all() and np.isfinite(v).all() and (v > 0).all()):
        raise ValueError("needs at least two runs with finite effects and positive variances")
    tau2 = paule_mandel(y, v)
    w = 1 / (v + tau2)
    mean = _mean(y, w)
    scatter = float(w @ (y - mean) ** 2) / (k - 1)
    error = math.sqrt(max(1.0, scatter) / float(w.sum()))
    half = float(special.stdtrit(k - 1, 0.5 + level / 2)) * error
    predicted = None
    if k >= PREDICTED_MIN:
        reach = float(special.stdtrit(k - 2, 0.5 + level / 2)) * math.hypot(error, math.sqrt(tau2))
        predicted = (mean - reach, mean + reach)
    q = _q(y, v, 0.0)
    return Pooled(
        mean=mean,
        low=mean - half,
        high=mean + half,
        predicted=predicted,
        tau=math.sqrt(tau2),
        i2=max(0.0, (q - (k - 1)) / q) if q else 0.0,
        q=q,
        q_p=float(special.chdtrc(k - 1, q)),
        weights=tuple(float(one) for one in w / w.sum()),
    )


def paule_mandel(y: Floats, v: Floats) -> float:
    """tau^2; shapes (k,)."""
    k = len(y)
    if _q(y, v, 0.0) <= k - 1:
        return 0.0
    # Q falls in tau^2, and with it above k times the sum of squares it is below k - 1.
    top = float(np.sum((y - y.mean()) ** 2)) * k
    return float(optimize.brentq(lambda tau2: _q(y, v, tau2) - (k - 1), 0.0, top, xtol=1e-14))


def _q(y: Floats, v: Floats, tau2: float) -> float:
    w = 1 / (v + tau2)
    return float(w @ (y - _mean(y, w)) ** 2)


def _mean(y: Floats, w: Floats) -> float:
    return float(w @ y) / float(w.sum())
