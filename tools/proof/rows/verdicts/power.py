"""How often a real difference is found."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tools.proof import chart
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import (
    Floats,
    end,
    experiment,
    first_blocks,
    ordered,
    records,
    steady,
)
from tools.proof.simulating.many import many, percent, share

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import SUPPORTED
from dbdyno.experiment.types import Looks
from dbdyno.plan.types import Plan

EXPERIMENTS, OTHERS, QUICK = 10_000, 600, 8
NOISE = 0.02
BAR = 0.8
BARS = ((0.05, 5), (0.03, 10))  # effect, blocks
EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.08)
BLOCKS = (3, 4, 5, 6, 8, 10, 12)
LOOKS = Looks(4, 12)
WHATS = ("a", "b", "c", "d", "e")


@dataclass(frozen=True)
class Asked:
    """One cell of the tables."""

    effect: float  # a ratio minus one
    blocks: int
    claims: int = 1
    looks: Looks | None = None


def plan_of(asked: Asked) -> Plan:
    """As many pairs of cells as claims, one claim about each."""
    whats = WHATS[: asked.claims]
    claims = [f"transactions_per_s[on] > transactions_per_s[off] at what={what}" for what in whats]
    if asked.claims == 1:
        claims = ["transactions_per_s[on] > transactions_per_s[off]"]
        factors: dict[str, tuple[str, ...]] = {"cache": ("off", "on")}
    else:
        factors = {"what": whats, "cache": ("off", "on")}
    return experiment(factors, claims, blocks=asked.blocks, looks=asked.looks)


def values(plan: Plan, effect: float, rng: np.random.Generator) -> Floats:
    """Throughputs: the cells with the cache on are faster by `effect`."""
    on = np.array([plan.cells[one.cell].levels["cache"] == "on" for one in plan.trials])
    return np.asarray(1000 * steady(NOISE)(plan, rng) * np.where(on, 1 + effect, 1.0))


def fixed(asked: Asked, number: int, rng: np.random.Generator) -> float:
    """The share of the claims that were supported."""
    plan = ordered(plan_of(asked), number)
    measured = Measured.of(plan, records(plan, values(plan, asked.effect, rng)))
    parts = verdict.decide(measured)
    return sum(part.verdict == SUPPORTED for part in parts) / len(parts)


def growing(asked: Asked, number: int, rng: np.random.Generator) -> tuple[bool, int]:
    """Whether the claim was supported, and after how many blocks the run ended."""
    plan = ordered(plan_of(asked), number)
    found = records(plan, values(plan, asked.effect, rng))
    ends = end(plan, found)
    parts = verdict.decide(Measured.of(plan, first_blocks(plan, found, ends)))
    return all(part.verdict == SUPPORTED for part in parts), ends


def measure(effort: Effort) -> Outcome:
    """The two bars, then a table of effects and blocks."""
    count = QUICK if effort.quick else EXPERIMENTS
    few = QUICK if effort.quick else OTHERS
    said, met = [], True
    for effect, blocks in BARS:
        hits = round(sum(many(functools.partial(fixed, Asked(effect, blocks)), count, seed=7)))
        said.append(f"{percent(effect, 0)} with {blocks} blocks found in {share(hits, count)}")
        met = met and hits / count >= BAR
        effort.say(f"    {said[-1]}")
    effects, blocks_ = (EFFECTS[-2:], BLOCKS[:2]) if effort.quick else (EFFECTS, BLOCKS)
    one, five = (
        {blocks: [_found(effect, blocks, claims, few) for effect in effects] for blocks in blocks_}
        for claims in (1, len(WHATS))
    )
    effort.say("    with looks")
    return Outcome(
        measured="; ".join(said),
        met=None if effort.quick else met,
        tables=(
            _table("One claim: how often it is supported", effects, one),
            _table(
                "Each of five claims, which share the error budget",
                effects,
                five,
            ),
            Table(
                f"One claim, {LOOKS.first} to {LOOKS.max} blocks, ended as soon as it is decided",
                ("effect", "supported", "blocks, mean", "ended before the last block"),
                tuple(_ended(effect, few) for effect in (0.0, *effects)),
            ),
        ),
        notes=(
            "Noise is that of a trial: independent, 2 % standard deviation on the log scale, so"
            " that a ratio of two trials has 2.8 %.",
        ),
        figure=chart.lines(
            "Power",
            {
                percent(effect, 0): [(blocks, 100 * one[blocks][i]) for blocks in blocks_]
                for i, effect in enumerate(effects)
            },
            across="blocks",
            up="% of experiments in which the effect is found",
            bar=100 * BAR,
        ),
        figure_about="How often an effect of 1 to 8 % is found by one claim, by the number of"
        " blocks, at 2 % noise",
    )


def _found(effect: float, blocks: int, claims: int, count: int) -> float:
    found = many(functools.partial(fixed, Asked(effect, blocks, claims)), count, seed=8)
    return sum(found) / count


def _table(title: str, effects: Sequence[float], found: dict[int, list[float]]) -> Table:
    return Table(
        title,
        ("blocks", *(percent(effect, 0) for effect in effects)),
        tuple((str(blocks), *map(percent, row)) for blocks, row in found.items()),
    )


def _ended(effect: float, count: int) -> tuple[str, ...]:
    asked = Asked(effect, LOOKS.max, looks=LOOKS)
    found: Sequence[tuple[bool, int]] = many(functools.partial(growing, asked), count, seed=9)
    blocks = [ends for _, ends in found]
    return (
        percent(effect, 0) if effect else "none",
        percent(sum(hit for hit, _ in found) / count),
        f"{sum(blocks) / count:.1f}",
        percent(sum(ends < LOOKS.max for ends in blocks) / count),
    )


ROW = Row(
    name="power",
    claim="Real differences are found",
    how=(
        "Simulated pairs of cells with scripted effects, judged by dbdyno's own code. Found is an"
        " effect whose claim is supported."
    ),
    bar="5 % found in at least 80 % of experiments with 5 blocks, 3 % with 10, at 2 % noise",
    measure=measure,
    timed=False,
)
