"""Why a comparison is not judged, cannot be estimated, or leaves blocks out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.analysis.types import PEAK, RATIO
from dbdyno.experiment.claims.metrics import why_absent
from dbdyno.experiment.values.bounds import named
from dbdyno.wording import numbers

PLAIN = {
    "quick_run": "a quick run is a smoke test and is never judged",
    "peaks_unpaired": "where it peaks is not judged of runs that are not passes over all levels",
    "failures_differ": "not judged: {failures}; the rest is a selection",
    "not_estimable": "not estimable: {problem}",
    "no_common_block": "no block has both sides of the comparison",
    "zero_side": "one side is zero in a block",
    "best_other": "best at the other levels",
    "bca_constant": "all blocks agree, so that resampling them shows nothing",
    "bca_resamples": "so high a confidence would take more than {most:,} resamples",
    "bca_one_side": "all resamples lie on one side of the mean",
    "bca_skewed": "the blocks are so skewed that no resample reaches the ends of the interval",
    "known_one_side": "they are known on one side only",
    "void_unjudged": "not judged: with the values of void attempts, {why}",
}


def too_few(n: int, unit: str, a_cell: bool, least: int) -> str:
    """`2 blocks are too few to judge (3 at least)`."""
    cell, is_ = " a cell" if a_cell else "", "is" if n == 1 else "are"
    return f"{numbers.counted(n, unit)}{cell} {is_} too few to judge ({least} at least)"


def not_yet(first: int) -> str:
    """Before the first look."""
    return f"not judged before {numbers.counted(first, 'block')} are whole"


def few_for_look(n: int, least: int) -> str:
    """At the first looks."""
    return f"{numbers.counted(n, 'block')} with both sides: {least} at least for a look"


def figures(why: str, kind: str, centre: float, note: str, agrees: bool) -> str:
    """Published figures that are too few to judge."""
    if kind == PEAK:
        said = f"are {note.partition('; ')[0]}"
    else:
        said = f"say {numbers.number(centre)}{'x' if kind == RATIO else ''}"
    verb = "agrees with" if agrees else "contradicts"
    return f"{why}; the figures themselves {said}, which {verb} it"


def only_bound(metric: str, bound: str) -> str:
    """`p99 is only a lower bound`."""
    return f"{metric} is only {named(bound)}"


def bound_at_level(metric: str, bound: str) -> str:
    """Of a peak, or of a sweep."""
    return f"{only_bound(metric, bound)} at some level"


def both_bounds(bound: str, metric: str, cell: Mapping[str, str]) -> str:
    """A ratio of two bounds to the same side."""
    return f"both sides are only {named(bound, several=True)} ({metric} in {_cell(cell)})"


def different_bounds(sides: Sequence[tuple[str, str, Mapping[str, str]]]) -> str:
    """A ratio of metrics, each with its bound and cell."""
    return numbers.listed(
        [f"{only_bound(metric, bound)} in {_cell(cell)}" for metric, bound, cell in sides]
    )


def best_allowed(metric: str, operator: str, threshold: float) -> str:
    """The left side of a claim on a peak."""
    return f"best {metric} at levels {operator} {threshold:g}"


def one_sided_levels(operator: str, threshold: float, inside: bool) -> str:
    """A claim on a peak that all levels meet, or none."""
    which = "only" if inside else "no"
    return f"{which} levels {operator} {threshold:g} were tested, so there is nothing to compare"


def zero_at_levels(metric: str, levels: int) -> str:
    """Of a peak."""
    return f"{metric} is zero in some block of {numbers.counted(levels, 'level')}"


def highest_at(levels: Sequence[float]) -> str:
    """Where the peak was, over blocks."""
    if len(levels) == 1:
        return f"highest at {levels[0]:g}"
    found = [f"{value:g} in {levels.count(value)}" for value in sorted(set(levels))]
    return f"highest at {numbers.listed(found)} of {numbers.counted(len(levels), 'block')}"


def zero(metric: str, value: float, cell: Mapping[str, str], blocks: Sequence[int]) -> str:
    """A side of a ratio."""
    return f"{metric} is {value:g} in {_cell(cell)}, {_blocks(blocks)}"


def zero_in_run(metric: str, cell: Mapping[str, str]) -> str:
    """A side of a ratio of runs that nothing pairs."""
    return f"{metric} is zero in a run of {_cell(cell)}"


def absent(metrics: Sequence[str], missing: int, blocks: int, longer: bool) -> str:
    """Metrics that some blocks do not have. `longer`: trials would have them."""
    why = numbers.listed(list(dict.fromkeys(filter(None, map(why_absent, metrics)))))
    named_ = numbers.listed(list(dict.fromkeys(metrics)))
    text = f"{named_} is absent in {missing} of {blocks} blocks ({why or 'not measured there'})"
    return f"{text}: longer trials would have it" if longer else text


def never_measured(cell: Mapping[str, str], blocks: Sequence[int]) -> str:
    """All attempts at a trial were void."""
    return f"no attempt to measure {_cell(cell)} succeeded in {_blocks(blocks)}"


def outage(cell: Mapping[str, str], blocks: Sequence[int]) -> str:
    """Connections were lost."""
    return f"there was an outage in {_cell(cell)}, {_blocks(blocks)}"


def missing_cell(what: str, skipped: Sequence[tuple[str, str]]) -> str:
    """A claim names a cell that the plan skips."""
    return "; ".join([what, *(f"{name}: {why}" for name, why in skipped)])


def _cell(levels: Mapping[str, str]) -> str:
    return " ".join(f"{name}={level}" for name, level in levels.items()) or "the only cell"


def _blocks(blocks: Sequence[int]) -> str:
    return f"block {numbers.listed([str(block) for block in blocks])}"
