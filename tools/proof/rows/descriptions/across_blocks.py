"""How often uneven blocks are reported for runs without any, and for runs with some."""

from __future__ import annotations

import functools
from collections.abc import Hashable

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.experiment import Floats, experiment, ordered, records
from tools.proof.simulating.many import clopper_pearson, many, percent, share, upper

from dbdyno.analysis import between_blocks
from dbdyno.analysis.claims import verdict
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.estimates.ratios import Pairs
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord
from dbdyno.wording.catalogue import worded

RUNS, TIMES, QUICK = 3000, 500, 4
BLOCKS = (5, 6, 9, 12)
NOISE = 0.02  # of the ratio, from block to block
OFF = 0.2  # of one block
DRIFT = 0.2  # of the ratio, from the first block to the last
CORRELATION = 0.8
MOST, FOUND = 0.055, 0.9
SEED = 18
CLAIM = "transactions_per_s[on] > 1.05 * transactions_per_s[off]"
LEAD = 0  # claims: the largest of some differences is examined
CHOICES = 8  # cells, seven of which are compared with the first
CLAIMS = (1, 4, LEAD)
OUTLIER, TREND, ALIKE = "one block 20 % off", "a trend of 20 %", "neighbours alike"
MARKS = {OUTLIER: "outlier", TREND: "trend", ALIKE: "autocorrelation"}


def measure(effort: Effort) -> Outcome:
    """False warnings by claims and blocks, what is found, and verdicts that hang on a block."""
    runs, times = (QUICK, QUICK) if effort.quick else (RUNS, TIMES)
    false = {}
    for claims in CLAIMS:
        for blocks in BLOCKS:
            effort.say(f"    nothing uneven, {claims} claims, {blocks} blocks")
            one = functools.partial(warned, claims, blocks)
            false[claims, blocks] = sum(many(one, runs, SEED + 100 * claims + blocks))
    found = {}
    for kind in MARKS:
        for blocks in BLOCKS:
            effort.say(f"    {kind}, {blocks} blocks")
            found[kind, blocks] = sum(many(functools.partial(named, kind, blocks), times, SEED))
    worst = max(sum(false[claims, blocks] for blocks in BLOCKS) for claims in CLAIMS)
    all_runs = runs * len(BLOCKS)
    least = min(found[OUTLIER, blocks] for blocks in BLOCKS if blocks >= 6)
    low, _ = clopper_pearson(least, times)
    return Outcome(
        f"false warnings in at most {percent(worst / all_runs)} of runs (upper bound"
        f" {percent(upper(worst, all_runs))}); one block of six or more that is 20 % off named in"
        f" {percent(least / times)} (lower bound {percent(low)})",
        upper(worst, all_runs) <= MOST and low >= FOUND,
        (
            Table(
                "Runs with a warning, of runs whose blocks are alike",
                ("blocks", "one claim", "four claims", "no claim, the largest of seven"),
                tuple(
                    (str(blocks), *(share(false[claims, blocks], runs) for claims in CLAIMS))
                    for blocks in BLOCKS
                ),
            ),
            Table(
                "Runs that name what is uneven, with one claim and 2 % noise of the ratio",
                ("blocks", OUTLIER, TREND, f"{ALIKE} (autocorrelation {CORRELATION:g})"),
                tuple(
                    (str(blocks), *(share(found[kind, blocks], times) for kind in MARKS))
                    for blocks in BLOCKS
                ),
            ),
        ),
        notes=(
            "The bar is about outliers alone. Few blocks show little of a trend or of neighbours"
            " that are alike: no warning does not mean that blocks are independent.",
        ),
    )


def warned(claims: int, blocks: int, number: int, rng: np.random.Generator) -> bool:
    """Whether a run of even blocks has a warning about them."""
    sides = np.exp(NOISE / np.sqrt(2) * rng.standard_normal((2 * claims or CHOICES, blocks)))
    if claims == LEAD:  # all against the first, and the largest mean is chosen
        away = np.abs(np.log(sides[1:] / sides[0]).mean(axis=1))
        sides = sides[[0, 1 + int(np.argmax(away))]]
    ratios: dict[Hashable, Pairs] = {
        one: Pairs(tuple(left), tuple(right), tuple(range(1, blocks + 1)))
        for one, (left, right) in enumerate(zip(sides[::2], sides[1::2], strict=True))
    }
    return bool(between_blocks.look(ratios))


def named(kind: str, blocks: int, number: int, rng: np.random.Generator) -> bool:
    """Whether a run says what is uneven; of an outlier also which block."""
    block = int(rng.integers(1, blocks + 1))
    plan = ordered(experiment({"cache": ("off", "on")}, (CLAIM,), blocks=blocks), number)
    judged, _ = verdict.judge(Measured.of(plan, trials(plan, kind, block, rng)))
    names = f"block {block}:" if kind == OUTLIER else ""
    said = worded(judged[0].uneven, plan)
    return any(one.startswith(names) and MARKS[kind] in one for one in said)


def trials(plan: Plan, kind: str, block: int, rng: np.random.Generator) -> list[TrialRecord]:
    """Trials of which `on` is 10 % faster, with what is uneven in its ratio to `off`."""
    noise = NOISE / np.sqrt(2) * rng.standard_normal(len(plan.trials))
    logs = _uneven(kind, plan.blocks, block, rng)
    for at, trial in enumerate(plan.trials):
        if plan.cells[trial.cell].levels["cache"] == "on":
            noise[at] += np.log(1.1) + logs[trial.block - 1]
    return records(plan, np.exp(noise).tolist())


def _uneven(kind: str, blocks: int, block: int, rng: np.random.Generator) -> Floats:
    """What is added to the log ratio of each block."""
    logs = np.zeros(blocks)
    if kind == OUTLIER:
        logs[block - 1] = np.log(1 + OFF * rng.choice((-1.0, 1.0)))
    elif kind == TREND:
        logs = DRIFT * np.linspace(-0.5, 0.5, blocks)
    elif kind == ALIKE:
        steps = 3 * NOISE * rng.standard_normal(blocks)
        logs[0] = steps[0]
        for at in range(1, blocks):
            logs[at] = CORRELATION * logs[at - 1] + np.sqrt(1 - CORRELATION**2) * steps[at]
    return logs


ROW = Row(
    name="across_blocks",
    claim="A block that stands out is named, and blocks that are alike give no warning",
    how=(
        f"Simulated block ratios with 2 % normal noise ({RUNS:,} runs each), through"
        " `analysis.between_blocks.look`. Then runs with one block 20 % higher or lower, with a"
        " trend of 20 % from the first block to the last, or with ratios of which neighbours are"
        f" alike (6 % autocorrelated noise on top of the 2 %; {TIMES} runs each), through"
        " `analysis.verdict.judge`. Counted are warnings about blocks; they can be given from"
        f" {between_blocks.BLOCKS_LOOK_MIN} blocks on."
    ),
    bar=(
        "false warnings in at most 5.5 % of runs with one claim, with four and with none, over 5 to"
        " 12 blocks (upper 95 % bound); one block 20 % off is named in 90 % at 6, 9 and 12 blocks"
        " (lower end of the 95 % interval)"
    ),
    measure=measure,
    timed=False,
    before=(
        "nothing looked across blocks: one block of six at half speed on one side went unmentioned"
        " in 100 % (commit 42ce8be)"
    ),
)
