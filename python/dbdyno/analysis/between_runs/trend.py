"""Many runs over time: by plan, with change points and what changed where they are.

Change points are detected on the logarithms, without single runs that are outliers; what changes by
less than `matters` is none, and neighbouring runs resemble each other (`changepoints.RUNS`). The
error budget of a plan's series is shared evenly between them (Bonferroni), since a page of twenty
series would else often show a change that is none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from dbdyno.analysis.between_runs import comparability, comparison
from dbdyno.analysis.between_runs.comparability import Key
from dbdyno.analysis.between_runs.level import APART, apart
from dbdyno.analysis.between_runs.run_summary import MISSING, Reduced
from dbdyno.analysis.between_runs.types import Entry, Group, History, LeftOut, Place, Series
from dbdyno.analysis.estimates.estimate import MAD
from dbdyno.analysis.message import Message
from dbdyno.analysis.within_trial import changepoints

OUTLIER_RUNS = 5  # of a stretch, before one of them can be an outlier


def history(runs: Iterable[Reduced], unread: Sequence[LeftOut] = ()) -> History:
    """Runs by plan, each group in the order of time, the largest first. `unread`: what could not
    be opened."""
    left_out = list(unread)
    by_plan: dict[str, list[Reduced]] = {}
    seen: dict[tuple[float, int], Reduced] = {}
    for run in sorted(runs, key=lambda one: one.created_unix_s):
        first = seen.setdefault(comparison.identity(run), run)
        why = run.unusable if first is run else Message("copy_of", run=first.name)
        if why:
            left_out.append(LeftOut(run.name, why))
        else:
            by_plan.setdefault(run.fingerprint, []).append(run)
    ordered = sorted(by_plan.values(), key=lambda group: (-len(group), group[0].plan.name))
    groups: list[Group] = []
    firsts: dict[str, Reduced] = {}
    for group in ordered:
        newest = group[-1]
        other = firsts.setdefault(newest.plan.name, newest)
        groups.append(_group(group, "" if other is newest else _differs(other, newest)))
    return History(tuple(groups), tuple(left_out))


def _group(runs: Sequence[Reduced], differs: str) -> Group:
    newest = runs[-1]
    found = []
    for metric in dict.fromkeys(name for run in runs for name in run.metrics):
        for cell in newest.asked:
            if any(run.value(cell, metric).problem != MISSING for run in runs):
                found.append((metric, cell))
    comparable = len(comparison.predecessors(newest, runs))
    return Group(
        experiment=newest.plan.name,
        fingerprint=newest.fingerprint,
        runs=tuple(_entry(run, before) for before, run in zip((None, *runs), runs, strict=False)),
        series=tuple(_series(runs, metric, cell, len(found)) for metric, cell in found),
        comparable=comparable,
        needed=max(0, comparison.RUNS_MIN - comparable),
        differs=differs,
    )


def _entry(run: Reduced, before: Reduced | None) -> Entry:
    changed: tuple[str, ...] = ()
    if before is not None:
        changed = (
            *comparability.differences(before.machine, run.machine, both=True),
            *comparability.differences(before.may_change, run.may_change),
        )
    mixed = Message("changed_meanwhile", what=run.mixed) if run.mixed else ""
    return Entry(
        name=run.name,
        created_unix_s=run.created_unix_s,
        blocks=run.blocks,
        blocks_planned=run.plan.blocks,
        changed=changed,
        warnings=tuple(filter(None, (run.short, mixed))),
    )


def _series(runs: Sequence[Reduced], metric: str, cell: Key, shared: int) -> Series:
    """One line of a history; `shared`: how many share the error budget."""
    matters = runs[-1].plan.matters
    all_values = [run.value(cell, metric) for run in runs]
    values = tuple(None if one.problem else one.mean for one in all_values)
    usable = [index for index, value in enumerate(values) if value]
    logs = [math.log(values[index] or 1.0) for index in usable]
    kept = [index for index, apart in enumerate(apart(logs)) if not apart]
    found = changepoints.changes(
        [logs[index] for index in kept],
        changepoints.RUNS,
        changepoints.P / shared,
        least=math.log1p(matters),
    )
    needed = 2 * changepoints.MIN_SIZE
    short = Message("few_for_change", runs=len(kept), needed=needed)
    at = [kept[one.index] for one in found]
    bounds = [0, *at, len(logs)]
    stretches = [usable[left:right] for left, right in itertools.pairwise(bounds)]
    return Series(
        metric=metric,
        at=dict(cell),
        values=values,
        problems=tuple(one.problem for one in all_values),
        spread=math.expm1(float(np.std(logs, ddof=1))) if len(logs) > 1 else None,
        changes=tuple(
            Place(usable[index], math.exp(one.before), math.exp(one.after), one.p)
            for index, one in zip(at, found, strict=True)
        ),
        outliers=tuple(run for stretch in stretches for run in _outliers(stretch, values)),
        note=short if len(kept) < needed else "",
    )


def _outliers(stretch: Sequence[int], values: Sequence[float | None]) -> list[int]:
    """Runs of a stretch that lie far from its median."""
    if len(stretch) < OUTLIER_RUNS:
        return []
    logs = np.log([values[index] or 1.0 for index in stretch])
    away = np.abs(logs - np.median(logs))
    usual = MAD * float(np.median(away))
    if usual == 0.0:
        return []
    return [index for index, far in zip(stretch, away, strict=True) if far > APART * usual]


def _differs(first: Reduced, other: Reduced) -> str:
    """How two plans of one experiment differ, in a sentence."""
    if first.asked.keys() != other.asked.keys():
        return "other cells"
    for cell, facts in other.asked.items():
        if different := comparability.differences(first.asked[cell], facts):
            return comparability.named(different)
    return Message("other_systems")
