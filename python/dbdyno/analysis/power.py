"""How many blocks an open question would take, and how small an effect a run could have seen.

Power of the two-sided t test at level alpha with n blocks, true distance delta and standard
deviation s (both on the scale of the test: log ratios): with non-centrality delta sqrt(n) / s,
power = P(T' > t(1 - alpha/2; n-1)), the far tail being negligible. Source: Cohen, Statistical Power
Analysis for the Behavioral Sciences, chapter 2. Both functions take what was seen for what is true,
so they say "about".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special

from dbdyno.analysis.contrast import Best, Contrast, LogRatio, Mean, Median

POWER = 0.8
BLOCKS_MAX = 1000  # beyond, "more blocks" is no advice


def power(delta: float, deviation: float, n: int, alpha: float) -> float:
    """Power as above; 1 for deviation 0 (unless delta is 0, then 0)."""
    if deviation == 0.0:
        return 1.0 if delta else 0.0
    critical = float(special.stdtrit(n - 1, 1 - alpha / 2))
    centre = min(abs(delta) / deviation * math.sqrt(n), 1e3)
    missed = float(special.nctdtr(n - 1, centre, critical))
    return 1 - missed if math.isfinite(missed) else 1.0


def blocks_needed(contrast: Contrast, alpha: float) -> int | None:
    """About how many more blocks would decide `contrast` at level `alpha` with 80 % power.

    None if that is more than `BLOCKS_MAX` in all, or if the estimate sits on the threshold.
    """
    if isinstance(contrast, Median):
        return _sign_blocks(contrast, alpha)
    if isinstance(contrast, Best):
        ahead = contrast.inside if contrast.centre > 1 else contrast.outside
        alpha /= len(ahead)
    values, null = _scale(contrast)
    if values is None:
        return None
    delta, deviation = float(np.mean(values)) - null, float(np.std(values, ddof=1))

    def enough(n: int) -> bool:
        return power(delta, deviation, n, alpha) >= POWER

    if not enough(BLOCKS_MAX):
        return None
    low, high = contrast.n, BLOCKS_MAX  # `enough` rises with n
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high - contrast.n


def detectable(values: Sequence[float], alpha: float) -> float:
    """Smallest distance from the threshold that n blocks with this spread find with 80 % power.

    `values`, shape (n,), n >= 2, on the scale of the test: for log ratios, exp(result) - 1 is the
    smallest detectable effect.
    """
    deviation, n = float(np.std(values, ddof=1)), len(values)
    if deviation == 0.0:
        return 0.0
    high = deviation
    while power(high, deviation, n, alpha) < POWER:
        high *= 2
    found = optimize.brentq(
        lambda delta: power(delta, deviation, n, alpha) - POWER, 0.0, high, xtol=1e-6 * high
    )
    return float(found)


def _scale(contrast: Contrast) -> tuple[tuple[float, ...] | None, float]:
    """Values and threshold on the scale where the t test works."""
    if isinstance(contrast, LogRatio) and contrast.threshold > 0:
        return contrast.logs, math.log(contrast.threshold)
    if isinstance(contrast, Best):  # the pair of levels that the answer hangs on
        return contrast.logs, math.log(contrast.threshold)
    if isinstance(contrast, Mean):
        return contrast.values, contrast.threshold
    return None, 0.0


def _sign_blocks(contrast: Median, alpha: float) -> int | None:
    """Blocks until unanimous signs would decide; None unless they are unanimous so far."""
    if 0 < sum(value > contrast.threshold for value in contrast.values) < contrast.n:
        return None
    if contrast.threshold in contrast.values:
        return None
    needed = math.ceil(math.log2(2 / alpha))
    return max(1, needed - contrast.n)
