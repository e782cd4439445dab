"""The gate over a history: what it finds, and how often it is wrong."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.histories import mood, runs
from tools.proof.simulating.many import many, percent, share, upper

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs import Reduced
from dbdyno.analysis.between_runs.judging import NIGHTS, a_month

HISTORIES, CREEPS, LOSSES, QUICK = 200, 100, 400, 2
BEFORE, NULL, CREEP = 6, 90, 30  # runs before the first that is judged; nights
QUICK_NIGHTS = 6
CORRELATIONS = (0.0, 0.5, 0.9)
BOUND = 0.5  # the largest correlation that the bar is for
FALSE, FOUND, CREEP_BAR = 0.10, 0.90, 20
LIMIT = 0.03  # what a regression is asked to be larger than, if there is one


@dataclass(frozen=True)
class Ends:
    """What a night's gate says."""

    suspected: bool
    confirmed: bool
    cannot_tell: bool


def gate(history: Sequence[Reduced], night: int, limit: float) -> Ends:
    """The gate on one run of a history, by those before it."""
    found = between_runs.compare(history[night - 1], history[night], history[:night], matters=limit)
    return Ends(bool(found.suspected), bool(found.regressions), bool(between_runs.failing(found)))


def null(correlation: float, nights: int, _: int, rng: np.random.Generator) -> tuple[int, int]:
    """Nights of a history without any change that end with a suspicion, and with a regression. No
    loss is too small: the hardest case."""
    history = runs(mood(correlation, BEFORE + nights, rng), rng)
    ends = [gate(history, night, 0.0) for night in range(BEFORE, BEFORE + nights)]
    return sum(one.suspected for one in ends), sum(one.confirmed for one in ends)


@dataclass(frozen=True)
class Loss:
    """A loss from one night on; `outlier`: a run of the history, drawn, was 20 % slower."""

    size: float
    before: int
    correlation: float
    outlier: bool


def loss(asked: Loss, _: int, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Whether the first slower run is suspected, whether the second one confirms it, and whether
    the first one's gate passes although it saw nothing."""
    levels = mood(asked.correlation, asked.before + 2, rng)
    levels[asked.before :] += math.log1p(-asked.size)
    if asked.outlier:
        levels[rng.integers(asked.before)] += math.log(0.8)
    history = runs(levels, rng)
    first, second = (gate(history, asked.before + night, LIMIT) for night in (0, 1))
    silent = not (first.suspected or first.confirmed or first.cannot_tell)
    return first.suspected or first.confirmed, second.confirmed, silent


def creep(correlation: float, nights: int, _: int, rng: np.random.Generator) -> int:
    """The night on which a loss of 1 % a run is confirmed; one more than there are: it is not."""
    levels = mood(correlation, BEFORE + nights, rng)
    levels[BEFORE:] += math.log(0.99) * np.arange(1, nights + 1)
    history = runs(levels, rng)
    for night in range(nights):
        if gate(history, BEFORE + night, LIMIT).confirmed:
            return night + 1
    return nights + 1


def measure(effort: Effort) -> Outcome:
    """Histories without a change, losses, and a creep."""
    count, creeps, losses = (
        (QUICK, QUICK, 2 * QUICK) if effort.quick else (HISTORIES, CREEPS, LOSSES)
    )
    nulls, false, printed = _nulls(effort, count)
    found, outlier = _losses(effort, losses)
    crept, by = _creeps(effort, creeps)
    within = max(false) <= FALSE and printed and outlier >= FOUND and by <= CREEP_BAR
    return Outcome(
        measured=(
            f"{percent(max(false))} of 90-night histories with a false regression, -20 % found in"
            f" {percent(outlier)} in spite of an outlier, a creep of 1 % a run by night {by}"
        ),
        met=None if effort.quick else within,
        tables=(nulls, found, crept),
        notes=(
            "Each run has two metrics of two cells. Between runs the machine's state has a"
            " standard deviation of 2 %, each number 1 % of its own. Six runs are there before the"
            " first night. In histories without a change no loss is too small to fail; losses and"
            f" creeps are asked to be larger than {percent(LIMIT, 0)}.",
            "Printed is what the gate says each night that chance does at most, summed over the"
            " nights. A correlation of 0.9 is beyond it: there the machine's level truly moves for"
            " weeks.",
        ),
    )


def _nulls(effort: Effort, count: int) -> tuple[Table, list[float], bool]:
    rows, false, printed = [], [], True
    nights = QUICK_NIGHTS if effort.quick else NULL
    each = [a_month(BEFORE + night) for night in range(nights)]
    expected = [math.fsum(of) / NIGHTS for of in zip(*each, strict=True)]
    for correlation in CORRELATIONS:
        found = many(functools.partial(null, correlation, nights), count, seed=20265)
        suspected = sum(one for one, _ in found)
        confirmed = sum(one for _, one in found)
        wrong = sum(one > 0 for _, one in found)
        rows.append(
            (
                f"{correlation:g}",
                str(count),
                f"{suspected / count:.2f} (printed {expected[0]:.2f})",
                f"{confirmed / count:.3f} (printed {expected[1]:.3f})",
                share(wrong, count),
            )
        )
        if correlation <= BOUND:
            false.append(wrong / count)
            most = upper(confirmed, count * nights) * nights
            printed = printed and suspected / count <= expected[0] and most <= expected[1]
        effort.say(f"    correlation {correlation}: {wrong} of {count}")
    head = (
        "correlation of neighbours",
        "histories",
        "nights with a suspicion, a history",
        "nights with a confirmed regression, a history",
        "with a false regression",
    )
    return Table(f"{NULL} nights without a change", head, tuple(rows)), false, printed


def _losses(effort: Effort, count: int) -> tuple[Table, float]:
    rows, lowest = [], 1.0
    sizes = (0.2,) if effort.quick else (0.2, 0.1, 0.05)
    for outlier in (True, False):
        for before in (6, 20):
            for size in sizes:
                asked = Loss(size, before, 0.0, outlier)
                found = many(functools.partial(loss, asked), count, seed=20266)
                first, second, silent = (sum(one) for one in zip(*found, strict=True))
                rows.append(
                    (
                        f"-{percent(size, 0)}",
                        str(before),
                        "one of -20 %" if outlier else "none",
                        share(first, count),
                        share(second, count),
                        percent(silent / count),
                    )
                )
                if size == 0.2 and outlier:
                    lowest = min(lowest, second / count)
        effort.say(f"    losses, outlier {outlier}: {rows[-1]}")
    head = (
        "loss",
        "runs before",
        "past outlier",
        "suspected by the first run",
        "confirmed by the second",
        "passed by the first run, exit code 0",
    )
    return Table(f"Losses, asked for: {percent(LIMIT, 0)}", head, tuple(rows)), lowest


def _creeps(effort: Effort, count: int) -> tuple[Table, int]:
    rows, last = [], 0
    nights = QUICK_NIGHTS if effort.quick else CREEP
    for correlation in (0.0, 0.5):
        found = sorted(many(functools.partial(creep, correlation, nights), count, seed=20267))
        by = found[math.ceil(FOUND * count) - 1]
        last = max(last, by)
        half = found[count // 2]
        missed = sum(one > nights for one in found)
        rows.append((f"{correlation:g}", str(count), str(half), str(by), share(missed, count)))
        effort.say(f"    creep, correlation {correlation}: half by {half}, 90 % by {by}")
    head = (
        "correlation of neighbours",
        "histories",
        "confirmed in half of them by night",
        "in 90 %",
        f"not within {CREEP} nights",
    )
    return Table("A loss of 1 % a run", head, tuple(rows)), last


ROW = Row(
    name="gate",
    claim="A gate over a history finds losses and seldom cries wolf",
    how=(
        "Simulated histories, each night judged by dbdyno's own code as"
        " `dyno run --history --fail-on-regression` does: suspected by one run, confirmed by a"
        " second one, against the last runs and against the reference."
    ),
    bar=(
        f"up to a correlation of {BOUND:g}: a false regression in at most {percent(FALSE, 0)} of"
        " histories of 90 nights, and the 95 % upper bound of nights with one below what the"
        f" gate prints; -20 % confirmed in at least {percent(FOUND, 0)} in spite of an outlier"
        f" of -20 % in the history; a creep of 1 % a run confirmed by night {CREEP_BAR} in 90 %"
    ),
    measure=measure,
    timed=False,
    before=(
        "-20 % found in 0 of 300 histories with one past outlier of -20 % in six runs, each"
        " time with"
        " exit code 0; a false regression in 70 and 68 % of histories of 90 nights with"
        " correlations"
        " of 0 and 0.5; a creep of 1 % a run found in 48 % within 30 nights (commit 42ce8be)"
    ),
)
