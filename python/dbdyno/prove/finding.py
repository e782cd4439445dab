"""Indexes found: proposed for the workload's statements, built on the bench, and ranked by what the
planner makes of them together.

Estimates are of other units than time, so that a class whose plan costs a thousandth still takes
its time. After each round the reading classes are therefore timed again, with the indexes taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.plan.types import Cell
from dbdyno.prove import choosing, planner
from dbdyno.prove.bench import Bench
from dbdyno.prove.candidates import Candidate, identifier, named_apart
from dbdyno.prove.choosing import EstimatedTimes, Ranked
from dbdyno.prove.examining import Today, estimates, read_times
from dbdyno.sql import candidates as proposing
from dbdyno.sql import parts
from dbdyno.sql.parts import Statement
from dbdyno.sql.schema import Index, Part, Schema
from dbdyno.sql.statement import read

BUILT_MAX = 40  # proposals that are built and planned with
ROUNDS_MAX = 4  # of taking indexes, each with the times that the one before has left
UNSEEN = 0.5  # executions of a class that today's short load has not come to
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True)
class Proposals:
    """`writers`: by index, the classes that change what it holds; `narrower`: by covering index,
    the same without the columns that it only carries."""

    candidates: tuple[Candidate, ...]
    writers: Mapping[str, Sequence[str]]
    narrower: Mapping[str, Candidate]


@dataclass(frozen=True)
class Found:
    """`left`: what is not measured, and why."""

    ranked: tuple[Ranked, ...]
    proposed: int
    left: Mapping[str, str] = field(default_factory=dict)


def proposed(bench: Bench, before: Today, schema: Schema) -> Proposals:
    """Indexes that might serve the workload."""
    language = kinds.of(bench.kind).language
    shares = before.loaded.shares
    classes = [
        (statement, shares.get(key, 0.0), key)
        for key, texts in before.planned.items()
        if (statement := read(texts[0], language, schema)) is not None
    ]
    found = chosen(proposing.candidates(schema, classes), shares, BUILT_MAX)
    narrow = [
        None if each is None or proposing.is_there(each, schema) else each
        for each in (one.narrower for one in found)
    ]
    forms = {_form(one): one for one in (*found, *narrow) if one is not None}
    by_form = dict(
        zip(forms, named_apart(_candidate(one, language) for one in forms.values()), strict=True)
    )
    made = tuple(by_form[_form(one)] for one in found)
    writers = {
        index.name: [key for statement, _, key in classes if _changes(statement, one)]
        for index, one in zip(made, found, strict=True)
    }
    narrower = {
        one.name: by_form[_form(each)]
        for one, each in zip(made, narrow, strict=True)
        if each is not None
    }
    return Proposals(made, writers, narrower)


def chosen(
    found: Sequence[proposing.Candidate], shares: Mapping[str, float], most: int
) -> list[proposing.Candidate]:
    """As many as may be built. Each that is chosen for a class makes the next one for it less
    urgent: else the many ways to serve the slowest class would leave no room for others."""
    waiting, kept = list(found), list[proposing.Candidate]()
    served: Counter[str] = Counter()
    while waiting and len(kept) < most:
        best = max(
            waiting,
            key=lambda one: sum(shares.get(key, 0.0) / (1 + served[key]) for key in one.classes),
        )
        waiting.remove(best)
        kept.append(best)
        served.update(best.classes)
    return kept


def rank(
    bench: Bench,
    before: Today,
    cell: Cell,
    proposals: Proposals,
    most: int,
    space: int | None,
    say: Callable[[str], None],
) -> Found:
    """Builds all, and takes the one that saves most in addition to those taken before, as long as
    one saves enough; at most `most`, of `space` bytes together. Those taken are then in use, the
    others hidden."""
    left: dict[str, str] = {}
    built = []
    for one in proposals.candidates:
        try:
            bench.run(*one.after)
            built.append(one)
        except DynoError as error:
            left[one.what] = f"cannot be built: {error.what}"
    if built:
        bench.build()
    sizes = {one.name: planner.index_bytes(bench, one.index) for one in built}
    for one in built:
        planner.hide(bench, one.table, one.index, hidden=True)
    say(f"{len(built)} indexes are built; asking the planner")
    ranked = _taken(bench, before, cell, proposals.writers, built, sizes, most, space)
    has = {one.candidate.name for one in ranked}
    for one in built:
        if one.name not in has:
            left[one.what] = _why_left(one, sizes, ranked, most, space)
    with_forms = tuple(_with_narrower(bench, one, proposals, sizes) for one in ranked)
    return Found(with_forms, len(proposals.candidates), left)


def _with_narrower(
    bench: Bench, one: Ranked, proposals: Proposals, sizes: Mapping[str, int]
) -> Ranked:
    """Sizes are those of indexes as built."""
    narrow = proposals.narrower.get(one.candidate.name)
    if narrow is None:
        return one
    if (size := sizes.get(narrow.name)) is None:
        bench.build(*narrow.after)
        size = planner.index_bytes(bench, narrow.index)
        planner.hide(bench, narrow.table, narrow.index, hidden=True)
    return replace(one, narrower=replace(one, candidate=narrow, bytes=size))


def _taken(
    bench: Bench,
    before: Today,
    cell: Cell,
    writers: Mapping[str, Sequence[str]],
    built: Sequence[Candidate],
    sizes: Mapping[str, int],
    most: int,
    space: int | None,
) -> list[Ranked]:
    times = EstimatedTimes(bench, before.planned, before.estimates, before.loaded.shares, writers)
    ranked: list[Ranked] = []
    for _ in range(ROUNDS_MAX):
        now = choosing.take_all(times, built, sizes, most, space, ranked)
        now = choosing.without_useless(times, now)
        same = [one.candidate.name for one in now] == [one.candidate.name for one in ranked]
        ranked = now
        if same or len(ranked) >= most:
            break
        shares = _shares(before, read_times(bench, cell), times)
        costs = estimates(bench, before.planned)
        times = EstimatedTimes(bench, before.planned, costs, shares, writers)
    return ranked


def _shares(before: Today, now_ns: Mapping[str, float], times: EstimatedTimes) -> dict[str, float]:
    """Shares of the mix's time with the indexes that are in use: of classes that only read by their
    own time, of others by today's."""
    today = before.loaded
    spent = {
        key: today.counts.get(key, UNSEEN)
        * now_ns.get(key, today.means_ns.get(key, 0.0) * times.ratio(key))
        for key in before.planned
    }
    whole = sum(spent.values()) or 1.0
    return {key: time / whole for key, time in spent.items()}


def _changes(statement: Statement, one: proposing.Candidate) -> bool:
    """Whether a statement changes what an index holds: its rows come and go, or a column does."""
    if statement.kind in (parts.INSERT, parts.REPLACE, parts.DELETE):
        return bool(statement.tables) and statement.tables[0].name.lower() == one.table.lower()
    held = {name.lower() for name in (*one.columns, *one.include)}
    return any(
        column.table.name.lower() == one.table.lower() and column.name.lower() in held
        for column in statement.written
    )


def _why_left(
    one: Candidate,
    sizes: Mapping[str, int],
    ranked: Iterable[Ranked],
    most: int,
    space: int | None,
) -> str:
    taken = list(ranked)
    if space is not None and sizes[one.name] > space - sum(each.bytes for each in taken):
        return "does not fit into --space"
    if len(taken) >= most:
        return f"--most {most} others save more by the planner's estimate"
    return "saves nothing by the planner's estimate"


def _form(one: proposing.Candidate) -> tuple[str, str, Index]:
    """What makes two candidates the same index."""
    return one.schema, one.table, one.index


def _candidate(one: proposing.Candidate, language: str) -> Candidate:
    inside = ", ".join(_part(part, language) for part in one.parts)
    include = ", ".join(_name(column, language) for column in one.include)
    rest = f"({inside})"
    rest += f" INCLUDE ({include})" if include else ""
    rest += f" WHERE {one.predicate}" if one.predicate else ""
    name = identifier(f"{one.table}_{rest}")
    table = _name(one.table, language)
    if language == kinds.POSTGRES and one.schema:
        table = f"{_name(one.schema, language)}.{table}"
    plain = rest.replace("`", "").replace('"', "")
    sql = f"CREATE INDEX {name} ON {table} {rest}"
    return Candidate(name, f"index {plain} on {one.table}", (sql,), index=name, table=table)


def _part(part: Part, language: str) -> str:
    what = f"({part.expression})" if part.expression else _name(part.column, language)
    return f"{what} DESC" if part.descending else what


def _name(name: str, language: str) -> str:
    """Quoted where it must be."""
    if _PLAIN.fullmatch(name):
        return name
    quote = '"' if language == kinds.POSTGRES else "`"
    return quote + name.replace(quote, 2 * quote) + quote
