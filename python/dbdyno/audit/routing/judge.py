"""Where statements ran, compared with where they must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.audit.routing.cases import ERROR, PREPARED, PRIMARY_ONLY, Case, Step, Tag
from dbdyno.audit.routing.findings import Ran, Routing


@dataclass(frozen=True)
class Answer:
    """What a session got for a statement."""

    tag: Tag
    case: Case
    step: Step
    result: str  # the first value as text; ERROR and a SQLSTATE


@dataclass(frozen=True)
class Reads:
    """Reads of what the same session had just changed."""

    count: int = 0
    stale: int = 0  # that did not have the change
    stale_ms_max: float = 0.0
    is_cut: bool = False  # the last one was waited for in vain


def judged(
    answers: Sequence[Answer], nodes: Mapping[Tag, frozenset[str]], primary: str, reads: Reads
) -> Routing:
    """The findings. `nodes`: which ones have run each statement; `primary`: the name of the one
    that takes writes. A statement that no node has logged is unseen, and not misrouted; one that
    is only parsed is never logged, and not counted as unseen."""
    rows: dict[tuple[int, int], Ran] = {}
    parsed = {(each.tag.case, each.tag.step) for each in answers if each.step.way == PREPARED}
    for answer in answers:
        key = (answer.tag.case, answer.tag.step)
        seen = nodes.get(answer.tag, frozenset())
        rows[key] = _added(rows.get(key) or _empty(answer), answer, seen, primary)
    every = rows.values()
    unseen = [row for key, row in rows.items() if row.statement and key not in parsed]
    return Routing(
        rounds=len({answer.tag.round for answer in answers}),
        statements=len(answers),
        misrouted=sum(row.misrouted for row in every),
        wrong_results=sum(row.wrong for row in every),
        unseen=sum(row.unseen for row in unseen),
        reads_after_writes=reads.count,
        stale_reads=reads.stale,
        stale_ms_max=reads.stale_ms_max,
        rows=tuple(row for row in every if row.statement or row.misrouted or row.wrong),
        unseen_primary=sum(row.unseen for row in unseen if row.must == PRIMARY_ONLY),
        is_stale_cut=reads.is_cut,
    )


def _empty(answer: Answer) -> Ran:
    return Ran(answer.case.name, answer.step.about, answer.step.must, 0, 0, 0, 0, 0, 0)


def _added(row: Ran, answer: Answer, seen: frozenset[str], primary: str) -> Ran:
    elsewhere = seen - {primary}
    wrong = is_wrong(answer.step, answer.result)
    statement = row.statement
    misrouted = bool(elsewhere) and answer.step.must == PRIMARY_ONLY
    if not statement and (misrouted or wrong):  # a step that only leads to others
        statement = answer.step.sql
    example = f"{_said(answer.result)} instead of {_said(answer.step.want or 'a result')}"
    return replace(
        row,
        statement=statement,
        primary=row.primary + (seen == {primary}),
        standby=row.standby + (len(seen) == 1 and primary not in seen),
        several=row.several + (len(seen) > 1),
        unseen=row.unseen + (not seen),
        misrouted=row.misrouted + misrouted,
        wrong=row.wrong + wrong,
        example=row.example or (example if wrong else ""),
    )


def _said(result: str) -> str:
    if result.startswith(ERROR):
        return f"error {result.removeprefix(ERROR)}"
    return result or "no row"


def is_wrong(step: Step, result: str) -> bool:
    """Whether a session of the server itself would have got another result."""
    if step.want is None:
        return result.startswith(ERROR)
    return result != step.want
