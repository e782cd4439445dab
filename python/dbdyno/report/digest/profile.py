"""The columns of the profile, the same in all forms: what classes are ranked by comes first, then
what else shows the cost of a call. Columns of which no class knows anything are omitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbdyno.digest.document import Class, Document, Stats
from dbdyno.wording.digest import amounts, words
from dbdyno.wording.numbers import MISSING, size

LEGEND = "sent, examined: rows a call; lock: of the time; scan: calls with full scans"
# Why a class has a dash in a column.
_UNTIMED = "the log has no times of that class"
_SUMS = "of that class no times of single calls are known"
_VARIANCE = "it needs the times of single calls of one class"
_UNMEASURED = "the log does not count it for that class"


@dataclass(frozen=True)
class Column:
    """`of`: its number for a class, or for all classes that are not listed; None: not known, for
    the reason `unknown`. `order`: columns are omitted from the highest on if there is no room."""

    head: str
    of: Callable[[Stats], float | None]
    shown: Callable[[float | None], str]
    order: int
    unknown: str = _UNTIMED


def columns(document: Document, *, maxima: bool = False) -> tuple[Column, ...]:
    """What the profile shows, without rank, ID and statement. `maxima`: the slowest call, too."""
    ranked = _ranked(document)
    found = [_share(document, ranked), ranked]
    found += [one for one in (TIME, CALLS, *COSTS) if one.head != ranked.head]
    if maxima and ranked.head != MAX.head:
        found.append(MAX)
    known = [one for one in found if any(one.of(each) is not None for each in document.classes)]
    return tuple(known)


def legend(shown: Sequence[Column], rows: Sequence[Stats]) -> list[str]:
    """What heads do not say of the columns shown, and what a dash in a row means."""
    heads = {one.head for one in shown} & {"lock", "sent", "examined", "scan"}
    dashes: dict[str, list[str]] = {}
    for one in shown:
        if any(one.of(each) is None for each in rows):
            dashes.setdefault(one.unknown, []).append(one.head)
    said = [f"{MISSING} in {', '.join(of)}: {why}" for why, of in dashes.items()]
    return [*([LEGEND] if heads else []), *said]


def share_of(document: Document) -> Callable[[Stats], float | None]:
    """Which part of what classes are ranked by a class makes."""
    return _share(document, _ranked(document)).of


def _ranked(document: Document) -> Column:
    by = words.ranked_by(document)
    if by in _RANKED:
        return _RANKED[by]
    unit = next((one.measures[by].unit for one in document.classes if by in one.measures), "count")
    shown = amounts.whole if unit == "flag" else lambda number: amounts.value(number, unit)
    return Column(
        amounts.measure(by), lambda one: _sum(one, by), _or_missing(shown), 1, _UNMEASURED
    )


def _share(document: Document, ranked: Column) -> Column:
    def of(one: Stats) -> float | None:
        if ranked.head == TIME.head and isinstance(one, Class):
            return one.time_share
        mine, all_ = ranked.of(one), ranked.of(document.overall)
        return None if mine is None or not all_ or ranked.head == MAX.head else mine / all_

    return Column("share", of, amounts.share, 0)


def _or_missing(shown: Callable[[float], str]) -> Callable[[float | None], str]:
    return lambda number: MISSING if number is None else shown(number)


def _sum(one: Stats, name: str) -> float | None:
    measured = one.measures.get(name)
    return measured.sum if measured else None


def _mean(name: str) -> Callable[[Stats], float | None]:
    def of(one: Stats) -> float | None:
        measured = one.measures.get(name)
        return measured.mean if measured else None

    return of


def _locked(one: Stats) -> float | None:
    lock_s = _sum(one, "lock_time")
    return None if lock_s is None or not one.time_s else lock_s / one.time_s


def _percent(part: float | None) -> str:
    """A share where whole percents will do."""
    if part is None:
        return MISSING
    return "<1 %" if 0 < part < 0.005 else f"{part * 100:.0f} %"


def _scanned(part: float | None) -> str:
    """A mark: nothing where no call did."""
    if not part:
        return MISSING if part is None else ""
    return "all" if part >= 0.9995 else _percent(part)


TIME = Column("time", lambda one: one.time_s if one.query_time else None, amounts.duration, 1)
CALLS = Column("calls", amounts.calls, _or_missing(amounts.whole), 1)
MAX = Column(
    "max", lambda one: one.query_time.max if one.query_time else None, amounts.duration, 1, _SUMS
)
_RANKED = {
    "query_time": TIME,
    "count": CALLS,
    "max": MAX,
    "statement_bytes": Column(
        "bytes", lambda one: float(one.statement_bytes), _or_missing(size), 1
    ),
}
COSTS = (
    Column("R/call", amounts.per_call, amounts.duration, 4),
    Column(
        "p95",
        lambda one: one.query_time.p95 if one.query_time else None,
        amounts.duration,
        2,
        _SUMS,
    ),
    Column(
        "V/M",
        lambda one: one.v_m if isinstance(one, Class) else None,
        _or_missing(lambda number: f"{number:.2f}"),
        7,
        _VARIANCE,
    ),
    Column("lock", _locked, _percent, 6),
    Column("sent", _mean("rows_sent"), _or_missing(amounts.whole), 5, _UNMEASURED),
    Column("examined", _mean("rows_examined"), _or_missing(amounts.whole), 2, _UNMEASURED),
    Column("scan", _mean("full_scan"), _scanned, 3, _UNMEASURED),
)
