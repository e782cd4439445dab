"""What a rule is: a cause that it can recognise, and by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.analysis.causes.evidence import DIFFERENCE, STALL, STEP, Evidence

ANY = (STALL, STEP, DIFFERENCE)


@dataclass(frozen=True)
class Match:
    """A rule's answer. `confidence`: 0 to 1; what was observed directly (a stopped process) ranks
    above what only fits (a busy disk)."""

    confidence: float
    metric: str = ""  # whose curve shows it; empty where nothing sampled does
    evidence: Mapping[str, Any] = field(default_factory=dict)  # what its sentence is made of


@dataclass(frozen=True)
class Rule:
    """A cause. `look` returns None if samples that it needs are missing: a rule never fires on what
    was not sampled. Title, condition, sentence and cure: `wording/causes/`."""

    name: str
    questions: tuple[str, ...]
    look: Callable[[Evidence], Match | None]
