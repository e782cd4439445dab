"""Orders are balanced: a pure function of the seed, and a plan of fewer blocks a prefix."""

from collections import Counter
from itertools import pairwise

import pytest
from plans import plan

from dbdyno.plan.order import rows, trials
from dbdyno.plan.types import Cell


def square(count: int) -> int:
    """Blocks until a design is balanced in all respects."""
    return max(1, count if count % 2 == 0 else 2 * count)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 12])
@pytest.mark.parametrize("seed", ["1", "2"])
def test_each_cell_stands_at_each_position_and_after_each_other(count: int, seed: str) -> None:
    size = square(count)
    found = rows(count, 3 * size, seed)
    for start in range(0, 3 * size, size):
        blocks = found[start : start + size]
        positions = Counter(place for row in blocks for place in enumerate(row))
        assert set(positions.values()) == {size // count}
        followed = Counter(pair for row in blocks for pair in pairwise(row))
        assert len(followed) == count * (count - 1)
        assert len(set(followed.values())) == 1


@pytest.mark.parametrize("count", [8, 9])
def test_blocks_of_many_cells_are_not_mirrored_in_pairs(count: int) -> None:
    size = square(count)
    found = rows(count, size, "x")
    assert len(set(found)) == size and {row[::-1] for row in found} == set(found)
    assert any(second != first[::-1] for first, second in zip(found[::2], found[1::2], strict=True))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_every_second_block_is_its_predecessor_backwards(count: int) -> None:
    found = rows(count, 12, "x")
    assert all(sorted(row) == list(range(count)) for row in found)
    assert all(second == first[::-1] for first, second in zip(found[::2], found[1::2], strict=True))
    for blocks in range(1, 12):
        assert rows(count, blocks, "x") == found[:blocks]


def test_two_cells_have_the_same_predecessor_within_a_block() -> None:
    """So what a trial leaves behind for the next one cancels in their ratio."""
    for seed in range(20):
        order = [cell for row in rows(2, 10, str(seed)) for cell in row]
        before = dict(enumerate(order, start=1))
        assert all(before[at] == before[at + 1] for at in range(2, 20, 2))
    assert {rows(2, 1, str(seed))[0] for seed in range(20)} == {(0, 1), (1, 0)}


def test_both_levels_of_nesting_are_balanced_and_easy_orders_alike() -> None:
    cells = plan({"engine": ("x", "y"), "sessions": ("1", "4", "16")}, hard=("engine",)).cells
    found = trials(cells, 6, 7)
    for block in range(1, 7):
        order = [cells[one.cell] for one in found if one.block == block]
        first, second = order[:3], order[3:]
        assert len({cell.hard for cell in first}) == len({cell.hard for cell in second}) == 1
        assert [c.levels["sessions"] for c in first] == [c.levels["sessions"] for c in second]
    leading = [cells[one.cell] for one in found if one.fresh_servers]
    assert Counter(cell.levels["sessions"] for cell in leading) == {"1": 4, "4": 4, "16": 4}
    assert Counter(cell.hard for cell in leading[::2]) == {"engine=x": 3, "engine=y": 3}


def test_the_linear_effect_of_position_cancels_in_each_pair_of_blocks() -> None:
    def positions(cells: tuple[Cell, ...], blocks: tuple[int, ...]) -> Counter[int]:
        found = trials(cells, 8, 3)
        total: Counter[int] = Counter()
        for one in found:
            if one.block in blocks:
                total[one.cell] += (one.position - 1) % len(cells)
        return total

    cells = plan({"engine": ("x", "y"), "sessions": ("1", "4", "16")}, hard=("engine",)).cells
    for pair in ((1, 2), (3, 4), (5, 6), (7, 8)):
        assert len(set(positions(cells, pair).values())) == 1
