"""A drill: a fault that is work in steps, each of which is timed. It has been carried out when it
is in force, and nothing is left to undo."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node
from dbdyno.systems.backups.base import WAIT

NAME_CHARS = "abcdefghijklmnopqrstuvwxyz_"  # of steps: they are parts of metrics' names


@dataclass
class Step:
    """A part of a drill, in seconds of the trial."""

    name: str
    begun_s: float
    ended_s: float | None = None  # None: it goes on, or has failed

    def facts(self) -> dict[str, Any]:
        """What the trial's record says of it."""
        found = {"step": self.name, "begun_s": self.begun_s, "ended_s": self.ended_s}
        return {key: value for key, value in found.items() if value is not None}


def _unheard(step: Step) -> None:
    return


@dataclass
class Steps:
    """The steps of one drill, in order, and what was measured besides their times. `now` is the
    trial's clock; `heard` is called when a step begins, and when it has ended well."""

    now: Callable[[], float] = time.time
    heard: Callable[[Step], None] = _unheard
    done: list[Step] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)  # by name of a metric

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Times what is done within it."""
        assert not set(name) - set(NAME_CHARS), name
        step = Step(name, self.now())
        self.done.append(step)
        self.heard(step)
        yield
        step.ended_s = self.now()
        self.heard(step)

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for what is done to nodes by others, who go first."""
        return bool(self.done) and self.done[-1].name == WAIT and self.done[-1].ended_s is None


class Drill(Fleeting, ABC):
    """The base of all drills."""

    works = True

    @abstractmethod
    def carry_out(self, node: Node, fault: Fault, steps: Steps) -> str:
        """Does the work; what is worth saying of it. DynoError if a step cannot be done."""

    def begin(self, node: Node, fault: Fault) -> str:
        """See `FaultKind.begin`."""
        return self.carry_out(node, fault, Steps())
