"""Alternating pairs: the only way to compare two programs on a machine that is not quiet."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pairs:
    """Figures of both sides, pair by pair."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """dbdyno's over theirs, pair by pair."""
        return tuple(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    def row(self, unit: str) -> str:
        """Both medians, then the median ratio and its spread."""
        return (
            f"{statistics.median(self.ours):.4g} {unit} | "
            f"{statistics.median(self.theirs):.4g} {unit} | "
            f"{statistics.median(self.ratios):.3f}x "
            f"({min(self.ratios):.3f}-{max(self.ratios):.3f}, {len(self.ratios)} pairs)"
        )


def alternate(
    name: str, ours: Callable[[], float], theirs: Callable[[], float], pairs: int
) -> Pairs:
    """Runs A B B A A B ... so that neither side always comes first."""
    a: list[float] = []
    b: list[float] = []
    for number in range(pairs):
        sides = [(ours, a), (theirs, b)]
        for side, figures in sides if number % 2 == 0 else reversed(sides):
            figures.append(side())
        print(f"  {name}: pair {number + 1}/{pairs} {a[-1]:.4g} {b[-1]:.4g}", file=sys.stderr)
    return Pairs(tuple(a), tuple(b))
