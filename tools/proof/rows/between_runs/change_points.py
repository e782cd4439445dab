"""Change points of a history: false ones, and steps that are found."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.histories import mood, runs
from tools.proof.simulating.many import many, percent, share, upper

from dbdyno.analysis import between_runs

HISTORIES, QUICK = 1_000, 3
CORRELATIONS = (0.0, 0.5, 0.9)
BOUND, LEVEL = 0.5, 0.05  # the bar is for correlations up to it
LENGTHS = (20, 40, 90)
MATTERS = 0.03
STEPS = (0.05, 0.1)
NEAR = 2  # runs that a change point may be off


@dataclass(frozen=True)
class Asked:
    """A history; `step`: a loss from its middle on."""

    correlation: float
    length: int
    step: float = 0.0
    matters: float = MATTERS


def one(asked: Asked, _: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether there is a change point in any series, and one where the step is."""
    levels = mood(asked.correlation, asked.length, rng)
    middle = asked.length // 2
    levels[middle:] += math.log1p(-asked.step)
    history = runs(levels, rng)
    plan = replace(history[-1].plan, matters=asked.matters)
    (group,) = between_runs.history([*history[:-1], replace(history[-1], plan=plan)]).groups
    places = [place.run for series in group.series for place in series.changes]
    return bool(places), any(abs(place - middle) <= NEAR for place in places)


def measure(effort: Effort) -> Outcome:
    """Histories without a change, then with a step."""
    count = QUICK if effort.quick else HISTORIES
    lengths = LENGTHS[:1] if effort.quick else LENGTHS
    false, highest, said = [], 0.0, []
    for correlation in CORRELATIONS:
        for length in lengths:
            cells = []
            for matters in (MATTERS, 0.0):
                asked = Asked(correlation, length, matters=matters)
                hits = sum(any_ for any_, _ in many(functools.partial(one, asked), count, 20268))
                cells.append(share(hits, count))
                if correlation <= BOUND and matters:
                    said.append(hits / count)
                    highest = max(highest, upper(hits, count))
            false.append((f"{correlation:g}", str(length), str(count), *cells))
            effort.say(f"    correlation {correlation:g}, {length} runs: {cells}")
    found = []
    for step in STEPS:
        for correlation in CORRELATIONS[:2]:
            cells = []
            for length in lengths:
                asked = Asked(correlation, length, step)
                half = max(1, count // 4)
                hits = sum(there for _, there in many(functools.partial(one, asked), half, 20269))
                cells.append(percent(hits / half))
            found.append((f"-{percent(step, 0)}", f"{correlation:g}", *cells))
    return Outcome(
        measured=f"{percent(min(said))} to {percent(max(said))} of histories without a change",
        met=None if effort.quick else highest <= LEVEL,
        tables=(
            Table(
                "Histories without a change in which some series has a change point",
                (
                    "correlation of neighbours",
                    "runs",
                    "histories",
                    f"`matters: {percent(MATTERS, 0)}`",
                    "without `matters`",
                ),
                tuple(false),
            ),
            Table(
                "A step in the middle that is found, in some series, within two runs",
                ("step", "correlation of neighbours", *(f"{length} runs" for length in lengths)),
                tuple(found),
            ),
        ),
        notes=(
            "Each run has two metrics of two cells. Between runs the machine's state has a"
            " standard deviation of 2 %, each number 1 % of its own. The bar is not for a"
            " correlation of 0.9: such a machine changes its level for weeks.",
        ),
    )


ROW = Row(
    name="change_points",
    claim="Histories without a change have no change points",
    how=(
        "Simulated histories through the code of `dyno history`. Counted is a history with a"
        " change point in any of its four series."
    ),
    bar=(
        f"with correlations up to {BOUND:g} of neighbours and 20 to 90 runs, the one-sided 95 %"
        " upper bound of such histories is at most 5 %"
    ),
    measure=measure,
    timed=False,
    before=(
        "3 to 5 % of independent histories, 30, 49 and 66 % of those with a correlation of 0.5 and"
        " 20, 40 and 90 runs (commit 42ce8be)"
    ),
)
