"""`--quick`: the same experiment as a smoke test of under a minute, measured but never judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dbdyno.plan.types import GroupPlan
from dbdyno.spec.types import Cell, Factor, Group

ROWS_MAX = 10_000
TABLES_MAX = 4
WARMUP_S = 1.0
DURATION_S = 2.0
SHORT_S = 0.5  # warm-up and measurement when there are many cells
CELLS_MAX = 24
CELLS_LONG_MAX = 8  # cells that get the longer trial
TOTAL_MAX_S = 55.0


def selections(
    factors: Sequence[Factor], hard: frozenset[str]
) -> Iterator[Mapping[str, tuple[str, ...]]]:
    """Levels to keep of each factor, ever fewer: all, then without the middle of numeric factors,
    then the last level of easy factors, and only then fewer levels of hard ones, so that every
    system and setting is tried as long as the minute allows."""
    kept = {factor.name: factor.levels for factor in factors}
    yield dict(kept)
    for factor in factors:
        if factor.values is not None:
            kept[factor.name] = (factor.levels[0], factor.levels[-1])
            yield dict(kept)
    for factor in factors:
        if factor.name not in hard:
            kept[factor.name] = factor.levels[-1:]
            yield dict(kept)
    for factor in factors:
        if factor.name in hard:
            kept[factor.name] = (factor.levels[0], factor.levels[-1])
            yield dict(kept)
    for factor in factors:
        kept[factor.name] = factor.levels[-1:]
        yield dict(kept)


def select(cells: Sequence[Cell], kept: Mapping[str, tuple[str, ...]]) -> list[Cell]:
    """The cells of which all levels are kept."""
    return [c for c in cells if all(level in kept[name] for name, level in c.levels.items())]


def trial_s(cell_count: int) -> tuple[float, float]:
    """(warm-up, measured) seconds of a trial."""
    long = cell_count <= CELLS_LONG_MAX
    return (WARMUP_S, DURATION_S) if long else (SHORT_S, SHORT_S)


def small(group: GroupPlan) -> GroupPlan:
    """The group on little data. Every group is cut alike, so shared tables stay shared."""
    options = dict(group.options)
    options["rows"] = min(options.get("rows", ROWS_MAX), ROWS_MAX)
    options["tables"] = min(options.get("tables", 1), TABLES_MAX)
    if "id_range" in options:
        options["id_range"] = min(options["id_range"], options["rows"])
    return replace(group, options=options)


def shortened(group: Group) -> str:
    """What `small` cuts of a group, for a note; empty if nothing."""
    rows, tables = group.options.get("rows", 0), group.options.get("tables", 1)
    return group.name if rows > ROWS_MAX or tables > TABLES_MAX else ""


def notes(kept: int, cells: int, cut: Sequence[str]) -> list[str]:
    """What a reader of quick results must know. `cut` names the groups that got less data."""
    found = ["quick: a smoke test; data is reused, nothing is judged."]
    if kept < cells:
        found.append(f"quick: {kept} of {cells} cells.")
    if cut:
        found.append(f"quick: {TABLES_MAX} tables of {ROWS_MAX} rows at most ({', '.join(cut)}).")
    return found
