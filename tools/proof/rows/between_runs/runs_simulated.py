"""Equal runs on machines that drift, simulated."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import experiment
from tools.proof.simulating.many import clopper_pearson, many, share

from dbdyno.analysis import across
from dbdyno.analysis.across import Reduced
from dbdyno.analysis.across.reduced import Value
from dbdyno.analysis.across.types import NOT_CLEAR

HISTORIES, QUICK = 2_000, 40
LEVEL = 0.05
COMMON, OWN = 0.02, 0.01  # spread between runs: of the machine, and of each number
BEFORE = (6, 12)
# Correlation of the machine's mood from run to run; 1: a random walk.
DRIFTS = {
    "none: runs are independent": 0.0,
    "correlation 0.5 from run to run": 0.5,
    "correlation 0.9": 0.9,
    "a random walk": 1.0,
}


@functools.cache
def _blank() -> Reduced:
    plan = experiment({"cache": ("off", "on")}, (), blocks=1)
    return across.reduce(plan, (), {}, "run", "complete")


def _runs(drift: float, count: int, rng: np.random.Generator) -> list[Reduced]:
    """Runs of one plan with two cells and two metrics."""
    mood = rng.normal(scale=COMMON, size=count)
    if drift == 1:
        mood = mood.cumsum()
    else:
        for i in range(1, count):
            mood[i] = drift * mood[i - 1] + math.sqrt(1 - drift**2) * mood[i]
    blank = _blank()
    found = []
    for number, level in enumerate(mood, start=1):
        values = {
            cell: {
                metric: Value(100 * math.exp(level + rng.normal(scale=OWN)), 1)
                for metric in blank.metrics
            }
            for cell in blank.asked
        }
        found.append(replace(blank, values=values, created_unix_s=float(number), blocks=1))
    return found


def one(drift: float, before: int, _: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether an equal run is called different from the one before it, and from the first one."""
    *earlier, now = _runs(drift, before + 1, rng)
    near, far = (across.compare(a, now, earlier) for a in (earlier[-1], earlier[0]))
    return tuple(any(row.verdict != NOT_CLEAR for row in compared.rows) for compared in (near, far))  # type: ignore[return-value]


def measure(effort: Effort) -> Outcome:
    """All drifts, short and longer histories."""
    count = QUICK if effort.quick else HISTORIES
    rows, lowest, said = [], 0.0, []
    for name, drift in DRIFTS.items():
        for before in BEFORE:
            found = many(functools.partial(one, drift, before), count, seed=20264)
            near, far = (sum(alarms) for alarms in zip(*found, strict=True))
            lowest = max(lowest, clopper_pearson(near, count)[0])
            said.append(near / count)
            rows.append((name, str(before), str(count), share(near, count), share(far, count)))
            effort.say(f"    {name}, {before} before: {near}, {far} of {count}")
    return Outcome(
        measured=f"{100 * min(said):.1f} to {100 * max(said):.1f} % against the run before",
        met=None if effort.quick else lowest <= LEVEL,
        tables=(
            Table(
                "Equal runs called different, with the 95 % Clopper-Pearson interval",
                (
                    "drift between runs",
                    "runs before",
                    "histories",
                    "against the run before",
                    "against the first run",
                ),
                tuple(rows),
            ),
        ),
        notes=(
            f"Each run has four numbers. Between runs the machine's mood has {100 * COMMON:.0f} %"
            f" (of each step, in the random walk), and each number {100 * OWN:.0f} % of its own.",
            "Against an older run drift is not covered: it has moved the truth in between, and the"
            " spread of a few runs shows only a part of it. The bar is for the run before, which"
            " `dyno run --history` takes.",
        ),
    )


ROW = Row(
    name="runs_simulated",
    claim="Equal runs are not called different on machines that drift",
    how=(
        "Simulated histories of runs of one plan, the last one judged by dbdyno's own code."
        " Counted is a run with a verdict on any row: two metrics of two cells, and of both."
    ),
    bar="the 95 % Clopper-Pearson interval reaches down to 5 % against the run before, for each"
    " drift",
    measure=measure,
    timed=False,
)
