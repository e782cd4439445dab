"""What a fault is: something that is begun on a node at a moment, and undone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.systems.backups.base import Backup
from dbdyno.systems.base import TargetPlan

ELSEWHERE = "another fault keeps the server down"


class Stopped(Exception):
    """The user does not want to wait for it."""


class Process(Protocol):
    """The process of a server, as `systems.process.Guarded`."""

    def alive(self) -> bool: ...


class Struck(Protocol):
    """What faults do to a server that dyno has started, as `systems.process.Managed`."""

    pid: int | None

    @property
    def process(self) -> Process: ...
    def kill(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def start_again(self) -> None: ...
    def stop(self, *, discard: bool = False) -> bool: ...
    def run(self, database: str, statements: Sequence[str]) -> Sequence[Sequence[Any]]: ...


class Disk(Protocol):
    """The volume that a server's directory lies on, as `storage.Volume`."""

    is_on: bool
    keeps: bool  # whether an fsync reaches it

    @property
    def number(self) -> str: ...
    def cut(self) -> None: ...
    def release(self) -> None: ...
    def restore(self) -> None: ...
    def fail_flushes(self, failing: bool) -> None: ...
    def can_be_written(self) -> bool: ...
    def remount(self) -> None: ...


class Clock(Protocol):
    """The wall clock of one server, as `systems.preloaded.clock.SkewedClock`."""

    def skew(self, by_s: float) -> None: ...
    def unskew(self, by_s: float) -> None: ...


Way = tuple[str, str]  # of packets: from whom, to whom; nodes by name, and CLIENTS


@dataclass(frozen=True)
class Conditions:
    """What a network does to packets on one way; None: what it did before."""

    delay_s: float | None = None
    jitter_s: float | None = None  # up to so much more
    bytes_per_s: int | None = None
    loss: float | None = None  # share of packets
    cut: bool = False  # all packets

    def under(self, other: Conditions) -> Conditions:
        """These, and `other` on top of them."""
        own = {key: value for key, value in vars(other).items() if value is not None}
        return replace(self, **{**own, "cut": self.cut or other.cut})


class Paths(Protocol):
    """The network that the nodes of a cell's targets and its clients reach each other by."""

    def impose(self, key: Hashable, ways: Collection[Way], conditions: Conditions) -> None:
        """Puts conditions on ways until `lift`, which must be called as often as this was with a
        key. DynoError if that is impossible."""

    def lift(self, key: Hashable) -> None:
        """Ends what was imposed under a key; nothing if nothing was."""

    def relayed(self) -> frozenset[Way]:
        """All ways on which conditions can be imposed."""


class Direct:
    """Servers and clients that reach each other without a relay: nothing can be put on the way."""

    def impose(self, key: Hashable, ways: Collection[Way], conditions: Conditions) -> None:
        """Always a DynoError."""
        raise DynoError("no relay is on the way, so that no link can be cut or slowed down")

    def lift(self, key: Hashable) -> None:
        """Nothing was imposed."""

    def relayed(self) -> frozenset[Way]:
        """None."""
        return frozenset()


Step = Callable[[str], AbstractContextManager[None]]  # times a part of a drill


class Operations(Protocol):
    """What is done to the nodes of a topology as an operator does it. What they return goes to the
    journal."""

    def work(self, name: str, what: str) -> AbstractContextManager[None]:
        """Work on a node that is more than one of these: no switchover happens meanwhile."""

    def switch_over(self, step: Step) -> str:
        """Has a replica take over from a primary that is well. DynoError, and everything is as it
        was, if that cannot be without a loss; once a promotion has begun that fails, the old
        primary stays closed."""

    def must_be_replaceable(self, name: str) -> None:
        """DynoError if `replace` of a node, whose data are still there, would fail: it is the
        primary, or no other node could send it its data."""

    def replace(self, name: str, step: Step, check: Callable[[], None]) -> str:
        """Makes a node again whose process is dead and whose data are gone: of the data of
        another one, under its name, port and password. `check` raises to end it."""

    def detach(self, name: str, step: Step) -> str:
        """Makes a replica a server of its own. DynoError, and it follows as before, if that cannot
        be without a loss."""

    def rejoin(self, name: str, step: Step, check: Callable[[], None]) -> str:
        """Has such a server, whose data are thrown away, follow again."""

    def catch_up(self, name: str) -> None:
        """Returns once a node that was started again has what the others have committed by now."""


class Names(Protocol):
    """How clients find nodes by names. DynoError where the name server refuses."""

    def leave(self, node: str) -> None:
        """A node's machine is gone: its address is silent from now on."""

    def register(self, node: str) -> None:
        """Another machine, with another address, has the node's name from now on."""


@dataclass
class Node:
    """A server and what faults must know of it. `lock`: one is begun or undone at a time. `others`:
    the names of the target's other nodes."""

    name: str
    server: Struck
    database: str
    paths: Paths = field(default_factory=Direct)
    others: tuple[str, ...] = ()
    disk: Disk | None = None  # None: it has none of its own
    stopped: Callable[[], bool] = lambda: False  # whether the user wants to stop now
    is_fenced: Callable[[], bool] = lambda: False  # whether a failover has killed it
    lock: threading.Lock = field(default_factory=threading.Lock)
    clock: Clock | None = None  # None: it has that of the machine
    is_down: bool = False  # whether a fault has ended the server, and is not undone
    operations: Operations | None = None  # None: it is alone
    names: Names | None = None  # None: clients know its address
    backups: list[Backup] = field(default_factory=list)  # of this trial, the last one last

    def check(self) -> None:
        """Stopped, if the user does not want to wait any more."""
        if self.stopped():
            raise Stopped

    def must_run(self) -> None:
        """DynoError unless the server's process is there."""
        if not self.server.process.alive():
            raise DynoError(f"`{self.name}` does not run")

    def start_again(self) -> None:
        """Starts a server that has ended, on a disk that has power. DynoError if it does not come
        back."""
        if self.disk is not None and not self.disk.is_on:
            self.disk.restore()
        self.server.start_again()
        self.is_down = False


class FaultKind(Protocol):
    """One kind of fault. Both methods may raise DynoError; what they return goes to the journal."""

    name: str
    about: str  # one line for the reference
    exclusive: bool  # whether it waits for other faults on its node that are being begun or undone
    ends: bool  # whether it ends the server's process: to undo it is to start that again
    lasts: bool  # whether there is anything to undo
    apart: bool  # whether a node of it is none of its topology's: its data are of no trial
    works: bool  # whether it is an operator's work on its node, which a switchover waits for
    spans: bool  # whether it is of all nodes of its topology, whichever it is of
    heals: tuple[str, ...]  # faults that it ends on its node

    def begin(self, node: Node, fault: Fault) -> str:
        """Carries it out; returns once it is in force."""

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        """Ends it; `said` is what `begin` returned. Does nothing where it has ended already."""

    def recover(self) -> None:
        """Removes what processes of dyno that are gone have left of it on this machine."""

    def check(self, fault: Fault, target: TargetPlan) -> None:
        """DynoError, with the reason, if this machine cannot have such a fault of that target."""


class Fleeting:
    """The base of a fault of which nothing is left on the machine when its server is gone."""

    exclusive = True
    ends = False
    lasts = False
    apart = False
    works = False
    spans = False
    heals: tuple[str, ...] = ()

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        """Nothing is left to undo."""
        return ""

    def recover(self) -> None:
        """The server's guardian has removed it."""

    def check(self, fault: Fault, target: TargetPlan) -> None:
        """Every machine can have it."""
