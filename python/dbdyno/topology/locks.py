"""Who works on which node of a topology: on one, or on all of them.

A node's lock is held while it is started, or its place among the others changes. Work of an
operator, such as an upgrade, is more than that: between its steps the node is free for a failover,
which nobody plans. A planned change of roles takes all nodes, at a moment at which nobody holds one
or works on one, and never waits while it has them for somebody who waits for it.

A thread that waits holds no node, and all nodes are taken at once or not at all. So threads cannot
wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

WHOLE = ""  # in place of a name: all nodes


@dataclass(frozen=True)
class _Use:
    """What a thread does to a node."""

    thread: int
    name: str
    what: str


@dataclass(frozen=True)
class NodeLock:
    """The lock of one node, for one use: a context that can be entered again and again."""

    locks: NodeLocks
    name: str
    what: str

    def __enter__(self) -> None:
        self.locks.take(self.name, self.what)

    def __exit__(self, *raised: object) -> None:
        self.locks.leave(self.name)


class NodeLocks:
    """Of the nodes of one topology, by name. What a thread has it may take again."""

    def __init__(self) -> None:
        self._held: list[_Use] = []
        self._works: list[_Use] = []
        self._changed = threading.Condition()

    def of(self, name: str, what: str) -> NodeLock:
        """The lock of a node, for what is done there: `a start`."""
        return NodeLock(self, name, what)

    def take(self, name: str, what: str) -> bool:
        """Takes a node once no other thread has it; whether that had to be waited for."""
        with self._changed:
            waits = self._is_held_elsewhere(name)
            self._must_hold_no_other(name)
            self._changed.wait_for(lambda: not self._is_held_elsewhere(name))
            self._held.append(_Use(threading.get_ident(), name, what))
        return waits

    def leave(self, name: str) -> None:
        """Gives a node back that this thread has taken."""
        with self._changed:
            self._held.remove(next(use for use in self._mine(self._held) if use.name == name))
            self._changed.notify_all()

    @contextmanager
    def if_free(self, name: str, what: str) -> Iterator[bool]:
        """Holds a node unless another thread does; whether it is held."""
        with self._changed:
            is_free = not self._is_held_elsewhere(name)
            if is_free:
                self.take(name, what)
        try:
            yield is_free
        finally:
            if is_free:
                self.leave(name)

    @contextmanager
    def all_if_idle(self, what: str) -> Iterator[bool]:
        """Holds all nodes unless another thread holds one or works on one; whether they are held.
        Nobody begins to work on one meanwhile."""
        with self._changed:
            is_idle = not self.others()
            if is_idle:
                self.take(WHOLE, what)
        try:
            yield is_idle
        finally:
            if is_idle:
                self.leave(WHOLE)

    @contextmanager
    def work(self, name: str, what: str) -> Iterator[None]:
        """Work on a node in several steps. It begins once no other thread has all nodes."""
        use = _Use(threading.get_ident(), name, what)
        with self._changed:
            self._changed.wait_for(lambda: not self._is_held_elsewhere(WHOLE))
            self._works.append(use)
        try:
            yield
        finally:
            with self._changed:
                self._works.remove(use)
                self._changed.notify_all()

    def others(self) -> tuple[str, ...]:
        """What other threads do now, and where: `a start of db.3`; for each node one thing."""
        me, found = threading.get_ident(), dict[str, str]()
        with self._changed:
            for use in (*self._works, *self._held):
                if use.thread != me:
                    found.setdefault(use.name, use.what)
        return tuple(f"{what} of {name}" if name else what for name, what in found.items())

    def _is_held_elsewhere(self, name: str) -> bool:
        """Whether another thread has a node, or all of them."""
        me = threading.get_ident()
        return any(use.thread != me and use.name in (name, WHOLE) for use in self._held)

    def _mine(self, uses: Sequence[_Use]) -> list[_Use]:
        me = threading.get_ident()
        return [use for use in uses if use.thread == me]

    def _must_hold_no_other(self, name: str) -> None:
        """A thread that has a node and waits for another one could be waited for."""
        mine = {use.name for use in self._mine(self._held)} - {WHOLE}
        assert mine <= {name} or self._has_all(), f"{name} would be taken after {sorted(mine)}"

    def _has_all(self) -> bool:
        return any(use.name == WHOLE for use in self._mine(self._held))
