"""Comparisons that ask of one and the same ratio: they are judged, and shown, by one interval.

`a / b >= 1.5` and `a > b` are two questions about one number, and `b < a` is a third. To judge each
at a level of its own would print several intervals for that number. So the unit of Holm's procedure
is the number: it is decided when all its questions are, its p is the largest of theirs.

That bounds the chance of any wrong decision as Holm's does. Of one number at most one of the nulls
is true. Call m0 the count of numbers of which one is; with a chance of at least 1 - alpha none of
their p values, of that null, is at most alpha / m0. Then none of these numbers is decided at any
step, since the first of them would be at a level of at most alpha / m0; so each later level is at
most alpha / m0, too, and no interval at such a level excludes a truth that is on a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.claims.cases import Case
from dbdyno.analysis.claims.contrast import Contrast, Interval
from dbdyno.analysis.types import Ratio
from dbdyno.experiment.values.bounds import of_inverse


@dataclass(frozen=True)
class SameRatio:
    """Cases of one number, at least one, all with a contrast. A `contrast.Contrast`."""

    cases: tuple[Case, ...]
    decides: Callable[[Case, Interval], bool]

    @property
    def n(self) -> int:
        return self._first.n

    @property
    def threshold(self) -> float:
        return self._first.threshold

    @property
    def centre(self) -> float:
        return self._first.centre

    @property
    def p(self) -> float:
        return max(case.contrast.p for case in self.cases if case.contrast)

    def interval(self, confidence: float) -> Interval:
        """Of the first case. Interim looks may differ in what they show of different thresholds:
        then the one that decides most."""
        found = [
            self._turned(case, case.contrast.interval(confidence))
            for case in self.cases
            if case.contrast
        ]
        return max(dict.fromkeys(found), key=self._decided)

    def of(self, case: Case, interval: Interval) -> Interval:
        """An interval of the first case as one of `case`."""
        return self._turned(case, interval)

    def all_decided(self, interval: Interval) -> bool:
        """Whether an interval settles all questions."""
        return self._decided(interval) == len(self.cases)

    @property
    def _first(self) -> Contrast:
        contrast = self.cases[0].contrast
        assert contrast is not None
        return contrast

    def _decided(self, interval: Interval) -> int:
        return sum(self.decides(case, self._turned(case, interval)) for case in self.cases)

    def _turned(self, case: Case, interval: Interval) -> Interval:
        """From the first case's side up to another's, or back."""
        return inverse(interval) if case.sides != self.cases[0].sides else interval


def grouped(cases: Sequence[Case], decides: Callable[[Case, Interval], bool]) -> list[SameRatio]:
    """Cases with a contrast, those of one number together."""
    found: dict[Hashable, list[Case]] = {}
    for at, case in enumerate(cases):
        if case.contrast is not None:
            key = (case.part.kind, frozenset(case.sides)) if case.sides else at
            found.setdefault(key, []).append(case)
    return [SameRatio(tuple(same), decides) for same in found.values()]


def inverse(interval: Interval) -> Interval:
    """The interval of b / a from that of a / b."""
    low, high = interval
    return 1 / high if high else None, 1 / low if low else None


def turned(ratio: Ratio) -> Ratio:
    """b / a from a / b."""
    low, high = inverse((ratio.ci_low, ratio.ci_high))
    return replace(
        ratio, ratio=1 / ratio.ratio, ci_low=low, ci_high=high, bound=of_inverse(ratio.bound)
    )
