"""How often claims about nothing are decided."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tools.proof import chart
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import (
    Noise,
    experiment,
    ordered,
    records,
    restless,
    steady,
)
from tools.proof.simulating.many import many, percent, share

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import UNDECIDED
from dbdyno.experiment.types import Looks
from dbdyno.plan.types import Plan

EXPERIMENTS, OTHERS, QUICK = 10_000, 4_000, 8
BLOCKS, LOOKS = 6, Looks(4, 12)
CLAIMS = 5
BAR = 0.055
NEVER = 99

FACTORS = {"what": ("a", "b", "c", "d", "e"), "cache": ("off", "on")}
NULL = tuple(
    f"transactions_per_s[on] > transactions_per_s[off] at what={what}" for what in FACTORS["what"]
)
PAIR = ("transactions_per_s[on] > transactions_per_s[off]",)


@dataclass(frozen=True)
class Scenario:
    """A kind of machine."""

    name: str
    noise: str
    cells: str = "five pairs"


SCENARIOS = (
    Scenario("drift and autocorrelation", "restless"),
    Scenario("drift and autocorrelation", "restless", "one pair"),
    Scenario("independent noise", "steady"),
    Scenario("strong drift", "sinking"),
    Scenario("strong drift", "sinking", "one pair"),
)
NOISES: dict[str, Noise] = {
    "steady": steady(0.02),
    "restless": restless(0.02, 0.15, 0.7),
    "sinking": restless(0.02, 0.5, 0.7),
}


def _plans(cells: str) -> tuple[Plan, Plan]:
    """The fixed plan, and the one with looks."""
    one = cells == "one pair"
    factors, claims = ({"cache": FACTORS["cache"]}, PAIR) if one else (FACTORS, NULL)
    return (
        experiment(factors, claims, blocks=BLOCKS),
        experiment(factors, claims, blocks=LOOKS.max, looks=LOOKS),
    )


def one(scenario: Scenario, number: int, rng: np.random.Generator) -> tuple[bool, int]:
    """A pair of experiments in which no claim is true or false by any margin: whether the fixed one
    decided some claim, and after which block the one with looks did first (`NEVER`: not at all).

    The latter runs to its last block. A run that ends as soon as all is decided has seen a part of
    these looks only.
    """
    fixed, growing = _plans(scenario.cells)
    return (
        bool(_decided(_measured(fixed, scenario, number, rng))),
        _first_alarm(_measured(growing, scenario, number, rng)),
    )


def _measured(plan: Plan, scenario: Scenario, number: int, rng: np.random.Generator) -> Measured:
    plan = ordered(plan, number)
    return Measured.of(plan, records(plan, 1000 * NOISES[scenario.noise](plan, rng)))


def _decided(measured: Measured) -> int:
    return sum(part.verdict != UNDECIDED for part in verdict.decide(measured))


def _first_alarm(measured: Measured) -> int:
    if not _decided(measured):  # what was decided once stays so: no look decided anything
        return NEVER
    return next(
        block for block in range(LOOKS.first, LOOKS.max + 1) if _decided(measured.until(block))
    )


def measure(effort: Effort) -> Outcome:
    """Fixed and with looks, on machines of several kinds."""
    rows, by_look, worst = [], [], 0.0
    for scenario in SCENARIOS:
        first = scenario is SCENARIOS[0]
        count = QUICK if effort.quick else EXPERIMENTS if first else OTHERS
        found = many(functools.partial(one, scenario), count, seed=20261)
        fixed = sum(alarm for alarm, _ in found)
        looked = sum(block != NEVER for _, block in found)
        effort.say(f"    {scenario.name}: {fixed}, {looked} of {count}")
        claims = len(_plans(scenario.cells)[0].claims)
        rows.append(
            (scenario.name, str(claims), str(count), share(fixed, count), share(looked, count))
        )
        if first:
            worst = max(fixed, looked) / count
            by_look = _by_look([block for _, block in found], count)
            said = f"{share(fixed, count)} fixed, {share(looked, count)} with looks"
    return Outcome(
        measured=said,
        met=None if effort.quick else worst <= BAR,
        tables=(
            Table(
                "Experiments in which some claim was decided, with the 95 % Clopper-Pearson"
                " interval",
                ("machine", "claims", "experiments", f"{BLOCKS} blocks", _design()),
                tuple(rows),
            ),
            Table(
                "The first row's experiments with looks: false alarms so far",
                ("after block", "experiments"),
                tuple((str(block), percent(part, 2)) for block, part in by_look),
            ),
        ),
        notes=NOTES,
        figure=chart.lines(
            "False alarms by look",
            {"false alarms": [(block, 100 * part) for block, part in by_look]},
            across="block after which the claims were looked at",
            up="% of experiments with a false alarm so far",
            bar=5.0,
        ),
        figure_about="Share of experiments with a false alarm, by the block of the look",
    )


def _design() -> str:
    return f"{LOOKS.first} to {LOOKS.max} blocks, looked at after each"


def _by_look(blocks: Sequence[int], count: int) -> list[tuple[int, float]]:
    return [
        (block, sum(alarm <= block for alarm in blocks) / count)
        for block in range(LOOKS.first, LOOKS.max + 1)
    ]


NOTES = (
    "Noise is 2 % a trial (standard deviation on the log scale), half of its variance carried from"
    " trial to trial with a correlation of 0.7, in the shuffled order that the plan has. Drift is"
    " 15 % from end to end, up or down, with a wave of a third of that.",
    "With looks, every experiment goes on to its last block and all looks count: one that ends when"
    " all is decided can only have fewer.",
    "One pair of cells runs A B, B A, A B, B A: a wave with a period near four trials is in step"
    " with that and passes for a difference (docs/decisions/order-of-trials.md says why the order"
    " is kept). Without the wave 5 to 6 % of such experiments have a verdict. The bar is about five"
    " claims; more cells in a block, or looks, do not have it.",
)

ROW = Row(
    name="false_alarms",
    claim="Claims about nothing stay undecided",
    how=(
        "Simulated experiments of five claims about five pairs of equal cells, judged by dbdyno's"
        " own code: a fixed number of blocks, and blocks until all is decided. Counted is an"
        " experiment with at least one verdict, supported or refuted."
    ),
    bar=f"at most {percent(BAR)} of experiments, fixed and with looks",
    measure=measure,
    timed=False,
)
