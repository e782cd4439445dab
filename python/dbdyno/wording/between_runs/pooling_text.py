"""Texts on combined runs, in all formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.analysis.between_runs.pooling import Combined, Line, Pooled
from dbdyno.wording import numbers
from dbdyno.wording.numbers import MISSING, percent
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import times
from dbdyno.wording.verdicts import headline as in_words

FEW = 10  # runs: the Q test of fewer seldom detects a difference


@dataclass(frozen=True)
class Cells:
    """A line of a table: a run, or what all of them give together."""

    name: str
    ratio: str
    interval: str
    weight: str


def heading(line: Line) -> str:
    """`tps at cache=on over tps at cache=off`."""
    return f"{line.left} over {line.right}"


def table(line: Line) -> list[Cells]:
    """A row a run, then the combination and where a further run is expected."""
    rows = []
    for one in line.effects:
        weight = MISSING if one.weight is None else percent(float(f"{one.weight:.2g}"))
        ends = one.problem or interval(one.low, one.high)
        rows.append(Cells(one.run, times(one.ratio), ends, weight))
    if line.pooled:
        ends = interval(math.exp(line.pooled.low), math.exp(line.pooled.high))
        rows.append(Cells("combined", times(math.exp(line.pooled.mean)), ends, percent(1.0)))
    return rows


def interval(low: float | None, high: float | None) -> str:
    """`0.84-0.97`."""
    return numbers.interval(low, high, 1.0)


def sentences(line: Line) -> list[str]:
    """What the combination says, and how far it holds."""
    pooled = line.pooled
    if pooled is None:
        return [f"Not combined: {line.problem}."]
    used = sum(one.weight is not None for one in line.effects)
    ends = interval(math.exp(pooled.low), math.exp(pooled.high))
    return [
        f"{heading(line)} is {times(math.exp(pooled.mean))} on average over {count(used, 'run')}"
        f" (95 % interval {ends}).",
        _predicted(pooled),
        _heterogeneity(pooled, used),
    ]


def _predicted(pooled: Pooled) -> str:
    if pooled.predicted is None:
        return "Where a further run is expected is not known from two."
    low, high = (math.exp(one) for one in pooled.predicted)
    return (
        f"A further run's own ratio is expected in {interval(low, high)} (nominal 95 % prediction)."
    )


def _heterogeneity(pooled: Pooled, used: int) -> str:
    tau = percent(float(f"{math.expm1(pooled.tau):.2g}"))
    share = percent(round(pooled.i2, 2))
    text = (
        f"Runs differ by ±{tau} beyond what they vary within (tau); that is {share} of all that"
        f" they differ by (I²). Q = {pooled.q:.3g}, p = {pooled.q_p:.2g}"
    )
    if used < FEW:
        return f"{text}: with so few runs a large p does not show that they agree."
    return f"{text}."


def claims(found: Combined) -> list[str]:
    """`Supported: WORDS (CLAIM)`, a line a claim."""
    return [in_words.line(one.verdict, one.say, one.text) for one in found.claims]


def limits(found: Combined) -> str:
    """What holds of all intervals."""
    number = sum(line.pooled is not None for line in found.lines)
    many = f" Each of the {number} intervals has 95 % for itself." if number > 1 else ""
    return (
        "Random-effects model: Paule-Mandel's tau, intervals by Hartung, Knapp, Sidik and Jonkman."
        + many
    )


def changes(found: Combined) -> Sequence[str]:
    """What differs from run to run."""
    return [f"{run}: {'; '.join(what)}".replace(" -> ", " → ") for run, what in found.differ]
