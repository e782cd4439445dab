"""A trial that ends when it is steady: when to look, and what was found.

Looks cost CPU beside the load, and each is a chance to find by luck what is not there; so they come
at 10 s and then each time the trial has become a tenth longer, 50 of them in half an hour. What
steady means is not known here: `Judge` is given by who may know (`cli`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from dbdyno.spec.measuring import STEADY_S
from dbdyno.store.histogram import Tagged
from dbdyno.store.steady import Event, Part, part
from dbdyno.store.trace import TICK_S

# Commits of all groups in each tick of the measured phase -> seconds from which on they are steady
# and known well enough; None: not yet.
Judge = Callable[[Sequence[int]], float | None]

LONGER = 1.1


class Steadiness:
    """Of one trial. Told every event of the engine."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._ticks: list[int] = []
        self._next_s = STEADY_S
        self.from_s: float | None = None  # on the trial's clock

    def is_enough(self, event: Event) -> bool:
        """Whether the trial may end after this event: true once."""
        if event.get("event") != "interval" or event.get("phase") != "measure":
            return False
        ticks = [group["ticks"] for group in event["groups"].values()]
        self._ticks += map(sum, zip(*ticks, strict=True))
        length_s = len(self._ticks) * TICK_S
        if self.from_s is not None or length_s < self._next_s - TICK_S / 2:
            return False
        self._next_s = length_s * LONGER
        self.from_s = self._judge(self._ticks)
        return self.from_s is not None

    def part(
        self, events: Sequence[Event], lines: Sequence[Tagged]
    ) -> tuple[Part | None, tuple[str, ...]]:
        """The steady part of a trial that has ended with these events, and this log of histograms.
        None, and why all of it counts, where there is none: it is looked at once more."""
        if self.from_s is None and len(self._ticks) * TICK_S >= STEADY_S - TICK_S / 2:
            self.from_s = self._judge(self._ticks)
        if self.from_s is not None:
            with contextlib.suppress(LookupError):
                return part(events, lines, self.from_s), ()
        measured_s = next(e["measured_s"] for e in reversed(events) if e.get("event") == "end")
        return None, (
            f"it never became steady: all {measured_s:,.0f} s of measured time count, whatever"
            " drifts or changes in them; see `duration`",
        )
