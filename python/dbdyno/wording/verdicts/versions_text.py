"""A new version against its base, in sentences."""

from __future__ import annotations

import math

from dbdyno.analysis.claims.equivalence import edges_of
from dbdyno.analysis.types import SAME, UNDECIDED, ClaimPart, Versions
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers
from dbdyno.wording.headlines.summary_text import metric_words


def equal_to_base(margin: float) -> str:
    """No difference that matters."""
    return f"all of the interval is {_equal(margin)}"


def beyond_base(above: bool, margin: float) -> str:
    """A difference that matters."""
    return f"all of the interval is {'above' if above else 'below'} what is {_equal(margin)}"


def _equal(margin: float) -> str:
    return f"within {numbers.percent(margin)} of equal" if margin else "equal"


def versions(plan: Plan, found: Versions) -> str:
    """One sentence for all comparisons: the verdict, and the comparison that shows it most."""
    parts, verdict, matters = found.parts, found.verdict, found.matters
    chosen = [part for part in parts if part.verdict == verdict]
    known = [part for part in chosen if part.estimate is not None and part.estimate.ci_low]
    if not chosen:
        return "The new version was not compared: none of its cells has a counterpart that ran."
    if verdict == SAME:
        many = "" if len(parts) == 1 else f" in any of {len(parts)} comparisons"
        return f"The new version shows no difference that matters{many}: {_size(plan, chosen[0])}."
    of = "" if len(parts) == 1 else f" in {len(chosen)} of {len(parts)} comparisons"
    if verdict == UNDECIDED:
        if not known:
            return f"The new version was not judged{of}: {chosen[0].why}."
        widest = max(known, key=_width)
        return f"It is not known whether the new version is worse{of}: {_size(plan, widest)}."
    beyond = f" by more than {numbers.percent(matters)}" if matters else ""
    most = max(chosen, key=_effect)
    return f"The new version is {verdict}{beyond}{of}: {_size(plan, most)}."


def _size(plan: Plan, part: ClaimPart) -> str:
    """`throughput 0.91x (0.89-0.93) that of the base, at sync full`."""
    assert part.estimate is not None
    noun, _ = metric_words(part.metric, plan)
    one, edges = part.estimate, edges_of(part)
    at = f", at {level_text.levels(plan, part.at)}" if part.at else ""
    if part.verdict == UNDECIDED:  # an uncertain ratio is not reported by its middle
        fits = numbers.interval(one.ci_low, one.ci_high, *edges)
        return f"{noun} may be {fits} times that of the base{at}"
    ends = numbers.interval(one.ci_low, one.ci_high, *edges)
    size = f"{numbers.ratio(one.ratio, *edges)}x ({ends})"
    return f"{noun} is {size} that of the base{at}"


def _width(part: ClaimPart) -> float:
    assert part.estimate is not None
    low, high = part.estimate.ci_low, part.estimate.ci_high
    return math.inf if not low or high is None else math.log(high / low)


def _effect(part: ClaimPart) -> float:
    ratio = part.estimate.ratio if part.estimate else 0.0
    return abs(math.log(ratio)) if ratio > 0 else math.inf
