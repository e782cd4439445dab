"""What comparisons between runs give out: plain data that text, pages and JSON draw from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.analysis.types import ClaimResult, Ratio

# Verdicts on a row. One run that is clearly worse is suspected; a second one confirms it. Of a
# metric of which neither way is better: higher or lower.
BETTER, SUSPECTED, WORSE = "better", "suspected", "worse"
HIGHER, LOWER = "higher", "lower"
NOT_CLEAR = "not clear"  # the interval holds 1
NOT_JUDGED = ""


@dataclass(frozen=True)
class Row:
    """A metric of a cell in both runs. The `ratio` is B / A, unblocked. Where the spread between
    runs is known there are `estimate` (B over the level of the last runs), a `verdict`, and
    `reference` (B over the reference) where a reference is settled."""

    metric: str
    at: Mapping[str, str]
    a: float | None  # geometric means over blocks
    b: float | None
    ratio: float | None
    problem: str = ""  # why there is no ratio, or no verdict on this row
    spread: float | None = None  # standard deviation of runs about the level before, as a share
    estimate: Ratio | None = None  # at its adjusted level; `n`: runs before
    reference: Ratio | None = None
    seen: float | None = None  # the smallest rise, as a share, that would be seen in 80 % of runs
    verdict: str = NOT_JUDGED
    small: bool = False  # clear, but within what `matters`
    cells: int = 1  # how many it is of: several, geometric mean of their ratios; then `at` is empty


@dataclass(frozen=True)
class LeftOut:
    """Something that is not used, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Claimed:
    """A claim of run B, and that of run A if it makes the same; each is judged in its run alone."""

    a: ClaimResult | None
    b: ClaimResult


@dataclass(frozen=True)
class Compared:
    """Run B compared with run A."""

    a: str
    b: str
    rows: tuple[Row, ...]
    changed: tuple[str, ...]  # versions, kernel, settings: `kernel: 6.1 -> 6.8`
    left_out: tuple[LeftOut, ...]  # cells, metrics, runs of the history
    warnings: tuple[str, ...]
    before: tuple[str, ...]  # the runs whose spread is used, oldest first; A is one of them
    unjudged: str  # why there is no verdict on any row; empty if there is
    matters: float  # a difference up to this is small
    reference: tuple[str, ...] = ()  # runs that were named as one; none: the best stretch's first
    claims: tuple[Claimed, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether rows have verdicts."""
        return not self.unjudged

    @property
    def regressions(self) -> tuple[Row, ...]:
        """Rows that two runs in turn show to be worse, by more than what matters."""
        return tuple(row for row in self.rows if row.verdict == WORSE)

    @property
    def suspected(self) -> tuple[Row, ...]:
        """Rows that this run alone shows to be worse, by more than what matters."""
        return tuple(row for row in self.rows if row.verdict == SUSPECTED and not row.small)

    @property
    def blind(self) -> tuple[Row, ...]:
        """Rows in which a difference that matters would not have been seen in 80 % of runs; none if
        `matters` was not given."""
        seen = [row for row in self.rows if row.seen is not None]
        return tuple(row for row in seen if self.matters and (row.seen or 0) > self.matters)


@dataclass(frozen=True)
class Place:
    """A change point of a series."""

    run: int  # index into the series' runs: the first one after the change
    before: float  # level before and after: geometric means of the stretches
    after: float
    p: float


@dataclass(frozen=True)
class Series:
    """A metric of a cell over the runs of a plan."""

    metric: str
    at: Mapping[str, str]
    values: tuple[float | None, ...]  # by run; None if there is none
    problems: tuple[str, ...]  # why, by run; empty if there is a value
    spread: float | None  # standard deviation between runs as a share; None: fewer than two
    changes: tuple[Place, ...]
    outliers: tuple[int, ...]  # runs that lie far from the others near them
    note: str = ""  # why change points were not searched for


@dataclass(frozen=True)
class Entry:
    """A run of a history."""

    name: str
    created_unix_s: float
    blocks: int
    blocks_planned: int
    changed: tuple[str, ...]  # against the run before: machine, versions, settings
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Runs of one plan, in the order of time."""

    experiment: str
    fingerprint: str
    runs: tuple[Entry, ...]
    series: tuple[Series, ...]
    comparable: int  # runs that a further one like the newest could be judged by
    needed: int  # further ones until it can be
    differs: str = ""  # from the first group of the same experiment: why they are two


@dataclass(frozen=True)
class History:
    """All runs below a directory."""

    groups: tuple[Group, ...]  # with most runs first
    left_out: tuple[LeftOut, ...]
