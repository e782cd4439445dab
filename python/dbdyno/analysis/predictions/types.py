"""A prediction and what was measured of it, as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

Range = tuple[float, float]

# What is predicted.
OUTAGE, CHANGE, MEMBERS = "outage", "change", "members"
COMMIT, COMMITS, ERRORS = "commit", "commits", "errors"
CERTIFICATION, TAKEN = "certification", "taken"
ACKNOWLEDGED = "acknowledged"  # the same as COMMIT, of replicas
LAG = "lag"  # its growth, seconds a second
MODELS = {
    **dict.fromkeys((OUTAGE, CHANGE, MEMBERS), "cluster-timeline"),
    COMMIT: "cluster-commit",
    ACKNOWLEDGED: "replica-commit",
    LAG: "apply-lag",
    **dict.fromkeys((COMMITS, ERRORS, CERTIFICATION, TAKEN), "certification"),
}
"""Names of models, by what they predict."""
TIMES = frozenset({OUTAGE, CHANGE, COMMIT, ACKNOWLEDGED})
"""What is in seconds; all else but LAG is a second."""


@dataclass(frozen=True)
class KnownError:
    """How far a model was from real servers in a row of the proof, at most: its bar where it has
    one. `share`: of what was measured; `seconds` (of LAG a second): outside the predicted range."""

    proof: str
    share: float = 0.0
    seconds: float = 0.0


KNOWN: Mapping[str, KnownError] = {
    **dict.fromkeys((OUTAGE, CHANGE), KnownError("cluster", seconds=1.0)),
    MEMBERS: KnownError("cluster"),  # all in the predicted order
    COMMITS: KnownError("cluster", share=0.20),
    # No bar: the most that its table has.
    **dict.fromkeys((ERRORS, CERTIFICATION, TAKEN), KnownError("cluster", share=0.40)),
}
"""By what is predicted."""
BARS: Mapping[str, KnownError] = {
    **dict.fromkeys((COMMIT, ACKNOWLEDGED), KnownError("commit_waits", share=0.20)),
    LAG: KnownError("apply_lag", seconds=0.1),
}
"""Bars of rows that were not measured yet: they are known once the rows have met them."""


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
        ranges = self.by_trial or (self._whole,) * len(self.measured)
        return tuple(_off(*pair) for pair in zip(self.measured, ranges, strict=True))

    @property
    def middle(self) -> float:
        """The median of the trials."""
        return median((low + high) / 2 for low, high in self.measured)

    @property
    def difference(self) -> float:
        """How far that is from the prediction: 0 within its range, positive above."""
        return _off((self.middle, self.middle), self._whole)

    @property
    def known_error(self) -> KnownError | None:
        """None: no row of the proof has the model."""
        return KNOWN.get(self.what)

    @property
    def is_model_off(self) -> bool:
        """Whether it is farther from the measurement than the proof found the model to be."""
        known = self.known_error
        if known is None:
            return False
        if known.seconds:
            return any(abs(off) > known.seconds for off in self.off)
        return abs(self.difference) > known.share * self.middle

    @property
    def _whole(self) -> Range:
        low, high = self.predicted
        return low, math.inf if self.at_least else high


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

    @property
    def is_model_off(self) -> bool:
        """In the proof all were in the predicted order."""
        return self.agree < len(self.measured)


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
