"""Whether an open claim promises no more than blocks can do."""

from __future__ import annotations

import functools
import math

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import experiment, ordered, records
from tools.proof.simulating.many import clopper_pearson, many, percent, share

from dbdyno.analysis.claims import power, verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import UNDECIDED, MoreBlocks

RUNS, QUICK = 3_000, 8
BLOCKS = (3, 6, 10)
# By what share of runs with as many blocks would find it: the effect in standard deviations.
EFFECTS = (("none", 0.05), ("small, found in 20 %", 0.2), ("medium, in 50 %", 0.5))
LEAST = 0.9
DEVIATION = 0.02
SEED = 14
CLAIM = "transactions_per_s[on] > transactions_per_s[off]"


def measure(effort: Effort) -> Outcome:
    """Of open claims: how often their range holds the blocks that would truly decide."""
    runs = QUICK if effort.quick else RUNS
    held, told = {}, {}
    for name, found in EFFECTS:
        for blocks in BLOCKS:
            effort.say(f"    {name}, {blocks} blocks")
            one = functools.partial(holds, effect_of(found, blocks), blocks)
            said = [right for right in many(one, runs, SEED) if right is not None]
            held[name, blocks], told[name, blocks] = sum(said), max(1, len(said))
    lows = {key: clopper_pearson(held[key], told[key])[0] for key in held}
    shares = {key: held[key] / told[key] for key in held}
    return Outcome(
        f"the range holds what it would take in {percent(min(shares.values()))} of open claims or"
        f" more (lower bound {percent(min(lows.values()))})",
        min(lows.values()) >= LEAST,
        (
            Table(
                "Open claims whose range holds the number of blocks that decides in 80 % of runs",
                ("effect", *(f"{blocks} blocks" for blocks in BLOCKS)),
                tuple(
                    (name, *(share(held[name, n], told[name, n]) for n in BLOCKS))
                    for name, _ in EFFECTS
                ),
            ),
        ),
    )


def effect_of(found: float, blocks: int) -> float:
    """The effect, in standard deviations of a log ratio, that such a share of runs finds."""
    low, high = 0.0, 100.0
    while high - low > 1e-6 and found > 0.05:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if power.power(middle, 1.0, blocks, 0.05) < found else (low, middle)
        )
    return low


def holds(effect: float, blocks: int, number: int, rng: np.random.Generator) -> bool | None:
    """Whether the range of a run's claim holds the truth; None: decided."""
    plan = ordered(experiment({"cache": ("off", "on")}, (CLAIM,), blocks=blocks), number)
    away = effect * DEVIATION * math.sqrt(2)  # a log ratio has the noise of two trials
    values = [
        math.exp(DEVIATION * rng.standard_normal() + (away if trial.cell == 1 else 0.0))
        for trial in plan.trials
    ]
    claims, _ = verdict.judge(Measured.of(plan, records(plan, values)))
    part = claims[0].parts[0]
    if part.verdict != UNDECIDED:
        return None
    assert isinstance(part.blocks_needed, MoreBlocks)
    low, high = (math.inf if end is None else end for end in ends(part.blocks_needed))
    return low <= more(effect, blocks) <= high


def ends(told: MoreBlocks) -> tuple[int | None, int | None]:
    """Both ends of the stated range."""
    return told.low, told.high


def more(effect: float, blocks: int) -> float:
    """How many more blocks decide in 80 % of runs, if that is the effect."""
    for total in range(blocks + 1, power.BLOCKS_MAX + 1):
        if power.power(effect, 1.0, total, 0.05) >= power.POWER:
            return total - blocks
    return math.inf


ROW = Row(
    name="more_blocks",
    claim="An open claim says how many more blocks would decide it, over all effects that fit",
    how=(
        "Simulated runs with one claim and effects of known size, in standard deviations of a log"
        " ratio, so that the number of blocks which decides in 80 % of runs is known: none for no"
        " effect. Of the runs whose claim stays open, counted are those whose range holds it."
    ),
    bar="at least 90 % of open claims (lower end of the 95 % interval), with no effect and others",
    measure=measure,
    timed=False,
    before=(
        "one number, also without an effect, as if the effect that was seen were true"
        " (commit 42ce8be)"
    ),
)
