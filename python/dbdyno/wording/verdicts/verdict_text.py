"""The sentences of a verdict: what decided a claim or kept it open, with its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dbdyno.analysis.claims.equivalence import edges_of
from dbdyno.analysis.claims.power import BLOCKS_MAX
from dbdyno.analysis.types import (
    ANY,
    CONTRADICT,
    PEAK,
    PEAKS,
    RATIO,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    VALUE,
    Check,
    ClaimPart,
)
from dbdyno.experiment.claims.grammar import EQUAL, within
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers, plurals


def verdict(
    part: ClaimPart, note: str, paired: bool, counted: bool, rare: tuple[int, int, float] | None
) -> str:
    """What decided a part or kept it open, with its numbers. `rare`: blocks that are above zero, if
    hardly any is, of how many, and the largest share of such trials that fits."""
    shown, against = _shown(part), asked(part)
    if part.kind == PEAK:
        shown, against = f"the best of the levels claimed is {shown} the best of the others", "1x"
    words = {SUPPORTED: "the whole interval meets", REFUTED: "no value in the interval meets"}
    if part.operator == EQUAL:
        words = {SUPPORTED: "the whole interval lies in", REFUTED: "the whole interval is outside"}
        equal = f"{part.threshold:g}{_times(part)} within {numbers.percent(part.margin)}"
        against = f"{_ends(part)} ({equal})"
    if part.kind == PEAK:
        words = {SUPPORTED: "the whole interval is above", REFUTED: "the whole interval is below"}
    if part.verdict != UNDECIDED:
        text = f"{shown}: {words[part.verdict]} {against}"
        if part.small:
            text += "; real but too small to matter"
        return "; ".join(filter(None, [text, _doubt(part), note]))
    takes = "" if rare or not paired else more(part)
    reach = "" if counted or rare else _reach(part, "block" if paired else "run")
    seen = ""
    if counted:  # its noise is not known, nor that of what is rare
        seen = "that all blocks agree does not show that the next would: so few are counted"
    elif rare:
        seen = _unseen(*rare)
    said = [_unknown(part), seen, takes, reach, _doubt(part), note]
    return "; ".join(filter(None, said))


def _unseen(seen: int, n: int, most: float) -> str:
    """Of what hardly any block saw: what that shows."""
    which = "none" if seen == 0 else "one"
    return (
        f"{which} of {plurals.count(n, 'block')} is above zero: up to {numbers.percent(most)} of"
        " such trials may be, and how far the next would be is not known"
    )


def checked(check: Check, part: ClaimPart) -> str:
    """What a cross-check found: `permutation p 0.031`, `BCa interval 1.02x to 1.10x`."""
    if check.note:
        return f"no {check.method} interval: {check.note}"
    if check.p is not None:
        return f"{check.method} p {check.p:.2g}"
    times = part.kind == RATIO
    edges = edges_of(part)
    low, high = (_end(end, times, edges) for end in (check.ci_low or 0.0, check.ci_high or 0.0))
    return f"{check.method} interval {low} to {high}"


def _doubt(part: ClaimPart) -> str:
    """What other methods say of a verdict that they do not share."""
    others = [checked(check, part) for check in part.checks if not check.agrees]
    if not others:
        return ""
    would = "would decide it" if part.verdict == UNDECIDED else "would not decide it"
    return f"at {numbers.percent(part.checks[0].level or 0.0)}, {numbers.listed(others)} {would}"


def _unknown(part: ClaimPart) -> str:
    """What else fits the measurements of an undecided part than what the claim asks for."""
    estimate = part.estimate
    assert estimate is not None
    low, high, edges = estimate.ci_low, estimate.ci_high, edges_of(part)
    if part.kind == VALUE and low is not None and high is None and not estimate.bound:
        return (
            f"not known: any value from {numbers.number(low, *edges)} on fits what was measured,"
            f" and the claim asks for {asked(part)}"
        )
    if low is None or high is None:
        return f"not known: it is {_shown(part)}, and the claim asks for {asked(part)}"
    if part.kind == PEAK:
        ends = f"{numbers.bound(low, *edges)}x to {numbers.bound(high, *edges)}x"
        return f"not known: the best of the levels claimed may be {ends} the best of the others"
    if part.kind == RATIO:
        ends = f"{numbers.bound(low, *edges)}x to {numbers.bound(high, *edges)}x"
        fits = f"any ratio from {ends}"
    else:
        ends = f"{numbers.number(low, *edges)} to {numbers.number(high, *edges)}"
        fits = f"any value from {ends}"
    return f"not known: {fits} fits what was measured, and the claim asks for {asked(part)}"


def asked(part: ClaimPart) -> str:
    """What a part is compared with: `>= 2`, `1x within 3 % (0.97x to 1.03x)`."""
    if part.operator != EQUAL:
        return f"{part.operator} {part.threshold:g}"
    times = _times(part)
    return f"{part.threshold:g}{times} within {numbers.percent(part.margin)} ({_ends(part)})"


def _ends(part: ClaimPart) -> str:
    """What still counts as equal."""
    low, high = within(part.threshold, part.margin)
    times = _times(part)
    return f"{_fine(low)}{times} to {_fine(high)}{times}"


def _fine(value: float) -> str:
    """A number to four digits, since a margin may be small."""
    return f"{value:.4g}"


def _times(part: ClaimPart) -> str:
    return "x" if part.kind in (RATIO, PEAK) else ""


_BOUND_RATES = (
    "a search ended without a rate that holds below one that fails, so this is a bound only: a"
    " `start` nearer to the answer would give a value"
)
_BOUND_TIMES = (
    "some arrivals had no answer by the end, so this is a bound only: a lower rate or a longer"
    " `drain` would give a value"
)
_BOUND_OUTAGES = (
    "some trials ended before the server committed again, so this is a bound only: a longer"
    " `duration` would give a value"
)
_OUTAGES = ("outage_s", "failover_s", "brownout_s")


def _bound(part: ClaimPart) -> str:
    """Why a number is a bound only, and what would give a value."""
    if part.metric.endswith("rate_max_per_s"):
        return _BOUND_RATES
    return _BOUND_OUTAGES if part.metric.endswith(_OUTAGES) else _BOUND_TIMES


def more(part: ClaimPart) -> str:
    """What it would probably take to decide an undecided part."""
    if part.estimate and part.estimate.bound:
        return _bound(part)
    if part.blocks_needed is None:
        return ""
    assert part.estimate is not None
    low, high = part.blocks_needed.low, part.blocks_needed.high
    if low is None:
        return "" if part.kind == PEAKS else f"more than {BLOCKS_MAX:,} blocks would not decide it"
    if high is None:
        takes = f"to decide it takes from {plurals.count(low, 'more block')} to never"
    else:
        takes = f"to decide it takes from {low} to {plurals.count(high, 'more block')}"
    takes += ", depending on how large the difference truly is"
    if low > 10 * part.estimate.n:
        return f"{takes}: longer trials on a quieter machine are the better way"
    return takes


def _reach(part: ClaimPart, block: str) -> str:
    """The smallest effect that the run had a good chance (80 %) to show."""
    estimate, seen = part.estimate, part.detectable
    assert estimate is not None
    if part.kind == PEAKS or estimate.bound or (part.kind == RATIO and part.threshold <= 0):
        return ""
    noise = f"with this much noise {plurals.count(estimate.n, block)}"
    if part.operator == EQUAL:
        if seen is None or seen > 1:
            return f"{noise} cannot show equality within less than twice and half"
        return f"{noise} can show equality only within {numbers.percent(seen)}"
    if seen is None or (part.kind != VALUE and seen > 1000):
        return f"{noise} show next to nothing"
    if part.kind == PEAK:
        return f"{noise} can show only a best level that is {numbers.bound(1 + seen)}x the others"
    if part.kind == VALUE:
        away = [part.threshold - seen, part.threshold + seen]
        below = f" or below {numbers.number(away[0])}" if away[0] > 0 else ""
        return f"{noise} can show only values above {numbers.number(away[1])}{below}"
    ends = [
        numbers.bound(part.threshold * (1 + seen)),
        numbers.bound(part.threshold / (1 + seen)),
    ]
    return f"{noise} can show only ratios above {ends[0]}x or below {ends[1]}x"


def _end(value: float, times: bool, edges: Sequence[float]) -> str:
    return f"{numbers.ratio(value, *edges)}x" if times else numbers.number(value, *edges)


def _shown(part: ClaimPart) -> str:
    """An estimate with its interval: `2.92x (2.85-2.99)`, `0.33 (0.25 to 0.41)`."""
    estimate = part.estimate
    assert estimate is not None
    low, high, edges = estimate.ci_low, estimate.ci_high, edges_of(part)
    times = part.kind in (RATIO, PEAK)
    level = numbers.percent(estimate.level)
    centre = _end(estimate.ratio, times, edges if part.verdict != UNDECIDED else ())
    if estimate.bound:
        end = low if estimate.bound == AT_LEAST else high
        sure = (
            "" if end is None else f" ({level} sure of {estimate.bound} {_end(end, times, edges)})"
        )
        return f"{estimate.bound} {centre}{sure}"
    if low is None or high is None:
        return f"{centre} (no interval at {level} from {estimate.n} blocks)"
    if times:
        return f"{centre} ({numbers.interval(low, high, *edges)})"
    return f"{centre} ({numbers.number(low, *edges)} to {numbers.number(high, *edges)})"


def _published(plan: Plan, parts: Sequence[ClaimPart]) -> str:
    """How too few figures compare with a claim of several parts."""
    against = [part for part in parts if part.figures == CONTRADICT]
    few = parts[0].why.partition("; ")[0]
    if not against:
        return f"{few}; the figures themselves agree with it in all {len(parts)} comparisons"
    at = level_text.levels(plan, against[0].at)
    said = against[0].why.partition("; ")[2].removeprefix("the figures themselves ")
    said = said.partition(", which ")[0]
    more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
    return (
        f"{few}; the figures themselves contradict it in {len(against)} of {len(parts)}"
        f" comparisons: at {at} they {said}{more}"
    )


def _is_bounded(part: ClaimPart) -> bool:
    return part.estimate is not None and part.estimate.ci_high is not None


def _n(part: ClaimPart) -> int:
    return part.estimate.n if part.estimate else 0


def _soonest(part: ClaimPart) -> float:
    needed = part.blocks_needed.low if part.blocks_needed else None
    return math.inf if needed is None else needed


def _place(plan: Plan, part: ClaimPart, parts: Sequence[ClaimPart]) -> str:
    """Which comparison of a claim: `at 16 sessions`; of several there, `p99[on] at 16 sessions`."""
    levels = level_text.levels(plan, part.at)
    at = f"at {levels}" if levels else ""
    several = sum(one.at == part.at for one in parts) > 1
    return " ".join(filter(None, [part.left if several else "", at]))


def claim(plan: Plan, parts: Sequence[ClaimPart], verdict: str) -> str:
    """One sentence for the claim: its only part's, or the verdicts of its parts and the first that
    decided."""
    if len(parts) == 1:
        return parts[0].why
    if len({part.why for part in parts}) == 1:
        return parts[0].why
    if verdict == UNDECIDED and all(part.figures for part in parts):
        return _published(plan, parts)
    which = [part for part in parts if part.verdict == verdict]
    if verdict == UNDECIDED:  # the one that is nearest to an answer
        which.sort(key=_soonest)
    at = _place(plan, which[0], parts)
    if verdict == SUPPORTED:
        small = sum(part.small for part in parts)
        extra = f"; {small} of them real but too small to matter" if small else ""
        every = "both" if len(parts) == 2 else f"all {len(parts)}"
        limited = [part for part in parts if part.kind == ANY and _is_bounded(part)]
        if limited:  # what they bound belongs to the verdict
            few = min(limited, key=_n)
            extra += f"; {_place(plan, few, parts)}: {few.why}"
        return f"{every} comparisons support it{extra}"
    if verdict == REFUTED:
        refute = "refutes" if len(which) == 1 else "refute"
        return f"{len(which)} of {len(parts)} comparisons {refute} it; {at}: {which[0].why}"
    known = len(parts) - len(which)
    how = f"{known} of {len(parts)} comparisons {'is' if known == 1 else 'are'} decided"
    if not known:
        none = "neither" if len(parts) == 2 else "none"
        how = f"{none} of the {len(parts)} comparisons is decided"
    stuck = [part for part in which if part.estimate is None]
    if stuck:  # whatever the others come to, this one keeps the claim open
        return f"{how}; {_place(plan, stuck[0], parts)}, {stuck[0].why}"
    reason = which[0].why
    if reason.startswith("not known: "):  # its interval is next to it, with those of the others
        reason = reason.partition("; ")[2] or reason
    return f"{how}; nearest to an answer, {at}: {reason}"
