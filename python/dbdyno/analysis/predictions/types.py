"""A prediction and what was measured of it, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

Range = tuple[float, float]

# What is predicted.
OUTAGE, CHANGE, MEMBERS = "outage", "change", "members"
COMMIT, COMMITS, ERRORS = "commit", "commits", "errors"
CERTIFICATION, TAKEN = "certification", "taken"
MODELS = {
    **dict.fromkeys((OUTAGE, CHANGE, MEMBERS), "cluster-timeline"),
    COMMIT: "cluster-commit",
    **dict.fromkeys((COMMITS, ERRORS, CERTIFICATION, TAKEN), "certification"),
}
"""Names of models, by what they predict."""


@dataclass(frozen=True)
class Quantity:
    """A number: of a group or a node, `of`; "" if there is one. `measured`: one value a trial,
    each as the range in which it is known to lie. `at_least`: the prediction is a lower bound, of
    some trial at least. `by_trial`: the prediction of each, where trials have their own; else all
    have `predicted`. `blocks`: those of its trials, where others have a quantity of their own."""

    what: str
    of: str
    predicted: Range
    measured: tuple[Range, ...]
    at_least: bool = False
    by_trial: tuple[Range, ...] = ()
    blocks: tuple[int, ...] = ()

    @property
    def off(self) -> tuple[float, ...]:
        """How far each value is from its prediction: 0 where it may lie within, positive above."""
        low, high = self.predicted
        same = (low, math.inf if self.at_least else high)
        ranges = self.by_trial or (same,) * len(self.measured)
        return tuple(_off(*pair) for pair in zip(self.measured, ranges, strict=True))


@dataclass(frozen=True)
class Sequence:
    """Numbers of members that a node sees, one after the other: those that may be in some trial,
    and those that were sampled in each. `by_trial`: those that may be in each."""

    of: str
    predicted: tuple[tuple[int, ...], ...]
    measured: tuple[tuple[int, ...], ...]
    by_trial: tuple[frozenset[tuple[int, ...]], ...]

    @property
    def agree(self) -> int:
        """Trials whose sequence is one that was predicted for them."""
        return sum(
            one in possible for one, possible in zip(self.measured, self.by_trial, strict=True)
        )


@dataclass(frozen=True)
class Predictions:
    """Of one cell. `inputs`, `unknown`: messages on what the predictions were made from, and on
    what is not predicted."""

    cell: int
    inputs: tuple[str, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    sequences: tuple[Sequence, ...] = ()
    unknown: tuple[str, ...] = ()


def _off(value: Range, predicted: Range) -> float:
    low, high = predicted
    if value[1] < low:
        return value[1] - low
    return max(0.0, value[0] - high)
