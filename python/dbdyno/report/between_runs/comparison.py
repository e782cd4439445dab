"""Two runs side by side in the terminal: what changed, a table a metric, and a sentence.

The ratio is marked *unblocked* wherever it is alone; a verdict has the interval that it was read
off next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.between_runs.judging import a_month
from dbdyno.analysis.between_runs.types import (
    BETTER,
    NOT_CLEAR,
    NOT_JUDGED,
    SUSPECTED,
    WORSE,
    Compared,
    LeftOut,
    Row,
)
from dbdyno.analysis.types import Ratio
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import names, numbers
from dbdyno.wording.numbers import MISSING, percent, sig3
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import times
from dbdyno.wording.visible import visible

ROWS_MAX = 40  # of a table; --json has all of them
LISTED_MAX = 8
_STYLE = {BETTER: "green", SUSPECTED: "yellow", WORSE: "red", NOT_CLEAR: "dim"}
_RATES = ("transactions_per_s", "operations_per_s", "rate_max_per_s", "rows_per_s")


def compared_text(compared: Compared, plan: Plan) -> RenderableType:
    """What `dyno compare` prints; `plan` is B's, whose words are used."""
    head = f"A: {visible(compared.a)}\nB: {visible(compared.b)}"
    parts: list[RenderableType] = [Text(head)]
    if compared.changed:
        parts += lines("changed from A to B", compared.changed)
    else:
        parts.append(Text("changed from A to B: nothing that is recorded", style="dim"))
    for grid in grids(compared, plan):
        parts += [Text(), _table(grid)]
    parts += [Text(), Text(sentence(compared, plan), style="bold")]
    if compared.judged:
        parts.append(Text(verdicts(compared)))
    else:
        parts.append(Text(f"No verdict: {visible(compared.unjudged)}.", style="yellow"))
    parts += [Text(f"warning: {visible(one)}", style="yellow") for one in compared.warnings]
    parts += left_out_lines(compared.left_out)
    return Group(*parts)


def sentence(compared: Compared, plan: Plan) -> str:
    """The ratio of the first metric in words: B is 1.08 times as fast as A (unblocked; ...)."""
    metric = compared.rows[0].metric
    rows = [row for row in compared.rows if row.metric == metric]
    known = names.describe(metric, names.groups_of(plan))
    ratios = sorted(row.ratio for row in rows if row.ratio is not None and row.cells == 1)
    if not ratios:
        return f"The ratio of B to A in {known.column} is not estimable: {rows[0].problem}."
    edges = _told(rows[0]) if len(rows) == 1 else ()
    ends = dict.fromkeys((numbers.ratio(ratios[0], *edges), numbers.ratio(ratios[-1], *edges)))
    ratio, over = " to ".join(ends), ""
    if rows[0].cells > 1 and rows[0].ratio is not None:
        ratio = numbers.ratio(rows[0].ratio, *_told(rows[0]))
        between = f": {' to '.join(ends)}" if len(ends) > 1 else ""
        over = f"mean over {rows[0].cells} cells{between}; "
    fast = any(metric == name or metric.endswith(f".{name}") for name in _RATES)
    group = f" in {visible(known.group)}" if known.group else ""
    text = f"B is {ratio} times as fast as A{group}"
    if not fast:
        text = f"{known.column} of B is {ratio} times that of A"
    return f"{text} ({over}unblocked; {_spread(rows)})"


def _told(row: Row) -> tuple[float, ...]:
    """What the ratio of a row was estimated from."""
    return () if row.verdict in (NOT_JUDGED, NOT_CLEAR) else (1.0,)


def lines(what: str, every: Sequence[str]) -> list[RenderableType]:
    """A short list in one line, a longer one with a line each; the rest counted."""
    shown = [visible(one).replace(" -> ", " → ") for one in every[:LISTED_MAX]]
    more = len(every) - len(shown)
    if len(every) == 1:
        return [Text(f"{what}: {shown[0]}")]
    tail = [Text(f"  and {more} more")] if more else []
    return [Text(f"{what}:"), *(Text(f"  {one}") for one in shown), *tail]


def left_out_lines(left_out: Sequence[LeftOut]) -> list[RenderableType]:
    """What is not used, with the reasons; things with one reason together."""
    reasons: dict[str, list[str]] = {}
    for one in left_out:
        reasons.setdefault(one.why, []).append(one.what)
    found: list[RenderableType] = []
    for why, things in list(reasons.items())[:LISTED_MAX]:
        first = ", ".join(visible(thing) for thing in things[:3])
        more = f" and {len(things) - 3} more" if len(things) > 3 else ""
        found.append(Text(f"skipped: {first}{more}: {visible(why)}", style="dim"))
    if (more_reasons := len(reasons) - LISTED_MAX) > 0:
        found.append(Text(f"skipped: more, for {more_reasons} other reasons (--json)", style="dim"))
    return found


def _spread(rows: Sequence[Row]) -> str:
    shown = rows[:1] if rows[0].cells > 1 else rows
    spreads = sorted(row.spread for row in shown if row.spread is not None)
    if not spreads:
        return "spread between runs not known"
    ends = [percent(float(f"{share:.2g}")) for share in (spreads[0], spreads[-1])]
    span = ends[0] if ends[0] == ends[1] else f"{ends[0].removesuffix(' %')} to {ends[1]}"
    return f"between-run spread ±{span}"


@dataclass(frozen=True)
class Grid:
    """A metric's table: heads, and rows of cells with their style; words are left, numbers right.
    `more` rows are not shown."""

    title: str
    heads: tuple[str, ...]
    words: frozenset[str]  # heads of columns that hold words
    rows: tuple[tuple[tuple[str, str], ...], ...]
    more: int


def grids(compared: Compared, plan: Plan) -> list[Grid]:
    """The tables, one a metric; `plan` is B's, whose words are used."""
    metrics = dict.fromkeys(row.metric for row in compared.rows)
    return [
        _grid(metric, [row for row in compared.rows if row.metric == metric], plan, compared)
        for metric in metrics
    ]


def _grid(metric: str, rows: Sequence[Row], plan: Plan, compared: Compared) -> Grid:
    named = any(row.at for row in rows)
    last = ("",) if any(row.problem for row in rows) else ()
    if compared.judged:
        reference = ("B/reference",) if _referred(compared) else ()
        last = ("B/last runs", *reference, "verdict")
    drawn = []
    for row in rows[:ROWS_MAX]:
        at = f"{row.cells} cells" if row.cells > 1 else level_text.levels(plan, row.at)
        ratio = times(row.ratio, *_told(row))
        cells = [(at, "")] if named else []
        cells += [(sig3(row.a), ""), (sig3(row.b), ""), (ratio, "bold")]
        drawn.append((*cells, *_judgement(row, compared)))
    return Grid(
        names.describe(metric, names.groups_of(plan)).column,
        (*(("at",) if named else ()), "A", "B", "B/A", *last),
        frozenset(("at", "verdict", "")),
        tuple(drawn),
        max(0, len(rows) - ROWS_MAX),
    )


def _table(grid: Grid) -> Table:
    table = Table(
        title=Text(visible(grid.title), style="bold"),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for head in grid.heads:
        if head in grid.words:
            table.add_column(head, overflow="fold" if head == "at" else "ellipsis")
        else:
            table.add_column(head, justify="right", no_wrap=True)
    for row in grid.rows:
        table.add_row(*(Text(visible(text), style=style) for text, style in row))
    if grid.more:
        table.caption = f"{grid.more} more rows with --json"
    return table


def _judgement(row: Row, compared: Compared) -> list[tuple[str, str]]:
    if not compared.judged:
        return [(row.problem, "yellow")] if row.problem else []
    referred = _referred(compared)
    if row.estimate is None:
        return [(MISSING, "")] * (1 + referred) + [(row.problem, "yellow")]
    words = f"{row.verdict}, but small" if row.small else row.verdict
    return [
        (_against(row.estimate), ""),
        *([(_against(row.reference), "")] if referred else []),
        (words, "" if row.small else _STYLE.get(row.verdict, "")),
    ]


def _referred(compared: Compared) -> bool:
    return any(row.reference for row in compared.rows)


def _against(ratio: Ratio | None) -> str:
    """`0.90x (0.84-0.97)`."""
    if ratio is None:
        return MISSING
    interval = numbers.interval(ratio.ci_low, ratio.ci_high, 1.0)
    return f"{times(ratio.ratio, 1.0)} ({interval})"


def verdicts(compared: Compared) -> str:
    """How many rows got which verdict, and what they were judged by."""
    counts: dict[str, int] = {}
    for row in compared.rows:
        words = f"{row.verdict}, but small" if row.small else row.verdict or "not judged"
        counts[words] = counts.get(words, 0) + 1
    said = ", ".join(f"{words} in {number}" for words, number in counts.items())
    said = said[:1].upper() + said[1:]
    levels = {row.estimate.level for row in compared.rows if row.estimate}
    runs = f"{visible(compared.before[0])} to {visible(compared.before[-1])}"
    number = len(compared.before)
    text = (
        f"{said} of {count(len(compared.rows), 'row')}, by the {number} runs before B ({runs}):"
        f" their last ones{_reference(compared)}.\nThe rows share one error budget: intervals"
        " at up to"
        f" {percent(max(levels))}."
    )
    if compared.matters:
        text += f" Small: up to {percent(compared.matters)}."
    if seen := [row.seen for row in compared.rows if row.seen is not None]:
        ends = dict.fromkeys(percent(float(f"{one:.2g}")) for one in (min(seen), max(seen)))
        text += f" Changes seen in 80 % of runs: from {' to '.join(ends)}, by row."
    if any(row.verdict in (SUSPECTED, WORSE) for row in compared.rows):
        suspected, confirmed = a_month(number)
        text += (
            "\nSuspected is what one run shows, worse what a second one in turn confirms. By"
            f" chance, with a run each night: at most {suspected:.2g} a month are suspected and"
            f" {confirmed:.2g} confirmed."
        )
    return text


def _reference(compared: Compared) -> str:
    if not _referred(compared):
        return ""
    if compared.reference:
        return f", and the reference {', '.join(map(visible, compared.reference))}"
    return ", and as reference the first ones at the best level"
