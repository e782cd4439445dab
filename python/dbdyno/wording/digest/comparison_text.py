"""Two digests held against each other, in sentences."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from dbdyno.digest.compare import FASTER, SLOWER, Compared
from dbdyno.digest.document import Document
from dbdyno.wording.digest import amounts, words
from dbdyno.wording.numbers import MISSING
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import times

INDEPENDENT = (
    "Intervals take calls as independent. An event of the whole server between A and B affects"
    " every ratio."
)
UNTIMED = f"{MISSING}: that side's log has no times of the class."


def answer(compared: Compared) -> str:
    """The first line."""
    found: list[tuple[Sequence[object], str]] = [
        (compared.of(SLOWER), "slower a call"),
        (compared.of(FASTER), "faster a call"),
    ]
    sides = (
        (compared.a, compared.new, "new", compared.not_listed_in_a, "not listed in A"),
        (compared.b, compared.gone, "gone", compared.not_listed_in_b, "not listed in B"),
    )
    for document, sure, how, open_, not_listed in sides:
        found.append((open_, not_listed) if document.classes_not_listed else (sure, how))
    said = [f"{count(len(all_), 'class', 'classes')} {how}" for all_, how in found]
    line = ", ".join(said) + f", of {count(len(compared.changes), 'class', 'classes')} in both"
    if worst := compared.of(SLOWER)[:1]:
        line += f"; {amounts.label(worst[0].b)} took {times(worst[0].ratio)} as long in B"
    return f"{line}."


def loads(compared: Compared) -> list[str]:
    """What each side is."""
    return [f"{name}: {_load(one)}" for name, one in (("A", compared.a), ("B", compared.b))]


def _load(document: Document) -> str:
    paths = ", ".join(amounts.one_line(one.path) for one in document.inputs)
    all_ = document.overall
    said = f"{paths}, {count(round(amounts.calls(all_)), 'statement')}"
    if document.seconds:
        said += f" in {amounts.duration(document.seconds)}"
    if document.seconds and all_.query_time:
        said += f", {all_.time_s / document.seconds:.3g} at once on average"
    return said


def notes(compared: Compared) -> list[str]:
    """What limits each side, and what all ratios take for granted."""
    said = []
    for name, one in (("A", compared.a), ("B", compared.b)):
        for note in (*words.limits(one), *one.notes):
            said.append(f"{name}: {amounts.one_line(note)}")
    both = [side for one in compared.changes for side in (one.a, one.b)]
    lone = (compared.new, compared.gone, compared.not_listed_in_a, compared.not_listed_in_b)
    untimed = any(one.query_time is None for one in (*both, *itertools.chain(*lone)))
    return [*said, *compared.notes, INDEPENDENT, *([UNTIMED] if untimed else [])]
