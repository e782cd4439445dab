"""Which cells are beaten by another one on two axes or more.

A cell is shown to be beaten by another one if that one is better on every axis. Of one pair that
needs no adjustment for the number of axes: its p is the largest of theirs (intersection-union test,
Berger 1982, "Multiparameter hypothesis testing and acceptance sampling"). All k (k - 1) ordered
pairs of k cells share one error budget by Holm's procedure, so that the chance that any cell is
wrongly called beaten is at most 5 %. What is not beaten is *not shown to be beaten*: that it is the
best of its kind no measurement shows.

Without intervals (fewer than 3 blocks) the means decide, and nothing is called shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.estimates.ratios import pairs
from dbdyno.experiment.claims import known_metrics, metrics
from dbdyno.experiment.claims.types import ALPHA


@dataclass(frozen=True)
class Evidence:
    """Whether one cell's estimate is better than another's on an axis, with the one-sided p that it
    is not; None: not judged."""

    better: bool
    p: float | None


# Of (cell, rival): the evidence that the rival is better; None if that cannot be estimated.
Axis = Callable[[int, int], Evidence | None]


@dataclass(frozen=True)
class Beaten:
    """By which cells, in the order in which they were given; `judged`: shown, not only seen."""

    by: tuple[int, ...]
    judged: bool


def measured_axis(
    measured: Measured, metric: str, equal_at: Callable[[int, int], float] = lambda _one, _other: 1
) -> Axis:
    """A metric, paired within blocks. `equal_at`: the ratio of a cell to its rival at which they
    are alike."""
    lower = metrics.info(metric).direction == known_metrics.LOWER

    def evidence(one: int, other: int) -> Evidence | None:
        compared = pairs(measured, (one, metric), (other, metric))
        if compared.problem or compared.bound or not compared.blocks:
            return None
        contrast = compared.contrast(equal_at(one, other))
        above = contrast.centre > contrast.threshold
        better = above if lower else contrast.centre < contrast.threshold
        return Evidence(better, contrast.p / 2 if contrast.n >= BLOCKS_MIN else None)

    return evidence


def known_axis(values: Callable[[int], float]) -> Axis:
    """What is known, as a price is, and better if lower. An equal rival does not prevent dominance
    on this axis."""
    return lambda one, other: Evidence(values(other) <= values(one), 0.0)


def beaten(cells: Sequence[int], axes: Sequence[Axis]) -> dict[int, Beaten]:
    """The cells that others beat on all `axes`."""
    seen: dict[int, list[int]] = {}
    tests: list[tuple[float, int, int]] = []
    for one, other in itertools.permutations(cells, 2):
        ps = _ps(axes, one, other)
        if ps is None:
            continue
        known = [p for p in ps if p is not None]
        if len(known) < len(ps):
            seen.setdefault(one, []).append(other)
        else:
            tests.append((max(known), one, other))
    shown: dict[int, list[int]] = {}
    count = len(cells) * (len(cells) - 1)
    for rank, (p, one, other) in enumerate(sorted(tests)):
        if p > ALPHA / (count - rank):
            break
        shown.setdefault(one, []).append(other)
    return {
        **{cell: Beaten(_ordered(cells, by), False) for cell, by in seen.items()},
        **{cell: Beaten(_ordered(cells, by), True) for cell, by in shown.items()},
    }


def _ps(axes: Sequence[Axis], one: int, other: int) -> list[float | None] | None:
    """p on each axis; None if the rival's estimate is not better on all."""
    found: list[float | None] = []
    for axis in axes:
        evidence = axis(one, other)
        if evidence is None or not evidence.better:
            return None
        found.append(evidence.p)
    return found


def _ordered(cells: Sequence[int], some: Sequence[int]) -> tuple[int, ...]:
    return tuple(cell for cell in cells if cell in some)
