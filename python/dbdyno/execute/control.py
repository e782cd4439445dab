"""Signals of a run: Ctrl-C once ends after this trial, twice now; SIGTERM now; SIGHUP never.

A lost terminal must not lose a night's work, and an impatient Ctrl-C must not lose a trial. While
nothing is measured (servers start, data is loaded) there is no trial to wait for: once is now.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from types import FrameType
from typing import Protocol


class Stoppable(Protocol):
    """What is waited for, such as a job of the engine."""

    def stop(self) -> None:
        """Asks it to end now. Called from a signal's handler, perhaps more than once."""


class Interrupted(Exception):
    """The user wants to stop now; what is complete is on disk."""


class Control:
    """What the user asked for so far. A context manager that installs the handlers."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._asked = 0
        self._in_trial = False
        self._job: Stoppable | None = None
        self._saved: dict[int, object] = {}

    @property
    def stop_after_trial(self) -> bool:
        """Whether no further trial should begin."""
        return self._asked >= 1

    @property
    def stop_now(self) -> bool:
        """Whether what is under way should not be waited for."""
        return self._asked >= 2 or (self._asked >= 1 and not self._in_trial)

    def __enter__(self) -> Control:
        for number, handler in (
            (signal.SIGINT, self._on_signal),
            (signal.SIGTERM, self._on_signal),
            (signal.SIGHUP, signal.SIG_IGN),
        ):
            self._saved[number] = signal.signal(number, handler)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._saved.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def trial(self):  # type: ignore[no-untyped-def]
        """While inside, a first Ctrl-C waits: a trial is being measured or recorded."""
        self._in_trial = True
        try:
            yield
        finally:
            self._in_trial = False

    @contextlib.contextmanager
    def watching(self, job: Stoppable):  # type: ignore[no-untyped-def]
        """While inside, a second Ctrl-C reaches this job."""
        self._job = job
        try:
            if self.stop_now:
                job.stop()
            yield job
        finally:
            self._job = None

    def check(self) -> None:
        """Raises Interrupted when the user wants to stop now; called between slow steps."""
        if self.stop_now:
            raise Interrupted

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        told = self.stop_now
        self._asked = max(2, self._asked + 1) if number == signal.SIGTERM else self._asked + 1
        # The signal may have come in the middle of a write: then there is no second one.
        with contextlib.suppress(RuntimeError, OSError):
            if not self.stop_now:
                self._say("stopping after this trial; Ctrl-C again stops now")
            elif not told:
                self._say("stopping now; complete trials are on disk")
        if not self.stop_now:
            return
        if self._job:
            self._job.stop()
        if self._asked > 3:
            raise Interrupted
