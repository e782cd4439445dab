"""Which rates a search probes, and what it has found. Pure.

From the start the rate doubles until one fails. If the start fails, it halves until a rate passes,
or the lowest one that may be probed has failed too. Then the bracket is halved on a logarithmic
scale until it is narrower than `within`.

A rate fails, and is confirmed to pass, by two of three probes. A first pass is believed while the
bracket is wide, and confirmed where it ends the search; a first failure is repeated at once. Both
ends obey one rule: with a single pass against two failures the result is too high wherever a rate
passes only sometimes. A failing end since which three rates met the conditions is probed again, and
takes three failures of five: a stall may have made it. docs/decisions/finding-a-rate.md has the
arithmetic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from dbdyno.execute.rate_search.judgement import Judgement
from dbdyno.experiment.claims.conditions import BROKEN, HOLDS, UNKNOWN
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.experiment.values.units import RATE_MAX_PER_S
from dbdyno.plan.types import Find

HALVINGS_MAX = 10  # below the start, to a thousandth of it
VOTES = 2  # of three
ALONE = 3  # rates that hold since one failed: by chance in one search of eight
OPEN = ""  # of a rate: to be probed again


@dataclass(frozen=True)
class Probe:
    """One run at one rate."""

    number: int  # from 1
    rate_per_s: float
    judgement: Judgement

    @property
    def passed(self) -> bool:
        """Whether all conditions were met."""
        return self.judgement.state == HOLDS


@dataclass(frozen=True)
class Found:
    """How a search ended, or how far it got."""

    probes: tuple[Probe, ...]
    within: float

    @cached_property
    def _counts(self) -> Mapping[float, Counter[str]]:
        """Probes by rate and state, in the order of the rates' first probes."""
        counts: dict[float, Counter[str]] = {}
        for one in self.probes:
            counts.setdefault(one.rate_per_s, Counter())[one.judgement.state] += 1
        return counts

    def votes(self, rate_per_s: float, state: str) -> int:
        """Probes at a rate that gave this state."""
        return self._counts[rate_per_s][state]

    def state(self, rate_per_s: float) -> str:
        """What most probes of a rate say, two at least, or a single one that passed; else OPEN."""
        holds, broken, unknown = (
            self.votes(rate_per_s, state) for state in (HOLDS, BROKEN, UNKNOWN)
        )
        if unknown >= VOTES:
            return UNKNOWN
        if broken >= VOTES and broken > holds:
            return BROKEN
        passes = holds >= VOTES and holds > broken
        return HOLDS if passes or (holds, broken, unknown) == (1, 0, 0) else OPEN

    def unjudged(self, rate_per_s: float) -> bool:
        """Whether a rate was probed twice and could not be judged."""
        return self.state(rate_per_s) == UNKNOWN

    @cached_property
    def failed(self) -> Probe | None:
        """The last probe that failed at the lowest rate that fails; None: none does."""
        rates = [rate for rate in self._counts if self.state(rate) == BROKEN]
        return self._last(min(rates, default=None), BROKEN)

    @cached_property
    def passed(self) -> Probe | None:
        """The last probe that passed at the highest rate below that passes; None: none does."""
        limit = self.failed.rate_per_s if self.failed else math.inf
        rates = [rate for rate in self._counts if rate < limit and self.state(rate) == HOLDS]
        return self._last(max(rates, default=None), HOLDS)

    def _last(self, rate_per_s: float | None, state: str) -> Probe | None:
        found = [
            one
            for one in self.probes
            if one.rate_per_s == rate_per_s and one.judgement.state == state
        ]
        return found[-1] if found else None

    @property
    def confirmed(self) -> bool:
        """Whether the highest rate that passes did so twice."""
        return self.passed is not None and self.votes(self.passed.rate_per_s, HOLDS) >= VOTES

    @property
    def doubtful(self) -> bool:
        """Whether the failing rate is alone: all rates tried since hold, several of them, and two
        probes are all that speaks against it."""
        if self.failed is None or self.votes(self.failed.rate_per_s, BROKEN) > VOTES:
            return False
        limit = self.failed.rate_per_s
        rates = list(self._counts)
        return sum(rate < limit for rate in rates[rates.index(limit) :]) >= ALONE

    @property
    def narrow(self) -> bool:
        """Whether the bracket is as narrow as wanted."""
        if self.passed is None or self.failed is None:
            return False
        low, high = self.passed.rate_per_s, self.failed.rate_per_s
        return high <= low * (1 + self.within) or not low < _middle(low, high) < high

    @property
    def finished(self) -> bool:
        """Whether the answer is known as well as wanted."""
        return self.narrow and self.confirmed and not self.doubtful

    @property
    def rate_per_s(self) -> float | None:
        """Committed transactions a second at the highest rate that passed; else the lowest rate
        that was tried, which failed; None: nothing is known."""
        if self.passed is not None:
            return self.passed.judgement.committed_per_s
        return self.failed.rate_per_s if self.failed else None

    @property
    def bound(self) -> str:
        """What `rate_per_s` is: AT_LEAST, AT_MOST, or empty where the search finished."""
        if self.passed is None:
            return AT_MOST
        return "" if self.finished else AT_LEAST


def search(find: Find, floor_per_s: float, probe: Callable[[int, float], Judgement]) -> Found:
    """Runs probes (`probe(number, rate_per_s)`) until done.

    At most `find.probes_max` of them, none below `floor_per_s`, where conditions cannot be judged.
    """
    found = Found((), find.within)
    while len(found.probes) < find.probes_max:
        rate = next_rate(find, floor_per_s, found)
        if rate is None:
            break
        number = len(found.probes) + 1
        found = Found((*found.probes, Probe(number, rate, probe(number, rate))), find.within)
    return found


def next_rate(find: Find, floor_per_s: float, found: Found) -> float | None:
    """The rate to probe next; None: the search is over."""
    # Rates are rounded for people; the floor upwards, since less is not enough there.
    start = _rounded(find.start_per_s)
    floor = _rounded(max(floor_per_s, start / 2**HALVINGS_MAX), up=True)
    if not found.probes:
        return max(start, floor)
    last = found.probes[-1].rate_per_s
    if found.state(last) == OPEN:
        return last
    if found.unjudged(last):
        return None
    low, high = found.passed, found.failed
    if low is None:
        assert high is not None
        return None if high.rate_per_s <= floor else max(_rounded(high.rate_per_s / 2), floor)
    if high is None and low.rate_per_s * 2 <= RATE_MAX_PER_S:
        return _rounded(low.rate_per_s * 2)
    if high is not None and not found.narrow:
        return _middle(low.rate_per_s, high.rate_per_s)
    if not found.confirmed:
        return low.rate_per_s
    return high.rate_per_s if high is not None and found.doubtful else None


def _middle(low_per_s: float, high_per_s: float) -> float:
    return _rounded(math.sqrt(low_per_s * high_per_s))


def _rounded(rate_per_s: float, *, up: bool = False) -> float:
    """Five digits: rates are read by people, and the search is never as fine as that."""
    rounded = float(f"{rate_per_s:.5g}")
    if up and rounded < rate_per_s:
        rounded = float(f"{rounded * (1 + 1e-4):.5g}")
    return rounded
