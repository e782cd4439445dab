"""The end of a run in the terminal: the answer, the claims in a line or two each, one table of
ratios, the path of the report. To be read in ten seconds; the report has all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.report.sections.load import results, stalls
from dbdyno.report.sections.setting import warnings
from dbdyno.report.sections.verdicts import (
    answer,
    claims,
    costs,
    heading,
    ratios,
    sweeps,
    tradeoffs,
    versions,
    why,
)
from dbdyno.report.text import names
from dbdyno.report.text.escaping import visible
from dbdyno.report.text.numbers import MISSING
from dbdyno.wording.plurals import count

ROWS_MAX = 16  # of the table of ratios; the report has all of them
WARNINGS_MAX = 3
SWEEPS_MAX = 4
STALLS_MAX = 2
_STYLE = {"supported": "green", "refuted": "red", "undecided": "yellow", "untested": "dim"}


def ending(views: Mapping[str, Any], report: Path) -> RenderableType:
    """The sections that have a form here; `views` by their names."""
    shown = dict(views)
    if "ratios" in shown:
        shown.pop("results", None)  # what is compared need not be repeated
    parts = [part for name, form in FORMS.items() if name in shown for part in form(shown[name])]
    path = Text(f"report: {report}", no_wrap=True, overflow="ignore")
    return Group(*parts, Text(), path)


def _heading(view: heading.View) -> Iterator[RenderableType]:
    yield from (Text(visible(view.question), style="bold"), Text())
    if view.loud:
        yield from (Text(view.loud, style="bold yellow"), Text())


def _versions(view: versions.View) -> Iterator[RenderableType]:
    """The verdict on the new version, and in what it differs from the base."""
    claim = view.claim
    head = Text(f"{claim.mark} {claim.verdict}", style=f"bold {_STYLE[claim.css]}")
    head.append(f"  {visible(view.sentence)}", style="default")
    if len(claim.parts) > 1:
        _parts(head, claim)
    head.append(f"\nBase: {visible(view.base)}. Differs in {visible(view.in_short)}.", style="dim")
    yield from (head, Text())


def _answer(view: answer.View) -> Iterator[RenderableType]:
    yield Text(visible(f"{view.caveat} {view.answer}".strip()))


def _why(view: why.View) -> Iterator[RenderableType]:
    if view.why:
        yield Text(f"Why: {visible(view.why)}", style="dim")
    if view.moved_with:
        yield Text(f"Moved with it: {visible(view.moved_with)}", style="dim")


def _sentence(view: costs.View | tradeoffs.View) -> Iterator[RenderableType]:
    yield Text(visible(view.sentence))


def _stalls(found: list[stalls.View]) -> Iterator[RenderableType]:
    """The cells that stalled longest, a line each with cause and cure."""
    for view in found[:STALLS_MAX]:
        text = f"Stalls at {view.where}: " if view.where else "Stalls: "
        text += " ".join(filter(None, (view.sentence, view.why)))
        yield Text(visible(f"{text} Cure: {view.cure}" if view.cure else text))
    if (more := len(found) - STALLS_MAX) > 0:
        yield Text(f"Stalls at {count(more, 'more cell')} in the report")


def _sweeps(view: sweeps.View) -> Iterator[RenderableType]:
    """Peaks, knees and limits, a line each."""
    yield Text()
    for one in view.sweeps[:SWEEPS_MAX]:
        yield Text(visible(": ".join(filter(None, [one.at, " ".join(one.sentences)]))))
    if (more := len(view.sweeps) - SWEEPS_MAX) > 0:
        yield Text(f"{count(more, 'more sweep')} in the report", style="dim")


def _ratios(view: ratios.View) -> Iterator[RenderableType]:
    yield from (Text(), _ratio_table(view.tables[0]))
    if view.levels_note:
        yield Text(view.levels_note, style="dim")


def _ratio_table(table: ratios.RatioTable) -> Table:
    """One line a ratio; what all lines share is in the title."""
    pairs = {(row.level, row.baseline) for row in table.rows}
    title = f"{table.metric.column}, by {table.factor}"
    columns: list[tuple[str, Callable[[ratios.RatioRow], str]]] = []
    if len(pairs) == 1:
        level, baseline = pairs.pop()
        title = f"{table.metric.column}, {visible(level)} against {visible(baseline)}"
    else:
        factor = f"{table.factor} "  # is in the title
        columns += [
            ("level", lambda row: row.level.removeprefix(factor)),
            ("against", lambda row: row.baseline.removeprefix(factor)),
        ]
    if any(row.at for row in table.rows):
        columns.append(("at", lambda row: row.at))
    shown = _table(title)
    for name, _ in columns:
        shown.add_column(name, overflow="fold")
    shown.add_column("ratio", justify="right")
    shown.add_column("interval", justify="right")
    shown.add_column("in words")
    for row in table.rows[:ROWS_MAX]:
        shown.add_row(
            *(Text(visible(of(row))) for _, of in columns),
            Text(row.ratio, style="bold" if row.clear else "dim"),
            Text(row.interval),
            Text(_words(row), style="" if row.clear else "dim"),
        )
    if len(table.rows) > ROWS_MAX:
        shown.caption = f"{len(table.rows) - ROWS_MAX} more rows in the report"
    return shown


def _results(view: results.View) -> Iterator[RenderableType]:
    for table in view.tables:
        yield from (Text(), _cell_table(table))


def _cell_table(table: results.CellTable) -> Table:
    """The cells themselves, if there is nothing to compare them with."""
    shown = _table(table.title)
    for factor in table.factors:
        shown.add_column(Text(visible(factor)), overflow="fold")
    kept = [i for i, metric in enumerate(table.metrics) if _fits(metric, table)]
    for i in kept:
        shown.add_column(Text(visible(table.metrics[i].short)), justify="right")
    for row in table.rows[:ROWS_MAX]:
        values = (Text(row.values[i].mean) for i in kept)
        shown.add_row(*(Text(visible(v)) for v in row.levels), *values)
    return shown


def _fits(metric: names.Metric, table: results.CellTable) -> bool:
    """Whether a column is shown: next to response times only the main one of service times, since a
    terminal is narrow."""
    if not any(".response_ms_" in f".{other.name}" for other in table.metrics):
        return True
    return not metric.name.endswith(("_ms_p50", "service_ms_p99"))


def _claims(view: claims.View) -> Iterator[RenderableType]:
    if view.claims:
        yield from (Text(), _claim_table(view.claims))
        if view.looking:
            yield Text(view.looking, style="dim")


def _claim_table(views: list[claims.ClaimView]) -> Table:
    shown = _table("", show_header=False)
    shown.title, shown.title_style = "Claims", "bold"
    shown.add_column(max_width=18)
    shown.add_column(overflow="fold")
    for claim in views:
        style = _STYLE[claim.css]
        verdict = Text(f"{claim.mark} {claim.verdict_text}", style=style)
        body = Text(visible(claim.text))
        words = claim.parts[0].words if len(claim.parts) == 1 else ""
        if words and claim.css != "undecided":  # whose reason says its interval
            body.append(f"\n{visible(words)}", style="dim")
        elif len({part.verdict for part in claim.parts}) > 1:
            _parts(body, claim)
        if claim.why:
            body.append(f"\n{visible(_short(claim.why))}", style="dim")
        shown.add_row(verdict, body)
    return shown


def _table(title: str, *, show_header: bool = True) -> Table:
    head = Text(visible(title), style="bold") if title else None
    return Table(
        title=head, title_justify="left", box=None, pad_edge=False, show_header=show_header
    )


def _words(row: ratios.RatioRow) -> str:
    """A ratio in a word or two; from 2 on it is unquoted."""
    if row.interval == MISSING:
        return row.words  # not judged
    if not row.clear:
        return "not clear"
    return "higher" if row.words.endswith(" times as high") else row.words


def _parts(body: Text, claim: claims.ClaimView) -> None:
    """The parts of a claim whose verdicts differ; where all agree, the claim's says it."""
    for part in claim.shown:
        body.append(f"\n{part.mark} {visible(part.at)}: {visible(part.brief)}", style="dim")
    if claim.folded:
        body.append(f"\n{len(claim.folded)} more in the report", style="dim")


def _short(why: str) -> str:
    """A reason without what the report says of the run's reach."""
    return "; ".join(
        part for part in why.split("; ") if not part.startswith("with this much noise")
    )


def _warnings(view: warnings.View) -> Iterator[RenderableType]:
    if view.counted:
        yield Text()
    for warning in view.counted[:WARNINGS_MAX]:
        yield Text(f"warning: {visible(warning)}", style="yellow")
    if (more := len(view.counted) - WARNINGS_MAX) > 0:
        yield Text(f"{count(more, 'more warning')} in the report", style="yellow")
    if view.void:
        said = f"void: {count(len(view.void), 'attempt')} at {count(view.void_trials, 'trial')}"
        yield Text(f"{said}, the first since {visible(view.void[0].reason)}", style="yellow")
    for one in view.skipped:
        yield Text(f"not tested: {visible(one.what)} ({visible(one.why)})", style="dim")


FORMS: Mapping[str, Callable[[Any], Iterator[RenderableType]]] = {  # in this order
    "heading": _heading,
    "versions": _versions,
    "answer": _answer,
    "why": _why,
    "costs": _sentence,
    "tradeoffs": _sentence,
    "stalls": _stalls,
    "claims": _claims,
    "sweeps": _sweeps,
    "ratios": _ratios,
    "results": _results,
    "warnings": _warnings,
}
