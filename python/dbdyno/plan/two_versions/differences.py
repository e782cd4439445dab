"""In what two versions of an experiment differ, read off the cells of a plan. Pure.

Nothing of it is stored: a redacted plan gives redacted differences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dbdyno.plan.types import Cell, Plan

NOT_SET = "not set"
_LENGTH_MAX = 80  # characters of a value as shown
# Where a password comes from changes nothing that is measured; a target that is optional neither.
_ASIDE = frozenset({"credentials", "optional", "name"})


@dataclass(frozen=True)
class Difference:
    """A value that is not the same in both versions. `cells`: in so many of `of` pairs of cells."""

    path: str  # db.config.journal_mode, workload.sessions
    base: str
    new: str
    cells: int
    of: int

    def __str__(self) -> str:
        where = "" if self.cells == self.of else f" (in {self.cells} of {self.of} cells)"
        return f"{self.path}: {self.base} -> {self.new}{where}"


def differences(plan: Plan) -> tuple[Difference, ...]:
    """What differs between the versions of a plan that has two: targets and groups, in the order of
    the plan. Empty for another plan."""
    pairs = list(paired_cells(plan))
    found: dict[tuple[str, str, str], int] = {}
    for base, new in pairs:
        before, after = _flat(base), _flat(new)
        for path in dict.fromkeys((*before, *after)):
            if before.get(path) != after.get(path):
                base_, new_ = (_shown(path, side.get(path)) for side in (before, after))
                key = (path.removesuffix("_bytes").removesuffix("_s"), base_, new_)
                found[key] = found.get(key, 0) + 1
    return tuple(
        Difference(path, base_, new_, count, len(pairs))
        for (path, base_, new_), count in found.items()
    )


def paired_cells(plan: Plan) -> Iterator[tuple[Cell, Cell]]:
    """Each cell of the base with that of the new version, in the order of the latter. None of a
    plan without versions; a cell whose counterpart was dropped is omitted."""
    against = plan.against
    if against is None:
        return
    by_levels = {frozenset(cell.levels.items()): cell for cell in plan.cells}
    for cell in plan.cells:
        if cell.levels[against.factor] == against.new:
            levels = {**cell.levels, against.factor: against.base}
            base = by_levels.get(frozenset(levels.items()))
            if base is not None:
                yield base, cell


def _flat(cell: Cell) -> dict[str, Any]:
    """All that a cell's targets and groups say, by path."""
    flat: dict[str, Any] = {}
    named = [(each.name, asdict(each)) for each in cell.targets]
    named += [(each.name, asdict(each)) for each in cell.groups]
    for name, facts in named:
        for key, value in facts.items():
            if key == "options":  # which are next to the group's own keys in the file
                flat.update(_leaves(name, value))
            elif key not in _ASIDE:
                flat.update(_leaves(f"{name}.{key}", value))
    return flat


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _leaves(f"{path}.{key}", child)
    else:
        yield path, value


def _shown(path: str, value: Any) -> str:
    if value is None:
        return NOT_SET
    if path.endswith("_bytes"):
        return f"{value / 2**20:g} MiB"
    if path.endswith("_s"):
        return f"{value:g} s"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LENGTH_MAX else f"{text[: _LENGTH_MAX - 3]}..."
