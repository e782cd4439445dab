"""What the analysis takes in and gives out: plain data that reports and `result.json` draw from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SUPPORTED = "supported"
REFUTED = "refuted"
UNDECIDED = "undecided"
NOT_TESTED = "not tested here"

# What published figures say of a claim that they are too few to judge.
AGREE = "agree"
CONTRADICT = "contradict"

# Kinds of claim part.
RATIO = "ratio"  # left over right, geometric mean of within-block ratios
VALUE = "value"  # left alone against a number: arithmetic mean over blocks
PEAK = "peak"  # best of the levels that the claim allows over best of the others, against 1
PEAKS = "peaks"  # a level at which a metric peaks, or a ratio of two: median over blocks


# What an estimate made of lower bounds says of the truth.
AT_LEAST = ">="
AT_MOST = "<="


@dataclass(frozen=True)
class Measurement:
    """One complete trial, reduced to numbers. `metrics` maps canonical metric names to values."""

    trial: str
    block: int
    cell: int
    metrics: Mapping[str, float]
    warnings: tuple[str, ...] = ()  # generator-bound and the like; repeated beside any claim
    outage: bool = False
    at_least: frozenset[str] = frozenset()  # metrics that are lower bounds


@dataclass(frozen=True)
class Estimate:
    """A metric of one cell over blocks: arithmetic mean with a t interval at 95 %.

    With fewer than 3 values the interval is absent, and where some value is a lower bound: then
    so is the mean (`at_least`).
    """

    mean: float
    ci_low: float | None
    ci_high: float | None
    values: tuple[float, ...]  # in block order
    blocks: tuple[int, ...]
    at_least: bool = False


@dataclass(frozen=True)
class CellResult:
    """All that was measured of one cell."""

    index: int
    levels: Mapping[str, str]
    trials: int
    metrics: Mapping[str, Estimate]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of within-block ratios with its interval at confidence `level`."""

    ratio: float
    ci_low: float | None
    ci_high: float | None
    level: float  # 0.95, or the level adjusted for several claims
    n: int  # blocks used
    p: float | None  # two-sided, of ratio = threshold
    bound: str = ""  # AT_LEAST or AT_MOST: made of lower bounds, with an interval open to that side


@dataclass(frozen=True)
class ClaimPart:
    """One comparison that a claim makes: `at each sessions` has one a level."""

    at: Mapping[str, str]  # conditions in force
    left: str  # "readers.qps[off]" with its cell, for people
    right: str
    operator: str
    threshold: float  # the ratio that the interval is held against
    estimate: Ratio | None
    verdict: str
    small: bool  # supported, but the effect is below `matters`
    blocks_needed: int | None  # undecided: about this many more blocks
    why: str  # one sentence for people: what decided it, or what kept it open
    kind: str = "ratio"  # what `estimate` is: RATIO, VALUE, PEAK or PEAKS
    metric: str = ""  # canonical, of the left side
    left_cell: int | None = None  # where the side is one cell
    right_cell: int | None = None
    figures: str = ""  # imported, too few to judge: whether the numbers AGREE or CONTRADICT


@dataclass(frozen=True)
class ClaimResult:
    """A claim and its verdict. A claim with several parts is supported only if all parts are,
    refuted if one part is."""

    text: str
    verdict: str
    parts: tuple[ClaimPart, ...]
    why: str
    warnings: tuple[str, ...]
    figures: str = ""  # CONTRADICT if they do in one part, AGREE if they do in all


@dataclass(frozen=True)
class Comparison:
    """A row of the table of ratios: one cell against the baseline cell of the same other levels."""

    metric: str
    factor: str
    level: str
    baseline: str
    at: Mapping[str, str]  # the other factors' levels
    ratio: Ratio


@dataclass(frozen=True)
class Offer:
    """A combination of levels that have prices, at its best cell: the fastest one that is fast
    enough. Without such a cell, all but its levels and its price are None."""

    levels: Mapping[str, str]
    price_per_month: float
    cell: int | None
    per_s: float | None  # throughput of all groups there
    cost: float | None  # of a billion
    ratio: Ratio | None  # its cost over the cheapest offer's; None for that one
    dominated_by: Mapping[str, str]  # levels of an offer that costs no more and is faster
    judged: bool  # whether an interval says so; else the means do


@dataclass(frozen=True)
class Costs:
    """What was measured, priced. `offers`: cheapest first, those too slow last."""

    currency: str
    what: str  # transactions | operations: of which a billion is priced
    under: tuple[str, ...]  # conditions: what fast enough is
    offers: tuple[Offer, ...]
    sentence: str


@dataclass(frozen=True)
class Findings:
    """Everything the report says, without how it is drawn."""

    answer: str  # two sentences
    why: str  # one sentence, or empty
    caveat: str  # first sentence if the comparison is not fair (unfixed words), or empty
    headline_metric: str  # what the first chart shows
    cells: tuple[CellResult, ...]
    claims: tuple[ClaimResult, ...]
    comparisons: tuple[Comparison, ...]
    warnings: tuple[str, ...]
    judged: bool  # false: --quick, or too few blocks
    costs: Costs | None = None  # with `prices` only
