"""From an experiment and a run of it to blocks and minutes.

The duration of trials is free where all cells have the same fixed one: a block costs its starts,
warm-ups and durations, its noise is what is between trials plus what is within them over the
duration, and the split that takes the least time in all is searched among round durations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from dbdyno.analysis.claims import alpha_spending
from dbdyno.analysis.claims.contrast import Best, LogRatio
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.claims.interim_looks import LOOK_MIN
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.analysis.planning import blocks, costs, floor, noise
from dbdyno.analysis.planning.questions import Question, questions
from dbdyno.analysis.planning.types import (
    Component,
    Criterion,
    Noise,
    Part,
    Planning,
    Seconds,
    Split,
)
from dbdyno.errors import DynoError
from dbdyno.experiment.claims.types import ALPHA
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import GroupPlan, Plan
from dbdyno.store.metrics.timeseries import Trace
from dbdyno.store.record import TrialRecord
from dbdyno.wording import plurals

DURATIONS_S = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600)


def plan_blocks(
    experiment: Plan,
    run: Plan,
    records: Sequence[TrialRecord],
    trace: Callable[[str], Trace | None],
    detect: float,
    wanted: float,
) -> Planning:
    """What `experiment` needs to find a difference of `detect` (a ratio minus one) with the power
    `wanted`, from the trials of `run`. DynoError if no comparison can be planned."""
    measured = Measured.of(run, records)
    asked = questions(experiment, measured)
    source = _Source(measured, asked, trace)
    length_s = max(cell.duration_s for cell in experiment.cells)
    parts: list[Part] = []
    left_out: list[str] = []
    share = _look_share(experiment)
    for question in asked:
        why = source.problem(question)
        if why:
            left_out.append(Message("of_claim", claim=question.text, said=why))
            continue
        alpha = ALPHA / len(asked) * share / _shared(question)
        parts.append(_part(question, source, detect, alpha, wanted, length_s, experiment.blocks))
    if not parts:
        raise _nothing(left_out, run)
    cost = costs.factor(run, records)
    own = _split(parts, experiment, length_s, cost, wanted)
    splits = [own]
    if _free_duration(experiment) and all(one.noise.within is not None for one in parts):
        splits += [
            _split(parts, experiment, float(s), cost, wanted) for s in DURATIONS_S if s != length_s
        ]
    metrics = tuple(dict.fromkeys(part.metric for part in parts))
    return Planning(
        experiment=experiment.name,
        detect=detect,
        power=wanted,
        blocks_seen=len(measured.whole),
        parts=tuple(parts),
        left_out=tuple(left_out),
        components={name: source.components(name, length_s) for name in metrics},
        seconds={name: one for name in metrics if (one := source.seconds(name)) is not None},
        floors=floor.floors(measured, metrics),
        own=own,
        best=min(splits, key=_rank),
        splits=tuple(sorted(splits, key=lambda split: split.duration_s)),
        own_blocks=experiment.blocks,
        setup_s=estimate.setup_s(experiment.cells),
        notes=tuple(_notes(experiment, share)),
    )


class _Source:
    """The noise of a run, by metric."""

    def __init__(
        self,
        measured: Measured,
        asked: Sequence[Question],
        trace: Callable[[str], Trace | None],
    ) -> None:
        self._measured = measured
        self._pools: dict[str, noise.Pool] = {}
        self._within: dict[str, tuple[float | None, Seconds | None]] = {}
        cells: dict[str, set[int]] = {}
        for question in asked:
            cells.setdefault(question.part.left.metric, set()).update(question.case.cells)
        copies = floor.copies(measured.plan)
        for metric, named in cells.items():
            alike = {cell for pair in copies if named & set(pair) for cell in pair}
            self._pools[metric] = noise.pool(measured, metric, named | alike)
            self._within[metric] = noise.seconds(measured, metric, named | alike, trace)

    def problem(self, question: Question) -> str:
        """Why nothing can be planned for a comparison; empty: it can."""
        contrast = question.case.contrast
        if contrast is None:
            return question.case.part.why or Message("not_judged_here")
        if noise.spread(contrast) is None:
            return Message("power_unknown")
        return ""

    def noise(self, question: Question) -> tuple[Noise, bool]:
        """The noise of a comparison, and whether it is that of all comparisons of its metric."""
        contrast = question.case.contrast
        assert contrast is not None
        own = noise.spread(contrast)
        assert own is not None
        part, cells = question.part, question.case.cells
        pooled = None
        if part.right is not None and part.right.metric == part.left.metric and len(cells) == 2:
            same = noise.same_start(self._measured, *cells)
            pooled = self._pools[part.left.metric].of(same)
        metric = part.left.metric
        within = self._within[metric][0]
        sides = 1 if part.right is None and len(cells) == 1 else 2
        inside = None if within is None else sides * within
        if pooled is None or noise.unlike(own, pooled):
            length_s = self._length_s(cells)
            return Noise(own[0], own[1], length_s, inside), False
        return replace(pooled, within=inside), True

    def components(self, metric: str, length_s: float) -> tuple[Component, ...]:
        """The parts of a trial's noise."""
        return noise.components(self._pools[metric], self._within[metric][0], length_s)

    def seconds(self, metric: str) -> Seconds | None:
        """The noise of seconds within trials."""
        return self._within[metric][1]

    def _length_s(self, cells: Sequence[int]) -> float:
        trials = [one.length_s for cell in cells for one in self._measured.cells[cell].values()]
        return max(1e-3, sum(trials) / len(trials))


def _part(
    question: Question,
    source: _Source,
    detect: float,
    alpha: float,
    wanted: float,
    length_s: float,
    own_blocks: int,
) -> Part:
    contrast = question.case.contrast
    assert contrast is not None
    equal = isinstance(contrast, Equivalence)
    distance = math.log1p(question.part.margin if equal else detect)
    if question.part.right is None and len(question.case.cells) == 1:
        distance = question.part.margin if equal else detect  # relative to the threshold
    inner = contrast.inner if isinstance(contrast, Equivalence) else contrast
    criterion = Criterion(
        distance, alpha, equal, isinstance(inner, LogRatio) and question.part.right is not None
    )
    seen, pooled = source.noise(question)
    need = blocks.needed(criterion, seen, length_s, wanted)
    variance = blocks.probable(seen, length_s)
    return Part(
        text=question.text,
        metric=question.part.left.metric,
        criterion=criterion,
        noise=seen,
        pooled=pooled,
        needed=need,
        chance=blocks.chance(criterion, variance, max(own_blocks, 2)),
        half_width=blocks.half_width(criterion, variance, need.probable or blocks.BLOCKS_MAX),
    )


def _split(
    parts: Sequence[Part], experiment: Plan, duration_s: float, cost: float, wanted: float
) -> Split:
    need = blocks.together(
        [blocks.needed(one.criterion, one.noise, duration_s, wanted) for one in parts]
    )
    block_s = costs.block_s(experiment, duration_s, cost)
    setup_s = estimate.setup_s(experiment.cells)
    low, probable, high = (
        None if count is None else setup_s + count * block_s
        for count in (need.low, need.probable, need.high)
    )
    half_width = need.probable and max(
        blocks.half_width(one.criterion, blocks.probable(one.noise, duration_s), need.probable)
        for one in parts
    )
    return Split(duration_s, need, block_s, (low, probable, high), half_width)


def _rank(split: Split) -> tuple[float, float]:
    """The least time; of equal ones the shorter trial."""
    total_s = split.total_s[1]
    return (math.inf if total_s is None else total_s, split.duration_s)


def _free_duration(plan: Plan) -> bool:
    """Whether the duration of all trials may be chosen: no cell has its own reason for it."""
    fixed = len({cell.duration_s for cell in plan.cells}) == 1
    bound = any(
        cell.until_steady or estimate.probes_max(cell) > 1 or _scheduled(cell.groups)
        for cell in plan.cells
    )
    return fixed and not bound


def _scheduled(groups: Sequence[GroupPlan]) -> bool:
    """Whether some group's rate changes within a trial."""
    return any(group.arrivals and len(group.arrivals.steps) > 1 for group in groups)


def _shared(question: Question) -> int:
    """How many tests share the level of one comparison."""
    contrast = question.case.contrast
    if not isinstance(contrast, Best):
        return 1
    return len(contrast.inside if contrast.centre > 1 else contrast.outside)


def _look_share(plan: Plan) -> float:
    """The part of the level that the last look keeps."""
    if plan.looks is None or plan.looks.max <= LOOK_MIN:
        return 1.0
    at = tuple(range(max(plan.looks.first, LOOK_MIN), plan.looks.max + 1))
    shares = tuple(n / plan.looks.max for n in at)
    return alpha_spending.t_boundaries(at, shares)[-1].level(ALPHA) / ALPHA


def _notes(experiment: Plan, share: float) -> list[str]:
    notes: list[str] = []
    if experiment.looks is not None:
        notes.append(Message("looks_leave", percent=100 * share))
    if experiment.budget_s is not None:
        notes.append(Message("budget", minutes=experiment.budget_s / 60))
    return notes


def _nothing(left_out: Sequence[str], run: Plan) -> DynoError:
    why = left_out[0] if left_out else Message("compares_nothing")
    return DynoError(
        Message("nothing_planned", why=why, more=len(left_out) - 1),
        cause="a plan needs the spread of at least 3 blocks of what is compared",
        fix=f"run a pilot with more blocks than {plurals.count(run.blocks, 'block')}, or claim"
        " something that is compared within blocks",
    )
