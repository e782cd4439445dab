"""Warnings from the blocks of a claim's ratios, next to its verdict."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis.between_blocks.look import Uneven
from dbdyno.analysis.claims.contrast import Interval
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import ClaimPart


@dataclass(frozen=True)
class Judged:
    """A part of a claim: the ratio that it is about, by its sides, and how it is read."""

    part: ClaimPart
    sides: Hashable
    confidence: float  # nominal, of the interval that its verdict is of
    read: Callable[[Interval], str]

    def verdict_without(self, found: Uneven) -> str:
        """The part's verdict without the outlier. One that an earlier look gave stays."""
        threshold = self.part.threshold
        contrast = found.pairs.contrast(threshold)
        if self.read(contrast.interval(self.confidence)) != self.part.verdict:
            return self.part.verdict
        return self.read(found.without(threshold, self.confidence))


def of_claim(
    uneven: Mapping[Hashable, Uneven],
    parts: Sequence[Judged | ClaimPart],
    verdict: str,
    combined: Callable[[Sequence[str]], str],
) -> list[str]:
    """Warnings next to a claim's `verdict`: unusual blocks of its ratios, and the outlier on which
    the verdict depends. `parts`: not `Judged` where no ratio was; `combined`: the verdict of a
    claim from those of its parts."""
    judged = {one.sides: one for one in reversed(parts) if isinstance(one, Judged)}
    said: list[str] = []
    for sides in reversed(judged):
        if (found := uneven.get(sides)) is None:
            continue
        said += found.messages(_where(judged[sides].part, parts))
        if found.outlier is None:
            continue
        without = combined([_verdict(one, sides, found) for one in parts])
        if without != verdict:
            said.append(Message("verdict_hangs_on", block=found.block, without=without))
    return said


def _verdict(one: Judged | ClaimPart, sides: Hashable, found: Uneven) -> str:
    if isinstance(one, Judged):
        return one.verdict_without(found) if one.sides == sides else one.part.verdict
    return one.verdict


def _where(part: ClaimPart, parts: Sequence[Judged | ClaimPart]) -> str:
    """Which of several ratios: " of service_ms_p99 at 4 sessions"."""
    if len(parts) == 1:
        return ""
    others = [one.part if isinstance(one, Judged) else one for one in parts]
    metric = part.metric if len({one.metric for one in others}) > 1 else ""
    return Message("of_ratio", metric=metric, at=part.at)
