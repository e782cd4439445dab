"""How often the interval of a ratio holds the true ratio."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tools.proof import chart
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import (
    Floats,
    end,
    experiment,
    first_blocks,
    ordered,
    records,
)
from tools.proof.simulating.many import many, percent, share

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.experiment.types import Looks
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord

EXPERIMENTS, OTHERS, QUICK = 4_000, 1_000, 8
BLOCKS = (3, 6, 10)
RATIO = 1.1
LOOKS = Looks(4, 12)
CLAIM = "transactions_per_s[on] > transactions_per_s[off]"
STALLS = 0.05  # what stalls take of a trial, on average
SHAPE = 4.0

Sides = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Kind:
    """A distribution of the trials' throughputs, of geometric mean 1 on either side."""

    name: str
    sides: Sides  # n values with the cache on, n with it off
    skewed: bool


def _normal(deviation: float) -> Sides:
    def sides(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        on, off = 1 + deviation * rng.standard_normal((2, n))
        return on, off  # alike, so that their logarithms' means are, too

    return sides


def _lognormal(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    on, off = np.exp(0.3 * rng.standard_normal((2, n)))
    return on, off


def _gamma(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    on, off = rng.gamma(SHAPE, size=(2, n))
    return on, off


def _stalls(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """One side loses time to stalls, most trials little and some much."""
    noise = 0.02 * rng.standard_normal((2, n))
    lost = rng.exponential(STALLS, size=n)
    return np.exp(noise[0] - (lost - STALLS)), np.exp(noise[1])


KINDS = (
    Kind("normal, 2 %", _normal(0.02), skewed=False),
    Kind("normal, 10 %", _normal(0.1), skewed=False),
    Kind("lognormal, 30 %", _lognormal, skewed=True),
    Kind("gamma of shape 4, 50 %", _gamma, skewed=True),
    Kind("stalls on one side, exponential, 5 %", _stalls, skewed=True),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def _records(plan: Plan, kind: str, rng: np.random.Generator) -> list[TrialRecord]:
    on, off = BY_NAME[kind].sides(rng, plan.blocks)
    cells = {"on": 1000 * RATIO * on, "off": 1000 * off}
    return records(
        plan, [float(cells[plan.cells[t.cell].levels["cache"]][t.block - 1]) for t in plan.trials]
    )


def _covers(measured: Measured) -> bool:
    (part,) = verdict.decide(measured)
    assert part.estimate is not None
    low, high = part.estimate.ci_low, part.estimate.ci_high
    return (low is None or low <= RATIO) and (high is None or high >= RATIO)


def fixed(kind: str, blocks: int, number: int, rng: np.random.Generator) -> bool:
    """Whether the 95 % interval of one experiment's only claim holds the true ratio."""
    plan = ordered(experiment({"cache": ("off", "on")}, [CLAIM], blocks=blocks), number)
    return _covers(Measured.of(plan, _records(plan, kind, rng)))


def growing(kind: str, number: int, rng: np.random.Generator) -> bool:
    """The same where the run ends as soon as the claim is decided."""
    plan = experiment({"cache": ("off", "on")}, [CLAIM], blocks=LOOKS.max, looks=LOOKS)
    plan = ordered(plan, number)
    found = _records(plan, kind, rng)
    ends = end(plan, found)
    return _covers(Measured.of(plan, first_blocks(plan, found, ends)))


def measure(effort: Effort) -> Outcome:
    """Fixed numbers of blocks, then runs that end when all is decided."""
    count = QUICK if effort.quick else EXPERIMENTS
    few = QUICK if effort.quick else OTHERS
    rows, shares = [], {}
    for kind in KINDS:
        hits = {
            blocks: sum(many(functools.partial(fixed, kind.name, blocks), count, seed=31))
            for blocks in BLOCKS
        }
        looked = sum(many(functools.partial(growing, kind.name), few, seed=32))
        effort.say(f"    {kind.name}: {[hits[blocks] / count for blocks in BLOCKS]}")
        rows.append(
            (kind.name, *(share(hits[blocks], count) for blocks in BLOCKS), share(looked, few))
        )
        shares[kind.name] = {blocks: hits[blocks] / count for blocks in BLOCKS}
    plain = [one for kind in KINDS if not kind.skewed for one in shares[kind.name].values()]
    skewed = [one for kind in KINDS if kind.skewed for one in shares[kind.name].values()]
    met = min(plain) >= 0.93 and max(plain) <= 0.97 and min(skewed) >= 0.9
    return Outcome(
        measured=f"normal {_span(plain)}, skewed {_span(skewed)}",
        met=None if effort.quick else met,
        tables=(
            Table(
                "95 % intervals that hold the true ratio",
                (
                    "noise of a trial",
                    *(f"{blocks} blocks" for blocks in BLOCKS),
                    f"ended when decided, {LOOKS.first} to {LOOKS.max}",
                ),
                tuple(rows),
            ),
        ),
        notes=(
            "The true ratio is that of the geometric means, 1.1: it is what the mean of log ratios"
            " estimates. Where noise is alike on both sides, as in the first four rows, it is the"
            " ratio of the arithmetic means, too.",
            "In the last column the run ends at the first look that decides; its interval is the"
            " one that allows for all looks, and is meant to hold the truth at all of them at once:"
            " more than 95 % at the one that is shown.",
        ),
        figure=chart.lines(
            "Coverage",
            {name: [(n, 100 * part) for n, part in found.items()] for name, found in _few(shares)},
            across="blocks",
            up="% of intervals that hold the true ratio",
            bar=95.0,
            floor=5.0 * math.floor(20 * min(plain + skewed)),
        ),
        figure_about="Coverage of 95 % intervals by the number of blocks",
    )


def _few(shares: dict[str, dict[int, float]]) -> list[tuple[str, dict[int, float]]]:
    """What the figure shows: short names."""
    return [(name.partition(",")[0], shares[name]) for name in (KINDS[0].name, *list(shares)[2:])]


def _span(shares: list[float]) -> str:
    return f"{100 * min(shares):.1f} to {percent(max(shares))}"


ROW = Row(
    name="coverage",
    claim="Intervals hold the truth as often as they say",
    how=(
        "Simulated pairs of cells whose true ratio is known, with noise of several shapes; the"
        " interval is the one of the claim, from dbdyno's own code."
    ),
    bar="93 to 97 % of 95 % intervals with normal noise, at least 90 % with skewed, n = 3, 6, 10",
    measure=measure,
    timed=False,
)
