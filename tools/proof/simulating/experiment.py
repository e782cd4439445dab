"""Experiments without servers: plans ordered as real ones, and records with made-up figures."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.claims.stopping import decided
from dbdyno.experiment.types import Looks
from dbdyno.plan import order
from dbdyno.plan.types import PLAN_VERSION, Cell, Factor, GroupPlan, Plan, State
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.systems.base import TargetPlan

METRIC = "transactions_per_s"
Floats = NDArray[np.float64]


def experiment(
    factors: Mapping[str, tuple[str, ...]],
    claims: Sequence[str],
    *,
    blocks: int,
    looks: Looks | None = None,
    numeric: bool = False,
) -> Plan:
    """A plan of easy factors, without its order: `ordered` gives it one. `numeric`: their levels
    are numbers."""
    cells = []
    for index, levels in enumerate(itertools.product(*factors.values())):
        cells.append(
            Cell(
                index=index,
                levels=dict(zip(factors, levels, strict=True)),
                hard="",
                targets=(TargetPlan("db", "sqlite"),),
                groups=(GroupPlan("workload", "oltp", "db", 1, 60.0, 10, {}),),
                state=State("reuse", "warm"),
                warmup_s=0.0,
                duration_s=1.0,
                interval_s=1.0,
                data_key="",
            )
        )
    return Plan(
        version=PLAN_VERSION,
        name="simulated",
        question="",
        factors=tuple(
            Factor(name, levels, tuple(map(float, levels)) if numeric else None, False)
            for name, levels in factors.items()
        ),
        cells=tuple(cells),
        trials=(),
        blocks=blocks,
        seed=0,
        claims=tuple(claims),
        untested={},
        matters=0.0,
        require=(),
        generator_cpus=(),
        server_cpus=(),
        quick=False,
        skipped=(),
        notes=(),
        spec_text="",
        looks=looks,
    )


def ordered(plan: Plan, seed: int) -> Plan:
    """The plan in the order that this seed gives it."""
    return replace(plan, seed=seed, trials=order.trials(plan.cells, plan.blocks, seed))


def records(plan: Plan, values: Iterable[float]) -> list[TrialRecord]:
    """What was measured: `values` by the trials' places in the run."""
    return [
        TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, {METRIC: value})
        for trial, value in zip(plan.trials, values, strict=True)
    ]


def first_blocks(plan: Plan, found: Sequence[TrialRecord], blocks: int) -> list[TrialRecord]:
    """The records of the first so many blocks."""
    return list(found[: blocks * len(plan.cells)])


def end(plan: Plan, found: Sequence[TrialRecord]) -> int:
    """The block after which a run of a plan with looks ends. Searched by halves: what is decided
    once stays so."""
    assert plan.looks is not None

    def over(block: int) -> bool:
        return decided(plan, first_blocks(plan, found, block)) is not None

    looks = range(plan.looks.first, plan.looks.max)
    return plan.looks.first + bisect.bisect_left(looks, True, key=over)


# Throughput of the trials of a plan, by their places, from a generator.
Noise = Callable[[Plan, np.random.Generator], Floats]


def steady(deviation: float) -> Noise:
    """Independent noise: `deviation` is the standard deviation of a trial on the log scale."""
    return lambda plan, rng: np.exp(deviation * rng.standard_normal(len(plan.trials)))


def restless(deviation: float, drift: float, correlation: float) -> Noise:
    """The same amount of noise, half of its variance autocorrelated from trial to trial (first
    order, `correlation`), while the machine drifts: by a factor exp(+-drift) from end to end, and
    in a wave of a third of that."""

    def values(plan: Plan, rng: np.random.Generator) -> Floats:
        n = len(plan.trials)
        place = np.arange(n) / max(1, n - 1)
        slope = drift * rng.choice((-1.0, 1.0))
        wave = drift / 3 * np.sin(2 * np.pi * (rng.uniform(0.5, 4) * place + rng.uniform()))
        own, steps = rng.standard_normal((2, n)) * deviation / np.sqrt(2)
        carried = np.empty(n)
        level = steps[0]
        for i in range(n):
            carried[i] = level
            if i + 1 < n:
                level = correlation * level + np.sqrt(1 - correlation**2) * steps[i + 1]
        return np.asarray(np.exp(slope * place + wave + carried + own))

    return values
