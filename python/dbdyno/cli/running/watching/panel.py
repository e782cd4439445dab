"""A run on a terminal: one panel, drawn again in place, that goes when the run is over."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.under_way.so_far import Asked, Mean, SoFar
from dbdyno.cli.running.watching.eta import Eta
from dbdyno.cli.running.watching.lines import Silent
from dbdyno.cli.running.watching.text import (
    BOUNDS,
    headline_of,
    levels_of,
    loading_line,
    milliseconds,
)
from dbdyno.cli.terminal.console import Shown
from dbdyno.execute.engine.job import Event
from dbdyno.plan import level_text
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.record import TrialRecord
from dbdyno.wording import numbers
from dbdyno.wording.plurals import count

REFRESH_S = 0.25  # at most so often: the load generator may run meanwhile
CELLS_MAX = 16
RATIOS_MAX = 6
WARNINGS_MAX = 3


class Panel(Silent):
    """See the module. What is not of a trial stays above the panel, as lines."""

    def __init__(self, console: Shown, plan: Plan, records: Sequence[TrialRecord]) -> None:
        self._console = console
        self._plan = plan
        self._done = {record.id for record in records}
        self._eta = Eta(plan, self._done)
        self._so_far = SoFar(plan, records)
        self._table: RenderableType = Text()
        self._summarise()
        self._trial: TrialPlan | None = None
        self._cell: Cell | None = None
        self._heading = f"trial {len(self._done)}/{len(plan.trials)}"
        self._now = "starting"
        self._warnings: list[str] = []
        self._live = Live(
            self, console=console, transient=True, auto_refresh=False, redirect_stderr=False
        )
        self._drawn = 0.0

    def __enter__(self) -> Panel:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __rich__(self) -> RenderableType:
        """The current panel."""
        head = Text.assemble((self._heading, "bold"), f"  {self._eta.text()}")
        warned = [
            Text(line, style="yellow", no_wrap=True, overflow="ellipsis")
            for line in self._warnings[-WARNINGS_MAX:]
        ]
        if (more := len(self._warnings) - WARNINGS_MAX) > 0:
            warned.insert(0, Text(f"{count(more, 'earlier warning')}", style="yellow"))
        now = Text(self._now, no_wrap=True, overflow="ellipsis")
        return Group(Text(), head, now, self._table, *warned)

    # ---- news

    def trial(self, trial: TrialPlan, cell: Cell, line: str) -> None:
        self._trial, self._cell, self._heading = trial, cell, line
        self._now = "starting servers, preparing"
        self._draw(now=True)

    def event(self, event: Event, line: str) -> None:
        if line:
            self._warnings.append(line)
        elif event["event"] == "interval" and self._cell is not None:
            self._now = now_line(event, self._cell)
        elif event["event"] == "progress":
            self._now = f"loading {loading_line(event)}"
        else:
            return
        self._draw(now=bool(line))

    def record(self, record: TrialRecord, line: str, *, over: bool) -> None:
        levels = levels_of(self._plan.cells[record.cell])
        where = f"{record.id} ({levels})" if levels else record.id
        self._warnings += [f"warning: {where}: {said}" for said in record.warnings]
        if record.void_reason:
            self._warnings.append(f"{where}: {line}")
        self._so_far.add(record)
        if over:
            self._done.add(record.id)
            self._eta.finish(record.id)
        self._summarise()
        self._draw(now=True)

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    # ---- inside

    def _draw(self, *, now: bool) -> None:
        if now or time.monotonic() - self._drawn >= REFRESH_S:
            self._drawn = time.monotonic()
            self._live.refresh()

    def _summarise(self) -> None:
        """What changes with a trial only."""
        self._table = Group(*parts(self._plan, self._so_far))


def now_line(event: Event, cell: Cell) -> str:
    """`12 s of 30 s: tps 1,234.5  p95 0.31 ms`, of an interval."""
    if event["phase"] == "warmup":
        place = f"warming up, {max(0.0, cell.warmup_s + event['t_s']):.0f} s of {cell.warmup_s:g} s"
    else:
        most = "at most " if cell.until_steady else ""
        place = f"{event['t_s']:.0f} s of {most}{cell.duration_s:g} s"
    return f"{place}: {headline_of(event)}"


def parts(plan: Plan, so_far: SoFar) -> Iterator[RenderableType]:
    """Means and spreads by cell, then the ratios that are asked about."""
    yield _cells(plan, so_far)
    if asked := [(one, found) for one in so_far.asked if (found := so_far.ratio(one))]:
        yield Text()
        yield _ratios(asked)


def _cells(plan: Plan, so_far: SoFar) -> RenderableType:
    """Means and spreads of the cells that have some; else nothing."""
    table = Table(box=None, pad_edge=False)
    table.add_column("cell", overflow="ellipsis", no_wrap=True)
    table.add_column("trials", justify="right", no_wrap=True)
    for column in so_far.columns:
        table.add_column(column.title, justify="right", no_wrap=True)
        table.add_column("±", justify="right", no_wrap=True)
    begun = [cell for cell in plan.cells if so_far.trials(cell.index)]
    for cell in begun[:CELLS_MAX]:
        values = [_value(so_far.mean(cell.index, one.metric), one.metric) for one in so_far.columns]
        where = level_text.levels(plan, cell.levels) or "the only cell"
        trials = f"{so_far.trials(cell.index)} of {plan.blocks}"
        table.add_row(Text(where), trials, *(text for pair in values for text in pair))
    if len(begun) > CELLS_MAX:
        table.add_row(Text(f"{len(begun) - CELLS_MAX} more in the report", style="dim"))
    return table if begun else Text()


def _value(mean: Mean | None, metric: str) -> tuple[str, str]:
    """The mean, and its spread from trial to trial."""
    if mean is None:
        return "-", ""
    text = milliseconds(mean.mean) if "_ms_" in metric else f"{mean.mean:,.1f}"
    spread = "" if mean.spread is None else numbers.spread(mean.spread)
    return f"{BOUNDS.get(mean.bound, '')}{text}", spread


def _ratios(asked: Sequence[tuple[Asked, tuple[float, int]]]) -> RenderableType:
    table = Table(
        title=Text("so far, not judged", style="dim"),
        title_justify="left",
        box=None,
        pad_edge=False,
        show_header=False,
    )
    table.add_column(overflow="ellipsis", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    said = ""
    for one, (value, blocks) in asked[:RATIOS_MAX]:
        if one.say and one.say != said:
            table.add_row(Text(f"claimed: {one.say}"))
        said = one.say
        text = f"{numbers.ratio(value)}x" if one.right else f"{value:,.4g}"
        asks = f", claimed {one.claimed}" if one.claimed else ""
        shown = Text(f"  {one.text}", style="dim") if one.say else Text(one.text)
        table.add_row(shown, text, f"of {count(blocks, 'block')}{asks}")
    if len(asked) > RATIOS_MAX:
        table.add_row(Text(f"{len(asked) - RATIOS_MAX} more in the report", style="dim"))
    return table
