"""Makes one transaction with branches of each group of units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from string import ascii_lowercase
from typing import Any

from dbdyno.digest.workload.branching import coupling
from dbdyno.digest.workload.branching.likeness import Group, Run
from dbdyno.digest.workload.branching.slots import Branch, Slot, branched
from dbdyno.digest.workload.profile import Unit
from dbdyno.digest.workload.values import lengths
from dbdyno.experiment.workloads.mix.model import BRANCHES_MAX, CHOICES_MAX, REPEAT_MAX

PURE = 0.98  # of the runs of several calls, from which on a run is of one statement
REPEATS_MAX = 12  # of a statement in one slot

Value = tuple[int, int] | None  # a statement so many times in a row; None: the unit leaves it out


def built(group: Group, one_in: int) -> Unit:
    """The units of a group as one. `one_in`: of transactions one in so many was counted."""
    if len(group.rows) == 1:
        return group.rows[0][0]
    counts = [unit.count for unit, _ in group.rows]
    cells = {number: [row.get(number, ()) for _, row in group.rows] for number, _ in group.columns}
    pure = {
        number: _few(list(map(_value, column)), counts)
        for number, column in cells.items()
        if _is_pure(column, counts)
    }
    together = _together(pure, [max(1, count // one_in) for count in counts], counts)
    slots = []
    for number, kind in group.columns:
        if number in together:
            choice, branches = together[number]
            slots.append(Slot(branches, kind, choice=choice))
        elif number in pure:
            slots.append(Slot(_weighed(pure[number], counts), kind))
        else:
            slots.append(_mixed(cells[number], counts, kind))
    return branched(slots, [unit for unit, _ in group.rows])


def _is_pure(column: Sequence[Run], counts: Sequence[int]) -> bool:
    """Whether a run is of one statement, however often it is repeated."""
    several = pure = 0
    for run, times in zip(column, counts, strict=True):
        if sum(step.repeat for step in run) > 1:
            several += times
            pure += times * (len(run) == 1)
    return pure >= several * PURE


def _value(run: Run) -> Value:
    if not run:
        return None
    calls: Counter[int] = Counter()
    for step in run:
        calls[step.statement] += step.repeat
    return max(calls, key=lambda one: calls[one]), min(REPEAT_MAX, calls.total())


def _few(values: Sequence[Value], counts: Sequence[int]) -> list[Value]:
    """The same with few different repetitions of each statement, neighbours put together."""
    weights: dict[int, Counter[float]] = {}
    for value, times in zip(values, counts, strict=True):
        if value is not None:
            weights.setdefault(value[0], Counter())[value[1]] += times
    most = max(1, min(REPEATS_MAX, BRANCHES_MAX // max(1, len(weights)) - 1))
    near: dict[Value, Value] = {None: None}
    for statement, repeats in weights.items():
        ends = lengths.few(sorted(repeats.items()), most)
        for repeat in repeats:
            mean = min((mean for mean, _ in ends), key=lambda mean: (abs(mean - repeat), mean))
            near[statement, int(repeat)] = (statement, max(1, round(mean)))
    return [near[value] for value in values]


def _together(
    pure: Mapping[int, Sequence[Value]], seen: Sequence[int], counts: Sequence[int]
) -> dict[int, tuple[str, tuple[Branch, ...]]]:
    """Of columns whose branches go together: their choice, and the branches in one order."""
    found: dict[int, tuple[str, tuple[Branch, ...]]] = {}
    names = map(_letters, count())
    columns: dict[int, Sequence[Hashable]] = {**pure}
    for members in coupling.clusters(columns, seen)[:CHOICES_MAX]:
        weights: Counter[tuple[Value, ...]] = Counter()
        rows = zip(*(pure[number] for number in members), strict=True)
        for values, times in zip(rows, counts, strict=True):
            weights[values] += times
        if len(weights) > BRANCHES_MAX:
            continue
        ranked = sorted(weights, key=lambda values: -weights[values])
        name = next(names)
        for at, number in enumerate(members):
            branches = (_branch(values[at], weights[values]) for values in ranked)
            found[number] = (name, tuple(branches))
    return found


def _letters(number: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    before, last = divmod(number, len(ascii_lowercase))
    return (_letters(before - 1) if before else "") + ascii_lowercase[last]


def _weighed(values: Sequence[Value], counts: Sequence[int]) -> tuple[Branch, ...]:
    weights: Counter[Value] = Counter()
    for value, times in zip(values, counts, strict=True):
        weights[value] += times
    return tuple(_branch(value, weights[value]) for value in sorted(weights, key=_order(weights)))


def _order(weights: Counter[Value]) -> Any:
    return lambda value: (value is None, -weights[value], value)


def _branch(value: Value, weight: float) -> Branch:
    statement, repeat = value or (None, 1)
    return Branch(statement, repeat, weight)


def _mixed(column: Sequence[Run], counts: Sequence[int], kind: str) -> Slot:
    """A slot that chooses again for each call: as many as the longest run has, of which some send
    nothing, so that the mean length is the log's."""
    calls: Counter[int] = Counter()
    longest = 1
    for run, times in zip(column, counts, strict=True):
        longest = max(longest, min(REPEAT_MAX, sum(step.repeat for step in run)))
        for step in run:
            calls[step.statement] += step.repeat * times
    ranked = sorted(calls, key=lambda one: (-calls[one], one))
    branches = [Branch(one, 1, calls[one]) for one in ranked]
    if nothing := sum(counts) * longest - calls.total():
        branches.append(Branch(None, 1, nothing))
    return Slot(tuple(branches), kind, repeat=longest)
