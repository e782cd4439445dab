"""Results to cells: what varies, which result measured which combination, how often.

Levels come from file names (by `--pattern`) and from what the results say themselves (threads). A
level that a result states becomes a factor only if results that are alike so far differ in it, so
that what follows from another factor is not a second one.

Repetitions are never guessed from files: several files of one cell are repetitions only if their
names say so by `{rep}`, since two similar files may be two machines.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.errors import DynoError, Where
from dbdyno.experiment import factors as limits
from dbdyno.experiment.values import units
from dbdyno.imports.files import natural
from dbdyno.imports.found import Found
from dbdyno.imports.pattern import BLOCK, REPETITION, Pattern, levels_of
from dbdyno.plan.types import Factor

TOOL = "tool"  # a factor where nothing else distinguishes results of several tools
UNKNOWN = "unknown"  # the level of a result that does not state it, where others do
_FORBIDDEN = re.compile(r"[,=\[\]\"'\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class Trial:
    """A result in its place. `repetition` counts from 1: within the cell, or over all cells where
    these are passes over them (blocks)."""

    cell: int
    repetition: int
    found: Found


@dataclass(frozen=True)
class Cells:
    """All results in order."""

    factors: tuple[Factor, ...]
    levels: tuple[Mapping[str, str], ...]  # by cell
    trials: tuple[Trial, ...]
    blocked: bool
    notes: tuple[str, ...]


@dataclass
class _Placed:
    """A result with its levels so far."""

    found: Found
    levels: dict[str, str]
    repetition: str
    block: str


def arrange(results: Sequence[Found], patterns: Sequence[Pattern]) -> Cells:
    """Puts results into cells. DynoError for names that do not match, for levels that contradict
    each other, and for two results of which nothing says that one repeats the other."""
    placed = _named(results, patterns)
    names = _same_names(placed, patterns)
    names += _stated(placed, names)
    factors = tuple(_factor(name, placed) for name in names)
    combinations = _cells(factors, placed)
    index = {tuple(levels.values()): i for i, levels in enumerate(combinations)}
    cells = [index[tuple(one.levels[f.name] for f in factors)] for one in placed]
    blocked = any(one.block for one in placed)
    numbered = _blocks(placed, cells) if blocked else _repetitions(placed, cells, combinations)
    trials = sorted(
        (Trial(c, n, one.found) for c, n, one in zip(cells, numbered, placed, strict=True)),
        key=lambda trial: (trial.repetition, trial.cell),
    )
    return Cells(factors, tuple(combinations), tuple(trials), blocked, tuple(_notes(placed, names)))


# -- levels --------------------------------------------------------------------------------------


def _named(results: Sequence[Found], patterns: Sequence[Pattern]) -> list[_Placed]:
    """Results with what their names say; all names that say nothing are one error."""
    placed = []
    strange = []
    for found in results:
        levels = levels_of(found.file, patterns) if patterns else {}
        if levels is None:
            strange.append(str(found.file))
            continue
        block = levels.pop(BLOCK, found.block)
        repetition = levels.pop(REPETITION, found.repetition)
        for name, level in levels.items():
            _agree(found, name, level)
        clean = {name: _level(level) for name, level in levels.items()}
        placed.append(_Placed(found, clean, repetition, block))
    if strange:
        named = ", ".join(dict.fromkeys(strange[:5])) + (", ..." if len(strange) > 5 else "")
        raise DynoError(
            f"no pattern fits {named}",
            cause=f"patterns: {', '.join(one.text for one in patterns)}",
            fix="give one more --pattern, or remove these files",
        )
    return placed


def _agree(found: Found, name: str, level: str) -> None:
    """DynoError if the name of a file says another number than what is in it."""
    stated = found.said.get(name)
    if stated is not None and units.number(stated) != units.number(level) and stated != level:
        raise DynoError(
            f"the file's name says {name} {level}, and the result in it {stated}",
            where=Where(found.file, found.line, 1),
            cause="a file that was renamed, or overwritten by a later run",
            fix=f"correct the name, or call the piece of the pattern other than `{name}`",
        )


def _level(text: str) -> str:
    """Text as the name of a level: claims cannot spell commas, `=`, brackets and quotes."""
    return _FORBIDDEN.sub(" ", text).strip()[: limits.LEVEL_LENGTH_MAX].strip() or UNKNOWN


def _same_names(placed: Sequence[_Placed], patterns: Sequence[Pattern]) -> list[str]:
    """The factors that names give. Patterns that give different ones make no table."""
    names = list(placed[0].levels)
    for one in placed:
        if set(one.levels) != set(names):
            raise DynoError(
                f"names give different factors: {', '.join(names) or 'none'} for"
                f" {placed[0].found.file}, {', '.join(one.levels) or 'none'} for {one.found.file}",
                cause=f"patterns: {', '.join(one.text for one in patterns)}",
                fix="write patterns with the same pieces",
            )
    return names


def _stated(placed: Sequence[_Placed], names: Sequence[str]) -> list[str]:
    """Names of the levels stated by results that differ where all levels so far are the same;
    each is added to the results' levels."""
    added = []
    said = [{TOOL: one.found.tool, **one.found.said} for one in placed]
    known = dict.fromkeys(name for levels in said for name in levels)
    for name in known:
        if name in names:
            continue
        seen: dict[tuple[str, ...], set[str]] = {}
        for one, stated in zip(placed, said, strict=True):
            seen.setdefault(tuple(one.levels.values()), set()).add(stated.get(name, ""))
        if all(len(levels) == 1 for levels in seen.values()):
            continue
        added.append(name)
        for one, stated in zip(placed, said, strict=True):
            one.levels[name] = _level(stated.get(name, UNKNOWN))
    return added


def _factor(name: str, placed: Sequence[_Placed]) -> Factor:
    """A factor with its levels: numbers in order, words as they appear."""
    levels = list(dict.fromkeys(one.levels[name] for one in placed))
    values = [units.number(level) for level in levels]
    numbers = [value for value in values if value is not None]
    if len(levels) > limits.LEVELS_MAX:
        raise DynoError(
            f"`{name}` has {len(levels)} levels, and {limits.LEVELS_MAX} is the most",
            cause="it numbers something, such as repetitions",
            fix="call repetitions {rep}; ignore a column with --map NAME=-",
        )
    if len(numbers) < len(levels):
        return Factor(name, tuple(levels), None, hard=False)
    if len(set(numbers)) < len(numbers):
        raise DynoError(
            f"`{name}` has one number spelt in two ways: {', '.join(levels[:8])}",
            fix="name the files alike",
        )
    order = sorted(range(len(levels)), key=numbers.__getitem__)
    return Factor(
        name, tuple(levels[i] for i in order), tuple(numbers[i] for i in order), hard=False
    )


def _cells(factors: Sequence[Factor], placed: Sequence[_Placed]) -> list[dict[str, str]]:
    """Combinations that were measured, the last factor fastest."""
    rank = [{level: i for i, level in enumerate(factor.levels)} for factor in factors]
    there = {tuple(one.levels[factor.name] for factor in factors) for one in placed}
    if len(there) > limits.CELLS_MAX:
        raise DynoError(
            f"{len(there)} combinations of levels, and {limits.CELLS_MAX} is the most",
            cause="something that numbers the files is taken for a level",
            fix="call repetitions {rep}, and match irrelevant text with `*`",
        )
    ordered = sorted(there, key=lambda key: [r[v] for r, v in zip(rank, key, strict=True)])
    names = [factor.name for factor in factors]
    return [dict(zip(names, key, strict=True)) for key in ordered]


# -- repetitions ---------------------------------------------------------------------------------


def _blocks(placed: Sequence[_Placed], cells: Sequence[int]) -> list[int]:
    """Numbers of the passes over all cells, as the names order them."""
    if any(not one.block for one in placed):
        without = next(one for one in placed if not one.block)
        raise DynoError(
            "some results are of a block and this one is not",
            where=Where(without.found.file, without.found.line, 1),
            fix="number the blocks of all, or none",
        )
    order = {b: i for i, b in enumerate(sorted({one.block for one in placed}, key=natural), 1)}
    numbers = [order[one.block] for one in placed]
    first: dict[tuple[int, int], _Placed] = {}
    for key, one in zip(zip(cells, numbers, strict=True), placed, strict=True):
        if key in first:
            raise DynoError(
                f"two results of one cell in block {one.block}: {first[key].found.place} and"
                f" {one.found.place}",
                fix="a block measures each cell once: number repetitions by {rep} instead",
            )
        first[key] = one
    return numbers


def _repetitions(
    placed: Sequence[_Placed], cells: Sequence[int], combinations: Sequence[Mapping[str, str]]
) -> list[int]:
    """Numbers within each cell. Results of one file repeat each other; those of several files only
    if their names number them."""
    of_cell: dict[int, list[int]] = {}
    for i, cell in enumerate(cells):
        of_cell.setdefault(cell, []).append(i)
    numbers = [0] * len(placed)
    for cell, members in of_cell.items():
        for a, b in itertools.pairwise(
            sorted(members, key=lambda i: natural(placed[i].repetition))
        ):
            one, other = placed[a], placed[b]
            if one.found.file != other.found.file and one.repetition == other.repetition:
                levels = ", ".join(f"{k}={v}" for k, v in combinations[cell].items())
                raise DynoError(
                    f"nothing tells {one.found.place} and {other.found.place} apart"
                    + (f" (both: {levels})" if levels else ""),
                    cause="they are repetitions, or differ in something that only their names show",
                    fix="add --pattern 'NAME-{threads}-{rep}.txt', {rep} for repetitions, a"
                    " piece with a name of its own for what differs",
                )
        ordered = sorted(members, key=lambda i: (natural(placed[i].repetition), i))
        for number, i in enumerate(ordered, start=1):
            numbers[i] = number
    return numbers


def _notes(placed: Sequence[_Placed], names: Sequence[str]) -> list[str]:
    """What was stated and is no factor."""
    dropped = [
        name
        for name in dict.fromkeys(name for one in placed for name in one.found.said)
        if name not in names and len({one.found.said.get(name) for one in placed}) > 1
    ]
    if not dropped:
        return []
    return [f"Not factors, since they follow from the others: {', '.join(dropped)}."]
