"""Steps of a transaction whose branches go together: the row of a table is deleted from it and
inserted into it again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

ROWS_MAX = 4000  # that are compared
NEAR = 16  # steps further apart are not compared
EXPLAINED = 0.8  # of the wrong guesses that knowing the other step saves

Column = Sequence[Hashable]  # what each row has there


def clusters(columns: Mapping[int, Column], weights: Sequence[int]) -> list[list[int]]:
    """Columns that go together, as lists of two at least. `columns`: by number, in the order of the
    steps; `weights`: how often each row came."""
    numbers = [number for number, column in columns.items() if len({*column}) > 1]
    root = {number: number for number in numbers}

    def find(number: int) -> int:
        while root[number] != number:
            number = root[number]
        return number

    step = -(-len(weights) // ROWS_MAX) or 1  # rows that are alike stand side by side
    cut = {number: columns[number][::step] for number in numbers}
    weights = weights[::step]
    for at, one in enumerate(numbers):
        for other in numbers[at + 1 : at + 1 + NEAR]:
            if find(one) != find(other) and _go_together(cut[one], cut[other], weights):
                root[find(other)] = find(one)
    found: dict[int, list[int]] = defaultdict(list)
    for number in numbers:
        found[find(number)].append(number)
    return [members for members in found.values() if len(members) > 1]


def _go_together(one: Column, other: Column, weights: Sequence[int]) -> bool:
    met: Counter[tuple[Hashable, Hashable]] = Counter()
    for a, b, weight in zip(one, other, weights, strict=True):
        met[a, b] += weight
    backwards = Counter({(b, a): count for (a, b), count in met.items()})
    return max(_explained(met), _explained(backwards)) >= EXPLAINED


def _explained(met: Counter[tuple[Hashable, Hashable]]) -> float:
    """How many of the wrong guesses at the second of a pair are right once the first is known
    (Goodman and Kruskal's lambda, 1954). Each is guessed from the others alone, so that firsts that
    come once count for nothing."""
    total = met.total()
    seconds: Counter[Hashable] = Counter()
    by_first: dict[Hashable, list[int]] = defaultdict(list)
    for (a, b), count in met.items():
        seconds[b] += count
        by_first[a].append(count)
    right = 0
    for counts in by_first.values():
        counts.sort(reverse=True)
        second = counts[1] if len(counts) > 1 else 0
        right += counts[0] if counts[0] - 1 > second else 0
    wrong = total - max(seconds.values())
    return (right - max(seconds.values())) / wrong if wrong else 0.0
