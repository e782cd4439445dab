"""Notes next to verdicts: interim looks, void attempts, unusual blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import plurals

PLAIN = {
    "unblocked": "unblocked: nothing says that these runs were passes over all cells, so what"
    " changed between the runs of one cell and those of another is in the difference",
    "run_ends": "{sentence} The run ends here.",
    "of_claim": "{claim}: {said}",
    "verdict_hangs_on": "the verdict hangs on block {block}: without it the claim is {without}",
    "void_rates": "{left[0]} of {left[1]} attempts of one side were void without a measurement,"
    " {right[0]} of {right[1]} of the other (exact test: p {p:number})",
    "outlier": "block {block}: its ratio of {one:ratio}x{where} is far from the others'"
    " {others:ratio}x (outlier at 95 % over all blocks and claims)",
    "block_trend": "block {first} to block {last}: the ratio{where} {rises:either rises|falls} from"
    " {ends[0]:ratio}x to {ends[1]:ratio}x on a straight line (trend at 95 % over all blocks and"
    " claims); the interval is of the average over the blocks, not of where it ends",
    "blocks_alike": "block {first} to block {last}: neighbouring blocks have similar ratios{where}"
    " (lag-1 autocorrelation {r:.2f}, at 95 % over all blocks and claims); the interval takes"
    " blocks for independent and may be too narrow",
    "answer_hangs_on": "the answer hangs on block {block}: without it the ratio"
    " {clear:either is clear|is not clear}",
    "of_lead": " of {left:levels} to {right:levels} in {metric}{common:at}",
}


def looking(most: int, taken: int, after: int, open_: int, judged: int) -> str:
    """ "Decided after 6 of at most 12 blocks; intervals allow for the 3 looks." """
    blocks = f"{after} of at most {plurals.count(most, 'block')}"
    if not taken:
        return f"No interim look yet: {blocks} {'is' if after == 1 else 'are'} whole."
    if not judged:
        return f"After {blocks} no comparison can be judged, and more blocks would not change that."
    looks = "the one look" if taken == 1 else f"the {taken} looks"
    if not open_:
        return f"Decided after {blocks}; intervals allow for {looks}."
    parts = plurals.count(open_, "comparison")
    is_ = "is" if open_ == 1 else "are"
    return f"After {blocks} {parts} {is_} still open; intervals allow for {looks}."


def void_read_twice(sides: Sequence[tuple[int, int]]) -> str:
    """Attempts that were void though measured, out of all, at each cell."""
    if len(sides) == 2:
        each = [f"{void} of {count} attempts" for void, count in sides]
        which = f"{each[0]} of one side and {each[1]} of the other were"
    else:
        void, count = (sum(counts) for counts in zip(*sides, strict=True))
        which = f"{void} of {count} attempts {'was' if void == 1 else 'were'}"
    return f"{which} void though measured: a verdict must hold with their values and without them"


def of_ratio(plan: Plan, metric: str, at: Mapping[str, str]) -> str:
    """Which of a claim's ratios: " of service_ms_p99 at 4 sessions"."""
    of = f" of {metric}" if metric else ""
    return of + (f" at {level_text.levels(plan, at)}" if at else "")


def joined(parts: Sequence[str]) -> str:
    """Parts of a sentence."""
    return "; ".join(parts)
