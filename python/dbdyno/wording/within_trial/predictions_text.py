"""Predictions next to what was measured, as cells of a table and in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from dbdyno.analysis.predictions.types import (
    ACKNOWLEDGED,
    CERTIFICATION,
    CHANGE,
    COMMIT,
    COMMITS,
    ERRORS,
    LAG,
    OUTAGE,
    TAKEN,
    KnownError,
    Quantity,
)
from dbdyno.analysis.predictions.types import Sequence as Members
from dbdyno.wording.numbers import listed, sig3
from dbdyno.wording.plurals import count

NAMES = {
    OUTAGE: "longest time without a commit",
    CHANGE: "another number of members, after the fault",
    **dict.fromkeys((COMMIT, ACKNOWLEDGED), "transaction, median"),
    COMMITS: "commits",
    ERRORS: "attempts that failed",
    CERTIFICATION: "certification failures",
    TAKEN: "rows taken by appliers",
    LAG: "growth of the lag",
}
_MS, _SECONDS = frozenset({COMMIT, ACKNOWLEDGED}), frozenset({OUTAGE, CHANGE})
MEMBERS = "members that it sees"
OFF = "the model is off here"


def what(one: Quantity) -> str:
    """A quantity, with whose it is, and in which trials where others differ."""
    name = f"{one.of}: {NAMES[one.what]}" if one.of else NAMES[one.what]
    if not one.blocks:
        return name
    blocks = "block" if len(one.blocks) == 1 else "blocks"
    return f"{name}, {blocks} {listed([str(block) for block in one.blocks])}"


def predicted(one: Quantity) -> str:
    """The range that the model gives."""
    low, high = one.predicted
    least = "at least " if one.at_least else ""
    if one.at_least:
        return f"{least}{_value(one, low)}"
    return _span(one, low, high)


def measured(one: Quantity) -> str:
    """The trials' values, from the least to the most."""
    if one.what == CHANGE:  # between two samples
        lows, highs = zip(*one.measured, strict=True)
        return f"sampled {_span(one, min(lows), max(highs))}"
    middles = [(low + high) / 2 for low, high in one.measured]
    text = _span(one, min(middles), max(middles))
    if len(middles) < 2:
        return text
    return f"{_value(one, median(middles))} ({text}, {count(len(middles), 'trial')})"


def difference(one: Quantity) -> str:
    """How far what was measured is from the prediction: of points in percent of the prediction, of
    ranges whether trials lie within, and how far the farthest does not."""
    low, high = one.predicted
    if one.what == LAG:
        return f"{one.middle - low:+z.2f} s/s"
    if one.at_least or high > low or one.what in _SECONDS:
        outside = [off for off in one.off if off]
        if not outside:
            is_bound = one.at_least and not any(end < math.inf for _, end in one.by_trial)
            return "none lower" if is_bound else "within"
        farthest = max(outside, key=abs)
        side = "above" if farthest > 0 else "below"
        far = f"up to {_value(one, abs(farthest))} {side}"
        return far if len(one.off) == 1 else f"{len(outside)} of {len(one.off)} outside, {far}"
    middle = median((a + b) / 2 for a, b in one.measured)
    if not low:
        return "as predicted" if not middle else "none predicted"
    return f"{middle / low - 1:+.0%}"


def known_error(known: KnownError | None, what: str) -> str:
    """How far a model was from real servers in the proof, at most."""
    if known is None:
        return "not known"
    if known.seconds:
        return f"{known.seconds:g} s/s" if what == LAG else f"{known.seconds:g} s"
    return f"{known.share:.0%}" if known.share else "none"


def judged(text: str, one: Quantity | Members) -> str:
    """A difference, with what it says of the model where it is larger than the known error."""
    return f"{text}; {OFF}" if one.is_model_off else text


def members(sequences: Sequence[tuple[int, ...]]) -> str:
    """Sequences of numbers of members, each once."""
    texts = [", then ".join(map(str, one)) for one in dict.fromkeys(sequences)]
    return " or ".join(texts)


def agreement(agree: int, trials: int) -> str:
    """Of sequences."""
    if agree == trials:
        return "the same"
    return f"another one in {trials - agree} of {count(trials, 'trial')}"


def _span(one: Quantity, low: float, high: float) -> str:
    first, last = _value(one, low), _value(one, high)
    return first if first == last else f"{first} to {last}"


def _value(one: Quantity, value: float) -> str:
    if one.what in _MS:
        return f"{sig3(value * 1e3)} ms"
    if one.what == LAG:
        return f"{value:z.2f} s/s"
    return f"{sig3(value)} s" if one.what in _SECONDS else f"{sig3(value)}/s"
