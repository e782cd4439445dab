"""What a row of the table is, and what attacking gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

FAILURES_KEPT = 40


@dataclass
class Tally:
    """How many attacks were tried, and those that dbdyno did not survive, each in a line."""

    tried: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)  # the first of them

    def add(self, name: str, reasons: list[str]) -> None:
        """One more attack; it was survived if there is no reason."""
        self.tried += 1
        if reasons:
            self.failed += 1
            if len(self.failures) < FAILURES_KEPT:
                self.failures.append(f"{name}: {'; '.join(reasons)}")


@dataclass(frozen=True)
class Effort:
    """How much to try. `most`: attacks a row, drawn by `seed` from all; None: all of them.
    `engine`: the binary; `scratch`: an empty directory; `say`: progress, to stderr."""

    most: int | None
    seed: int
    engine: Path
    scratch: Path
    say: Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A family of attacks: what is sent to whom, and what surviving means."""

    name: str
    attack: str  # what somebody does
    survived: str  # what dbdyno does then
    run: Callable[[Effort], Tally]
