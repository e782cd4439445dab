"""Predictions of a cell whose trials differ in what happened: faults that are drawn, or that came
at other moments, give each trial a prediction of its own.

Each trial is compared with its own range. One range over all of them would hold nearly everything
where draws differ: a killed primary stops a cluster for 6 s, a killed replica for none. So trials
whose ranges are apart are given apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbdyno.analysis.predictions.types import Quantity, Range

APART_S = 1.0  # between ranges that are given apart


@dataclass(frozen=True)
class OfTrial:
    """The range that a model gives for one trial, and in which the measured value lies. `is_open`:
    the model ended before what it is asked for: a lower bound."""

    block: int
    predicted: Range
    measured: Range
    is_open: bool = False

    @property
    def compared(self) -> Range:
        """What the measured value is compared with."""
        return self.predicted[0], math.inf if self.is_open else self.predicted[1]


def quantities(what: str, of: str, found: Iterable[OfTrial]) -> Iterator[Quantity]:
    """One for each set of trials whose ranges are less than `APART_S` apart, the lowest first."""
    sets: list[list[OfTrial]] = []
    top = -math.inf
    for one in sorted(found, key=lambda each: each.compared):
        if one.predicted[0] > top + APART_S:
            sets.append([])
        sets[-1].append(one)
        top = max(top, one.compared[1])
    for trials in sets:
        trials.sort(key=lambda each: each.block)
        yield Quantity(
            what,
            of,
            (min(one.predicted[0] for one in trials), max(one.predicted[1] for one in trials)),
            tuple(one.measured for one in trials),
            at_least=any(one.is_open for one in trials),
            by_trial=tuple(one.compared for one in trials),
            blocks=tuple(one.block for one in trials) if len(sets) > 1 else (),
        )
