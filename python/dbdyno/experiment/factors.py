"""Factors as written: three forms, one meaning (levels, each a set of patches).

cache: {on: {db.config: {...}}, off: {...}}                 a patch a level
id_range: {set: [readers.id_range], levels: [1000, 1000000]}   one value for several paths
readers.sessions: [1, 4, 16]                                the name is the path

Besides its patches a level of the first form may have commands: `apply`, `undo`, `wait_until`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dbdyno.errors import DynoError, Mistakes, Where
from dbdyno.experiment.file.document import Node, leaves, overlay, shown
from dbdyno.experiment.file.paths import Keys, Paths
from dbdyno.experiment.targets import hooks
from dbdyno.experiment.types import Factor, LevelHooks
from dbdyno.experiment.values import units

FACTORS_MAX = 12
LEVELS_MAX = 200
CELLS_MAX = 2000
LEVEL_LENGTH_MAX = 80
_LEVEL = re.compile(r"[^\s,=\[\]\"'](?:[^,=\[\]\"'\x00-\x1f]*[^\s,=\[\]\"'])?")
_SET_FORM = frozenset({"set", "levels"})


@dataclass(frozen=True)
class Level:
    """A level and what it lays over the file."""

    name: str
    patches: Mapping[Keys, Node]
    where: Where
    hooks: LevelHooks = field(default_factory=LevelHooks)


@dataclass(frozen=True)
class RawFactor:
    """A factor before its patches are applied."""

    name: str
    levels: tuple[Level, ...]
    where: Where

    def typed(self) -> Factor:
        """The factor without its patches."""
        names = tuple(level.name for level in self.levels)
        values = [units.number(name) for name in names]
        numbers = tuple(value for value in values if value is not None)
        return Factor(self.name, names, numbers if len(numbers) == len(names) else None)

    def hooks(self) -> dict[str, LevelHooks]:
        """The commands of its levels that have any, by level."""
        return {level.name: level.hooks for level in self.levels if level.hooks != LevelHooks()}

    def paths(self) -> dict[Keys, Where]:
        """Everything that any of its levels sets, and where it is first set."""
        found: dict[Keys, Where] = {}
        for level in self.levels:
            for keys, value in level.patches.items():
                for inner, _ in leaves(value):
                    found.setdefault(keys + inner, level.where)
        return found


def read(node: Node | None, paths: Paths) -> tuple[RawFactor, ...]:
    """The factors under `factors:`. DynoError for anything that cannot be varied."""
    if node is None or node.value is None:
        return ()
    if not isinstance(node.value, Mapping):
        raise DynoError(
            f"`factors` must be a mapping, not {shown(node)}",
            where=node.where,
            fix="write `factors: {sessions: [1, 4, 16]}`",
        )
    if len(node.value) > FACTORS_MAX:
        raise DynoError(f"more than {FACTORS_MAX} factors", where=node.where)
    mistakes, found = Mistakes(), []
    for name, child in node.value.items():
        with mistakes.collect():
            found.append(_factor(name, child, paths))
    mistakes.stop()
    factors = tuple(found)
    _refuse_shared_paths(factors)
    _refuse_too_many_cells(factors, node.where)
    return factors


def combinations(factors: tuple[RawFactor, ...]) -> Iterator[tuple[Level, ...]]:
    """All combinations of levels, the last factor fastest."""
    return itertools.product(*(factor.levels for factor in factors))


def _factor(name: str, node: Node, paths: Paths) -> RawFactor:
    if isinstance(node.value, tuple):
        levels = _values(name, node, (paths.resolve(name, node.place),))
    elif (
        isinstance(node.value, Mapping) and set(node.value) <= _SET_FORM and "levels" in node.value
    ):
        levels = _set_form(name, node, paths)
    elif isinstance(node.value, Mapping):
        levels = tuple(_named(name, child, level, paths) for level, child in node.value.items())
    else:
        raise DynoError(
            f"factor `{name}` must be a list of values or a mapping of levels, not {shown(node)}",
            where=node.where,
            fix=f"write `{name}: [1, 4, 16]` or `{name}: {{on: {{...}}, off: {{...}}}}`",
        )
    if len(levels) < 2:
        raise DynoError(
            f"factor `{name}` has {len(levels) or 'no'} level{'s' * (not levels)}, "
            "so nothing varies",
            where=node.place,
            fix="give it at least two levels, or write the value where it belongs",
        )
    if len(levels) > LEVELS_MAX:
        raise DynoError(f"factor `{name}` has more than {LEVELS_MAX} levels", where=node.place)
    _refuse_repeated(name, levels)
    return RawFactor(name, levels, node.place)


def _set_form(name: str, node: Node, paths: Paths) -> tuple[Level, ...]:
    levels, target = node.mapping["levels"], node.mapping.get("set")
    if not isinstance(levels.value, tuple):
        raise DynoError(
            f"`levels` of factor `{name}` must be a list, not {shown(levels)}", where=levels.where
        )
    if target is None:
        return _values(name, levels, (paths.resolve(name, node.place),))
    places = target.items or (target,)
    if not all(isinstance(place.value, str) for place in places):
        raise DynoError(
            f"`set` of factor `{name}` must be a path or a list of paths",
            where=target.where,
            fix="write `set: [readers.id_range, updater.id_range]`",
        )
    keys = tuple(paths.resolve(str(place.value), place.where) for place in places)
    return _values(name, levels, keys)


def _values(name: str, node: Node, keys: tuple[Keys, ...]) -> tuple[Level, ...]:
    levels = []
    for value in node.items:
        if not value.is_scalar:
            raise DynoError(
                f"a level of factor `{name}` must be a single value, not {shown(value)}",
                where=value.where,
                fix=f"name the levels: `{name}: {{first: {{path: value}}, second: ...}}`",
            )
        levels.append(
            Level(_checked_name(value.text, value.where), dict.fromkeys(keys, value), value.where)
        )
    return tuple(levels)


def _named(name: str, node: Node, level: str, paths: Paths) -> Level:
    where = node.place
    if node.value is None:
        return Level(_checked_name(level, where), {}, where)
    if not isinstance(node.value, Mapping):
        raise DynoError(
            f"level `{level}` of factor `{name}` must be a patch, not {shown(node)}",
            where=node.where,
            fix=f"write `{level}: {{path: value}}`; if `{name}` is a path, list its values",
        )
    patches: dict[Keys, Node] = {}
    commands = {key: child for key, child in node.value.items() if key in hooks.OF_LEVEL}
    for path, child in node.value.items():
        if path in commands:
            continue
        keys = paths.resolve(path, child.place, hooks.OF_LEVEL)
        patches[keys] = overlay(patches[keys], child) if keys in patches else child
    level_hooks = hooks.level(commands, node, f"factors.{name}.{level}")
    return Level(_checked_name(level, where), patches, where, level_hooks)


def _checked_name(name: str, where: Where) -> str:
    if len(name) <= LEVEL_LENGTH_MAX and _LEVEL.fullmatch(name):
        return name
    raise DynoError(
        f"`{name[:LEVEL_LENGTH_MAX]}` cannot be the name of a level",
        where=where,
        cause="claims name levels, so commas, `=`, brackets and quotes cannot be part of one",
        fix="give the level a short name: `factor: {name: {path: value}}`",
    )


def _refuse_repeated(name: str, levels: tuple[Level, ...]) -> None:
    seen: dict[str, Level] = {}
    for level in levels:
        if level.name in seen:
            raise DynoError(
                f"level `{level.name}` of factor `{name}` is given twice",
                where=level.where,
                fix="keep one of them",
            )
        seen[level.name] = level


def _refuse_shared_paths(factors: tuple[RawFactor, ...]) -> None:
    for one, other in itertools.combinations(factors, 2):
        for path, where in other.paths().items():
            for taken in one.paths():
                shorter = min(len(path), len(taken))
                if path[:shorter] == taken[:shorter]:
                    raise DynoError(
                        f"factors `{one.name}` and `{other.name}` both set `{'.'.join(path)}`",
                        where=where,
                        cause="the later would silently undo the earlier",
                        fix="combine them into one factor with the combinations as levels",
                    )


def _refuse_too_many_cells(factors: tuple[RawFactor, ...], where: Where) -> None:
    count = 1
    for factor in factors:
        count *= len(factor.levels)
    if count > CELLS_MAX:
        raise DynoError(
            f"the factors make {count} cells, and {CELLS_MAX} is the most",
            where=where,
            fix="drop levels, or split the question into several experiments",
        )
