"""The ratios that claims compare, from several runs of one plan, combined (`model`).

Each run gives one ratio with the variance within it: what its blocks say. Runs of other days and
other machines may differ beyond that, which is what the model estimates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from dbdyno.analysis.between_runs import comparability
from dbdyno.analysis.between_runs.comparison import identity
from dbdyno.analysis.between_runs.pooling.model import LEVEL, RUNS_MIN, Pooled, combine
from dbdyno.analysis.between_runs.run_summary import Reduced
from dbdyno.analysis.between_runs.types import LeftOut
from dbdyno.analysis.claims import verdict
from dbdyno.analysis.claims.cases import bound_of, case_of
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message, joined
from dbdyno.analysis.types import RATIO, UNDECIDED
from dbdyno.errors import DynoError
from dbdyno.experiment.claims import grammar
from dbdyno.experiment.claims.grammar import ResolvedPart
from dbdyno.plan.claims import scope


@dataclass(frozen=True)
class Source:
    """A run: what it measured, and what comparisons need of it."""

    measured: Measured
    run: Reduced


@dataclass(frozen=True)
class Effect:
    """A ratio in one run, with its 95 % interval, or the `problem` why there is none."""

    run: str
    ratio: float | None
    low: float | None = None
    high: float | None = None
    weight: float | None = None  # its share in the combination
    problem: str = ""


@dataclass(frozen=True)
class Claimed:
    """A claim in the author's words, if it has any, with the verdict that the intervals of its
    combined ratios give, each at 95 %."""

    text: str
    say: str
    verdict: str


@dataclass(frozen=True)
class Line:
    """A comparison of a claim in all runs; `pooled` in logarithms, or a `problem`."""

    claim: str
    left: str
    right: str
    metric: str
    effects: tuple[Effect, ...]
    pooled: Pooled | None
    problem: str = ""
    verdict: str = UNDECIDED


@dataclass(frozen=True)
class Combined:
    """Runs combined. `differ`: what changed from run to run, oldest first, by the run's name."""

    experiment: str
    runs: tuple[str, ...]
    claims: tuple[Claimed, ...]
    lines: tuple[Line, ...]
    differ: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: tuple[LeftOut, ...]


def pool(sources: Sequence[Source], claims: Sequence[str] = ()) -> Combined:
    """`sources` in any order; `claims`: comparisons besides those that the plan claims.

    DynoError, with the reasons, if fewer than two runs can be combined, or nothing is claimed.
    """
    used, left_out = _alike(sources)
    plan = used[-1].measured.plan
    asked = list(dict.fromkeys((*plan.claims, *claims)))
    if not asked:
        raise DynoError(
            f"{plan.name} claims nothing, so there is no ratio to combine",
            fix='name one: --claim "tps[on] > tps[off]"',
        )
    lines = [
        _line(text, part, used)
        for text in asked
        if text not in plan.untested
        for part in grammar.resolve(grammar.parse(text), plan.factors, plan.cells, scope(plan))
    ]
    facts = [{**one.run.machine, **one.run.may_change} for one in used]
    differ = [
        (now.run.name, comparability.differences(before, after))
        for now, (before, after) in zip(used[1:], itertools.pairwise(facts), strict=True)
    ]
    verdicts: dict[str, list[str]] = {}
    for line in lines:
        verdicts.setdefault(line.claim, []).append(line.verdict)
    return Combined(
        plan.name,
        tuple(one.run.name for one in used),
        tuple(
            Claimed(text, plan.claim_words.get(text, ""), verdict.combined(of))
            for text, of in verdicts.items()
        ),
        tuple(lines),
        tuple((name, what) for name, what in differ if what),
        tuple(left_out),
    )


def _alike(sources: Sequence[Source]) -> tuple[list[Source], list[LeftOut]]:
    """Runs of the newest one's plan, oldest first, each once, and why others are not used. Runs
    that dbdyno measured come before imported ones."""
    ordered = sorted(sources, key=lambda one: one.run.created_unix_s)
    newest = max(
        ordered,
        key=lambda one: (not one.run.plan.imported, one.run.created_unix_s),
        default=None,
    )
    left_out, used, seen = [], [], set()
    for one in ordered:
        run = one.run
        why = run.unusable
        if newest is not None and run.fingerprint != newest.run.fingerprint:
            why = Message("other_plan", run=newest.run.name)
        elif identity(run) in seen:
            why = Message("copy_used")
        if why:
            left_out.append(LeftOut(run.name, why))
        else:
            seen.add(identity(run))
            used.append(one)
    if len(used) < RUNS_MIN:
        reasons = joined(*(Message("of_run", run=one.what, why=one.why) for one in left_out[:3]))
        raise DynoError(
            f"fewer than {RUNS_MIN} runs of one plan can be combined",
            cause=reasons or "one run was given",
            fix="name runs of one experiment: cells, workload, data and durations must be the same",
        )
    return used, left_out


def _line(text: str, part: ResolvedPart, used: Sequence[Source]) -> Line:
    found = [_effect(one, part) for one in used]
    case = case_of(used[-1].measured, part).part
    sound = [effect for effect, _ in found if effect.ratio is not None and not effect.problem]
    variances = [variance for effect, variance in found if not effect.problem]
    pooled, effects = None, [effect for effect, _ in found]
    problem: str = ""
    if len(sound) < RUNS_MIN:
        problem = Message("few_ratios", n=len(sound), runs=len(found), least=RUNS_MIN)
    else:
        pooled = combine([math.log(one.ratio or 1.0) for one in sound], variances)
        weights = iter(pooled.weights)
        effects = [
            one
            if one.problem
            else Effect(one.run, one.ratio, one.low, one.high, weight=next(weights))
            for one in effects
        ]
    answer = UNDECIDED
    if pooled:
        ends = (math.exp(pooled.low), math.exp(pooled.high))
        answer = verdict.read(ends, case.operator, case.threshold, case.margin)
    return Line(text, case.left, case.right, case.metric, tuple(effects), pooled, problem, answer)


def _effect(source: Source, part: ResolvedPart) -> tuple[Effect, float]:
    """A run's ratio and the variance of its logarithm that its 95 % interval shows."""
    name, case = source.run.name, case_of(source.measured, part)
    contrast = case.contrast
    if contrast is None or case.part.kind != RATIO or bound_of(contrast):
        why = case.part.why or Message("only_ratios")
        return Effect(name, None, problem=why), 0.0
    low, high = contrast.interval(LEVEL)
    if low is None or high is None or not 0 < low < high:
        return Effect(name, contrast.centre, problem=Message("no_spread_shown")), 0.0
    half = (math.log(high) - math.log(low)) / 2
    error = half / float(special.stdtrit(contrast.n - 1, 0.5 + LEVEL / 2))
    return Effect(name, contrast.centre, low, high), error * error
