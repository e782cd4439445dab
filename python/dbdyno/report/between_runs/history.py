"""Runs over time in the terminal: a line a series, then where it changed and what changed there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.between_runs.types import Group as Runs
from dbdyno.analysis.between_runs.types import History
from dbdyno.report.between_runs.comparison import left_out_lines
from dbdyno.report.text.sparkline import LENGTH_MAX, sparkline
from dbdyno.wording.between_runs import trend_text
from dbdyno.wording.numbers import sig3
from dbdyno.wording.visible import visible

ROWS_MAX = 60  # of a table; --json has all of them
NOTES_MAX = 8  # of a kind


def history_text(found: History) -> RenderableType:
    """What `dyno history` prints."""
    parts: list[RenderableType] = []
    for group in found.groups:
        parts += [*_group(group), Text()]
    if not found.groups:
        parts += [Text("There is no run here that could be compared."), Text()]
    parts += left_out_lines(found.left_out)
    return Group(*(parts if found.left_out else parts[:-1]))


def _group(group: Runs) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(trend_text.heading(group), style="bold")]
    if group.differs:
        parts.append(Text(f"Another plan than above: {visible(trend_text.arrows(group.differs))}"))
    parts.append(Text(trend_text.readiness(group), style="dim"))
    for metric in dict.fromkeys(series.metric for series in group.series):
        parts += [Text(), _table(group, metric)]
    if short := [series.note for series in group.series if series.note]:
        some = f" in {len(short)} of {len(group.series)} series"
        where = some if len(short) < len(group.series) else ""
        parts.append(Text(f"Change points: not looked for{where}, {min(short)}.", style="dim"))
    found = trend_text.changes(group)
    if found:
        parts += [Text(), Text("Changes", style="bold")]
    for entry, series, why in found:
        parts.append(Text(f"from {visible(entry.name)} on ({trend_text.when(entry)}):"))
        parts += [Text(f"  {visible(one)}") for one in series[:NOTES_MAX]]
        if len(series) > NOTES_MAX:
            parts.append(Text(f"  and {len(series) - NOTES_MAX} more series"))
        parts.append(Text(f"  {visible(why)}", style="dim"))
    odd = trend_text.notes(group)
    parts += [Text(f"note: {visible(one)}", style="yellow") for one in odd[:NOTES_MAX]]
    if len(odd) > NOTES_MAX:
        parts.append(Text(f"{len(odd) - NOTES_MAX} more notes with --json", style="yellow"))
    return parts


def _table(group: Runs, metric: str) -> Table:
    rows = [series for series in group.series if series.metric == metric]
    table = Table(
        title=Text(visible(trend_text.short(metric)), style="bold"),
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
        spread = trend_text.spread(series).removeprefix("spread ")
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
