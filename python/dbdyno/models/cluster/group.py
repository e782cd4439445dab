"""A member at one moment of a simulation: its process, its view of the group, whom it misses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.models.cluster.files.options import Options

_EPSILON_S = 1e-9


@dataclass(frozen=True, eq=False)
class View:
    """Who belongs together, and with which weights; equal only to itself."""

    number: int
    weights: Mapping[str, int]
    primary: bool

    @property
    def members(self) -> tuple[str, ...]:
        """Names, in order."""
        return tuple(self.weights)


@dataclass
class Process:
    """A node's process and what it knows. `lost`: when members of its view were last heard, for
    those that it does not hear; `left`: those that said goodbye."""

    name: str
    weight: int
    view: View
    last_primary: View | None = None
    running: bool = True
    paused: bool = False
    phase_s: float = 0.0  # of its checks for silent members
    beat_s: float = 0.0  # when it sent a keepalive, once
    lost: dict[str, float] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    forced: set[str] = field(default_factory=set)  # given up after an install timeout
    gather_s: float | None = None  # since when it searches for a new view
    installs: int = 0  # install timeouts in this search
    meets_s: float | None = None  # from then on it agrees with others that come
    joined_s: float = 0.0  # until then it catches up
    apply_per_s: float | None = None
    queue: float = 0.0  # write-sets received and not applied

    @property
    def active(self) -> bool:
        """Whether it can say anything."""
        return self.running and not self.paused

    def check_at(self, moment_s: float, options: Options) -> float:
        """Its first check for silent members at or after a moment."""
        period = options.inactive_check_s
        count = math.ceil((moment_s - self.phase_s) / period - _EPSILON_S)
        return self.phase_s + max(0, count) * period

    def suspects_at(self, other: str, options: Options) -> float:
        """When it suspects a member that it does not hear."""
        return self.check_at(self.lost[other] + options.suspect_s, options)

    def gives_up_at(self, other: str, options: Options) -> float:
        """When it declares that member dead, whatever the others think."""
        return self.check_at(self.lost[other] + options.inactive_s, options)

    def suspects(self, other: str, now_s: float, options: Options) -> bool:
        """Whether it does by now."""
        if other in self.forced:
            return True
        return other in self.lost and self.suspects_at(other, options) <= now_s + _EPSILON_S

    def gave_up(self, other: str, now_s: float, options: Options) -> bool:
        """Whether it has by now."""
        if other in self.forced:
            return True
        return other in self.lost and self.gives_up_at(other, options) <= now_s + _EPSILON_S

    def enter(self, view: View) -> None:
        """A new view: no member is missed in it yet."""
        assert self.name in view.weights
        self.view = view
        if view.primary:
            self.last_primary = view
        self.lost.clear()
        self.left.clear()
        self.forced.clear()
        self.gather_s, self.installs = None, 0
