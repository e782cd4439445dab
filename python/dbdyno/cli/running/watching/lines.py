"""A run in lines on stderr: all of them with a bar, one a trial, or none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dbdyno.cli.running.watching.eta import Eta
from dbdyno.cli.running.watching.text import interval_line, loading_line
from dbdyno.cli.terminal.console import Shown
from dbdyno.execute.engine.job import Event
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.record import TrialRecord


class Silent:
    """Shows nothing. What others show, they add to it; `line` is the text of the news in `run.log`,
    too."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The run is over."""

    def trial(self, trial: TrialPlan, cell: Cell, line: str) -> None:
        """A trial begins."""

    def event(self, event: Event, line: str) -> None:
        """A message of the engine; `line` is empty where it only shows progress."""

    def record(self, record: TrialRecord, line: str, *, over: bool) -> None:
        """An attempt is on disk; `over` unless another one follows."""

    def say(self, line: str) -> None:
        """A sentence for the user."""


class Stamped(Silent):
    """For logs: a line a trial once it is over, with the time of day, and what must be known."""

    def __init__(self, console: Shown) -> None:
        self._console = console
        self._trial = ""

    def trial(self, trial: TrialPlan, cell: Cell, line: str) -> None:
        self._trial = line

    def event(self, event: Event, line: str) -> None:
        if line:
            self.say(f"{_stamp()} {line}")

    def record(self, record: TrialRecord, line: str, *, over: bool) -> None:
        self.say(f"{_stamp()} {self._trial}: {line}")

    def say(self, line: str) -> None:
        _print(self._console, line)


class Lines(Silent):
    """A line an interval in sysbench's shape; on a terminal a bar over trials below them."""

    def __init__(self, console: Shown, plan: Plan, records: Sequence[TrialRecord]) -> None:
        done = {record.id for record in records}
        self._console = console
        self._eta = Eta(plan, done)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[eta]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(
            "trials", total=len(plan.trials), completed=len(done), eta=self._eta.text()
        )
        self._sessions: dict[str, int] = {}
        self._loading: tuple[str, float] = ("", 0.0)

    def __enter__(self) -> Lines:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def trial(self, trial: TrialPlan, cell: Cell, line: str) -> None:
        self._sessions = {group.name: group.sessions for group in cell.groups}
        self.say(line)

    def event(self, event: Event, line: str) -> None:
        if line:
            self.say(line)
        elif event["event"] == "interval":
            for name, group in event["groups"].items():
                self.say(interval_line(event, name, group, self._sessions))
        elif event["event"] == "progress":
            self._load(event)

    def record(self, record: TrialRecord, line: str, *, over: bool) -> None:
        if over:
            self._eta.finish(record.id)
            self._progress.advance(self._task)
        self.say(f"  {line}")
        self._progress.update(self._task, eta=self._eta.text())

    def say(self, line: str) -> None:
        _print(self._console, line)

    def _load(self, event: Event) -> None:
        table, printed = self._loading
        done = event["rows"] >= event["rows_total"]
        if not done and table == event["table"] and time.monotonic() - printed < 1:
            return
        self._loading = (event["table"], time.monotonic())
        self.say(f"  {loading_line(event)}")


def _stamp() -> str:
    return time.strftime("%H:%M:%S")


def _print(console: Shown, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)
