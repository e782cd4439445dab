"""Row locks of one node: shared or exclusive, first come, first served."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Row(Generic[T]):
    """Who has a row, and who waits for it, each with whether the lock is a shared one."""

    holders: list[tuple[T, bool]] = field(default_factory=list)
    waiting: deque[tuple[T, bool]] = field(default_factory=deque)

    def admit(self) -> list[T]:
        """Gives the lock to those in front for as long as they go together."""
        admitted = []
        while self.waiting and self._fits(self.waiting[0][1]):
            self.holders.append(self.waiting.popleft())
            admitted.append(self.holders[-1][0])
        return admitted

    def _fits(self, shared: bool) -> bool:
        return not self.holders or (shared and all(each for _, each in self.holders))


class Locks(Generic[T]):
    """Owners are distinguished by identity. A row is known as long as somebody wants it."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row[T]] = {}
        self._wanted: dict[int, list[str]] = {}  # id of an owner -> rows that it has or waits for

    def ask(self, owner: T, key: str, shared: bool, *, first: bool = False) -> bool:
        """Whether it has the row now; else it waits, behind all others or in front of them."""
        row = self._rows.setdefault(key, _Row())
        self._wanted.setdefault(id(owner), []).append(key)
        (row.waiting.appendleft if first else row.waiting.append)((owner, shared))
        return any(one is owner for one in row.admit())

    def against(self, key: str, shared: bool) -> list[T]:
        """Holders of a row, and those that wait for it, whose lock excludes such a one."""
        row = self._rows.get(key)
        if row is None:
            return []
        return [owner for owner, other in (*row.holders, *row.waiting) if not (shared and other)]

    def leave(self, owner: T) -> list[T]:
        """Gives up all that it has and waits for; who got a row by that, once for each row."""
        admitted: list[T] = []
        for key in self._wanted.pop(id(owner), ()):
            row = self._rows[key]
            row.holders = [one for one in row.holders if one[0] is not owner]
            row.waiting = deque(one for one in row.waiting if one[0] is not owner)
            admitted += row.admit()
            if not row.holders and not row.waiting:
                del self._rows[key]
        return admitted
