"""Conformance of routers: which node ran which statement, by the servers' logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.audit.routing.findings import Ran, Routing
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.wording.numbers import sig3
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible

PLACES = {"primary": "primary", "standby": "standby", "several": "all nodes", "unseen": "not seen"}


@dataclass(frozen=True)
class Place:
    """What became of a statement in one set-up."""

    text: str
    is_bad: bool


@dataclass(frozen=True)
class Row:
    """One statement, in all set-ups."""

    case: str
    statement: str
    must: str  # where it must run; empty: anywhere
    cells: list[Place]


@dataclass(frozen=True)
class SetUp:
    """All trials of a cell and a target."""

    where: str
    trials: int
    statements: str
    misrouted: str
    wrong: str
    stale: str
    is_bad: bool


@dataclass(frozen=True)
class View:
    """`summary`: one sentence; `is_clean`: whether nothing was misrouted, wrong or unseen."""

    summary: str
    is_clean: bool
    set_ups: list[SetUp]
    rows: list[Row]


def view(context: Context) -> View | None:
    found: dict[str, list[Routing]] = {}
    for record in context.complete:
        where = context.layout.cell(context.plan.cells[record.cell].levels)
        for target, routing in record.routing.items():
            several = len(record.targets) > 1
            label = f"{where}, {target}" if several and where else where or target
            found.setdefault(label, []).append(routing)
    if not found:
        return None
    set_ups = [_set_up(where, each) for where, each in found.items()]
    every = [routing for each in found.values() for routing in each]
    is_clean = not any(one.is_bad for one in set_ups) and not any(each.unseen for each in every)
    return View(_summary(every), is_clean, set_ups, _rows(found))


def _summary(every: Sequence[Routing]) -> str:
    misrouted = sum(each.misrouted for each in every)
    wrong = sum(each.wrong_results for each in every)
    sent = count(sum(each.statements for each in every), "statement")
    said = (
        f"{misrouted:,} of {sent} were misrouted: they ran at a standby, and must not"
        if misrouted
        else f"None of {sent} was misrouted"
    )
    if unseen := sum(each.unseen for each in every):
        said += f", as far as nodes have logged them: where {unseen:,} ran is not known"
    results = (
        f"{count(wrong, 'statement')} had another result than without the router"
        if wrong
        else "all results are those of sessions without a router"
    )
    stale = sum(each.stale_reads for each in every)
    if not stale:
        return f"{said}; {results}."
    reads = sum(each.reads_after_writes for each in every)
    late = f"{stale:,} of {count(reads, 'read')} after a commit of the same session lacked it"
    return f"{said}; {results if wrong else 'no other result was wrong'}; {late}."


def _set_up(where: str, every: Sequence[Routing]) -> SetUp:
    misrouted = sum(each.misrouted for each in every)
    wrong = sum(each.wrong_results for each in every)
    stale, reads = sum(e.stale_reads for e in every), sum(e.reads_after_writes for e in every)
    longest = max(each.stale_ms_max for each in every)
    most = "at least" if any(each.is_stale_cut for each in every) else "up to"
    return SetUp(
        where,
        len(every),
        f"{sum(each.statements for each in every):,}",
        f"{misrouted:,}",
        f"{wrong:,}",
        f"{stale:,} of {reads:,}" + (f", {most} {sig3(longest)} ms" if stale else ""),
        bool(misrouted or wrong),
    )


def _rows(found: Mapping[str, Sequence[Routing]]) -> list[Row]:
    """A row for each statement of any set-up, in the order of the cases."""
    by_statement: dict[tuple[str, str, str], dict[str, list[Ran]]] = {}
    for where, every in found.items():
        for routing in every:
            for ran in routing.rows:
                key = (ran.case, ran.statement, ran.must)
                by_statement.setdefault(key, {}).setdefault(where, []).append(ran)
    return [
        Row(*key, [_place(places.get(where, ())) for where in found])
        for key, places in by_statement.items()
    ]


def _place(every: Sequence[Ran]) -> Place:
    sums = {name: sum(getattr(each, name) for each in every) for name in PLACES}
    total = sum(sums.values())
    said = [
        PLACES[name] + (f" {number} of {total}" if number < total else "")
        for name, number in sums.items()
        if number
    ]
    if misrouted := sum(each.misrouted for each in every):
        said.append(f"misrouted {misrouted} of {total}")
    if wrong := sum(each.wrong for each in every):
        example = next(each.example for each in every if each.wrong)
        said.append(f"wrong {wrong} of {total}: {example}")
    return Place("; ".join(said), bool(misrouted or wrong))


def form(view: View) -> Iterable[RenderableType]:
    yield Text()
    yield Text(f"routing: {visible(view.summary)}", style="green" if view.is_clean else "yellow")
    for one in view.set_ups:
        if one.is_bad:
            yield Text(
                f"  {visible(one.where)}: {one.misrouted} misrouted, {one.wrong} wrong results",
                style="yellow",
            )


SECTION = Section(view, "Routing of statements", terminal=47, form=form)
