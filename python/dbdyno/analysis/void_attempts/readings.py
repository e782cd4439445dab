"""Comparisons with void attempts: read without their values, and with them.

A condition that only one side breaks, whenever its trials are bad, leaves that side its good ones.
Nothing distinguishes that from a condition that does its work. So a comparison with void attempts
that were measured has two readings: what was kept, and the first attempt at each trial, as if
nothing had been void. It is decided only if both decide it, and alike; what a single trial answers
for certain (`counts`), either reading decides.

The first reading is a random sample of all attempts, whatever makes them void: the claim is wrongly
decided at most as often as that reading errs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.claims.cases import Case
from dbdyno.analysis.claims.contrast import Around, Contrast, Interval
from dbdyno.analysis.claims.counts import is_certain
from dbdyno.analysis.claims.equivalence import edges_of
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.experiment.claims.grammar import ResolvedPart


@dataclass(frozen=True)
class Both(Around):
    """Two readings of one comparison. The interval is the hull of theirs. p is the larger one if
    both estimates lie on the same side of all `ends`, else 1. The estimate is that of `inner`."""

    inner: Contrast  # without void attempts
    attempted: Contrast  # the first attempt at each trial
    ends: tuple[float, ...]  # that the interval is compared with

    @property
    def p(self) -> float:
        same = self._side(self.inner) == self._side(self.attempted)
        return max(self.inner.p, self.attempted.p) if same else 1.0

    def interval(self, confidence: float) -> Interval:
        found = (self.inner.interval(confidence), self.attempted.interval(confidence))
        lows = [low for low, _ in found if low is not None]
        highs = [high for _, high in found if high is not None]
        return (
            min(lows) if len(lows) == len(found) else None,
            max(highs) if len(highs) == len(found) else None,
        )

    @property
    def least_sure(self) -> Contrast:
        """The reading that is further from a decision."""
        return max(self.inner, self.attempted, key=lambda one: one.p)

    def torn(self, alpha: float) -> bool:
        """Whether each reading alone is decided at that level. If the two together are not, they
        contradict each other."""
        return self.least_sure.p <= alpha

    def _side(self, reading: Contrast) -> int:
        return sum(reading.centre > end for end in self.ends)


Maker = Callable[[ResolvedPart], Case]


def maker(measured: Measured, kept: Maker, attempted: Maker) -> Maker:
    """Makes cases of both readings, each of which has its own maker."""

    def made(part: ResolvedPart) -> Case:
        case = kept(part)
        touched = any(measured.attempts(cell).void_measured for cell in case.cells)
        return _both(case, attempted(part)) if case.contrast and touched else case

    return made


def _both(kept: Case, attempted: Case) -> Case:
    assert kept.contrast is not None
    for one in (kept, attempted):
        if is_certain(one.contrast):  # what was seen happened, in a void attempt as well
            return one
    if attempted.contrast is None:
        return _open(kept, attempted.part.why)
    bounds = [one.part.estimate.bound for one in (kept, attempted) if one.part.estimate]
    if len(set(bounds)) > 1:
        return _open(kept, Message("known_one_side"))
    return replace(kept, contrast=Both(kept.contrast, attempted.contrast, edges_of(kept.part)))


def _open(case: Case, why: str) -> Case:
    torn = Message("void_unjudged", why=why)
    return replace(case, contrast=None, part=replace(case.part, why=torn))


def message(measured: Measured, cells: Sequence[int]) -> str:
    """That both readings were used for these cells, with the counts of each; empty: no need to."""
    counts = [measured.attempts(cell) for cell in dict.fromkeys(cells)]
    if not any(one.void_measured for one in counts):
        return ""
    return Message("void_read_twice", sides=[(one.void_measured, one.all) for one in counts])
