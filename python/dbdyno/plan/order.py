"""The order of trials: nested randomisation, a pure function of the seed.

In every block the hard combinations are shuffled, and the easy cells within each: servers start
once a combination and block, and no cell always follows the same one. The nesting is part of the
plan, since contrasts of a hard factor may use whole blocks only.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence

from dbdyno.plan.types import Cell, TrialPlan

SEED_BITS = 53  # exact also where JSON numbers are doubles


def trials(cells: Sequence[Cell], blocks: int, seed: int) -> tuple[TrialPlan, ...]:
    """All trials of all blocks in the order they run. A plan of fewer blocks is a prefix."""
    combinations: dict[str, list[Cell]] = {}
    for cell in cells:
        combinations.setdefault(cell.hard, []).append(cell)
    width = max(3, len(str(len(cells))))
    found: list[TrialPlan] = []
    for block in range(1, blocks + 1):
        shuffle = random.Random(f"dbdyno order {seed} {block}")
        hard = list(combinations)
        shuffle.shuffle(hard)
        number = 0
        for name in hard:
            easy = list(combinations[name])
            shuffle.shuffle(easy)
            for place, cell in enumerate(easy):
                number += 1
                found.append(
                    TrialPlan(
                        id=f"b{block:02d}-t{number:0{width}d}",
                        block=block,
                        position=len(found) + 1,
                        cell=cell.index,
                        seed=trial_seed(seed, block, cell),
                        fresh_servers=place == 0,
                    )
                )
    return tuple(found)


def trial_seed(seed: int, block: int, cell: Cell) -> int:
    """Where a trial's requests come from.

    Each trial has its own: with one seed for all cells of a block the second would ask for the very
    keys that the first has just brought into the caches. It depends on levels, not on the index,
    so that dropping a cell leaves the others as they were.
    """
    text = json.dumps([seed, block, sorted(cell.levels.items())])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> (64 - SEED_BITS)
