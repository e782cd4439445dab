"""What a reader must know before believing a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dbdyno.plan import data
from dbdyno.plan.types import Cell
from dbdyno.systems.base import TargetPlan

_WORDS: Mapping[str, Callable[[TargetPlan], object]] = {
    "durability": lambda target: target.durability,
    "isolation": lambda target: target.isolation,
    "memory": lambda target: target.memory_bytes,
}


def comparability(cells: Sequence[Cell]) -> list[str]:
    """One sentence if kinds of server are compared that are not held to the same three words."""
    targets = [target for cell in cells for target in cell.targets if target.kind != "null"]
    kinds = list(dict.fromkeys(target.kind for target in targets))
    if len(kinds) < 2:
        return []
    open_words, unequal_words = [], []
    for word, value_of in _WORDS.items():
        values = {kind: {value_of(t) for t in targets if t.kind == kind} for kind in kinds}
        if any(None in each for each in values.values()):
            open_words.append(word)
        elif any(each != values[kinds[0]] for each in values.values()):
            unequal_words.append(word)
    notes = []
    if open_words:
        notes.append(
            f"This compares {_and(kinds)} without fixing {_and(open_words)}: their defaults "
            "differ, so a difference may be the defaults' and not the systems'."
        )
    if unequal_words:
        notes.append(f"This compares {_and(kinds)} at different {_and(unequal_words)}.")
    return notes


def state(cells: Sequence[Cell], data_given: bool) -> list[str]:
    """What trials start from, where that is not obvious."""
    writers = sorted({name for cell in cells for name in data.writers(cell.groups)})
    if not writers:
        return []
    groups = f"group{'s' * (len(writers) > 1)} {_and(writers)}"
    notes = []
    if cells[0].state.data == data.REUSE:
        notes.append(
            f"data: reuse, although data is changed by {groups}: within a block each trial "
            "starts from what the one before left."
        )
    elif not data_given:
        notes.append(f"data: restore, since data is changed by {groups}.")
    return notes


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
