"""How often the first sentence of a run without claims asserts a difference that is none."""

from __future__ import annotations

import functools
import re

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import experiment, ordered, records, steady
from tools.proof.simulating.many import clopper_pearson, many, percent, share

from dbdyno.wording.findings import analyse

RUNS, QUICK = 500, 4
BLOCKS = (3, 6, 10)
CHOICES = (2, 8, 16, 32)  # differences that the first sentence chooses from
MOST = 0.05
SEED = 11
_ASSERTS = re.compile(r"^(?!None of the )\S.*? committed [\d.,]+ times|But ")


def measure(effort: Effort) -> Outcome:
    """The share of runs that assert something, by the number of differences and blocks."""
    runs = QUICK if effort.quick else RUNS
    found = {}
    for choices in CHOICES:
        for blocks in BLOCKS:
            effort.say(f"    {choices} differences, {blocks} blocks")
            one = functools.partial(asserts, choices, blocks)
            found[choices, blocks] = sum(many(one, runs, SEED))
    worst = max(found.values())
    _, high = clopper_pearson(worst, runs)
    return Outcome(
        f"at most {percent(worst / runs)} of runs (upper bound {percent(high)})",
        high <= MOST,
        (
            Table(
                "Runs in which the answer asserts a difference, of runs without any",
                ("differences", *(f"{blocks} blocks" for blocks in BLOCKS)),
                tuple(
                    (str(choices), *(share(found[choices, blocks], runs) for blocks in BLOCKS))
                    for choices in CHOICES
                ),
            ),
        ),
    )


def asserts(choices: int, blocks: int, number: int, rng: np.random.Generator) -> bool:
    """Whether a run of equal cells asserts a difference: on against off in so many modes."""
    modes = tuple(f"m{mode}" for mode in range(choices))
    plan = experiment({"cache": ("off", "on"), "mode": modes}, (), blocks=blocks)
    plan = ordered(plan, number)
    answer = analyse(plan, records(plan, [*steady(0.02)(plan, rng)])).answer
    return _ASSERTS.search(answer) is not None


ROW = Row(
    name="headline",
    claim="Without claims the first sentence asserts no difference that is none",
    how=(
        "Simulated runs without claims, whose cells are all equal: a factor of two levels at 2 to"
        " 32 levels of another one, 2 % noise, through `analysis.analyse`. Counted are answers that"
        " assert a difference, in the first sentence or in one that begins with But."
    ),
    bar="at most 5 % of runs (upper end of the 95 % interval) at 3, 6 and 10 blocks",
    measure=measure,
    timed=False,
    before="a difference asserted in 10 % (2 differences) to 88 % (32) of runs (commit 42ce8be)",
)
