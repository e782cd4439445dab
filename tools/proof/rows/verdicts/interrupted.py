"""A run that is ended when it seems good."""

from __future__ import annotations

import functools

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import experiment, first_blocks, ordered, records, steady
from tools.proof.simulating.many import many, percent, share

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import UNDECIDED
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord

EXPERIMENTS, QUICK = 4_000, 5
NOISE, BAR = 0.02, 0.055
BLOCKS = (6, 8, 12)
CLAIM = "transactions_per_s[on] > transactions_per_s[off]"


def one(blocks: int, number: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Of an experiment about equal cells: whether its claim was decided after some block, and
    whether it was after the last one."""
    plan = ordered(experiment({"cache": ("off", "on")}, [CLAIM], blocks=blocks), number)
    found = records(plan, [float(one) for one in 1000 * steady(NOISE)(plan, rng)])
    decided = [_decided(plan, found, block) for block in range(1, blocks + 1)]
    return any(decided), decided[-1]


def _decided(plan: Plan, found: list[TrialRecord], blocks: int) -> bool:
    (part,) = verdict.decide(Measured.of(plan, first_blocks(plan, found, blocks)))
    return part.verdict != UNDECIDED


def measure(effort: Effort) -> Outcome:
    """Runs that are watched, and runs that are not."""
    count = QUICK if effort.quick else EXPERIMENTS
    rows, worst = [], 0.0
    for blocks in BLOCKS:
        found = many(functools.partial(one, blocks), count, seed=15)
        watched, ended = (sum(hits) for hits in zip(*found, strict=True))
        rows.append((str(blocks), str(count), share(watched, count), share(ended, count)))
        worst = max(worst, watched / count)
        effort.say(f"    {blocks} blocks: {watched}, {ended} of {count}")
    return Outcome(
        measured=f"at most {percent(worst)} decided at some moment",
        met=None if effort.quick else worst <= BAR,
        tables=(
            Table(
                "Experiments about equal cells whose claim was decided",
                ("planned blocks", "experiments", "after some block", "after the last one"),
                tuple(rows),
            ),
        ),
        notes=(
            "A run that gets to its last block is judged with the whole error budget: it loses"
            " nothing by that it could have been ended earlier.",
        ),
    )


ROW = Row(
    name="interrupted",
    claim="To end a run at a good moment does not make a verdict",
    how=(
        "Simulated experiments of a fixed number of blocks about two equal cells, judged by"
        " dbdyno's own code after each block as if the run had been interrupted there. Counted is"
        " an experiment that is decided after any block, where its user would end it."
    ),
    bar=f"at most {percent(BAR)} of experiments",
    measure=measure,
    timed=False,
    before="decided at some moment: 12 % of runs of 6 blocks, 18 % of 12 (commit 42ce8be)",
)
