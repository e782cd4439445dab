"""A candidate examined on the bench: which classes it serves, its size, whether results change."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment import workloads
from dbdyno.experiment.workloads import mix
from dbdyno.plan.types import Cell, GroupPlan
from dbdyno.prove import planner
from dbdyno.prove.bench import Bench, Loaded
from dbdyno.prove.candidates import TODAY, Candidate
from dbdyno.prove.planner import Estimate
from dbdyno.prove.results import Result, result

DRAWS, REWRITTEN_DRAWS = 12, 60  # values that each class is asked with, and one with a rewrite
PLANNED = 3  # of these, as many are put to the planner
RESULTS_S = 20.0  # no further draw is asked after so long
AT_ONCE = 40  # statements of one request to the engine, which gives a draw of each
CHEAPER = 0.9  # a plan that costs less than this share of today's is another one
_LIMIT = re.compile(r"\b(?:limit|fetch\s+(?:first|next))\b", re.IGNORECASE)


@dataclass(frozen=True)
class Example:
    """A reading class with one draw of its values. `rewritten`: the candidates' SQL with the same
    values, by level."""

    key: str  # group/class
    draw: int
    sql: str
    rewritten: Mapping[str, str]


@dataclass(frozen=True)
class Today:
    """The server as it is. `results`: of the examples that were asked; `estimates`: by class, of
    its first draws and of a statement of each writing class."""

    loaded: Loaded
    examples: Sequence[Example]
    results: Mapping[tuple[str, int], Result]
    planned: Mapping[str, Sequence[str]]
    estimates: Mapping[str, Sequence[Estimate]]
    bytes: int | None


@dataclass(frozen=True)
class Examined:
    """What was seen of a candidate. `served`: the planner's cost over today's, by class, those that
    save most first; `bytes`: by which the data grow; `differing`, `unordered`: classes whose
    results differ, and those of them where LIMIT may choose other rows; `compared`: results that
    were compared."""

    served: Mapping[str, float] = field(default_factory=dict)
    bytes: int | None = None
    differing: Mapping[str, str] = field(default_factory=dict)
    unordered: tuple[str, ...] = ()
    compared: int = 0


def today(bench: Bench, cell: Cell, candidates: Sequence[Candidate], seed: int) -> Today:
    """Examines today's server, which is then as freshly loaded."""
    bench.start(cell)
    loaded = bench.loaded(seed)
    bench.start(cell)  # the load may have changed data
    groups = [one for one in cell.groups if workloads.classes(one.workload, one.options)]
    drawn = [one for group in groups for one in _drawn(bench, group, candidates, seed)]
    examples = sorted(drawn, key=lambda one: one.draw)
    planned: dict[str, list[str]] = {}
    for one in examples:
        if one.draw < PLANNED:
            planned.setdefault(one.key, []).append(one.sql)
    for key, sql in loaded.statements.items():
        planned.setdefault(key, [sql])
    plans = planner.can_plan(bench)
    return Today(
        loaded,
        examples,
        _results(bench, {(one.key, one.draw): one.sql for one in examples}),
        planned,
        estimates(bench, planned) if plans else {},
        planner.total_bytes(bench) if plans else None,
    )


def examine(bench: Bench, before: Today, cell: Cell, candidate: Candidate) -> Examined:
    """Examines a candidate; `cell`: its own. The server has today's data, and then that of the
    candidate."""
    if candidate.target:
        bench.start(cell)
    elif candidate.after:
        bench.build(*candidate.after)
    asked = {
        (one.key, one.draw): one.rewritten.get(candidate.name, one.sql)
        for one in before.examples
        if candidate.name in one.rewritten or not candidate.rewrites
    }
    after = {at: found for at, found in _results(bench, asked).items() if at in before.results}
    differing = {at[0]: asked[at] for at in after if after[at] != before.results[at]}
    unordered = tuple(
        key for key, sql in differing.items() if _LIMIT.search(sql) and not candidate.rewrites
    )
    grows = None
    if before.bytes is not None and (candidate.after or candidate.target):
        grows = planner.total_bytes(bench) - before.bytes
    return Examined(
        _served(bench, before, candidate),
        grows,
        {key: sql for key, sql in differing.items() if key not in unordered},
        unordered,
        len(after),
    )


def estimates(bench: Bench, planned: Mapping[str, Sequence[str]]) -> dict[str, list[Estimate]]:
    """What the planner thinks of statements; without those that it does not explain."""
    found: dict[str, list[Estimate]] = {}
    for key, statements in planned.items():
        try:
            found[key] = [planner.estimate(bench, sql) for sql in statements]
        except DynoError:
            continue
    return found


def cost(now: Sequence[Estimate], before: Sequence[Estimate]) -> float:
    """The cost of a class over its cost before, over all draws."""
    ratios = [one.over(other) for one, other in zip(now, before, strict=True)]
    return sum(ratios) / len(ratios)


def read_times(bench: Bench, cell: Cell, seed: int = 1) -> dict[str, float]:
    """Mean service time in ns of each class that only reads, one session asking all in turn; those
    that it comes to in a short time."""
    found: dict[str, float] = {}
    for group in cell.groups:
        if not workloads.classes(group.workload, group.options):
            continue
        texts = _texts(group, ())
        names = list(texts)
        for begin in range(0, len(names), AT_ONCE):
            asked = names[begin : begin + AT_ONCE]
            asking = _asking(group, [texts[name] for name in asked])
            means_ns = bench.loaded(seed, [asking]).means_ns
            for at, name in enumerate(asked):
                if (mean_ns := means_ns.get(f"{group.name}/c{at}_0")) is not None:
                    found[f"{group.name}/{name}"] = mean_ns
    return found


def _served(bench: Bench, before: Today, candidate: Candidate) -> dict[str, float]:
    """Classes that a candidate is for: those that it rewrites, or whose plans use its index, or
    become cheaper by what it builds."""
    shares = before.loaded.shares
    if candidate.rewrites:
        keys = (one.key for one in before.examples if candidate.name in one.rewritten)
        return dict.fromkeys(keys, 1.0)
    if candidate.target or candidate.removes or not before.estimates:
        return {}
    found: dict[str, float] = {}
    for key, now in estimates(bench, before.planned).items():
        if key not in before.estimates:
            continue
        ratio = cost(now, before.estimates[key])
        used = any(candidate.index in one.indexes for one in now) if candidate.index else False
        if used or (not candidate.index and ratio < CHEAPER):
            found[key] = ratio
    return dict(sorted(found.items(), key=lambda one: -shares.get(one[0], 0.0) * (1 - one[1])))


def _results(bench: Bench, asked: Mapping[tuple[str, int], str]) -> dict[tuple[str, int], Result]:
    """Results of statements by class and draw, of as many draws as fit into the time; of one at
    least."""
    found: dict[tuple[str, int], Result] = {}
    begun = time.monotonic()
    for at, sql in asked.items():
        if at[1] and time.monotonic() - begun > RESULTS_S:
            break
        found[at] = result(bench.run(sql))
    return found


def _drawn(
    bench: Bench, group: GroupPlan, candidates: Sequence[Candidate], seed: int
) -> Iterator[Example]:
    """The reading classes of a group with draws of their values."""
    texts = _texts(group, candidates)
    wanted = [
        (draw, name)
        for name, variants in texts.items()
        for draw in range(REWRITTEN_DRAWS if len(variants) > 1 else DRAWS)
    ]
    each = max(1, AT_ONCE // max((len(one) for one in texts.values()), default=1))
    for number, begin in enumerate(range(0, len(wanted), each)):
        chosen = wanted[begin : begin + each]
        asked = [texts[name] for _, name in chosen]
        sent = bench.examples([_asking(group, asked)], seed + number)
        for at, (draw, name) in enumerate(chosen):
            found = {
                level: sent[f"{group.name}/c{at}_{place}"]
                for place, level in enumerate(texts[name])
            }
            yield Example(f"{group.name}/{name}", draw, found.pop(TODAY), found)


def _texts(
    group: GroupPlan, candidates: Sequence[Candidate]
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The first statement of each reading class, and the candidates' own in its place, by level."""
    reads = mix.classes(group.options)
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for _, name, each in mix.sent(group.options):
        if reads[name] and name not in found:
            kept = {key: each[key] for key in ("sql", "lists") if each.get(key)}
            found[name] = {TODAY: kept}
            for one in candidates:
                if name in one.rewrites:
                    found[name][one.name] = {**kept, "sql": one.rewrites[name]}
    return found


def _asking(group: GroupPlan, texts: Sequence[Mapping[str, Mapping[str, Any]]]) -> GroupPlan:
    """A group that asks each statement and its rewrites one after the other, with equal values."""
    transactions = {
        f"t{number}": {
            "atomic": False,
            "steps": [
                {**each, "name": f"c{number}_{place}"}
                for place, each in enumerate(variants.values())
            ],
        }
        for number, variants in enumerate(texts)
    }
    params = {
        # A sum holds as long as its terms do, and says nothing itself.
        name: {**param} if "sum" in param else {**param, "per": "transaction"}
        for name, param in group.options.get("params", {}).items()
    }
    options = {"params": params, "statements": {}, "transactions": transactions}
    meant = workloads.meaning(group.workload, options)
    return replace(group, options=meant, sessions=1, arrivals=None, find=None, think=None)
