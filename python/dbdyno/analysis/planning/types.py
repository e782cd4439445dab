"""What planning an experiment finds: noise, blocks, minutes. Ratios and relative deviations are on
the log scale; times in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

POWER = 0.8
RANGE = 0.8  # confidence of the range of blocks, and of the components' ranges


@dataclass(frozen=True)
class Noise:
    """Variance of one block's value of a comparison, estimated with `freedom` degrees of freedom
    from trials of `length_s`. `within`: the part of it that averages out within a trial, times that
    length (unit: s); None: not known, so that longer trials are not taken to help."""

    variance: float
    freedom: float
    length_s: float
    within: float | None = None

    def at(self, length_s: float) -> float:
        """The variance with trials of another length."""
        if self.within is None:
            return self.variance
        between = max(0.0, self.variance - self.within / self.length_s)
        return between + self.within / length_s


@dataclass(frozen=True)
class Criterion:
    """How a comparison will be judged. `distance`: from the threshold, on the scale of the test;
    `equal`: whether both ends of a margin have to be shown; `covariate`: whether the position in
    the block is fitted too, if there are blocks enough for it."""

    distance: float
    alpha: float
    equal: bool = False
    covariate: bool = False


@dataclass(frozen=True)
class Component:
    """A part of the noise of one trial, as a relative standard deviation with its range."""

    name: str  # restart | trial | restart and trial | second
    deviation: float
    low: float
    high: float
    about: str


@dataclass(frozen=True)
class Seconds:
    """One-second throughput within trials: its deviation, how many values there are in a trial, and
    how many independent ones they are worth."""

    deviation: float
    values: float
    worth: float


@dataclass(frozen=True)
class Floor:
    """Two copies of one cell, compared as any two cells are: what no difference shows as. `levels`:
    what both have."""

    levels: Mapping[str, str]
    metric: str
    blocks: int
    ratio: float
    low: float  # 95 % interval of the ratio
    high: float
    deviation: float  # of one block's log ratio


@dataclass(frozen=True)
class Needed:
    """Blocks: with half of all pilots fewer are predicted (`probable`); the range holds the number
    that is really needed with `RANGE`. None: more than can be planned."""

    low: int | None
    probable: int | None
    high: int | None


@dataclass(frozen=True)
class Part:
    """One comparison: what it is, its noise, and what it needs at the experiment's own duration."""

    text: str
    metric: str
    criterion: Criterion
    noise: Noise
    pooled: bool  # whether the noise is that of all comparisons of the metric
    needed: Needed
    chance: float  # that the experiment's own blocks show it
    half_width: float  # expected, of its interval, after `needed.probable` blocks, log scale


@dataclass(frozen=True)
class Split:
    """A duration of trials, the blocks that it takes, how long the run would last, and the widest
    half of an interval to expect (log scale) after as many blocks as are probable."""

    duration_s: float
    blocks: Needed
    block_s: float
    total_s: tuple[float | None, float | None, float | None]  # of low, probable, high
    half_width: float | None


@dataclass(frozen=True)
class Planning:
    """Everything that `dyno plan` prints. `splits`: by duration; `best` of them takes the least
    time; `own` is the experiment's duration."""

    experiment: str
    detect: float
    power: float
    blocks_seen: int
    parts: tuple[Part, ...]
    left_out: tuple[str, ...]  # comparisons that nothing can be planned for, with reasons
    components: Mapping[str, tuple[Component, ...]]  # by metric
    seconds: Mapping[str, Seconds]  # by metric
    floors: tuple[Floor, ...]
    own: Split
    best: Split
    splits: tuple[Split, ...]
    own_blocks: int
    setup_s: float
    notes: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether some number of blocks will do."""
        return self.best.blocks.probable is not None
