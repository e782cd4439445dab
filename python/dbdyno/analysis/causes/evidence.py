"""What moved: each sampled metric in question against the same metric otherwise.

One shape for three questions: in a stall against the rest of the trial, after a step against
before it, in the slower cell against the faster one. Middles are medians and spreads are median
absolute deviations (P. Rousseeuw, C. Croux, *Alternatives to the median absolute deviation*, JASA
88, 1993), so that one odd sample moves neither. Rules and ranks see nothing but this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dbdyno.analysis.estimates.estimate import MAD
from dbdyno.analysis.message import Message
from dbdyno.store.metrics.timeseries import Floats

STALL, STEP, DIFFERENCE = "stall", "step", "difference"

SPREAD_MIN = 0.05  # of the usual value: below that nothing counts as moved
SCORE_MAX = 100.0  # what was always 0 and is not now is infinitely far; this far will do


@dataclass(frozen=True)
class Moved:
    """A metric in question (`during`) and `otherwise`."""

    metric: str  # full name
    during: float
    otherwise: float
    peak: float  # the highest while in question
    low: float  # the lowest
    score: float  # how far it moved, in its own spreads; 0 to SCORE_MAX
    lag_s: float = 0.0  # where it moved most: so long after; negative: before
    # From just before to just after: how far a level went, how much was counted of a rate. And how
    # much that is in such a time otherwise.
    gained: float = 0.0
    expected: float = 0.0
    shifted: float | None = None  # its value at the lag, where that is not 0

    @property
    def most(self) -> float:
        """Its value where it moved most."""
        return self.during if self.shifted is None else self.shifted

    @property
    def factor(self) -> float:
        """How many times as much; a floor keeps it finite where the value was zero before."""
        floor = max(abs(self.otherwise), abs(self.during) / 1000, 1e-12)
        return self.during / floor


@dataclass(frozen=True)
class Evidence:
    """All that moved, and on what. `moved` by full name. `share`: throughput in question over that
    otherwise. `on_host`: the servers' machine is another one, and what is named `host.` is of it;
    `seen`: samples of the servers' machine are there."""

    question: str
    moved: Mapping[str, Moved]
    kinds: frozenset[str]  # of the targets
    sessions: int  # of all groups
    share: float
    length_s: float = 0.0  # of the stall
    seen: bool = True
    on_host: bool = False
    outages: int = 0  # connections lost
    faults: tuple[str, ...] = ()  # of the experiment, that struck servers then
    config: Mapping[str, str] = field(default_factory=dict)  # what the experiment sets
    here: str = Message("in_the_stall")
    there: str = Message("otherwise")

    def named(self, name: str) -> Iterator[Moved]:
        """A metric of every target (`status.Uptime`, `server.cpu_cores`) or of the servers' machine
        (`disk.util`)."""
        for moved in self.everywhere(name):
            if moved.metric == name and self.on_host and not name.startswith(_OF_SERVERS):
                continue  # of the generator's machine
            yield moved

    def everywhere(self, name: str) -> Iterator[Moved]:
        """A metric of every machine, the generator's too: either end sees the way between them."""
        for full, moved in self.moved.items():
            if f".{full}".endswith(f".{name}"):
                yield moved

    def get(self, name: str) -> Moved | None:
        """The one of them that moved most, or None where it was not sampled."""
        return max(self.named(name), key=lambda moved: moved.score, default=None)

    def during(self, name: str) -> float:
        """Its value in question; 0 where it was not sampled, so that a rule sees nothing in it."""
        moved = self.get(name)
        return moved.during if moved else 0.0

    def otherwise(self, name: str) -> float:
        """Its value otherwise, in the same manner."""
        moved = self.get(name)
        return moved.otherwise if moved else 0.0

    def gained(self, name: str) -> float:
        """What it gained beyond what it gains otherwise."""
        moved = self.get(name)
        return moved.gained - moved.expected if moved else 0.0

    def has(self, *names: str) -> bool:
        """Whether all of them were sampled."""
        return all(self.get(name) is not None for name in names)

    def states(self) -> Iterator[tuple[str, Moved]]:
        """Sessions by state, without the target's name."""
        for full, moved in self.moved.items():
            _, family, state = f".{full}".partition(".sessions.")
            if family:
                yield state, moved


_OF_SERVERS = ("status.", "sessions.", "server.", "state.", "generator.")


def spread(values: Floats) -> float:
    """How far values of shape (n,) usually lie from their median; 0 for none. What is mostly
    nothing and sometimes much (a counter of rare events) has the spread of its upper tail."""
    if not len(values):
        return 0.0
    middle = float(np.median(values))
    around = MAD * float(np.median(np.abs(values - middle)))
    tail = (float(np.quantile(values, 0.9)) - float(np.quantile(values, 0.1))) / 2.563
    return max(around, tail, SPREAD_MIN * abs(middle))


def score(during: float, otherwise: Floats) -> float:
    """How far a value lies from usual ones of shape (n,), in their spreads; 0 to SCORE_MAX."""
    if not len(otherwise):
        return 0.0
    return distance(during, float(np.median(otherwise)), spread(otherwise))


def distance(value: float, middle: float, usual: float) -> float:
    """How far a value lies from a middle in units of a spread >= 0; 0 to SCORE_MAX."""
    away = abs(value - middle)
    if away == 0.0:
        return 0.0
    return min(SCORE_MAX, away / usual) if usual > away / SCORE_MAX else SCORE_MAX
