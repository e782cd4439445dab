"""What the analysis takes in and gives out: plain data that reports and `result.json` draw from.

What is for people (`why`, `sentence`, `note`, `problem`, ...) is a `message.Message` until
`wording` has put its sentence there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.analysis.predictions.types import Predictions

SUPPORTED = "supported"
REFUTED = "refuted"
UNDECIDED = "undecided"
NOT_TESTED = "not tested here"

# Judgement of a new version against its base, in the same blocks.
BETTER = "better"  # by more than `matters`
WORSE = "worse"
SAME = "no difference that matters"

# What published figures say of a claim that they are too few to judge.
AGREE = "agree"
CONTRADICT = "contradict"

# Kinds of claim part.
RATIO = "ratio"  # left over right, geometric mean of within-block ratios
VALUE = "value"  # left alone against a number: mean over blocks
PEAK = "peak"  # best of the levels that the claim allows over best of the others, against 1
PEAKS = "peaks"  # a level at which a metric peaks, or a ratio of two: median over blocks
ANY = "any"  # whether a count is ever above zero: the largest of the trials
SHARE = "share"  # of trials in which a comparison of two counts holds, against a half


@dataclass(frozen=True)
class Measurement:
    """One complete trial, reduced to numbers. `metrics` maps canonical metric names to values."""

    trial: str
    block: int
    cell: int
    metrics: Mapping[str, float]
    warnings: tuple[str, ...] = ()  # generator-bound and the like; repeated next to any claim
    outage: bool = False
    bounds: Mapping[str, str] = field(default_factory=dict)  # AT_LEAST or AT_MOST, by metric
    length_s: float = 0.0  # of what counts; 0: not known
    from_s: float = 0.0  # where that begins, on the trial's clock


@dataclass(frozen=True)
class Estimate:
    """A metric of one cell over blocks: mean (`estimate.mean`) with a t interval at 95 %.

    With fewer than 3 values the interval is absent, and where some value is a bound: then so is
    the mean, to the same side (`bound`: AT_LEAST or AT_MOST).
    """

    mean: float
    ci_low: float | None
    ci_high: float | None
    values: tuple[float, ...]  # in block order
    blocks: tuple[int, ...]
    bound: str = ""


@dataclass(frozen=True)
class Partial:
    """A metric that not all trials of a cell have, or whose side is not known. `trials`: those that
    have it; `of`: all. `why`: what the others do not have. `sentence`: what follows `METRIC is`."""

    why: str
    trials: int = 0
    of: int = 0
    sentence: str = ""


@dataclass(frozen=True)
class CellResult:
    """All that was measured of one cell."""

    index: int
    levels: Mapping[str, str]
    trials: int
    metrics: Mapping[str, Estimate]
    warnings: tuple[str, ...]  # of its trials
    partial: Mapping[str, Partial] = field(default_factory=dict)  # by metric


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of within-block ratios with its interval at confidence `level`."""

    ratio: float
    ci_low: float | None
    ci_high: float | None
    level: float  # 0.95, or the level adjusted for several claims
    n: int  # blocks used
    p: float | None  # two-sided, of ratio = threshold
    bound: str = ""  # AT_LEAST or AT_MOST: made of bounds, with an interval open to that side


@dataclass(frozen=True)
class Check:
    """A cross-check of the t interval: it never decides, it shows whether the answer hangs on the
    method."""

    method: str  # permutation | BCa
    p: float | None = None  # two-sided
    ci_low: float | None = None
    ci_high: float | None = None
    level: float | None = None  # confidence of the interval
    agrees: bool = True  # whether it leads to the same verdict
    note: str = ""  # why it has no interval


@dataclass(frozen=True)
class MoreBlocks:
    """How many more blocks would decide an open question with 80 % power, over the effects that fit
    what was measured (95 %): if the effect is as large as it may be, and as small. None: never."""

    low: int | None
    high: int | None


@dataclass(frozen=True)
class ClaimPart:
    """One comparison that a claim makes: `at each sessions` has one a level."""

    at: Mapping[str, str]  # conditions in force
    left: str  # "readers.qps[off]" with its cell, for people
    right: str
    operator: str
    threshold: float  # the ratio that the interval is compared with
    estimate: Ratio | None
    verdict: str
    small: bool  # supported, but the effect is below `matters`
    blocks_needed: MoreBlocks | None  # undecided: how many more; None: unknown
    why: str  # one sentence for people: what decided it, or what kept it open
    kind: str = "ratio"  # what `estimate` is: RATIO, VALUE, PEAK, PEAKS, ANY or SHARE
    metric: str = ""  # canonical, of the left side
    left_cell: int | None = None  # where the side is one cell
    right_cell: int | None = None
    right_metric: str = ""  # canonical, of a ratio's right side
    figures: str = ""  # imported, too few to judge: whether the numbers AGREE or CONTRADICT
    margin: float = 0.0  # of `~=`: a ratio minus one that still counts as equal
    detectable: float | None = None  # what such blocks show in 8 of 10 runs: `power.reach`
    checks: tuple[Check, ...] = ()


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
    uneven: tuple[str, ...] = ()  # those of the warnings that are about its blocks
    say: str = ""  # the author's words for it, which nothing has checked

    @property
    def small(self) -> bool:
        """Whether it is supported, and an effect that it asserts is below `matters`."""
        return self.verdict == SUPPORTED and any(part.small for part in self.parts)


@dataclass(frozen=True)
class Comparison:
    """A row of the table of ratios: one cell against the baseline cell of the same other levels.
    `claimed`: some claim is about the ratio, and gave it its interval."""

    metric: str
    factor: str
    level: str
    baseline: str
    at: Mapping[str, str]  # the other factors' levels
    ratio: Ratio
    claimed: bool = False


@dataclass(frozen=True)
class Together:
    """The ratios that no claim is about: their intervals hold with 95 % all together."""

    count: int
    level: float  # of each, so that they do


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
    judged: bool  # whether an interval shows it; else the means do


@dataclass(frozen=True)
class Costs:
    """What was measured, priced. `offers`: cheapest first, those too slow last."""

    currency: str
    what: str  # transactions | operations: of which a billion is priced
    under: tuple[str, ...]  # conditions: what fast enough is
    offers: tuple[Offer, ...]
    sentence: str = ""


@dataclass(frozen=True)
class TradePoint:
    """A cell between two metrics, and a cell that beats it on both; None: none is shown to."""

    cell: int
    beaten_by: int | None


@dataclass(frozen=True)
class TradeOff:
    """Cells by two metrics. `judged`: what is beaten is shown to be; else the means."""

    metrics: tuple[str, str]  # throughput or cost, then latency
    points: tuple[TradePoint, ...]
    judged: bool
    sentence: str = ""


@dataclass(frozen=True)
class Suspect:
    """A sampled metric that moved with the throughput, and how."""

    metric: str  # full name: `db.status.Innodb_data_fsyncs`
    during: float  # in the stall, after the step, in the slower cell
    otherwise: float
    lag_s: float  # it moved so long after the throughput; negative: before
    score: float  # robust distance: how far it moved, in its own usual spreads; >= 0


@dataclass(frozen=True)
class Cause:
    """What a stall, a step or a difference between cells is attributed to. `name` is the rule that
    recognised it, or `unknown`; then `suspects` still says what moved."""

    name: str  # log_rotation, write_back, ..., unknown
    title: str  # "binary log rotation"
    sentence: str  # one plain sentence with its numbers
    cure: str = ""  # what to change, with what it costs
    metric: str = ""  # whose curve shows it; empty where nothing sampled does
    suspects: tuple[Suspect, ...] = ()  # strongest first


UNKNOWN = "unknown"


@dataclass(frozen=True)
class Stall:
    """A time in which a trial's throughput was far below its usual."""

    start_s: float  # on the trial's clock
    length_s: float
    depth: float  # share of the usual throughput that was missing, 0 to 1
    cause: Cause | None = None  # None: not searched


@dataclass(frozen=True)
class Step:
    """A lasting change of a trial's throughput."""

    at_s: float
    before_per_s: float
    after_per_s: float
    p: float  # of the change point
    cause: Cause | None = None


@dataclass(frozen=True)
class Inside:
    """How the throughput of one trial went, from its ticks. All groups together."""

    trial: str
    cell: int
    block: int
    measured_s: float
    usual_per_s: float  # median over the ticks
    warm_s: float  # from here on it was warm; 0: from the start of the measured phase
    steady: bool  # no step, no trend after `warm_s`
    independent_s: float  # effective number of independent seconds under autocorrelation
    spread: float  # standard deviation of one-second throughput over its mean
    steps: tuple[Step, ...] = ()
    stalls: tuple[Stall, ...] = ()
    problem: str = ""  # why something is unknown: too short, no ticks


@dataclass(frozen=True)
class CellStalls:
    """The stalls of a cell's trials together."""

    cell: int
    trials: int
    stalls: int
    measured_s: float  # of all its trials
    per_min: float
    share: float  # of the time
    length_s: float  # median
    depth: float  # median
    period_s: float | None  # from start to start, where they come regularly
    period_n: int  # distances between starts that it rests on
    cause: Cause | None  # of most of them, with how many: in its sentence
    sentence: str = ""  # "Throughput stops for 0.8 s every 12.1 s (9 stalls in 3 trials): ..."


@dataclass(frozen=True)
class Limit:
    """Up to which level of a sweep a limit that some claim sets is shown to hold."""

    metric: str
    operator: str
    threshold: float
    holds_to: float | None  # this level and all lower ones; None: not even the lowest
    broken_at: float | None  # the lowest level beyond at which it is shown to be broken
    sentence: str


@dataclass(frozen=True)
class Sweep:
    """How a metric goes over the levels of a factor with numbers, all other levels fixed."""

    factor: str
    metric: str
    at: Mapping[str, str]
    cells: tuple[int, ...]  # in the order of the levels
    peak: float  # the level with the highest mean
    peak_levels: tuple[float, ...]  # levels that do not differ significantly from the best one
    knee: float | None  # where linear growth from the first level meets the best: on the axis
    knee_low: float | None
    knee_high: float | None
    sentence: str
    limits: tuple[Limit, ...] = ()
    problem: str = ""  # why levels are not compared; then all are in `peak_levels`


@dataclass(frozen=True)
class Versions:
    """A new version against its base, in the same blocks (`dyno run --against`). `verdict`, and
    that of each part: BETTER, WORSE, SAME or UNDECIDED; of several the first of WORSE, UNDECIDED,
    BETTER, SAME."""

    factor: str  # that tells the two apart
    base: str  # its levels
    new: str
    source: str  # what the base was read from
    matters: float  # a difference up to this, a ratio minus one, is none
    verdict: str
    parts: tuple[ClaimPart, ...]  # one a cell and group: new over base
    sentence: str = ""


@dataclass(frozen=True)
class Looking:
    """Of a run whose blocks end when all is decided: how far it got."""

    first: int  # blocks before the first look
    max: int  # blocks at most
    taken: int  # looks
    after: int  # whole blocks
    decided: bool  # every possible comparison
    sentence: str


@dataclass(frozen=True)
class Moved:
    """A percentile of one cell over the same of another: geometric mean of within-block ratios."""

    quantile: float  # 0.99
    ratio: float
    ci_low: float | None  # None: open to that side
    ci_high: float | None
    bound: str = ""  # AT_LEAST or AT_MOST: what the ratio is, where one side has bounds


@dataclass(frozen=True)
class LatencyShift:
    """How the latency curve moved between the two cells of the leading comparison."""

    kind: str  # service | response
    group: str
    left: int  # cells: `left` over `right`
    right: int
    level: float  # of all intervals together
    level_each: float  # of each
    blocks: int
    moved: tuple[Moved, ...]  # by quantile
    missing: str  # which percentiles are not compared, and why


@dataclass(frozen=True)
class Findings:
    """Everything the report says, without how it is drawn."""

    answer: str  # two sentences
    why: str  # one sentence of a rule that recognised a mechanism, or empty
    caveat: str  # first sentence if the comparison is not fair (unfixed words), or empty
    headline_metric: str  # what the first chart shows
    cells: tuple[CellResult, ...]
    claims: tuple[ClaimResult, ...]
    comparisons: tuple[Comparison, ...]
    warnings: tuple[str, ...]
    judged: bool  # false: --quick, or too few blocks
    costs: Costs | None = None  # with `prices` only
    inside: tuple[Inside, ...] = ()  # of complete trials, in the plan's order
    stalls: tuple[CellStalls, ...] = ()  # cells that had some
    sweeps: tuple[Sweep, ...] = ()
    shift: LatencyShift | None = None  # None: nothing to compare
    cause: Cause | None = None  # of the difference that the answer leads with
    looking: Looking | None = None  # with `trials: {until: decided}` only
    tradeoff: TradeOff | None = None
    versions: Versions | None = None  # with `dyno run --against` only
    together: Together = Together(0, 0.95)
    predictions: tuple[Predictions, ...] = ()  # of cells whose servers work together
    moved_with: str = ""  # what moved with the difference that the answer leads with; no rule
