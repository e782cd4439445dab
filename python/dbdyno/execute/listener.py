"""Events of a run for its listener: the terminal, a log, a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dbdyno.execute.engine.job import Event
from dbdyno.plan.types import Cell, TrialPlan
from dbdyno.store.record import TrialRecord


class Listener(Protocol):
    """Hears what happens. Called from the run's main thread only."""

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None:
        """A trial begins."""

    def on_event(self, event: Event) -> None:
        """A message of the engine."""

    def on_record(self, record: TrialRecord, *, over: bool) -> None:
        """An attempt is on disk, complete or void; `over` unless another one follows."""

    def say(self, message: str) -> None:
        """A sentence for the user and the run's log."""

    def on_failure(self, what: str) -> None:
        """The run will end with this error, once what it changed is restored: that may take long,
        or fail too."""


class Several:
    """Passes news on to several listeners, in their order."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = listeners

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None:
        """A trial begins."""
        for listener in self._listeners:
            listener.on_trial(trial, cell, attempt)

    def on_event(self, event: Event) -> None:
        """A message of the engine."""
        for listener in self._listeners:
            listener.on_event(event)

    def on_record(self, record: TrialRecord, *, over: bool) -> None:
        """An attempt is on disk."""
        for listener in self._listeners:
            listener.on_record(record, over=over)

    def say(self, message: str) -> None:
        """A sentence for the user and the run's log."""
        for listener in self._listeners:
            listener.say(message)

    def on_failure(self, what: str) -> None:
        """The run will end with this error."""
        for listener in self._listeners:
            listener.on_failure(what)
