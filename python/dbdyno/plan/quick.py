"""`--quick`: the same experiment as a smoke test of under a minute, measured but never judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dbdyno.experiment import workloads
from dbdyno.experiment.types import Cell, Factor, Group, Hooks
from dbdyno.experiment.workloads import arrivals
from dbdyno.plan.types import GroupPlan
from dbdyno.systems.base import TargetPlan

ROWS_MAX = 10_000
TABLES_MAX = 4
WARMUP_S = 1.0
DURATION_S = 2.0
SHORT_S = 0.5  # warm-up and measurement when there are many cells
CELLS_MAX = 24
CELLS_LONG_MAX = 8  # cells that get the longer trial
TOTAL_MAX_S = 55.0
PROBES_MAX = 8  # of a search
FIND_WITHIN = 0.25


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


def small_target(target: TargetPlan) -> TargetPlan:
    """The target with fewer rows in its declared tables. Files are loaded whole."""
    setup = target.setup
    cut = cut_rows(target)
    if setup is None or not cut:
        return target
    tables = {
        name: {
            **table,
            "rows": cut.get(table["rows"], table["rows"]),
            "columns": {key: _within(column, cut) for key, column in table["columns"].items()},
        }
        for name, table in setup.tables.items()
    }
    return replace(target, setup=replace(setup, tables=tables))


def cut_rows(target: TargetPlan) -> dict[int, int]:
    """Numbers of rows of declared tables that are too many -> how many there are instead."""
    tables = target.setup.tables.values() if target.setup is not None else ()
    return {table["rows"]: ROWS_MAX for table in tables if table["rows"] > ROWS_MAX}


def small(group: GroupPlan, cut: Mapping[int, int] = MappingProxyType({})) -> GroupPlan:
    """The group on little data. Every group is cut alike, so shared tables stay shared; a
    parameter's range that ends at a number of rows in `cut` ends where the rows now do."""
    options = workloads.of(group.workload).small(group.options, ROWS_MAX, TABLES_MAX)
    if cut and "params" in options:
        params = {name: _within(each, cut) for name, each in options["params"].items()}
        options = {**options, "params": params}
    return replace(group, options=options)


def paced(group: GroupPlan, factor: float, duration_s: float) -> GroupPlan:
    """The group in a trial of `duration_s`, which is `factor` of the one asked for: all steps of a
    schedule in that time, and a search of a few coarse probes."""
    if group.arrivals and factor < 1:
        return replace(group, arrivals=arrivals.scaled(group.arrivals, factor))
    if group.find:
        least = arrivals.lowest_per_s(group.find.conditions, duration_s)
        find = replace(
            group.find,
            start_per_s=max(group.find.start_per_s, least),
            within=max(group.find.within, FIND_WITHIN),
            probes_max=PROBES_MAX,
        )
        return replace(group, find=find)
    return group


def sooner(hooks: Hooks, factor: float) -> Hooks:
    """The commands of trials that last `factor` of the time asked for."""
    moments = tuple(replace(hook, at_s=hook.at_s * factor) for hook in hooks.during_trial)
    return replace(hooks, during_trial=moments)


def shortened(group: Group, target: TargetPlan) -> str:
    """What is cut of a group or its target, for a note; empty if nothing."""
    workload = workloads.of(group.kind)
    before, after = (
        workload.data_options(options)
        for options in (group.options, workload.small(group.options, ROWS_MAX, TABLES_MAX))
    )
    return group.name if before != after or cut_rows(target) else ""


def _within(generator: Mapping[str, Any], cut: Mapping[int, int]) -> Mapping[str, Any]:
    """A generator whose range ends at a number of rows that was cut, cut alike."""
    for key in ("uniform", "zipfian"):
        low, high = generator.get(key, (0, 0))
        if high in cut and low < cut[high]:
            return {**generator, key: [low, cut[high]]}
    return generator


def notes(kept: int, cells: int, cut: Sequence[str], hooked: bool = False) -> list[str]:
    """What a reader of quick results must know. `cut` names the groups that got less data;
    `hooked`: there are commands around the trials."""
    found = ["quick: a smoke test; data is reused, nothing is judged."]
    if kept < cells:
        found.append(f"quick: {kept} of {cells} cells.")
    if cut:
        found.append(f"quick: {TABLES_MAX} tables of {ROWS_MAX} rows at most ({', '.join(cut)}).")
    if hooked:
        found.append("quick: the commands under `hooks` and of levels are run too.")
    return found
