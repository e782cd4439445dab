"""Runs over time in the terminal: a line a series, then where it changed and what changed there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.between_runs import comparability
from dbdyno.analysis.between_runs.comparison import RUNS_MIN
from dbdyno.analysis.between_runs.types import Entry, History, Series
from dbdyno.analysis.between_runs.types import Group as Runs
from dbdyno.report.between_runs.comparison import left_out_lines
from dbdyno.report.text.sparkline import LENGTH_MAX, sparkline
from dbdyno.wording import names
from dbdyno.wording.numbers import MISSING, percent, sig3
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import times
from dbdyno.wording.visible import visible

ROWS_MAX = 60  # of a table; --json has all of them
NOTES_MAX = 8  # of a kind
_RECORDED = "coincides with nothing that is recorded"


def history_text(found: History) -> RenderableType:
    """What `dyno history` prints."""
    parts: list[RenderableType] = []
    for group in found.groups:
        parts += [*_group(group), Text()]
    if not found.groups:
        parts += [Text("There is no run here that could be compared."), Text()]
    parts += left_out_lines(found.left_out)
    return Group(*(parts if found.left_out else parts[:-1]))


def heading(group: Runs) -> str:
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


def readiness(group: Runs) -> str:
    """Whether a further run could be judged."""
    if group.needed:
        more = count(group.needed, "more run")
        return (
            f"{more} until `dyno compare --history` can judge one: it needs {RUNS_MIN} of this plan"
            " on one machine"
        )
    return f"`dyno compare --history` can judge a further run by {group.comparable} of these"


def changes(group: Runs) -> list[tuple[Entry, list[str], str]]:
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


def notes(group: Runs) -> list[str]:
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
        missing: dict[str, list[str]] = {}
        for series in group.series:
            if problem := series.problems[index]:
                missing.setdefault(problem, []).append(label(series))
        found += [f"{entry.name}: no {', '.join(of)}: {why}" for why, of in missing.items()]
        found += [f"{entry.name}: {warning}" for warning in entry.warnings]
    return found


def arrows(text: str) -> str:
    """Differences with the arrow that people read."""
    return text.replace(" -> ", " → ")


def label(series: Series) -> str:
    """`tps at sync=full`."""
    at = " ".join(f"{name}={level}" for name, level in series.at.items())
    return f"{_short(series.metric)}{f' at {at}' if at else ''}"


def _group(group: Runs) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(heading(group), style="bold")]
    if group.differs:
        parts.append(Text(f"Another plan than above: {visible(arrows(group.differs))}"))
    parts.append(Text(readiness(group), style="dim"))
    for metric in dict.fromkeys(series.metric for series in group.series):
        parts += [Text(), _table(group, metric)]
    if short := [series.note for series in group.series if series.note]:
        some = f" in {len(short)} of {len(group.series)} series"
        where = some if len(short) < len(group.series) else ""
        parts.append(Text(f"Change points: not looked for{where}, {min(short)}.", style="dim"))
    found = changes(group)
    if found:
        parts += [Text(), Text("Changes", style="bold")]
    for entry, series, why in found:
        parts.append(Text(f"from {visible(entry.name)} on ({when(entry)}):"))
        parts += [Text(f"  {visible(one)}") for one in series[:NOTES_MAX]]
        if len(series) > NOTES_MAX:
            parts.append(Text(f"  and {len(series) - NOTES_MAX} more series"))
        parts.append(Text(f"  {visible(why)}", style="dim"))
    odd = notes(group)
    parts += [Text(f"note: {visible(one)}", style="yellow") for one in odd[:NOTES_MAX]]
    if len(odd) > NOTES_MAX:
        parts.append(Text(f"{len(odd) - NOTES_MAX} more notes with --json", style="yellow"))
    return parts


def _table(group: Runs, metric: str) -> Table:
    rows = [series for series in group.series if series.metric == metric]
    table = Table(
        title=Text(visible(_short(metric)), style="bold"),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    named = any(series.at for series in rows)
    if named:
        table.add_column("at", overflow="fold")
    last = f"last {LENGTH_MAX} runs" if len(group.runs) > LENGTH_MAX else "runs"
    table.add_column(last, no_wrap=True)
    for heading_ in ("first", "last", "spread", "changes"):
        table.add_column(heading_, justify="right", no_wrap=True)
    for series in rows[:ROWS_MAX]:
        cells = [Text(visible(_at(series.at)))] if named else []
        ends = _ends(series.values)
        spread = MISSING if series.spread is None else f"±{percent(float(f'{series.spread:.2g}'))}"
        changed = "" if series.note else str(len(series.changes))
        table.add_row(
            *cells,
            Text(sparkline(series.values)),
            Text(sig3(ends[0])),
            Text(sig3(ends[1])),
            Text(spread),
            Text(changed, style="bold" if series.changes else "dim"),
        )
    if len(rows) > ROWS_MAX:
        table.caption = f"{len(rows) - ROWS_MAX} more rows with --json"
    return table


def _ends(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    there = [value for value in values if value is not None]
    return (there[0], there[-1]) if there else (None, None)


def _at(levels: Mapping[str, str]) -> str:
    return " ".join(f"{name}={level}" for name, level in levels.items())


def _short(metric: str) -> str:
    return names.describe(metric, [metric.partition(".")[0]]).column
