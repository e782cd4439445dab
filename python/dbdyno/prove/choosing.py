"""Which of the built indexes are measured: each is taken for what it saves in addition to others.

The mix's time is an estimate: each class has its share of the time under load, times the cost of
its plan over the cost that it had then. The rank is only the order of the measurements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dbdyno.prove import planner
from dbdyno.prove.bench import Bench
from dbdyno.prove.candidates import Candidate, bare
from dbdyno.prove.examining import cost, estimates
from dbdyno.prove.planner import Estimate

GAIN_MIN = 0.01  # of the time that the mix still takes, by estimate; less is never measured
ALIKE = 0.97  # of the largest gain: of those that save as much, the smallest index is taken
UPKEEP = 0.1  # of a writing statement's time: what one more index costs it, roughly


@dataclass(frozen=True)
class Ranked:
    """An index that the planner would use. `saves`: share of the time that the mix takes with those
    before it, by estimate; `served`: cost over the cost before, by class, with those before it;
    `narrower`: of a covering index, the same without the columns that it only carries."""

    candidate: Candidate
    bytes: int
    saves: float
    served: Mapping[str, float]
    narrower: Ranked | None = None


class Times(Protocol):
    """The time that a mix takes, as a share of the time that it took without any of the indexes."""

    @property
    def left(self) -> float:
        """With the indexes that are taken."""

    def gain(self, one: Candidate) -> float:
        """What one more saves."""

    def loss(self, one: Candidate) -> float:
        """What is lost without one of those that are taken."""

    def take(self, one: Candidate) -> Mapping[str, float]:
        """Keeps it in use; classes whose plans use it, with their cost over the cost before."""

    def drop(self, one: Candidate) -> None:
        """Takes it out of use."""


def take_all(
    times: Times,
    built: Sequence[Candidate],
    sizes: Mapping[str, int],
    most: int,
    space: int | None,
    taken: Sequence[Ranked] = (),
) -> list[Ranked]:
    """Those that are taken already, and more: the one that saves most in addition, until none saves
    `GAIN_MIN`; at most `most`, of `space` bytes together."""
    ranked = list(taken)
    asked: Sequence[Candidate] = built
    while len(ranked) < most:
        has = {one.candidate.name for one in ranked}
        room = None if space is None else space - sum(one.bytes for one in ranked)
        fits = [one for one in built if one.name not in has and _fits(sizes[one.name], room)]
        gains = _gains(times, [one for one in fits if one in asked])
        if not gains:
            # An index may serve only next to one that was taken after it was asked about.
            gains = _gains(times, [one for one in fits if one not in asked])
        if not gains:
            break
        enough = ALIKE * max(gains.values())
        alike = [one for one in fits if gains.get(one.name, 0.0) >= enough]
        best = min(alike, key=lambda one: (sizes[one.name], -gains[one.name]))
        ranked.append(Ranked(best, sizes[best.name], gains[best.name], times.take(best)))
        asked = [one for one in fits if one.name in gains]
    return ranked


def without_useless(times: Times, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Without those whose work others do by now; they are out of use then."""
    kept = []
    for one in ranked:
        if times.loss(one.candidate) < GAIN_MIN * times.left:
            times.drop(one.candidate)
        else:
            kept.append(one)
    return kept


def _fits(size: int, room: int | None) -> bool:
    return room is None or size <= room


def _gains(times: Times, candidates: Sequence[Candidate]) -> dict[str, float]:
    """Shares of the time left, of those that save enough."""
    gains = {one.name: times.gain(one) / times.left for one in candidates}
    return {name: gain for name, gain in gains.items() if gain >= GAIN_MIN}


@dataclass
class EstimatedTimes:
    """By the planner. `planned`: statements by class; `before`: their estimates when the shares
    were taken; `writers`: by index, the classes that change what it holds."""

    bench: Bench
    planned: Mapping[str, Sequence[str]]
    before: Mapping[str, Sequence[Estimate]]
    shares: Mapping[str, float]
    writers: Mapping[str, Sequence[str]]
    ratios: dict[str, float] = field(default_factory=dict)
    _asked: dict[tuple[str, str], float | None] = field(default_factory=dict)

    @property
    def left(self) -> float:
        return self._time(self.ratio) or 1.0

    def ratio(self, key: str) -> float:
        """Cost of a class over the cost before."""
        return self.ratios.get(key, 1.0)

    def gain(self, one: Candidate) -> float:
        now = self._with(one)
        saved = sum(self.shares.get(key, 0.0) * (self.ratio(key) - now[key]) for key in now)
        return saved - self._upkeep(one)

    def loss(self, one: Candidate) -> float:
        now = self._without(one)
        lost = sum(self.shares.get(key, 0.0) * (now[key] - self.ratio(key)) for key in now)
        return lost - self._upkeep(one)

    def take(self, one: Candidate) -> dict[str, float]:
        now = self._with(one)
        planner.hide(self.bench, one.table, one.index, hidden=False)
        self._forget(one)
        self.ratios |= now
        return now

    def drop(self, one: Candidate) -> None:
        now = self._without(one)
        planner.hide(self.bench, one.table, one.index, hidden=True)
        self._forget(one)
        self.ratios |= now

    def _time(self, ratio: Callable[[str], float]) -> float:
        return sum(share * ratio(key) for key, share in self.shares.items())

    def _upkeep(self, one: Candidate) -> float:
        return UPKEEP * sum(self.shares.get(key, 0.0) for key in self.writers.get(one.name, ()))

    def _of(self, one: Candidate) -> list[str]:
        """Classes that name the index's table."""
        table = re.compile(rf"(?<!\w){re.escape(bare(one.table).rpartition('.')[2])}(?!\w)", re.I)
        return [
            key
            for key, texts in self.planned.items()
            if key in self.before and table.search(texts[0])
        ]

    def _with(self, one: Candidate) -> dict[str, float]:
        """Cost over the cost before, of the classes whose plans use one more index."""
        asked = [key for key in self._of(one) if (one.name, key) not in self._asked]
        if asked:
            planner.hide(self.bench, one.table, one.index, hidden=False)
            try:
                now = self._estimates(asked)
            finally:
                planner.hide(self.bench, one.table, one.index, hidden=True)
            for key in asked:
                used = key in now and any(one.index in each.indexes for each in now[key])
                self._asked[one.name, key] = cost(now[key], self.before[key]) if used else None
        known = {key: self._asked[one.name, key] for key in self._of(one)}
        return {key: ratio for key, ratio in known.items() if ratio is not None}

    def _without(self, one: Candidate) -> dict[str, float]:
        """Cost over the cost before, without an index that is taken, of its table's classes."""
        planner.hide(self.bench, one.table, one.index, hidden=True)
        try:
            now = self._estimates(self._of(one))
        finally:
            planner.hide(self.bench, one.table, one.index, hidden=False)
        return {key: cost(found, self.before[key]) for key, found in now.items()}

    def _estimates(self, keys: Sequence[str]) -> Mapping[str, Sequence[Estimate]]:
        return estimates(self.bench, {key: self.planned[key] for key in keys})

    def _forget(self, one: Candidate) -> None:
        """Plans of the classes of its table may be others by now."""
        changed = {*self._of(one)}
        self._asked = {at: found for at, found in self._asked.items() if at[1] not in changed}
