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

from dbdyno.analysis.between_runs.types import (
    BETTER,
    NOT_CLEAR,
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
from dbdyno.wording.between_runs import comparison_text
from dbdyno.wording.numbers import MISSING, sig3
from dbdyno.wording.quantities import times
from dbdyno.wording.visible import visible

ROWS_MAX = 40  # of a table; --json has all of them
LISTED_MAX = 8
_STYLE = {BETTER: "green", SUSPECTED: "yellow", WORSE: "red", NOT_CLEAR: "dim"}


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
    parts += [Text(), Text(comparison_text.sentence(compared, plan), style="bold")]
    if compared.judged:
        parts.append(Text(comparison_text.verdicts(compared)))
    else:
        parts.append(Text(f"No verdict: {visible(compared.unjudged)}.", style="yellow"))
    if compared.claims:
        said = [comparison_text.claim(one) for one in compared.claims]
        parts += [Text(), *lines("claims, judged in each run alone", said)]
    parts += [Text(f"warning: {visible(one)}", style="yellow") for one in compared.warnings]
    parts += left_out_lines(compared.left_out)
    return Group(*parts)


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


@dataclass(frozen=True)
class Grid:
    """A metric's table: heads, and rows of cells with their style; words are left, numbers right.
    `note`: what explains a dash; `more` rows are not shown."""

    title: str
    heads: tuple[str, ...]
    words: frozenset[str]  # heads of columns that hold words
    rows: tuple[tuple[tuple[str, str], ...], ...]
    note: str
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
        reference = ("B/reference",) if comparison_text.referred(compared) else ()
        last = ("B/last runs", *reference, "verdict")
    drawn = []
    for row in rows[:ROWS_MAX]:
        at = f"{row.cells} cells" if row.cells > 1 else level_text.levels(plan, row.at)
        ratio = times(row.ratio, *comparison_text.told(row))
        cells = [(at, "")] if named else []
        cells += [(sig3(row.a), ""), (sig3(row.b), ""), (ratio, "bold")]
        drawn.append((*cells, *_judgement(row, compared)))
    return Grid(
        names.describe(metric, names.groups_of(plan)).column,
        (*(("at",) if named else ()), "A", "B", "B/A", *last),
        frozenset(("at", "verdict", "")),
        tuple(drawn),
        comparison_text.of_ratios(rows),
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
    more = f"{grid.more} more rows with --json" if grid.more else ""
    if captions := [one for one in (grid.note, more) if one]:
        table.caption = Text("\n".join(captions), style="dim")
        table.caption_justify = "left"
    return table


def _judgement(row: Row, compared: Compared) -> list[tuple[str, str]]:
    if not compared.judged:
        return [(row.problem, "yellow")] if row.problem else []
    referred = comparison_text.referred(compared)
    if row.estimate is None:
        return [(MISSING, "")] * (1 + referred) + [(row.problem, "yellow")]
    words = f"{row.verdict}, but small" if row.small else row.verdict
    return [
        (_against(row.estimate), ""),
        *([(_against(row.reference), "")] if referred else []),
        (words, "" if row.small else _STYLE.get(row.verdict, "")),
    ]


def _against(ratio: Ratio | None) -> str:
    """`0.90x (0.84-0.97)`."""
    if ratio is None:
        return "no reference yet"
    interval = numbers.interval(ratio.ci_low, ratio.ci_high, 1.0)
    return f"{times(ratio.ratio, 1.0)} ({interval})"
