"""A run as it goes: a line an interval in sysbench's shape, a bar over trials."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dbdyno import diskfiles
from dbdyno.cli.terminal.console import Shown
from dbdyno.cli.terminal.streams import shown
from dbdyno.execute.engine.job import Event
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.record import TrialRecord
from dbdyno.store.text import files


class Eta:
    """How long the rest will take: what trials have really cost, overheads included.

    Until a trial is done it is the plan's own arithmetic, which knows no overheads: a lower bound,
    and printed as such.
    """

    def __init__(self, plan: Plan, done: set[str]) -> None:
        self._cells = plan.cells
        self._left = [trial for trial in plan.trials if trial.id not in done]
        self._begun = time.monotonic()
        self._finished_s = 0.0  # net length of the trials finished by us

    def finish(self, trial_id: str) -> None:
        """A trial is done."""
        for trial in self._left:
            if trial.id == trial_id:
                self._finished_s += self._net_s(trial)
        self._left = [trial for trial in self._left if trial.id != trial_id]

    def text(self) -> str:
        """`about 3 min left`."""
        net_left_s = sum(self._net_s(trial) for trial in self._left)
        if self._finished_s == 0:
            least = "at most" if self._open_ended() else "at least"
            return f"{least} {duration(net_left_s)} left"
        factor = (time.monotonic() - self._begun) / self._finished_s
        return f"about {duration(net_left_s * factor)} left"

    def _open_ended(self) -> bool:
        """Whether only a limit is known about some trial: it searches for a rate, or ends when it
        is steady."""
        cells = {trial.cell: self._cells[trial.cell] for trial in self._left}.values()
        return any(cell.until_steady or estimate.probes_max(cell) > 1 for cell in cells)

    def _net_s(self, trial: TrialPlan) -> float:
        return estimate.trial_s(self._cells[trial.cell])


class Live:
    """A Listener that draws on stderr and keeps `run.log`. Quiet when stderr is not a terminal,
    except for one line a trial."""

    def __init__(self, plan: Plan, done: set[str], log: Path, *, verbose: bool) -> None:
        self._plan = plan
        with files.explained(log, log.parent):
            self._log = diskfiles.opened_text(log, "a")
        self._console = Shown(stderr=True)
        self._intervals = verbose or self._console.is_terminal
        self._eta = Eta(plan, done)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[eta]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task(
            "trials", total=len(plan.trials), completed=len(done), eta=self._eta.text()
        )
        self._sessions: dict[str, int] = {}
        self._loading: tuple[str, float] = ("", 0.0)

    def __enter__(self) -> Live:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        with contextlib.suppress(OSError):
            self._log.close()

    # ---- Listener

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None:
        self._sessions = {group.name: group.sessions for group in cell.groups}
        levels = " ".join(f"{name}={level}" for name, level in cell.levels.items())
        again = f" (attempt {attempt})" if attempt > 1 else ""
        count = len(self._plan.trials)
        self.say(f"trial {trial.position}/{count}, block {trial.block}: {levels}{again}")

    def on_event(self, event: Event) -> None:
        kind = event["event"]
        if kind == "interval" and self._intervals:
            for name, group in event["groups"].items():
                self._print(interval_line(event, name, group, self._sessions))
        elif kind == "progress" and self._intervals:
            self._on_load(event)
        elif kind == "warning":
            self.say(f"warning: {event['message']}")
        elif kind == "error":
            self.say(f"error {event['code']} in {event['group']}: {event['message']}")
        elif kind == "outage" and event.get("end_s") is None:
            self.say(f"{event['group']} lost a connection: {event['cause']}")

    def on_record(self, record: TrialRecord, *, over: bool) -> None:
        if over:
            self._eta.finish(record.id)
            self._progress.advance(self._task)
        if record.status == "complete":
            shown = "  ".join(_headline(record.metrics, record.bounds))
            self.say(
                f"  {shown}"
                + f"  ({counted(len(record.warnings), 'warning')})" * bool(record.warnings)
            )
        else:
            self.say(f"  void: {record.void_reason}")
        self._progress.update(self._task, eta=self._eta.text())

    def say(self, message: str) -> None:
        self._note(message)
        self._print(message)

    def on_failure(self, what: str) -> None:
        self._note(f"error: {what}")  # the terminal has it as the last word
        self._print("failed: stopping servers and restoring settings")

    # ---- inside

    def _note(self, message: str) -> None:
        stamp = time.strftime("%H:%M:%S")
        with contextlib.suppress(OSError):  # a full disk: what matters of it ends the run elsewhere
            self._log.write(shown(f"{stamp} {message}\n"))
            self._log.flush()

    def _on_load(self, event: Event) -> None:
        table, printed = self._loading
        done = event["rows"] >= event["rows_total"]
        if not done and table == event["table"] and time.monotonic() - printed < 1:
            return
        self._loading = (event["table"], time.monotonic())
        unit = event.get("unit", "rows")
        self._print(f"  {event['table']}: {event['rows']:,} of {event['rows_total']:,} {unit}")

    def _print(self, message: str) -> None:
        self._console.print(message, markup=False, soft_wrap=True)


def interval_line(event: Event, name: str, group: dict[str, Any], sessions: dict[str, int]) -> str:
    """One group's interval as sysbench prints it, so that eyes and scripts know their way."""
    length_s = event["length_s"]
    latency = group.get("latency") or {}
    p95_ns = latency.get("p95_ns")
    p95 = f"{p95_ns / 1e6:.2f}" if p95_ns is not None else "-"
    prefix = f"{name}: " if len(event["groups"]) > 1 else ""
    warm = " (warm-up)" if event["phase"] == "warmup" else ""
    open_loop = group.get("open")
    waiting = _open_part(open_loop, length_s) if open_loop else ""
    return (
        f"[ {event['t_s']:.0f}s ] {prefix}thds: {sessions.get(name, 0)} "
        f"tps: {group['transactions'] / length_s:.2f} qps: {group['operations'] / length_s:.2f} "
        f"lat (ms,95%): {p95} err/s: {group['errors'] / length_s:.2f} "
        f"lost: {group['lost']}{waiting}{warm}"
    )


def _open_part(open_loop: dict[str, Any], length_s: float) -> str:
    """What an open loop has besides: arrivals, those that wait, and response time."""
    response_ns = (open_loop.get("response") or {}).get("p95_ns")
    response = f"{response_ns / 1e6:.2f}" if response_ns is not None else "-"
    return (
        f" due/s: {open_loop['due'] / length_s:.2f} backlog: {open_loop['backlog']}"
        f" resp (ms,95%): {response}"
    )


_BOUNDS = {"": "", AT_LEAST: ">= ", AT_MOST: "< "}  # as reports have them, in plain text


def _headline(metrics: Any, bounds: Mapping[str, str]) -> list[str]:
    """tps and p95 of each group, for the line that a finished trial leaves; of an open loop its
    response, and what a search found."""
    shown = []
    for name, value in metrics.items():
        prefix, _, metric = name.rpartition(".")
        label = f"{prefix}." if prefix else ""
        least = _BOUNDS[bounds.get(name, "")]
        if metric == "transactions_per_s":
            shown.append(f"{label}tps {value:,.1f}")
        elif metric == "rate_max_per_s":
            shown.append(f"{label}max rate {least}{value:,.1f}/s")
        elif metric == "response_ms_p95":
            shown.append(f"{label}response p95 {least}{_ms(value)} ms")
        elif metric == "service_ms_p95":
            shown.append(f"{label}p95 {_ms(value)} ms")
    return shown


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A length of time for people: 45 s, 12 min, 3 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def counted(number: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
