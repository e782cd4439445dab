"""Equal runs on machines that drift, simulated."""

from __future__ import annotations

import functools

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.histories import COMMON, OWN, mood, runs
from tools.proof.simulating.many import many, passes, percent, share, upper

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs.types import NOT_CLEAR

HISTORIES, QUICK = 2_000, 5
LIMIT, BOUND = 0.065, 0.5  # of the upper bound; the largest correlation that the bar is for
BEFORE = (6, 12)
# Correlation of the machine's condition from run to run; 1: a random walk.
DRIFTS = {
    "none: runs are independent": 0.0,
    "correlation 0.5 from run to run": 0.5,
    "correlation 0.9": 0.9,
    "a random walk": 1.0,
}


def one(drift: float, before: int, _: int, rng: np.random.Generator) -> bool:
    """Whether an equal run is called different, suspected or not."""
    *earlier, now = runs(mood(drift, before + 1, rng), rng)
    compared = between_runs.compare(earlier[-1], now, earlier)
    return any(row.verdict != NOT_CLEAR for row in compared.rows)


def measure(effort: Effort) -> Outcome:
    """All drifts, short and longer histories."""
    count = QUICK if effort.quick else HISTORIES
    rows, highest, said = [], 0.0, []
    for name, drift in DRIFTS.items():
        for before in BEFORE:
            alarms = sum(many(functools.partial(one, drift, before), count, seed=417))
            if drift <= BOUND:
                highest = max(highest, upper(alarms, count))
            said.append(alarms / count)
            rows.append((name, str(before), str(count), share(alarms, count)))
            effort.say(f"    {name}, {before} before: {alarms} of {count}")
    return Outcome(
        measured=f"{100 * min(said):.1f} to {100 * max(said):.1f} % of runs",
        met=None if effort.quick else highest <= LIMIT,
        tables=(
            Table(
                "Equal runs called different, with the 95 % Clopper-Pearson interval",
                ("drift between runs", "runs before", "histories", "called different"),
                tuple(rows),
            ),
        ),
        notes=(
            f"Each run has four numbers. Between runs the machine's condition varies by"
            f" {100 * COMMON:.0f} % (of each step, in the random walk), and each number"
            f" {100 * OWN:.0f} % of its own."
            " Both directions count, and one run alone does: a gate waits for the second one.",
            f"The bar passes a true 5 % in {percent(passes(0.05, LIMIT, HISTORIES), 0)} of"
            f" measurements, 8 % in {percent(passes(0.08, LIMIT, HISTORIES), 0)}.",
        ),
    )


ROW = Row(
    name="runs_simulated",
    claim="Equal runs are not called different on machines that drift",
    how=(
        "Simulated histories of runs of one plan, the last one judged by dbdyno's own code."
        " Counted is a run with a verdict on any row: two metrics of two cells, and of both."
    ),
    bar=(
        f"the one-sided 95 % upper bound is at most {percent(LIMIT)}, with correlations up to"
        f" {BOUND:g}"
    ),
    measure=measure,
    timed=False,
    before=(
        "a bar that passed a true 6 % in half of all measurements: the interval had to reach"
        " down to"
        " 5 % (commit 42ce8be)"
    ),
)
