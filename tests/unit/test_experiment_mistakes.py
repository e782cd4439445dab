"""All mistakes of a file in one pass, by line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.errors import DynoError, DynoErrors, Mistakes, Where
from dbdyno.experiment import load
from effort import examples

FILE = """\
experiment: mistakes
question: Are all of them said?
targets:
  db:
    kind: sqlite
    isolation: serializable
    memory: 64Mi
  other:
    kind: sqlite
    isolation: serializable
groups:
  readers:
    kind: oltp
    target: db
    sessions: 4
  writers:
    kind: oltp
    target: other
    rows: 1000
factors:
  readers.sessions: [1, 4]
  journal:
    rollback: {db.config: {journal_mode: DELETE}}
    wal: {db.config: {journal_mode: WAL}}
blocks: 4
warmup: 100ms
duration: 1s
matters: 3%
claims:
  - readers.tps[wal] > readers.tps[rollback] at each readers.sessions
  - readers.p95[wal] <= 5ms at readers.sessions=4
"""
# By the line as it should be, what is wrong in it and what is said; all are found at once.
SHAPE = {
    "experiment: mistakes": ("experiment: Not A Name", "`experiment` cannot be"),
    "    memory: 64Mi": ("    memory: much", "`targets.db.memory`"),
    "    sessions: 4": ("    sessions: 0", "`groups.readers.sessions` must be at least 1"),
    "    rows: 1000": ("    rwos: 1000", "there is no key `rwos`"),
    "  readers.sessions: [1, 4]": ("  readers.sesions: [1, 4]", "does not exist"),
    "blocks: 4": ("blokcs: 4", "there is no key `blokcs`"),
    "warmup: 100ms": ("warmup: 100", "`warmup` must be a duration"),
    "matters: 3%": ("matters: some", "`matters`"),
    "  - readers.p95[wal] <= 5ms at readers.sessions=4": (
        "  - readers.p95[wal] <= 5kg",
        "not a number of claims",
    ),
}
# What can be asked once each part is right.
MEANING = {
    "    rows: 1000": ("    rows: 1000\nrequire: [tps > 1]", "`tps` does not name its group"),
    "  - readers.tps[wal] > readers.tps[rollback] at each readers.sessions": (
        "  - readers.tps[wall] > readers.tps[rollback] at each readers.sessions",
        "`wall`",
    ),
    "  - readers.p95[wal] <= 5ms at readers.sessions=4": (
        "  - readers.p95[wal] <= 5ms at readers.sessions=5",
        "no level `5`",
    ),
}


def errors(text: str) -> list[DynoError]:
    with pytest.raises(DynoError) as refused:
        load(text)
    found = list(refused.value.each)
    assert len(found) == 1 or isinstance(refused.value, DynoErrors)
    return found


def spoilt(mistakes: dict[str, tuple[str, str]], chosen: set[str]) -> tuple[str, list[str]]:
    """The file with these lines wrong, and what should be said, by line."""
    lines = [mistakes[line][0] if line in chosen else line for line in FILE.splitlines()]
    return "\n".join(lines) + "\n", [said for line, (_, said) in mistakes.items() if line in chosen]


def test_the_file_itself_is_right() -> None:
    assert len(load(FILE).cells) == 4


@settings(max_examples=examples(60), deadline=None)
@given(st.sets(st.sampled_from(sorted(SHAPE)), min_size=1))
def test_every_mistake_of_shape_is_said_once_and_by_line(chosen: set[str]) -> None:
    text, said = spoilt(SHAPE, chosen)
    found = errors(text)
    for one, what in zip(found, said, strict=True):
        assert what in one.what
    lines = [one.where.line for one in found if one.where is not None]
    wrong = [number + 1 for number, line in enumerate(FILE.splitlines()) if line in chosen]
    assert lines == wrong


@settings(max_examples=examples(10), deadline=None)
@given(st.sets(st.sampled_from(sorted(MEANING)), min_size=1))
def test_every_mistake_of_meaning_is_said(chosen: set[str]) -> None:
    text, said = spoilt(MEANING, chosen)
    found = errors(text)
    assert len(found) == len(said)
    assert all(what in one.what for what, one in zip(said, found, strict=True))
    places = [(one.where.line, one.where.column) for one in found if one.where is not None]
    assert places == sorted(places) and len(places) == len(found)


def test_a_mistake_in_a_level_is_said_once_though_many_cells_have_it() -> None:
    found = errors(FILE.replace("db.config: {journal_mode: WAL}", "db.memory: lots"))
    assert len(found) == 1
    assert "journal=wal" in found[0].what


def test_a_misspelt_key_is_not_missing_too() -> None:
    (found,) = errors(FILE.replace("targets:\n", "tragets:\n"))
    assert "no key `tragets`" in found.what


def test_what_a_union_also_is_not_is_not_said() -> None:
    (found,) = errors(FILE.replace("duration: 1s", "duration: [1s]"))
    assert "duration" in found.what


def test_several_read_as_one_and_print_as_all() -> None:
    mistakes = Mistakes()
    for line in (7, 3, 7):
        with mistakes.collect():
            raise DynoError(f"wrong in {line}", where=Where(Path("x"), line, 1), fix="mend it")
    with pytest.raises(DynoErrors) as refused:
        mistakes.stop()
    error = refused.value
    assert (error.what, error.fix, str(error.where)) == ("wrong in 3", "mend it", "x:3:1")
    assert [one.what for one in error.each] == ["wrong in 3", "wrong in 7"]
    assert str(error).splitlines()[::2] == ["x:3:1: wrong in 3", "x:7:1: wrong in 7"]
