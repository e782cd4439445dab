"""Histories of runs of one plan on a machine that is not always the same."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tools.proof.simulating.experiment import Floats, experiment

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs import Reduced
from dbdyno.analysis.between_runs.run_summary import Value

COMMON, OWN = 0.02, 0.01  # spread between runs: of the machine, and of each number


@functools.cache
def blank() -> Reduced:
    """A run of two cells with two metrics, not measured."""
    plan = experiment({"cache": ("off", "on")}, (), blocks=1)
    return between_runs.reduce(plan, (), {}, "run", "complete")


def mood(correlation: float, count: int, rng: np.random.Generator) -> Floats:
    """The machine's level in each run, a logarithm: correlated from run to run; 1: a random
    walk."""
    found = rng.normal(scale=COMMON, size=count)
    if correlation == 1:
        return np.asarray(found.cumsum())
    for i in range(1, count):
        found[i] = correlation * found[i - 1] + math.sqrt(1 - correlation**2) * found[i]
    return found


def runs(levels: Sequence[float] | Floats, rng: np.random.Generator) -> list[Reduced]:
    """Runs at these levels (logarithms), oldest first: rates rise with them, times fall."""
    empty = blank()
    found = []
    for number, level in enumerate(levels, start=1):
        values = {
            cell: {
                metric: Value(100 * math.exp(_sign(metric) * level + rng.normal(scale=OWN)), 1)
                for metric in empty.metrics
            }
            for cell in empty.asked
        }
        name = f"r{number}"
        found.append(
            replace(empty, name=name, values=values, created_unix_s=float(number), blocks=1)
        )
    return found


def _sign(metric: str) -> int:
    return -1 if "_ms_" in metric else 1
