"""Causes of stalls, steps and differences in sentences: the rule's own, or what else moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbdyno.analysis.types import Suspect
from dbdyno.wording import numbers
from dbdyno.wording.causes import CAUSES
from dbdyno.wording.sampled import RATE_OR_LEVEL, label, scaled
from dbdyno.wording.sampled import unit as unit_of
from dbdyno.wording.template import fill

PLAIN = {
    "in_the_stall": "in the stall",
    "otherwise": "otherwise",
    "on_slower_side": "on the slower side of the step",
    "on_the_other": "on the other",
    "title_unknown": "unknown",
    "title_not_known": "not known",
    "title_several": "several causes",
    "with_levels": "with {levels:levels}",
}


def cause(rule: str, evidence: Mapping[str, Any], here: str, there: str) -> str:
    """The sentence of a rule, with its numbers."""
    return _said(CAUSES[rule].sentence, {"here": here, "there": there, **evidence})


def cause_title(rule: str) -> str:
    """ "binary log rotation" """
    return CAUSES[rule].title


def cause_cure(rule: str, evidence: Mapping[str, Any]) -> str:
    """What to change, with what it costs."""
    return _said(CAUSES[rule].cure, evidence)


def several_causes(stalls: int, counts: Sequence[tuple[str, int]]) -> str:
    """Of a cell: how many stalls each cause has."""
    named = ", ".join(
        f"{n} by {cause_title(name) if name in CAUSES else name}" for name, n in counts
    )
    return f"The {stalls} stalls have several causes: {named}."


def cause_unknown(
    fitting: Sequence[str], first: Suspect | None, sampled: bool, here: str, there: str
) -> str:
    """No rule fits, or several fit equally well; `first` of the suspects."""
    said = "The cause is unknown"
    if fitting:
        said = f"{said}: {numbers.listed([*map(cause_title, fitting)])} fit equally well"
    if first is not None:
        unit, factor = scaled(unit_of(first.metric))
        during, otherwise = (numbers.number(factor * v) for v in (first.during, first.otherwise))
        counted = "" if unit == RATE_OR_LEVEL else unit
        moved = f"{label(first.metric)}, {during} {counted}".rstrip()
        return f"{said}; what moved most is {moved} {here} against {otherwise} {there}."
    if not sampled:
        return f"{said}: nothing was sampled."
    return f"{said}: nothing that was sampled moved clearly."


def of_stalls(sentence: str, count: int, total: int) -> str:
    """A cause with how many of the stalls it is."""
    which = f"{count} of {total} stalls"
    text = re.sub(r"\bin the stall\b", "in the stalls", sentence)
    return f"{text[:-1]} ({which})." if text.endswith(".") else f"{text} ({which})"


def _said(text: str | Callable[..., str], values: Mapping[str, Any]) -> str:
    return fill(text, None, values) if isinstance(text, str) else text(**values)
