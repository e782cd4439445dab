"""Runs over time, in sentences: where series changed, and what else changed there."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dbdyno.analysis.between_runs import comparability
from dbdyno.analysis.between_runs.comparison import RUNS_MIN
from dbdyno.analysis.between_runs.types import Entry, Group, Series
from dbdyno.wording import names
from dbdyno.wording.numbers import percent, sig3
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import times
from dbdyno.wording.visible import visible

NAMED_MAX = 3  # runs
_RECORDED = "coincides with nothing that is recorded"


def heading(group: Group) -> str:
    """`quickstart: 8 runs, r1 to r8, 2026-11-01 to 2026-11-21`."""
    first, last = group.runs[0], group.runs[-1]
    text = f"{visible(group.experiment)}: {count(len(group.runs), 'run')}, {visible(first.name)}"
    if last is not first:
        text += f" to {visible(last.name)}"
    return f"{text}, {when(first, last)}"


def when(*runs: Entry) -> str:
    """Days of runs, one or from to."""
    days = [time.strftime("%Y-%m-%d", time.localtime(run.created_unix_s)) for run in runs]
    return " to ".join(dict.fromkeys(days))


def readiness(group: Group) -> str:
    """Whether a further run could be judged."""
    if group.needed:
        more = count(group.needed, "more run")
        return (
            f"{more} until `dyno compare --history` can judge one: it needs {RUNS_MIN} of this plan"
            " on one machine"
        )
    return f"`dyno compare --history` can judge a further run by {group.comparable} of these"


def changes(group: Group) -> list[tuple[Entry, list[str], str]]:
    """Runs at which series changed, in order: the run, each series' change, what else changed."""
    by_run: dict[int, list[str]] = {}
    for series in group.series:
        for place in series.changes:
            ratio = times(place.after / place.before)
            text = f"{label(series)}: {sig3(place.before)} → {sig3(place.after)} ({ratio})"
            by_run.setdefault(place.run, []).append(text)
    found = []
    for run in sorted(by_run):
        entry = group.runs[run]
        changed = arrows(comparability.named(entry.changed))
        found.append((entry, by_run[run], f"coincides with: {changed}" if changed else _RECORDED))
    return found


def notes(group: Group) -> list[str]:
    """What is odd about single runs, run by run: outliers, missing values, missing blocks."""
    found = []
    for index, entry in enumerate(group.runs):
        apart = [
            f"{label(series)} is {sig3(series.values[index])}"
            for series in group.series
            if index in series.outliers
        ]
        if apart:
            found.append(f"{entry.name} stands apart: {', '.join(apart)}")
        found += [f"{entry.name}: {warning}" for warning in entry.warnings]
    return [*_absent(group), *found]


def _absent(group: Group) -> list[str]:
    """Why runs have no value of a series; runs that lack the same for one reason together."""
    runs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for index, entry in enumerate(group.runs):
        missing: dict[str, list[str]] = {}
        for series in group.series:
            if problem := series.problems[index]:
                missing.setdefault(problem, []).append(label(series))
        for why, of in missing.items():
            runs.setdefault((why, tuple(of)), []).append(entry.name)
    return [
        f"{_named(found, group)}: no {', '.join(of)}: {why}" for (why, of), found in runs.items()
    ]


def _named(runs: Sequence[str], group: Group) -> str:
    """Names of runs, the first of many."""
    if len(runs) == len(group.runs) > 1:
        return f"all {len(runs)} runs"
    more = f" and {len(runs) - NAMED_MAX} more" if len(runs) > NAMED_MAX else ""
    return f"{', '.join(runs[:NAMED_MAX])}{more}"


def spread(series: Series) -> str:
    """`spread ±1.5 %`, or why there is none."""
    if series.spread is not None:
        return f"spread ±{percent(float(f'{series.spread:.2g}'))}"
    return "one run" if any(value is not None for value in series.values) else "no value"


def arrows(text: str) -> str:
    """Differences with the arrow that people read."""
    return text.replace(" -> ", " → ")


def label(series: Series) -> str:
    """`tps at sync=full`."""
    at = " ".join(f"{name}={level}" for name, level in series.at.items())
    return f"{short(series.metric)}{f' at {at}' if at else ''}"


def short(metric: str) -> str:
    """A metric's name in tables."""
    return names.describe(metric, [metric.partition(".")[0]]).column
