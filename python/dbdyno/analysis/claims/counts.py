"""Counts of what must not happen (lost commits, misrouted statements): whole numbers, one a trial.

Such counts are mostly zero and come in bursts, so that few trials say next to nothing about their
mean. What they do say is exact, and needs no distribution:

*Any at all* (`AnyCount`). `lost < 1` and `<= 0` say that there is none, `>= 1` and `> 0` that there
is some. `diverged < 100` says that no trial reaches 100, and is the same question of trials that
do. (`>= 100` asks for the mean, as a claim on any other metric does: one trial would say little.)
One trial with any answers both, whatever n: where there cannot be any, none is ever seen.
Zeros in all n trials are no proof of none, and never refute that there is some. They bound the
share s of trials that have any: n zeros have the chance (1 - s)^n, so that s <= 1 - alpha^(1/n)
with confidence 1 - alpha (Clopper and Pearson 1934, one-sided; about 3/n for alpha = 5 %: Hanley
and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?"). "None" is supported once
that bound is at most `ANY_SHARE`, a half, so wrongly, where half of the trials or more have any,
with probability alpha at most. What is rarer may go unseen: the bound is stated with the verdict.

*Errors.* "None" is a test of s >= 1/2, its p 2^-n, and 1 where any was seen. That one is certain
does not mean that it leaves its part of the error budget to others: with three cells that each lose
something in half of the trials, the two that were seen to do so would hand all of it to the third.
"Some" is never decided wrongly, so it is in no budget (`is_safe`).

*Looks.* Zeros in n trials are zeros in the first few of them as well. So "none" is supported at
some look only if it is at the first look at which zeros would do, and more looks add no chance to
err: nothing is spent on them.

*Of so many* (`rate_most`). Of N transactions that are lost one by one, independently of each other,
at most -ln(alpha) / N are: Poisson's exact bound for a count of zero (Garwood 1936). Losses come in
bursts, so this one is for people and decides nothing.

*Between cells* (`TrialShare`). With a zero among them counts have no ratio. In how many trials
`left > T * right` holds is binomial: the sign test (Conover, Practical Nonparametric Statistics,
section 3.4) with Clopper and Pearson's interval, against a half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from dbdyno.analysis.claims.contrast import Contrast, Interval
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import ANY, ClaimPart
from dbdyno.experiment.claims import metrics
from dbdyno.experiment.claims.grammar import compare
from dbdyno.experiment.claims.types import ANY_SHARE

HALF = 0.5  # of trials: what a comparison must hold in more of
_ROUNDING = 1e-12


@dataclass(frozen=True)
class AnyCount:
    """Whether a count ever reaches a limit, mostly 1; a `contrast.Contrast`. `values`: one a trial,
    shape (n,), n >= 1. `of`: among how many they were counted in all trials together; 0: not known.
    `operator`: of the claim; `>` and `>=` say that there is some.

    The interval is on the scale of the counts. Where a trial reaches the limit: from the largest
    one seen, which is certain, without an upper end. Else from 0, to the largest one where that
    decides, without an upper end where it does not.
    """

    values: tuple[float, ...]
    threshold: float
    operator: str = "<"
    of: float = 0.0

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def centre(self) -> float:
        """The largest."""
        return max(self.values)

    @property
    def exists(self) -> bool:
        """Whether the claim is that there is some."""
        return metrics.is_some(self.operator)

    @property
    def seen(self) -> int:
        """Trials that reach the limit."""
        is_met = [compare(value, self.operator, self.threshold) for value in self.values]
        return sum(met == self.exists for met in is_met)

    @property
    def p(self) -> float:
        """Of "half of such trials or more reach the limit"."""
        return 1.0 if self.seen or self.exists else (1 - ANY_SHARE) ** self.n

    def interval(self, confidence: float) -> Interval:
        if self.seen:
            return self.centre, None
        decides = self.share_most(confidence) <= ANY_SHARE + _ROUNDING
        return 0.0, self.centre if decides and not self.exists else None

    def share_most(self, confidence: float) -> float:
        """Where none reaches the limit: the largest share of such trials that fits."""
        return 1 - (1 - confidence) ** (1 / self.n)

    def rate_most(self, confidence: float) -> float | None:
        """Of zeros: the largest share of what was counted among, if each comes by itself."""
        return -math.log(1 - confidence) / self.of if self.of and not self.centre else None

    def blocks_needed(self, alpha: float) -> int | None:
        """How many more blocks that do not reach the limit decide at level `alpha`; None: no number
        does."""
        if self.exists:
            return None
        return max(1, math.ceil(math.log(alpha) / math.log(1 - ANY_SHARE) - _ROUNDING) - self.n)


@dataclass(frozen=True)
class TrialShare:
    """The share of trials in which a comparison holds: `hits` of n; a `contrast.Contrast`."""

    hits: int
    n: int
    threshold: float = HALF

    @property
    def centre(self) -> float:
        return self.hits / self.n

    @property
    def p(self) -> float:
        few = float(special.bdtr(self.hits, self.n, self.threshold))
        many = float(special.bdtr(self.n - self.hits, self.n, 1 - self.threshold))
        return min(1.0, 2 * min(few, many))

    def interval(self, confidence: float) -> Interval:
        tail, missed = (1 - confidence) / 2, self.n - self.hits
        low = float(special.betaincinv(self.hits, missed + 1, tail)) if self.hits else 0.0
        high = float(special.betainccinv(self.hits + 1, missed, tail)) if missed else 1.0
        return low, high

    def blocks_needed(self, alpha: float) -> int | None:
        """How many more blocks that go as most of these did decide at level `alpha`; None if there
        is no such side."""
        if 2 * self.hits == self.n:
            return None
        agree = 2 * self.hits > self.n
        more = 1
        while TrialShare(self.hits + more * agree, self.n + more).p > alpha:
            more += 1
        return more


def is_safe(part: ClaimPart) -> bool:
    """Whether no verdict on a part can be wrong, so that it needs no error budget."""
    return part.kind == ANY and metrics.is_some(part.operator)


def any_of(measured: Measured, cell: int, metric: str, operator: str, threshold: float) -> AnyCount:
    """Of a metric that at least one block of a cell has."""
    series = measured.series(cell, metric)
    among = measured.series(cell, metrics.counted_among(metric))
    of = math.fsum(value for block, value in among.items() if block in series)
    return AnyCount(tuple(series.values()), threshold, operator, of)


def is_certain(contrast: Contrast | None) -> bool:
    """Whether what was seen answers a claim whatever further trials show."""
    return isinstance(contrast, AnyCount) and contrast.seen > 0
