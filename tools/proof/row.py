"""What a row of the proof is, and what measuring it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Table:
    """Figures under a row: as many cells in each of `rows` as in `head`."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        wrong = [row for row in self.rows if len(row) != len(self.head)]
        if wrong:
            raise ValueError(f"table {self.title!r}: a row of another width: {wrong[0]}")


@dataclass(frozen=True)
class Outcome:
    """What was measured. `met`: the bar is met; None: it could not be measured here (`measured`
    says why)."""

    measured: str  # one line for the table, with its numbers
    met: bool | None
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    figure: str = ""  # SVG
    figure_about: str = ""  # what it shows, in a sentence


@dataclass(frozen=True)
class Effort:
    """How much to measure. `quick`: the smallest amount that fills every table, for tests; says
    nothing about bars. `engine`: the binary; `scratch`: a directory for what is measured."""

    quick: bool
    engine: Path
    scratch: Path
    say: Callable[[str], None]  # progress, to stderr


@dataclass(frozen=True)
class Row:
    """A claim about dbdyno, how it is put to the test, and the bar."""

    name: str  # of its file
    claim: str
    how: str
    bar: str
    measure: Callable[[Effort], Outcome]
    timed: bool  # whether it depends on speed: then never part of tests, and wants a quiet machine
    before: str = ""  # the figure of the last commit that did not keep it, with that commit
