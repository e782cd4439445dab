"""How often "nothing is lost" is supported where half of the trials lose something: added up over
all cases, not simulated."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import experiment, ordered
from tools.proof.simulating.many import percent

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import REFUTED, SUPPORTED
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, TrialRecord

METRIC, LOST = "audit.lost", 7.0
CELLS = (1, 3)
BLOCKS, QUICK = (3, 5, 6, 8), (3,)
HALF, RARER = 0.5, (0.2, 0.05, 0.0)
BAR = 0.05

# The block in which each cell loses something for the first time; beyond the last one: in none.
Firsts = tuple[int, ...]


@functools.lru_cache(maxsize=16)
def plan(cells: int, blocks: int) -> Plan:
    """One claim of each cell."""
    levels = tuple(f"c{number}" for number in range(cells))
    claim = f"{METRIC} < 1 at each setup"
    made = experiment({"setup": levels}, (claim,), blocks=blocks)
    audited = tuple(replace(cell, audit="commits") for cell in made.cells)
    return ordered(replace(made, cells=audited), 1)


def verdicts(firsts: Firsts, blocks: int, after: int) -> tuple[str, ...]:
    """Those of all cells, `after` blocks of `blocks`."""
    asked = plan(len(firsts), blocks)
    found = [
        TrialRecord(
            *(trial.id, trial.block, trial.cell, COMPLETE, 0.0),
            {METRIC: LOST if trial.block == firsts[trial.cell] else 0.0},
        )
        for trial in asked.trials
        if trial.block <= after
    ]
    return tuple(part.verdict for part in verdict.decide(Measured.of(asked, found)))


def cases(cells: int, blocks: int, share: float) -> Iterator[tuple[Firsts, float]]:
    """All that may happen, with its chance."""
    keeps = 1 - share
    chance = [keeps ** (block - 1) * share for block in range(1, blocks + 1)] + [keeps**blocks]
    for firsts in itertools.product(range(1, blocks + 2), repeat=cells):
        yield firsts, math.prod(chance[first - 1] for first in firsts)


def supported(cells: int, blocks: int, looks: Sequence[int]) -> float:
    """The chance of a verdict, at one of the looks, that some cell loses nothing, where half of the
    trials of each lose something."""
    return sum(
        chance
        for firsts, chance in cases(cells, blocks, HALF)
        if any(SUPPORTED in verdicts(firsts, blocks, after) for after in looks)
    )


def decided(blocks: int, share: float) -> tuple[float, float]:
    """The chances of either verdict on one cell: that it loses nothing, that it loses something."""
    sums = {SUPPORTED: 0.0, REFUTED: 0.0}
    for firsts, chance in cases(1, blocks, share):
        (said,) = verdicts(firsts, blocks, blocks)
        if said in sums:
            sums[said] += chance
    return sums[SUPPORTED], sums[REFUTED]


def measure(effort: Effort) -> Outcome:
    """Where half of the trials lose something; then where fewer do."""
    counts = QUICK if effort.quick else BLOCKS
    wrong, worst = [], 0.0
    for cells in CELLS:
        for blocks in counts:
            at_end = supported(cells, blocks, (blocks,))
            at_some = supported(cells, blocks, range(1, blocks + 1))
            worst = max(worst, at_some)
            wrong.append((f"{cells}", f"{blocks}", percent(at_end), percent(at_some)))
        effort.say(f"    {cells} cells: {wrong[-1]}")
    rarer = [
        (percent(share), f"{blocks}", *map(percent, decided(blocks, share)))
        for share in RARER
        for blocks in counts
    ]
    false_refutations = max(decided(blocks, 0.0)[1] for blocks in counts)
    return Outcome(
        measured=f"at most {percent(worst)} supported, {percent(false_refutations)} refuted",
        met=None if effort.quick else worst <= BAR and false_refutations == 0.0,
        tables=(
            Table(
                "Half of the trials of each cell lose something: experiments with the verdict that"
                " some cell loses nothing",
                ("cells", "blocks", "at the end", "at some look, one after each block"),
                tuple(wrong),
            ),
            Table(
                "Fewer trials lose something: verdicts on one cell, each with its bound",
                ("trials that lose something", "blocks", "none: supported", "none: refuted"),
                tuple(rarer),
            ),
        ),
        notes=(
            "Where fewer than half of the trials lose something, few blocks may meet none. The"
            " verdict then says which share of trials remains possible: no number of zeros shows"
            " that there is none.",
        ),
    )


ROW = Row(
    name="none_lost",
    claim="A few trials without a loss do not prove that nothing is lost",
    how=(
        "`audit.lost < 1` of one and of three cells, judged by dbdyno's own code in every course"
        " that an experiment can take; the chances of all courses are added up. Nothing is drawn."
    ),
    bar="supported in at most 5 % where half of the trials lose something; never refuted where none"
    " does",
    measure=measure,
    timed=False,
    before="",
)
