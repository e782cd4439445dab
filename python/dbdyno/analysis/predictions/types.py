"""A prediction and what was measured of it, as numbers."""

from __future__ import annotations

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
    each as the range in which it is known to lie. `at_least`: the prediction is a lower bound."""

    what: str
    of: str
    predicted: Range
    measured: tuple[Range, ...]
    at_least: bool = False

    @property
    def off(self) -> tuple[float, ...]:
        """How far each value is from the prediction: 0 where it may lie within, positive above."""
        low, high = self.predicted
        return tuple(_off(one, low, high, self.at_least) for one in self.measured)


@dataclass(frozen=True)
class Sequence:
    """Numbers of members that a node sees, one after the other: those that may be, and those that
    were sampled in each trial."""

    of: str
    predicted: tuple[tuple[int, ...], ...]
    measured: tuple[tuple[int, ...], ...]

    @property
    def agree(self) -> int:
        """Trials whose sequence is a predicted one."""
        return sum(one in self.predicted for one in self.measured)


@dataclass(frozen=True)
class Predictions:
    """Of one cell. `inputs`, `unknown`: messages on what the predictions were made from, and on
    what is not predicted."""

    cell: int
    inputs: tuple[str, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    sequences: tuple[Sequence, ...] = ()
    unknown: tuple[str, ...] = ()


def _off(value: Range, low: float, high: float, at_least: bool) -> float:
    if value[1] < low:
        return value[1] - low
    if value[0] > high and not at_least:
        return value[0] - high
    return 0.0
