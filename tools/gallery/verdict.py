"""Verdicts on an article's conclusions: one of each piece of evidence, joined into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"
NOT_TESTED = "not tested here"
VERDICTS = (SUPPORTED, REFUTED, UNDECIDED, NOT_TESTED)


@dataclass(frozen=True)
class Judged:
    """What a piece of evidence says of a conclusion, and what was found, and by what: Markdown."""

    verdict: str
    here: str
    source: str = ""


def joined(parts: Sequence[Judged]) -> Judged:
    """A conclusion falls with any evidence against it, and stands if all that could be tested
    supports it."""
    verdicts = {part.verdict for part in parts}
    verdict = next(one for one in (REFUTED, UNDECIDED, SUPPORTED, NOT_TESTED) if one in verdicts)
    by_source: dict[str, list[str]] = {}
    for part in parts:
        by_source.setdefault(part.source, []).append(part.here)
    found = (
        f"{source}: {', '.join(here)}" if source else "; ".join(here)
        for source, here in by_source.items()
    )
    return Judged(verdict, "; ".join(found))
