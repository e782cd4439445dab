"""What happens to a cluster, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.models.cluster.topology import Topology

EVENTS_MAX = 1000
LENGTH_MAX_S = 86_400.0


@dataclass(frozen=True)
class Event:
    """At one moment. `nodes`: whom it concerns, all at once."""

    at_s: float
    nodes: tuple[str, ...] = ()

    def amount(self) -> str:
        """What it comes with, as the end of a sentence."""
        return ""


@dataclass(frozen=True)
class Leave(Event):
    """A clean shutdown: the others are notified."""


@dataclass(frozen=True)
class Crash(Event):
    """The process is gone, without notice."""


@dataclass(frozen=True)
class Start(Event):
    """A process that was down begins again."""


@dataclass(frozen=True)
class Pause(Event):
    """The process is stopped (SIGSTOP, a frozen virtual machine); its connections stay open."""


@dataclass(frozen=True)
class Resume(Event):
    """It goes on."""


@dataclass(frozen=True)
class Bootstrap(Event):
    """An operator sets pc.bootstrap=yes there: the node's component is declared primary."""


@dataclass(frozen=True)
class Partition(Event):
    """Links between different groups are cut; members of no group are cut off from all."""

    groups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Loss(Event):
    """What `source` sends to `to` is lost; the other direction works."""

    source: str = ""
    to: str = ""


@dataclass(frozen=True)
class Heal(Event):
    """All links work again."""


@dataclass(frozen=True)
class Weigh(Event):
    """pc.weight is set at run time."""

    weight: int = 1

    def amount(self) -> str:
        """The weight."""
        return f" = {self.weight}"


@dataclass(frozen=True)
class Slow(Event):
    """A node applies at most so many write-sets a second; None: as fast as they come."""

    apply_per_s: float | None = None

    def amount(self) -> str:
        """The rate."""
        rate = self.apply_per_s
        return " applies what comes" if rate is None else f" applies {rate:g}/s"


@dataclass(frozen=True)
class Script:
    """Events in order of time, and when to stop."""

    events: tuple[Event, ...]
    until_s: float

    def __post_init__(self) -> None:
        if len(self.events) > EVENTS_MAX:
            raise ValueError(f"at most {EVENTS_MAX} events")
        if not 0 < self.until_s <= LENGTH_MAX_S:
            raise ValueError("a script is longer than nothing and at most a day")
        times = [event.at_s for event in self.events]
        if times != sorted(times) or (times and not 0 <= times[0] <= times[-1] <= self.until_s):
            raise ValueError("events must be in order of time, between 0 and the end")

    def check(self, topology: Topology) -> None:
        """KeyError names a node that the topology does not have."""
        for event in self.events:
            named = [*event.nodes]
            if isinstance(event, Partition):
                named += [name for group in event.groups for name in group]
            if isinstance(event, Loss):
                named += [event.source, event.to]
            for name in named:
                if name not in topology.members:
                    raise KeyError(name)


ACTIONS: Mapping[str, type[Event]] = {
    "leave": Leave,
    "crash": Crash,
    "start": Start,
    "pause": Pause,
    "resume": Resume,
    "bootstrap": Bootstrap,
    "partition": Partition,
    "loss": Loss,
    "heal": Heal,
    "weight": Weigh,
    "slow": Slow,
}
