"""The order of trials: balanced within and over blocks, randomised by the seed (a pure function of
it).

In every block the hard combinations are run one after the other, and the easy cells within each:
servers start once a combination and block. The nesting is part of the plan, since contrasts of a
hard factor may use whole blocks only.

*Balance.* Blocks come in pairs: the second is the first one backwards. So after every second block
each two cells have been as far apart one way as the other, and what grows from trial to trial
cancels. The first blocks of the pairs are rows of a Williams square, in which each cell is once at
each position and once after each other cell (Williams 1949, "Experimental designs balanced for the
estimation of residual effects of treatments"); of an even number of cells the square has k rows, of
an odd number 2 k. Which cell is which, and the order of the pairs, are drawn for each square. A
square begins with the cell that the last one ended with, so that with two cells (A B, B A, A B, B
A) each cell has the same predecessor as the other within every block but the first: what a trial
leaves behind for the next one cancels, too. docs/decisions/order-of-trials.md has the figures.

From `MANY` cells on the rows of the square, mirror images among them, are shuffled each for itself:
of so many cells two are neighbours in few blocks, so that little is left to cancel, and two blocks
that mirror each other meet a slow disturbance of the machine alike, as one block would.

Cells of different hard combinations have the same place within them, so that what happens to the
first trial after a restart happens to both sides of their comparison.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence

from dbdyno.plan.types import Cell, TrialPlan

MANY = 8  # cells: of fewer, each follows a given other one in more than one block in eight
SEED_BITS = 53  # exact also where JSON numbers are doubles


def trials(cells: Sequence[Cell], blocks: int, seed: int) -> tuple[TrialPlan, ...]:
    """All trials of all blocks in the order they run. A plan of fewer blocks is a prefix."""
    combinations: dict[str, list[Cell]] = {}
    for cell in cells:
        combinations.setdefault(cell.hard, []).append(cell)
    names = list(combinations)
    hard = rows(len(names), blocks, f"dbdyno order {seed} hard")
    easy = {
        size: rows(size, blocks, f"dbdyno order {seed} easy {size}")
        for size in {len(one) for one in combinations.values()}
    }
    width = max(3, len(str(len(cells))))
    found: list[TrialPlan] = []
    for block in range(1, blocks + 1):
        number = 0
        for name in (names[index] for index in hard[block - 1]):
            members = combinations[name]
            for place, index in enumerate(easy[len(members)][block - 1]):
                number += 1
                found.append(
                    TrialPlan(
                        id=f"b{block:02d}-t{number:0{width}d}",
                        block=block,
                        position=len(found) + 1,
                        cell=members[index].index,
                        seed=trial_seed(seed, block, members[index]),
                        fresh_servers=place == 0,
                    )
                )
    return tuple(found)


def rows(count: int, blocks: int, seed: str) -> list[tuple[int, ...]]:
    """The order of `count` >= 1 things in each of so many blocks; fewer blocks are a prefix."""
    found: list[tuple[int, ...]] = []
    square = 0
    while len(found) < blocks:
        before = found[-1][-1] if found else None
        found += _square(count, before, random.Random(f"{seed} {square}"))
        square += 1
    return found[:blocks]


def _square(count: int, before: int | None, draw: random.Random) -> list[tuple[int, ...]]:
    """The rows of a Williams square, each followed by its mirror image; begins with `before`. Of
    `MANY` things or more, the same rows in any order."""
    base = [(place + 1) // 2 * (1 if place % 2 else -1) % count for place in range(count)]
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for start in range(count):
        row = tuple((one + start) % count for one in base)
        if row[::-1] not in {first for first, _ in pairs}:  # of an even number it is a row, too
            pairs.append((row, row[::-1]))
    draw.shuffle(pairs)
    pairs = [pair[::-1] if draw.random() < 0.5 else pair for pair in pairs]
    names = list(range(count))
    draw.shuffle(names)
    if count >= MANY:
        many = [row for pair in pairs for row in pair]
        draw.shuffle(many)
        return [tuple(names[one] for one in row) for row in many]
    if before is not None:
        first, there = pairs[0][0][0], names.index(before)
        names[first], names[there] = names[there], names[first]
    return [tuple(names[one] for one in row) for pair in pairs for row in pair]


def trial_seed(seed: int, block: int, cell: Cell) -> int:
    """Where a trial's requests come from.

    Each trial has its own: with one seed for all cells of a block the second would ask for the very
    keys that the first has just brought into the caches. It depends on levels, not on the index,
    so that dropping a cell leaves the others as they were.
    """
    text = json.dumps([seed, block, sorted(cell.levels.items())])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> (64 - SEED_BITS)
