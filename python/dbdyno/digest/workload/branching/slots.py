"""A transaction whose steps have branches, as `mix` takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.digest.workload.profile import Step, Unit


@dataclass(frozen=True)
class Branch:
    """A statement (its position; None: nothing is sent) so many times in a row, and how often."""

    statement: int | None
    repeat: int
    weight: float


@dataclass(frozen=True)
class Slot:
    """A step with its branches. `repeat`: each time with a branch of its own; slots of the same
    `choice` take branches of the same position; `of`: the statements' kind."""

    branches: tuple[Branch, ...]
    of: str
    repeat: int = 1
    choice: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is the same statement each time, once a branch."""
        return len(self.branches) == 1 and self.repeat == 1

    @property
    def statements(self) -> tuple[int, ...]:
        """Its statements, each once."""
        found = (branch.statement for branch in self.branches)
        return tuple(dict.fromkeys(one for one in found if one is not None))


@dataclass(frozen=True, kw_only=True)
class Branched(Unit):
    """Several units in one. `steps`: every statement of every slot, twice where it may come more
    than once in its slot."""

    slots: tuple[Slot, ...]
    units: tuple[Unit, ...]

    @property
    def names(self) -> int:
        """How many classes it takes: statements of one kind have one name."""
        return len({slot.of for slot in self.slots})

    def calls(self) -> Iterator[tuple[int, int]]:
        """Statements with how often the log has them in these units."""
        for unit in self.units:
            yield from unit.calls()


def branched(slots: Sequence[Slot], units: Sequence[Unit]) -> Branched:
    """Units in one."""
    steps = tuple(
        Step(statement=statement, repeat=_most(slot, statement))
        for slot in slots
        for statement in slot.statements
    )
    return Branched(
        count=sum(unit.count for unit in units),
        is_transaction=units[0].is_transaction,
        is_rolled_back=False,
        steps=steps,
        slots=tuple(slots),
        units=tuple(units),
    )


def _most(slot: Slot, statement: int) -> int:
    repeats = (branch.repeat for branch in slot.branches if branch.statement == statement)
    return slot.repeat * max(repeats)
