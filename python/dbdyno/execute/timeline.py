"""What goes on within a trial, on its clock: 0 is the start of the measured time.

The clock is known once the engine is ready. Then what lasts as long as the trial begins (`Part`,
such as sampling), and each `Moment` is waited for in a thread of its own. At the engine's end parts
stop, and moments that have not come are cancelled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from dbdyno.execute.engine.job import Event


class TrialVoid(Exception):
    """The trial counts for nothing, for this reason."""


class Part(Protocol):
    """Something that lasts as long as a trial."""

    def start(self, measure_unix_s: float) -> None:
        """Begins; measuring starts at that time."""

    def stop(self) -> None:
        """Ends. Also called if it never began, and more than once."""


@dataclass(frozen=True)
class Moment:
    """Something that happens at second `at_s` of the measured time. `what` names it in messages;
    `action` gets the time at which measuring started, in Unix seconds."""

    at_s: float
    what: str
    action: Callable[[float], None]


class Timeline:
    """Of one run of the engine. `now` and `wait` are seams for tests."""

    def __init__(
        self,
        parts: Sequence[Part] = (),
        moments: Sequence[Moment] = (),
        *,
        now: Callable[[], float] = time.time,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._parts = parts
        self._moments = moments
        self._now = now
        self._wait = wait
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._came: list[Moment] = []
        self._errors: list[BaseException] = []

    def on_event(self, event: Event) -> None:
        """Hears what the engine says."""
        if event["event"] == "ready":
            self._start(event["measure_unix_s"])
        elif event["event"] == "end":
            self.stop()

    def _start(self, measure_unix_s: float) -> None:
        for part in self._parts:
            part.start(measure_unix_s)
        for moment in self._moments:
            arguments = (moment, measure_unix_s)
            thread = threading.Thread(target=self._run, args=arguments, name="moment", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, moment: Moment, measure_unix_s: float) -> None:
        left_s = measure_unix_s + moment.at_s - self._now()
        if self._wait(self._over, min(max(0.0, left_s), threading.TIMEOUT_MAX)):
            return
        self._came.append(moment)
        try:
            moment.action(measure_unix_s)
        except BaseException as error:  # of a thread: `check` raises it where it is heard
            self._errors.append(error)

    def stop(self) -> None:
        """Ends all parts; no further moment comes."""
        self._over.set()
        for part in self._parts:
            part.stop()

    def close(self) -> None:
        """Stops, and waits for the actions that are under way."""
        self.stop()
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """After `close`: raises what an action has raised; TrialVoid if a moment never came."""
        for error in self._errors:
            raise error
        for moment in self._moments:
            if moment not in self._came:
                raise TrialVoid(f"{moment.what} did not run: the trial ended before that moment")
