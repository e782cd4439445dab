"""What is said of a cause that has a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CauseText:
    """The words of one rule, by its name in the `CAUSES` of its family. `sentence` and `cure` take
    the rule's evidence by name; `sentence` also what is in question and otherwise, `here` and
    `there`."""

    title: str
    condition: str  # in plain terms
    source: str  # the page that says so
    sentence: Callable[..., str]
    cure: Callable[..., str]  # what to change, with what it costs


def always(text: str) -> Callable[..., str]:
    """A cure whatever the evidence."""
    return lambda **_evidence: text
