"""A run as it goes: kept in `run.log`, and shown on stderr in as much detail as was asked for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno import diskfiles
from dbdyno.cli.running.detail import Detail
from dbdyno.cli.running.watching.lines import Lines, Silent, Stamped
from dbdyno.cli.running.watching.panel import Panel
from dbdyno.cli.running.watching.text import event_line, record_line, trial_line
from dbdyno.cli.terminal.console import Shown
from dbdyno.cli.terminal.streams import shown
from dbdyno.execute.engine.job import Event
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.record import TrialRecord
from dbdyno.store.text import files


class Live:
    """A Listener. See the module."""

    def __init__(
        self, plan: Plan, records: Sequence[TrialRecord], log: Path, detail: Detail
    ) -> None:
        """`records`: of trials that are over already."""
        self._plan = plan
        with files.explained(log, log.parent):
            self._log = diskfiles.opened_text(log, "a")
        self._screen = _screen(plan, records, detail)

    def __enter__(self) -> Live:
        self._screen.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._screen.__exit__(*error)
        with contextlib.suppress(OSError):
            self._log.close()

    # ---- Listener

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None:
        line = trial_line(self._plan, trial, cell, attempt)
        self._note(line)
        self._screen.trial(trial, cell, line)

    def on_event(self, event: Event) -> None:
        line = event_line(event)
        if line:
            self._note(line)
        self._screen.event(event, line)

    def on_record(self, record: TrialRecord, *, over: bool) -> None:
        line = record_line(record)
        self._note(f"  {line}")
        self._screen.record(record, line, over=over)

    def say(self, message: str) -> None:
        self._note(message)
        self._screen.say(message)

    def on_failure(self, what: str) -> None:
        self._note(f"error: {what}")  # the terminal has it as the last word
        self._screen.say("failed: stopping servers and restoring settings")

    # ---- inside

    def _note(self, message: str) -> None:
        stamp = time.strftime("%H:%M:%S")
        with contextlib.suppress(OSError):  # a full disk: what matters of it ends the run elsewhere
            self._log.write(shown(f"{stamp} {message}\n"))
            self._log.flush()


def _screen(plan: Plan, records: Sequence[TrialRecord], detail: Detail) -> Silent:
    console = Shown(stderr=True)
    if detail is Detail.NONE:
        return Silent()
    if detail is Detail.LINES:
        return Lines(console, plan, records)
    return Panel(console, plan, records) if console.is_terminal else Stamped(console)
