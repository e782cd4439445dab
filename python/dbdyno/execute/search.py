"""The search for the highest rate that meets conditions: doubling, then bisection. Pure.

From the start the rate doubles until a probe fails (or halves until one passes, if that one fails),
then the bracket is halved on a logarithmic scale until it is narrower than `within`. What is found
is the highest rate that passed: a rate that was seen to work, never one between probes.

A probe that fails is run once more and counts as failing only if it fails twice. A stall that has
nothing to do with the rate would otherwise end the doubling far too low, and bisection never comes
back to it. docs/decisions/finding-a-rate.md has the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbdyno.plan.types import Find
from dbdyno.spec.units import RATE_MAX_PER_S

HALVINGS_MAX = 10  # below the start, to a thousandth of it


@dataclass(frozen=True)
class Probe:
    """One run at one rate. `reasons`: which conditions it did not meet, and why."""

    number: int  # from 1
    rate_per_s: float
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all conditions held."""
        return not self.reasons


@dataclass(frozen=True)
class Found:
    """How a search ended. `passed`: the probe at the highest rate that met the conditions, None if
    none did; `failed`: the one at the lowest rate above it that did not, None if all did."""

    probes: tuple[Probe, ...]
    passed: Probe | None
    failed: Probe | None
    within: float

    @property
    def rate_per_s(self) -> float:
        """The highest rate that met the conditions; 0 if none did."""
        return self.passed.rate_per_s if self.passed else 0.0

    @property
    def finished(self) -> bool:
        """Whether the bracket became as narrow as wanted."""
        if self.passed is None or self.failed is None:
            return False
        return self.failed.rate_per_s <= self.passed.rate_per_s * (1 + self.within)


def search(find: Find, floor_per_s: float, probe: Callable[[int, float], Sequence[str]]) -> Found:
    """Runs probes (`probe(number, rate_per_s)` returns the reasons for failing) until done.

    At most `find.probes_max` of them, none below `floor_per_s`, where conditions cannot be told.
    """
    return _Search(find, floor_per_s, probe).found()


class _Search:
    def __init__(
        self, find: Find, floor_per_s: float, probe: Callable[[int, float], Sequence[str]]
    ) -> None:
        self.find = find
        self.floor_per_s = floor_per_s
        self.probe = probe
        self.probes: list[Probe] = []
        self.passed: Probe | None = None
        self.failed: Probe | None = None

    def found(self) -> Found:
        self._bracket()
        self._bisect()
        return Found(tuple(self.probes), self.passed, self.failed, self.find.within)

    def _bracket(self) -> None:
        rate = _rounded(self.find.start_per_s)
        # Rounding may have brought the start itself below the floor.
        least = min(rate, max(self.floor_per_s, rate / 2**HALVINGS_MAX))
        while self._room() and least <= rate <= RATE_MAX_PER_S:
            passed = self._try(rate)
            if self.passed and self.failed:
                return
            rate = _rounded(rate * 2 if passed else rate / 2)

    def _bisect(self) -> None:
        while self.passed and self.failed and self._room():
            low, high = self.passed.rate_per_s, self.failed.rate_per_s
            middle = _rounded(math.sqrt(low * high))
            if high <= low * (1 + self.find.within) or not low < middle < high:
                return
            self._try(middle)

    def _try(self, rate_per_s: float) -> bool:
        one = self._run(rate_per_s)
        if not one.passed and self._room():
            one = self._run(rate_per_s)
        if one.passed:
            self.passed = one
        else:
            self.failed = one
        return one.passed

    def _run(self, rate_per_s: float) -> Probe:
        number = len(self.probes) + 1
        one = Probe(number, rate_per_s, tuple(self.probe(number, rate_per_s)))
        self.probes.append(one)
        return one

    def _room(self) -> bool:
        return len(self.probes) < self.find.probes_max


def _rounded(rate_per_s: float) -> float:
    """Five digits: rates are read by people, and the search is never as fine as that."""
    return float(f"{rate_per_s:.5g}")
