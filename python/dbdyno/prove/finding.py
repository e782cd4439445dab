"""Indexes found: proposed for the workload's statements, built on the bench, and ranked by what the
planner makes of them together.

The rank is only the order in which they are measured. The planner's estimate of the whole mix is
today's share of time of each class, times the cost of its plan over that of today's plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.prove import planner
from dbdyno.prove.bench import Bench
from dbdyno.prove.candidates import Candidate, bare, identifier, named_apart
from dbdyno.prove.examining import Today, cost, estimates
from dbdyno.sql import candidates as proposing
from dbdyno.sql.schema import Part, Schema
from dbdyno.sql.statement import read

BUILT_MAX = 24  # the heaviest proposals, which are built and planned with
GAIN_MIN = 0.005  # of the mix's time, by estimate; less is never measured
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True)
class Ranked:
    """An index that the planner would use. `saves`: share of the mix's time, on top of those
    before it, by estimate; `served`: cost over today's by class, with those before it."""

    candidate: Candidate
    bytes: int
    saves: float
    served: Mapping[str, float]


@dataclass(frozen=True)
class Found:
    """`left`: what is not measured, and why."""

    ranked: tuple[Ranked, ...]
    proposed: int
    left: Mapping[str, str] = field(default_factory=dict)


def proposed(bench: Bench, before: Today, schema: Schema) -> tuple[Candidate, ...]:
    """Indexes that might serve the workload, the heaviest first."""
    language = kinds.of(bench.kind).language
    classes = [
        (statement, before.loaded.shares.get(key, 0.0), key)
        for key, texts in before.planned.items()
        if (statement := read(texts[0], language, schema)) is not None
    ]
    found = proposing.candidates(schema, classes)
    return named_apart(_candidate(one, language) for one in found[:BUILT_MAX])


def rank(
    bench: Bench,
    before: Today,
    candidates: Sequence[Candidate],
    most: int,
    space: int | None,
    say: Callable[[str], None],
) -> Found:
    """Builds all, and takes the one that saves most in addition to those taken before, until none
    saves `GAIN_MIN`; at most `most`, of `space` bytes together. Those taken are then in use, the
    others hidden."""
    left: dict[str, str] = {}
    built = []
    for one in candidates:
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
    ranked = _greedy(_Mix(bench, before), built, sizes, most, space)
    taken = {one.candidate.name for one in ranked}
    for one in built:
        if one.name not in taken:
            left[one.what] = _why_left(one, sizes, ranked, most, space)
    return Found(tuple(ranked), len(candidates), left)


def _greedy(
    mix: _Mix, built: Sequence[Candidate], sizes: Mapping[str, int], most: int, space: int | None
) -> list[Ranked]:
    ranked: list[Ranked] = []
    waiting = list(built)
    while waiting and len(ranked) < most:
        room = None if space is None else space - sum(one.bytes for one in ranked)
        fitting = [one for one in waiting if room is None or sizes[one.name] <= room]
        gains = {one.name: mix.gain(one) for one in fitting}
        best = max(fitting, key=lambda one: gains[one.name], default=None)
        if best is None or gains[best.name] < GAIN_MIN:
            break
        served = mix.take(best)
        ranked.append(Ranked(best, sizes[best.name], gains[best.name], served))
        # Whatever saves nothing by now is not going to next to more indexes.
        waiting = [one for one in fitting if one is not best and gains[one.name] >= GAIN_MIN]
        waiting += [one for one in built if one not in fitting and one in waiting]
    return ranked


class _Mix:
    """The mix's time by estimate, with the indexes that were taken."""

    def __init__(self, bench: Bench, before: Today) -> None:
        self._bench = bench
        self._before = before
        self._ratios = dict.fromkeys(before.estimates, 1.0)

    def gain(self, one: Candidate) -> float:
        """Share of today's time that it saves besides."""
        shares = self._before.loaded.shares
        planner.hide(self._bench, one.table, one.index, hidden=False)
        try:
            now = self._with(one)
        finally:
            planner.hide(self._bench, one.table, one.index, hidden=True)
        return sum(shares.get(key, 0.0) * (self._ratios[key] - ratio) for key, ratio in now.items())

    def take(self, one: Candidate) -> dict[str, float]:
        """Keeps it in use; classes whose plans use it, with their cost over today's."""
        planner.hide(self._bench, one.table, one.index, hidden=False)
        now = self._with(one)
        self._ratios |= now
        return now

    def _with(self, one: Candidate) -> dict[str, float]:
        """Cost over today's of the classes whose plans use an index."""
        before = self._before.estimates
        table = re.compile(rf"(?<!\w){re.escape(bare(one.table).rpartition('.')[2])}(?!\w)", re.I)
        asked = {
            key: texts
            for key, texts in self._before.planned.items()
            if key in before and table.search(texts[0])
        }
        return {
            key: cost(now, before[key])
            for key, now in estimates(self._bench, asked).items()
            if any(each.uses(one.index) for each in now)
        }


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
