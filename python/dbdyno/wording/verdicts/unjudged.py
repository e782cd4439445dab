"""Why a comparison is not judged, cannot be estimated, or leaves blocks out."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.types import PEAK, RATIO
from dbdyno.experiment.claims.metrics import why_absent
from dbdyno.wording import numbers, plurals

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
    "not_yet": "not judged before {first:count block} are whole",
    "few_for_look": "{n:count block} with both sides: {least} at least for a look",
    "only_bound": "{metric} is only {bound:bound}",
    "bound_in": "{metric} is only {bound:bound} in {cell:cell}",
    "bound_at_level": "{metric} is only {bound:bound} at some level",
    "both_bounds": "both sides are only {bound:bounds} ({metric} in {cell:cell})",
    "different_bounds": "{sides:list}",
    "best_allowed": "best {metric} at levels {operator} {threshold:g}",
    "one_sided_levels": "{inside:either only|no} levels {operator} {threshold:g} were tested, so"
    " there is nothing to compare",
    "zero": "{metric} is {value:g} in {cell:cell}, block {blocks:list}",
    "zero_at_levels": "{metric} is zero in some block of {levels:count level}",
    "zero_in_run": "{metric} is zero in a run of {cell:cell}",
    "never_measured": "no attempt to measure {cell:cell} succeeded in block {blocks:list}",
    "outage": "there was an outage in {cell:cell}, block {blocks:list}",
}


def too_few(n: int, unit: str, a_cell: bool, least: int) -> str:
    """`2 blocks are too few to judge (3 at least)`."""
    cell, is_ = " a cell" if a_cell else "", "is" if n == 1 else "are"
    return f"{plurals.count(n, unit)}{cell} {is_} too few to judge ({least} at least)"


def figures(why: str, kind: str, centre: float, note: str, agrees: bool) -> str:
    """Published figures that are too few to judge."""
    if kind == PEAK:
        said = f"are {note.partition('; ')[0]}"
    else:
        said = f"say {numbers.number(centre)}{'x' if kind == RATIO else ''}"
    verb = "agrees with" if agrees else "contradicts"
    return f"{why}; the figures themselves {said}, which {verb} it"


def highest_at(levels: Sequence[float]) -> str:
    """Where the peak was, over blocks."""
    if len(levels) == 1:
        return f"highest at {levels[0]:g}"
    found = [f"{value:g} in {levels.count(value)}" for value in sorted(set(levels))]
    return f"highest at {numbers.listed(found)} of {plurals.count(len(levels), 'block')}"


def absent(metrics: Sequence[str], missing: int, blocks: int, longer: bool) -> str:
    """Metrics that some blocks do not have. `longer`: trials would have them."""
    why = numbers.listed(list(dict.fromkeys(filter(None, map(why_absent, metrics)))))
    named_ = numbers.listed(list(dict.fromkeys(metrics)))
    text = f"{named_} is absent in {missing} of {blocks} blocks ({why or 'not measured there'})"
    return f"{text}: longer trials would have it" if longer else text


def missing_cell(what: str, skipped: Sequence[tuple[str, str]]) -> str:
    """A claim names a cell that the plan skips."""
    return "; ".join([what, *(f"{name}: {why}" for name, why in skipped)])
