"""Equality within a margin: `a ~= b within 3%`.

Two one-sided tests (Schuirmann 1987, "A comparison of the two one-sided tests procedure and the
power approach for assessing the equivalence of average bioavailability"): equal is what is shown to
lie above the lower end of the margin *and* below its upper end. That no difference was found shows
nothing: a run with much noise finds none.

With threshold T and margin m the ends are T / (1 + m) and T (1 + m). Either test is done at
alpha / 2, not at alpha as Schuirmann's: then the two-sided interval at 1 - alpha that every other
claim gets decides this one, too, and it can refute (all of it outside) with the same error. For
equality alone that is conservative: the chance to support it wrongly is alpha / 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbdyno.analysis.claims.bounded import Bounded
from dbdyno.analysis.claims.contrast import Around, Interval, LogRatio, Mean, Welch
from dbdyno.analysis.estimates.events import RateRatio
from dbdyno.analysis.single_values.skewed import SkewedMean
from dbdyno.analysis.types import PEAK, ClaimPart
from dbdyno.experiment.claims.grammar import EQUAL, within

Plain = LogRatio | Welch | Mean | SkewedMean | RateRatio


@dataclass(frozen=True)
class Equivalence(Around):
    """A contrast compared with the two ends of a margin around its threshold > 0; margin > 0.

    p is that of the answer which the estimate is nearest to, so that p <= alpha exactly where the
    interval at 1 - alpha decides. Inside, "equal": the larger of the two ends' p, each twice a
    one-sided p. Outside, "not equal": that of the nearer end.
    """

    inner: Plain | Bounded
    margin: float

    @property
    def ends(self) -> tuple[float, float]:
        """What still counts as equal."""
        return within(self.threshold, self.margin)

    @property
    def p(self) -> float:
        low, high = (held_against(self.inner, end) for end in self.ends)
        if self.centre < low.threshold:
            return low.p
        if self.centre > high.threshold:
            return high.p
        return max(low.p, high.p)

    def interval(self, confidence: float) -> Interval:
        return self.inner.interval(confidence)


def held_against(contrast: Plain | Bounded, threshold: float) -> Plain | Bounded:
    """The same values, compared with another threshold."""
    if isinstance(contrast, Bounded):
        return replace(contrast, inner=replace(contrast.inner, threshold=threshold))
    return replace(contrast, threshold=threshold)


def edges_of(part: ClaimPart) -> tuple[float, ...]:
    """What a part's interval is compared with."""
    if part.kind == PEAK:
        return (1.0,)
    if part.operator == EQUAL:
        return within(part.threshold, part.margin)
    return (part.threshold,)
