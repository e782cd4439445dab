"""What a pack shows besides its findings: a table of its own, of all facts together.

A pack has at most one maker of these, in `OVERVIEWS` of `packs.py`; it is drawn where `--only`
names the pack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbdyno.facts.fact import Facts


@dataclass(frozen=True)
class Overview:
    """A table: `columns` name the cells of each row. `note`: what a reader must know."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


Maker = Callable[[Sequence[Facts]], Sequence[Overview]]
