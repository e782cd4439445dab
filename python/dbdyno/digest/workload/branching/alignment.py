"""Puts groups of units together until they have room: the rare ones into those most like them.

Steps that one group has and another has not become columns that some units omit, so that every unit
keeps its statements and their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from dbdyno.digest.workload.branching.likeness import Group

ROOM_OF_OWN = 0.7  # of the room, for groups as they are; the rest is for what others add to them
SHARE_OF_OWN = 0.005  # of the calls, from which on a group stays for itself
ALIKE = 0.5  # of the steps of two groups that both have, from which on they are alike
COLUMNS_MAX = 400


@dataclass
class _Kept:
    """A group that stays, with how often it has each kind."""

    group: Group
    bag: Counter[str]
    calls: int

    def takes(self, other: _Kept) -> bool:
        """Whether it takes the rows of another one."""
        if not _put(other.group, self.group):
            return False
        self.bag, self.calls = Counter(self.group.kinds), self.calls + other.calls
        return True


def together(groups: Sequence[Group], room: int) -> tuple[list[Group], list[Group]]:
    """Groups that take at most `room` names, and those that could not be put into any. `groups`:
    those with the most calls first."""
    new = [_Kept(group, Counter(group.kinds), group.calls) for group in groups]
    large = sum(one.calls for one in new) * SHARE_OF_OWN
    kept: list[_Kept] = []
    left = [one.group for one in new if not _placed(one, kept, room, is_large=one.calls >= large)]
    return [one.group for one in kept], left


def _placed(new: _Kept, kept: list[_Kept], room: int, *, is_large: bool) -> bool:
    """Keeps a group as it is, or puts it into the one most like it that has room."""
    while True:
        used = sum(len(one.bag) for one in kept)
        ranked = _ranked(new, kept)
        best = ranked[0][0] if ranked else 0.0
        own_room = room * ROOM_OF_OWN if best else room
        if (is_large or best < ALIKE) and used + len(new.bag) <= own_room:
            kept.append(new)
            return True
        for _, into in ranked:
            if used + len({*new.bag} - {*into.bag}) <= room and into.takes(new):
                return True
        if used + len(new.bag) <= room:
            kept.append(new)
            return True
        if not (new.group.is_transaction and _joined(kept)):
            return False


def _ranked(new: _Kept, kept: Sequence[_Kept]) -> list[tuple[float, _Kept]]:
    """Those that have steps of the same kinds, the most like first."""
    alike = (
        (_likeness(new.bag, one.bag), one)
        for one in kept
        if one is not new and one.group.is_transaction == new.group.is_transaction
    )
    return sorted(((how, one) for how, one in alike if how), key=lambda pair: -pair[0])


def _joined(kept: list[_Kept]) -> bool:
    """Makes room: the transactions with the fewest calls go into those most like them."""
    for one in sorted(kept, key=lambda one: one.calls):
        if one.group.is_transaction and any(into.takes(one) for _, into in _ranked(one, kept)):
            kept[:] = [each for each in kept if each is not one]
            return True
    return False


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """How much of what two have both have: 0 to 1."""
    both = (one & other).total()
    return both / (one.total() + other.total() - both)


def _put(group: Group, into: Group) -> bool:
    """Adds the rows of a group to another one, with new columns where they need some; False where
    there would be too many."""
    if (places := _within(group.kinds, into)) is None:
        if len(into.columns) + len(group.columns) > COLUMNS_MAX:
            return False
        places = _widened(group.kinds, into)
    numbers = {number: places[at] for at, (number, _) in enumerate(group.columns)}
    into.rows += [
        (unit, {numbers[number]: run for number, run in row.items()}) for unit, row in group.rows
    ]
    return True


def _within(kinds: Sequence[str], into: Group) -> list[int] | None:
    """The columns that have these kinds in their order, the first ones that do."""
    places, columns = [], iter(into.columns)
    for kind in kinds:
        number = next((number for number, of in columns if of == kind), None)
        if number is None:
            return None
        places.append(number)
    return places


def _widened(kinds: Sequence[str], into: Group) -> list[int]:
    """The columns of these kinds, once `into` has them all."""
    places: list[int] = []
    columns: list[tuple[int, str]] = []
    free = max((number for number, _ in into.columns), default=-1) + 1
    matcher = SequenceMatcher(None, into.kinds, kinds, autojunk=False)
    for _, begin, end, first, last in matcher.get_opcodes():
        old = into.columns[begin:end]
        if into.kinds[begin:end] == list(kinds[first:last]):
            places += [number for number, _ in old]
            columns += old
            continue
        new = [(free + n, kind) for n, kind in enumerate(kinds[first:last])]
        free += len(new)
        places += [number for number, _ in new]
        columns += [*old, *new]
    into.columns[:] = columns
    return places
