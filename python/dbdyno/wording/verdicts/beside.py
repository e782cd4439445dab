"""What stands beside verdicts: looks, void attempts, blocks that stand out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers

_HOW = "95 % over all blocks and claims"

PLAIN = {
    "unblocked": "unblocked: nothing says that these runs were passes over all cells, so what"
    " changed between the runs of one cell and those of another is in the difference",
    "run_ends": "{sentence} The run ends here.",
    "of_claim": "{claim}: {said}",
    "verdict_hangs_on": "the verdict hangs on block {block}: without it the claim is {without}",
}


def looking(most: int, taken: int, after: int, open_: int, judged: int) -> str:
    """ "Decided after 6 of at most 12 blocks; intervals allow for the 3 looks." """
    blocks = f"{after} of at most {numbers.counted(most, 'block')}"
    if not taken:
        return f"Not looked at yet: {blocks} {'is' if after == 1 else 'are'} whole."
    if not judged:
        return f"After {blocks} no comparison can be judged, and more blocks would not change that."
    looks = "the one look" if taken == 1 else f"the {taken} looks"
    if not open_:
        return f"Decided after {blocks}; intervals allow for {looks}."
    parts = numbers.counted(open_, "comparison")
    is_ = "is" if open_ == 1 else "are"
    return f"After {blocks} {parts} {is_} still open; intervals allow for {looks}."


def void_rates(left: tuple[int, int], right: tuple[int, int], p: float) -> str:
    """Attempts that gave no measurement, out of all, at two cells."""
    sides = [f"{failed} of {count}" for failed, count in (left, right)]
    return (
        f"{sides[0]} attempts of one side were void without a measurement, {sides[1]} of the"
        f" other (exact test: p {numbers.number(p)})"
    )


def void_read_twice(sides: Sequence[tuple[int, int]]) -> str:
    """Attempts that were void though measured, out of all, at each cell."""
    if len(sides) == 2:
        each = [f"{void} of {count} attempts" for void, count in sides]
        which = f"{each[0]} of one side and {each[1]} of the other were"
    else:
        void, count = (sum(counts) for counts in zip(*sides, strict=True))
        which = f"{void} of {count} attempts {'was' if void == 1 else 'were'}"
    return f"{which} void though measured: a verdict must hold with their values and without them"


def outlier(block: int, one: float, others: float, where: str) -> str:
    """A block far from the others."""
    return (
        f"block {block}: its ratio of {numbers.ratio(one)}x{where} is far from the others'"
        f" {numbers.ratio(others)}x (outlier at {_HOW})"
    )


def block_trend(first: int, last: int, where: str, ends: Sequence[float], rises: bool) -> str:
    """A ratio that moves along the blocks."""
    return (
        f"block {first} to block {last}: the ratio{where} {'rises' if rises else 'falls'} from"
        f" {numbers.ratio(ends[0])}x to {numbers.ratio(ends[1])}x on a straight line (trend at"
        f" {_HOW}); the interval is of the average over the blocks, not of where it ends"
    )


def blocks_alike(first: int, last: int, where: str, r: float) -> str:
    """Blocks next to each other resemble each other."""
    return (
        f"block {first} to block {last}: neighbouring blocks have similar ratios{where} (lag-1"
        f" autocorrelation {r:.2f}, at {_HOW}); the interval takes blocks for independent and may"
        " be too narrow"
    )


def answer_hangs_on(block: int, clear: bool) -> str:
    """A block without which the leading comparison is another."""
    now = "is clear" if clear else "is not clear"
    return f"the answer hangs on block {block}: without it the ratio {now}"


def of_ratio(plan: Plan, metric: str, at: Mapping[str, str]) -> str:
    """Which of a claim's ratios: " of service_ms_p99 at 4 sessions"."""
    of = f" of {metric}" if metric else ""
    return of + (f" at {level_text.levels(plan, at)}" if at else "")


def of_lead(
    plan: Plan,
    left: Mapping[str, str],
    right: Mapping[str, str],
    common: Mapping[str, str],
    metric: str,
) -> str:
    """That the ratio is the leading comparison."""
    one, other = level_text.levels(plan, left), level_text.levels(plan, right)
    at = f", at {level_text.levels(plan, common)}" if common else ""
    return f" of {one} to {other} in {metric}{at}"


def joined(parts: Sequence[str]) -> str:
    """Parts of a sentence."""
    return "; ".join(parts)
