"""What a rule is: a cause that it can recognise, and by what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.analysis.causes.evidence import DIFFERENCE, STALL, STEP, Evidence

ANY = (STALL, STEP, DIFFERENCE)


@dataclass(frozen=True)
class Match:
    """A rule's answer. `confidence`: 0 to 1; what was seen directly (a stopped process) stands
    above what only fits (a busy disk)."""

    confidence: float
    sentence: str  # with its numbers
    cure: str = ""  # what to change, with what it costs
    metric: str = ""  # whose curve shows it


@dataclass(frozen=True)
class Rule:
    """A cause. `look` answers None where it did not see what it needs: a rule never fires on what
    was not sampled."""

    name: str
    title: str
    condition: str  # in plain terms
    source: str  # the page that says so
    questions: tuple[str, ...]
    look: Callable[[Evidence], Match | None]
