"""One trial that ends when it is steady: when to test, and the findings. Tests cost CPU next to the
load, and each may find by chance what is not there; so they come once the least that must be steady
has been measured, and then each time the trial has become a tenth longer. What steady means is not
known here: `Judge` is given by who may know (`cli`).

The least is twice `min`: what comes back each `min` is in the number, and has been seen twice.
Where the experiment gives no `min`, what the servers do in the background raises it, as far as
`max` leaves room; what does not fit is reported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from dbdyno.experiment.workloads.measuring import CYCLES, MIN_S
from dbdyno.store.metrics.histogram import Tagged
from dbdyno.store.metrics.steady import Event, Part, part
from dbdyno.store.metrics.timeseries import TICK_S

# Commits of all groups in each tick of the measured phase, and the least length of a steady part in
# seconds -> seconds from which on they are steady and known well enough; None: not yet.
Judge = Callable[[Sequence[int], float], float | None]

LONGER = 1.1


class Cycles(Protocol):
    """What the servers do in the background (`background.Background`)."""

    def begin(self) -> None:
        """The measured phase begins."""

    def cycles(self) -> Mapping[str, float]:
        """Seconds after which it comes back, by name."""


class Steadiness:
    """Of one trial. Gets every event of the engine."""

    def __init__(
        self, judge: Judge, min_s: float | None, max_s: float, background: Cycles | None = None
    ) -> None:
        """`min_s`: as the experiment gives it; `max_s`: the most that is measured."""
        self._judge = judge
        self._fixed = min_s is not None
        self._max_s = max_s
        self._background = background
        self._ticks: list[int] = []
        self._least_s = CYCLES * (min_s or MIN_S)
        self._next_s = self._least_s
        self._slower: Mapping[str, float] = {}
        self.from_s: float | None = None  # on the trial's clock

    @property
    def _length_s(self) -> float:
        return len(self._ticks) * TICK_S

    def is_enough(self, event: Event) -> bool:
        """Whether the trial may end after this event: true once."""
        if event.get("event") != "interval" or event.get("phase") != "measure":
            return False
        if not self._ticks and self._background:
            self._background.begin()
        ticks = [group["ticks"] for group in event["groups"].values()]
        self._ticks += map(sum, zip(*ticks, strict=True))
        if self.from_s is not None or self._length_s < self._next_s - TICK_S / 2:
            return False
        self._next_s = self._length_s * LONGER
        self.from_s = self._look()
        return self.from_s is not None

    def _look(self) -> float | None:
        """From when on it is steady, and has been for as long as the servers' cycles ask for."""
        from_s = self._judge(self._ticks, self._least_s)
        if from_s is None:
            return None
        contained_s = (self._length_s - from_s) / CYCLES
        cycles = self._background.cycles() if self._background else {}
        self._slower = {name: s for name, s in cycles.items() if s > contained_s}
        wanted = [s for s in self._slower.values() if CYCLES * s <= self._max_s]
        if self._fixed or not wanted:
            return from_s
        self._least_s = CYCLES * max(wanted)
        self._next_s = max(self._next_s, self._least_s)
        return None

    def part(
        self, events: Sequence[Event], lines: Sequence[Tagged]
    ) -> tuple[Part | None, tuple[str, ...]]:
        """The steady part of a trial that has ended with these events, and this log of histograms.
        None, and why all of it counts, if there is none: it is tested once more. And what the
        servers do that is too slow to be in it."""
        if self.from_s is None and self._length_s >= self._least_s - TICK_S / 2:
            self.from_s = self._look()
        if self.from_s is not None:
            with contextlib.suppress(LookupError):
                return part(events, lines, self.from_s), self._missing()
        measured_s = next(e["measured_s"] for e in reversed(events) if e.get("event") == "end")
        return None, (
            f"it never became steady: all {measured_s:,.0f} s of measured time count, whatever"
            " drifts or changes in them; see `duration`",
        )

    def _missing(self) -> tuple[str, ...]:
        contained_s = (self._length_s - (self.from_s or 0.0)) / CYCLES
        return tuple(
            f"{name} after about {seconds:,.0f} s, and nothing slower than {contained_s:,.0f} s is"
            " in this number; see `duration`"
            for name, seconds in self._slower.items()
        )
