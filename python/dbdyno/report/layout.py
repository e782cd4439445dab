"""Decides how cells become a picture: which factor is the axis, which are lines, which are panels.

The choice is made once a run, so that every chart of a report shows the same thing in the same
place and colour. A numeric factor (sessions) makes the horizontal axis; the others make lines; what
would be more than six lines is split into panels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis.types import Findings
from dbdyno.experiment.values import units
from dbdyno.plan.types import Cell, Factor, Plan

LINES_MAX = 6

_WHOLE = re.compile(r"[1-9][0-9]{4,17}")

# Level names that say nothing without their factor.
_BARE = frozenset(
    ("on", "off", "yes", "no", "true", "false", "none", "full", "low", "high", "default")
)


@dataclass(frozen=True)
class Layout:
    """Roles of the factors. `styles` gives each line its colour: key of `series_key`."""

    factors: tuple[Factor, ...]
    x: Factor | None
    series: tuple[Factor, ...]
    panels: tuple[Factor, ...]
    styles: Mapping[tuple[str, ...], int]

    def series_key(self, levels: Mapping[str, str]) -> tuple[str, ...]:
        """Levels that make a line."""
        return tuple(levels[f.name] for f in self.series)

    def panel_key(self, levels: Mapping[str, str]) -> tuple[str, ...]:
        """Levels that make a panel."""
        return tuple(levels[f.name] for f in self.panels)

    def x_value(self, levels: Mapping[str, str]) -> float:
        """The cell's place on the axis; only with an axis."""
        assert self.x is not None
        assert self.x.values is not None
        return self.x.values[self.x.levels.index(levels[self.x.name])]

    def short(self, name: str) -> str:
        """A factor's name for people: its last path component where that is unique."""
        last = name.rpartition(".")[2]
        same = [f for f in self.factors if f.name.rpartition(".")[2] == last]
        return last.replace("_", " ") if len(same) == 1 else name

    def level(self, name: str, level: str) -> str:
        """A level for people: with its factor where the name alone would say nothing."""
        homes = [f for f in self.factors if level in f.levels]
        if level.lower() in _BARE or len(homes) != 1 or units.is_number(level):
            return f"{self.short(name)} {grouped(level)}"
        return level

    def label(self, levels: Mapping[str, str], only: tuple[Factor, ...] | None = None) -> str:
        """Levels for people, joined: "mariadb · cache off"."""
        chosen = self.factors if only is None else only
        return " · ".join(self.level(f.name, levels[f.name]) for f in chosen if f.name in levels)

    def cell(self, levels: Mapping[str, str]) -> str:
        """A cell's full label; a run without factors has one cell."""
        return self.label(levels) or "the only cell"

    def split(self, levels: Mapping[str, str]) -> tuple[str, str]:
        """A cell's label in two: the heading of a group of cells, and what distinguishes them.

        The axis' level is the inner one, so that names too long for a line are printed once.
        """
        if len(self.factors) < 2:
            return "", self.cell(levels)
        inner = self.x or self.factors[-1]
        outer = tuple(f for f in (*self.panels, *self.series) if f is not inner)
        return self.label(levels, outer), self.label(levels, (inner,))

    def place(self, levels: Mapping[str, str]) -> list[int]:
        """Sorts cells so that those with the same outer label (see `split`) are together."""
        inner = self.x or (self.factors[-1] if self.factors else None)
        outer = [f for f in (*self.panels, *self.series) if f is not inner]
        return [f.levels.index(levels[f.name]) for f in (*outer, *([inner] if inner else []))]

    @property
    def x_label(self) -> str:
        """Title of the axis; sessions are threads to a DBA."""
        name = self.short(self.x.name) if self.x else ""
        return "sessions (threads)" if name == "sessions" else name

    @property
    def main(self) -> Factor | None:
        """The factor whose levels are compared: the first that is not the axis."""
        rest = (*self.series, *self.panels)
        return rest[0] if rest else self.x


def choose(plan: Plan, findings: Findings | None = None) -> Layout:
    """The layout for a plan; the factor that its first claim compares is the main one."""
    factors = tuple(f for f in plan.factors if len(f.levels) > 1)
    compared = _compared(plan, findings) if findings else ()
    x = _axis(factors)
    rest = sorted((f for f in factors if f is not x), key=lambda f: f.name not in compared)
    panels: list[Factor] = []
    while len(rest) > 1 and math.prod(len(f.levels) for f in rest) > LINES_MAX:
        # The factor with the fewest levels goes, never the first, which the experiment is about.
        gone = min(rest[1:], key=lambda f: len(f.levels))
        rest.remove(gone)
        panels.append(gone)
    layout = Layout(factors, x, tuple(rest), tuple(panels), {})
    keys: dict[tuple[str, ...], int] = {}
    for cell in plan.cells:
        keys.setdefault(layout.series_key(cell.levels), len(keys))
    ordered = sorted(
        keys, key=lambda key: [f.levels.index(v) for f, v in zip(rest, key, strict=True)]
    )
    styles = {key: i for i, key in enumerate(ordered)}
    return Layout(factors, x, tuple(rest), tuple(panels), styles)


def _compared(plan: Plan, findings: Findings) -> tuple[str, ...]:
    """Factors in which the two sides of the first claim that compares two cells differ."""
    for part in (part for claim in findings.claims for part in claim.parts):
        if part.left_cell is not None and part.right_cell is not None:
            left, right = plan.cells[part.left_cell].levels, plan.cells[part.right_cell].levels
            return tuple(name for name in left if left[name] != right[name])
    return ()


def _axis(factors: tuple[Factor, ...]) -> Factor | None:
    numeric = [f for f in factors if f.values is not None]
    sessions = [f for f in numeric if f.name.rpartition(".")[2] == "sessions"]
    if sessions:
        return max(sessions, key=lambda f: len(f.levels))
    many = [f for f in numeric if len(f.levels) >= 3]
    return max(many, key=lambda f: len(f.levels)) if many else None


def which(chosen: Sequence[int], cells: Sequence[Cell], layout: Layout) -> str:
    """Names the cells by the fewest levels that single them out; "" for all of them."""
    wanted = set(chosen)
    if wanted >= {c.index for c in cells}:
        return ""
    parts = []
    for factor in layout.factors:
        levels = [
            v for v in factor.levels if any(cells[i].levels[factor.name] == v for i in wanted)
        ]
        if len(levels) < len(factor.levels):
            parts.append(" or ".join(layout.level(factor.name, v) for v in levels))
    product = [c for c in cells if _matches(c, wanted, cells, layout)]
    if parts and {c.index for c in product} == wanted:
        return ", ".join(parts)
    shown = [layout.cell(cells[i].levels) for i in sorted(wanted)]
    return "; ".join(shown[:4]) + (f"; and {len(shown) - 4} more cells" if len(shown) > 4 else "")


def _matches(cell: Cell, wanted: set[int], cells: Sequence[Cell], layout: Layout) -> bool:
    """Whether each of the cell's levels occurs among the wanted cells."""
    return all(
        any(cells[i].levels[f.name] == cell.levels[f.name] for i in wanted) for f in layout.factors
    )


def grouped(level: str) -> str:
    """A level's name; a whole number of five digits or more gets its thousands separated."""
    return f"{int(level):,}" if _WHOLE.fullmatch(level) else level
