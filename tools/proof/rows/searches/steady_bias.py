"""Whether a trial that ends when it is steady says what the system does for good: simulated
throughput with checkpoints and caches that warm, through what ends real trials."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.many import many
from tools.proof.simulating.throughput import PER_S, checkpoints, even, warming

from dbdyno.analysis.within_trial.steady import steady
from dbdyno.execute.steadiness import Steadiness
from dbdyno.store.metrics.timeseries import TICK_S

MATTERS = 0.03
MAX_S, QUICK_MAX_S = 1800, 130
TRIALS, QUICK_TRIALS = 40, 1
COURSES = (
    checkpoints(60.0),
    checkpoints(30.0),
    checkpoints(15.0),
    warming(0.5, 120.0),
    warming(0.5, 600.0),
    even(),
)
Z = 1.96


CASES = {course.name: (course, 0.0) for course in COURSES} | {
    "a checkpoint each 240 s, which the server says": (checkpoints(240.0), 240.0)
}


class Known:
    """A server that says what it does in the background."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s

    def begin(self) -> None:
        """Nothing to read."""

    def cycles(self) -> dict[str, float]:
        """Its one cycle."""
        return {"a checkpoint": self._period_s}


class Ended(NamedTuple):
    """A trial: how far its throughput is off, as a share; None: it says that it is not steady."""

    bias: float | None
    length_s: float


def _judge(commits: Any, least_s: float) -> float | None:
    found = steady(commits, TICK_S, MATTERS, least_s)
    return found.from_s if found else None


def _trial(name: str, max_s: int, _number: int, rng: np.random.Generator) -> Ended:
    course, known_s = CASES[name]
    ticks = course.ticks(max_s, rng)
    background = Known(known_s) if known_s else None
    steadiness = Steadiness(_judge, None, max_s, background)
    second = round(1 / TICK_S)
    length_s = max_s
    for at in range(max_s):
        own = ticks[at * second : (at + 1) * second].tolist()
        event = {"event": "interval", "phase": "measure", "groups": {"app": {"ticks": own}}}
        if steadiness.is_enough(event):
            length_s = at + 1
            break
    if steadiness.from_s is None:
        return Ended(None, length_s)
    part = ticks[round(steadiness.from_s / TICK_S) : length_s * second]
    return Ended(float(part.mean()) / TICK_S / course.per_s - 1.0, length_s)


def measure(effort: Effort) -> Outcome:
    """Each course; checkpoints that are slower than `min`, if the server reports it."""
    trials = QUICK_TRIALS if effort.quick else TRIALS
    max_s = QUICK_MAX_S if effort.quick else MAX_S
    rows, worst = [], 0.0
    for name in CASES:
        ended = many(functools.partial(_trial, name, max_s), trials, 4)
        said = [one.bias for one in ended if one.bias is not None]
        bias = reach = 0.0
        beyond = sum(abs(one) > MATTERS for one in said)
        if said:
            bias = float(np.mean(said))
            reach = Z * float(np.std(said, ddof=1)) / np.sqrt(len(said)) if len(said) > 1 else 0.0
        worst = max(worst, abs(bias) + reach)
        rows.append(
            (
                name,
                f"{len(ended) - len(said)} of {len(ended)}",
                f"{100 * bias:+.1f} ± {100 * reach:.1f} pp" if said else "none is called steady",
                f"{beyond} of {len(said)}" if said else "none is called steady",
                f"{np.median([one.length_s for one in ended]):.0f} s",
            )
        )
        effort.say(f"    {rows[-1]}")
    return Outcome(
        measured=f"at most {100 * worst:.1f} pp off in any course, with 95 % confidence in each",
        met=None if effort.quick else bool(worst < MATTERS),
        tables=(
            Table(
                f"{trials} simulated trials each, `matters: 3%`, at most {max_s} s",
                ("course", "not steady", "bias", "beyond `matters`", "median length"),
                tuple(rows),
            ),
        ),
        notes=(
            f"{PER_S:,.0f} commits a second with noise of 4 % from second to second; a checkpoint"
            " takes 4 s, at 15 % of the usual throughput. Bias: the mean throughput of the steady"
            " part against that of whole cycles, or of the warm cache, over the trials that end as"
            " steady; the others say that they are not.",
        ),
    )


ROW = Row(
    name="steady_bias",
    claim="A trial that ends when steady says what the system does for good, or that it cannot",
    how=(
        "Simulated throughput, 100 ms at a time, goes through what ends real trials; checkpoints"
        " that come back and caches that warm are cut off or counted."
    ),
    bar="bias below `matters` (3 %) in each course, its 95 % interval included",
    measure=measure,
    timed=False,
    before=(
        "+6, +13 and +29 % with a checkpoint each 60, 30 and 15 s, -46 and -49 % with a cache that"
        " warms in 2 and 10 min; all trials ended after 10 to 15 s (commit 42ce8be)"
    ),
)
