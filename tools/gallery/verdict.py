"""Verdicts on an article's conclusions: one of each piece of evidence, joined into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"
NOT_TESTED = "not tested here"
ELSEWHERE = "see there"  # another page judges it
# What a verdict rests on, the strongest first: a system was measured; the article's own figures or
# a log of known content were computed with; a model that holds the rule was asked.
MEASURED, COMPUTED, MODELLED = GROUNDS = ("measured", "computed", "modelled")
WORDS = {
    MEASURED: {SUPPORTED: SUPPORTED, REFUTED: REFUTED},
    COMPUTED: {SUPPORTED: "consistent", REFUTED: "not consistent"},
    MODELLED: {SUPPORTED: "follows from the model", REFUTED: "contradicts the model"},
}


@dataclass(frozen=True)
class Judged:
    """What a piece of evidence says of a conclusion, and what was found, and by what: Markdown."""

    verdict: str
    here: str
    source: str = ""
    ground: str = MEASURED

    @property
    def word(self) -> str:
        """The verdict as pages have it: only what was measured is supported or refuted."""
        return WORDS[self.ground].get(self.verdict, self.verdict)


def joined(parts: Sequence[Judged]) -> Judged:
    """A conclusion falls with any evidence against it, and stands if all that could be tested
    supports it; its ground is the strongest of those that decide."""
    verdicts = {part.verdict for part in parts}
    verdict = next(one for one in (REFUTED, UNDECIDED, SUPPORTED, NOT_TESTED) if one in verdicts)
    grounds = {part.ground for part in parts if part.verdict == verdict}
    ground = next(one for one in GROUNDS if one in grounds)
    by_source: dict[str, list[str]] = {}
    for part in parts:
        by_source.setdefault(part.source, []).append(part.here)
    found = (
        f"{source}: {', '.join(here)}" if source else "; ".join(here)
        for source, here in by_source.items()
    )
    return Judged(verdict, "; ".join(found), ground=ground)
