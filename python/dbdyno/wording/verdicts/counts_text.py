"""Verdicts on counts of what must not happen, in sentences."""

from __future__ import annotations

from dbdyno.analysis.types import SHARE, UNDECIDED, ClaimPart
from dbdyno.experiment.claims import metrics
from dbdyno.wording import numbers, plurals

_AMONG = {"audit.acknowledged": "acknowledged transactions", "routing.statements": "statements"}


def any_seen(
    part: ClaimPart, seen: int, n: int, share: float, rate: float | None, of: float, note: str
) -> str:
    """Whether a count ever reached its limit; where it did not, what that bounds. `seen`: trials
    that did; `share`: the largest share of such trials that fits; `rate`: the same of the `of` that
    were counted among."""
    said = [_reached(part, seen, n)] if seen else _below(part, n, share, rate, of)
    return "; ".join(filter(None, [*said, note]))


def _reached(part: ClaimPart, seen: int, n: int) -> str:
    assert part.estimate is not None
    most = f"{part.estimate.ratio:,.0f}"
    if n == 1:
        return f"{most} in the only trial: one trial is enough"
    where = "above zero" if _is_of_any(part) else f"not {part.operator} {part.threshold:g}"
    return f"{where} in {seen} of {plurals.count(n, 'trial')}, {most} in the worst: one is enough"


def _below(part: ClaimPart, n: int, share: float, rate: float | None, of: float) -> list[str]:
    assert part.estimate is not None
    trials, most = plurals.count(n, "trial"), f"{part.estimate.ratio:,.0f}"
    seen = f"{part.operator} {part.threshold:g} in all of {trials}, {most} in the worst"
    has, have, without = "not meet it", "do not meet it", "that meet it"
    if _is_of_any(part):
        seen, has, have, without = f"none in {trials}", "have any", "have any", "without any"
    bound = f"{numbers.percent(share)} of such trials"
    level = f"(confidence {numbers.percent(part.estimate.level)})"
    alone = "" if rate is None else _one_by_one(part.metric, rate, of)
    if part.verdict != UNDECIDED:
        return [f"{seen}: at most {bound} {have} {level}{alone}"]
    said = f"{seen}: up to {bound} may {has} {level}{alone}"
    if part.blocks_needed is None or not part.blocks_needed.low:
        return [said, "no number of trials without any shows that there are none"]
    more = plurals.count(part.blocks_needed.low, "more block")
    return [said, f"{more} {without} would bound that to a half, which decides it"]


def _is_of_any(part: ClaimPart) -> bool:
    """Whether the limit is the first one at all."""
    return part.threshold < 1 or (part.threshold == 1 and part.operator in ("<", ">="))


def _one_by_one(metric: str, rate: float, of: float) -> str:
    among = _AMONG[metrics.counted_among(metric)]
    if rate >= 1:
        return ""
    return f", and of {of:,.0f} {among} at most 1 in {1 / rate:,.0f} if they come one by one"


def trials_counted(part: ClaimPart, hits: int, note: str) -> str:
    """In how many trials a comparison of two counts holds."""
    estimate = part.estimate
    assert estimate is not None
    low = numbers.percent(estimate.ci_low or 0.0)
    high = numbers.percent(1.0 if estimate.ci_high is None else estimate.ci_high)
    held = f"it holds in {hits} of {plurals.count(estimate.n, 'trial')}"
    fits = f"{low} to {high} of such trials (confidence {numbers.percent(estimate.level)})"
    if part.verdict != UNDECIDED:
        side = "more" if 2 * hits > estimate.n else "fewer"
        said = [f"{held}, which is {side} than half of them: {fits}"]
    else:
        said = [f"not known: {held}, and {fits} fit; a count of zero has no ratio"]
        if part.blocks_needed and part.blocks_needed.low:
            more = plurals.count(part.blocks_needed.low, "more block")
            said.append(f"{more} that go as most of these did would decide it")
    return "; ".join(filter(None, [*said, note]))


def trials_in_which(left: str, right: str, operator: str, factor: float) -> str:
    """A comparison of two counts, as what is counted."""
    times = "" if factor == 1 else f"{factor:g} * "
    return f"trials in which {left} {operator} {times}{right}"


def counted(part: ClaimPart) -> str:
    """The estimate of a part that is ANY or SHARE: `none in 6 trials`, `5 of 6 trials`."""
    assert part.estimate is not None
    value, trials = part.estimate.ratio, plurals.count(part.estimate.n, "trial")
    if part.kind == SHARE:
        return f"{round(value * part.estimate.n)} of {trials}"
    if not value:
        return f"none in {trials}"
    return f"{value:,.0f} in the {'only' if part.estimate.n == 1 else 'worst of'} " + (
        "trial" if part.estimate.n == 1 else trials
    )
