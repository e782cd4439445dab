"""Two digests side by side: what got slower or faster a call, what is new, what is gone.

The ratio of two mean query times has an interval by the delta method on its logarithm, with Welch's
degrees of freedom; Holm's correction over all classes that are judged (at 5 % together). Source:
Oehlert, "A Note on the Delta Method" (1992); Welch (1947); Holm (1979). The interval takes calls as
independent: every ratio includes what happened in the whole server between the two logs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from scipy import special

from dbdyno import kinds
from dbdyno.digest.document import Class, Distribution, Document
from dbdyno.errors import DynoError
from dbdyno.wording.plurals import count

CALLS_MIN = 10  # of each side: below, no mean is judged
BUDGET = 0.05
SLOWER, FASTER, NOT_CLEAR, NOT_JUDGED = "slower", "faster", "not clear", "not judged"


@dataclass(frozen=True)
class Change:
    """A class in both digests. Interval and verdict are None and `not judged`, with `why`, if there
    are too few calls or no variance is known. Times are seconds a call."""

    a: Class
    b: Class
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    verdict: str
    why: str = ""

    @property
    def effect_s(self) -> float:
        """Seconds of load a second that the change means, at B's calls; for the order."""
        if self.a.query_time is None or self.b.query_time is None:
            return 0.0
        calls = self.b.weighted_count or self.b.count
        return (self.b.query_time.mean - self.a.query_time.mean) * calls


@dataclass(frozen=True)
class Compared:
    """The whole. `new` and `gone` by their share of time; `level` is that of the intervals. Where a
    side lists some of its classes only, what it does not list is neither new nor gone: classes of
    the other side are then in `not_listed_in_a`, `not_listed_in_b`."""

    a: Document
    b: Document
    changes: tuple[Change, ...]
    new: tuple[Class, ...]
    gone: tuple[Class, ...]
    not_listed_in_a: tuple[Class, ...]
    not_listed_in_b: tuple[Class, ...]
    notes: tuple[str, ...]
    level: float

    def of(self, verdict: str) -> list[Change]:
        """Changes with a verdict, the largest effect first."""
        found = [one for one in self.changes if one.verdict == verdict]
        return sorted(found, key=lambda one: (-abs(one.effect_s), one.b.id))


def compare(a: Document, b: Document) -> Compared:
    """Compares B with A. DynoError if their classes cannot be matched."""
    if a.group_by != b.group_by:
        raise DynoError(
            f"A is grouped by {a.group_by}, B by {b.group_by}",
            fix="digest both with the same --group-by",
        )
    if a.merges_names != b.merges_names:
        merges, other = ("A", "B") if a.merges_names else ("B", "A")
        raise DynoError(
            f"{merges} was made with --merge-names, {other} without",
            fix="digest both with --merge-names, or neither",
        )
    before = {one.id: one for one in a.classes}
    after = {one.id: one for one in b.classes}
    only_a = tuple(one for id_, one in before.items() if id_ not in after)
    only_b = tuple(one for id_, one in after.items() if id_ not in before)
    a_is_whole, b_is_whole = not a.classes_not_listed, not b.classes_not_listed
    raw = [_change(before[id_], one) for id_, one in after.items() if id_ in before]
    judged = sorted((one for one in raw if one.p is not None), key=lambda one: one.p or 0.0)
    level = 1 - BUDGET / max(1, len(judged))
    verdicts = _holm([one.p or 0.0 for one in judged])
    clear = {one.b.id for one, is_clear in zip(judged, verdicts, strict=True) if is_clear}
    return Compared(
        a=a,
        b=b,
        changes=tuple(_decided(one, one.b.id in clear, level) for one in raw),
        new=only_b if a_is_whole else (),
        gone=only_a if b_is_whole else (),
        not_listed_in_a=() if a_is_whole else only_b,
        not_listed_in_b=() if b_is_whole else only_a,
        notes=tuple(_notes(a, b)),
        level=level,
    )


def _holm(ordered: list[float]) -> list[bool]:
    """Whether each of these p-values, the smallest first, is clear at the common budget."""
    clear: list[bool] = []
    for i, p in enumerate(ordered):
        clear.append(all(clear) and p <= BUDGET / (len(ordered) - i))
    return clear


def _change(a: Class, b: Class) -> Change:
    first, second = a.query_time, b.query_time
    if first is None or second is None or not first.mean or not second.mean:
        return Change(a, b, None, None, None, None, NOT_JUDGED, "no times")
    ratio = second.mean / first.mean
    if min(first.count, second.count) < CALLS_MIN:
        return Change(a, b, ratio, None, None, None, NOT_JUDGED, f"fewer than {CALLS_MIN} calls")
    if first.stddev is None or second.stddev is None:
        why = "no variance is known"
        return Change(a, b, ratio, None, None, None, NOT_JUDGED, why)
    error, freedom = _error(first, second)
    if not error:
        return Change(a, b, ratio, None, None, None, NOT_JUDGED, "all calls took the same")
    p = float(2 * special.stdtr(freedom, -abs(math.log(ratio)) / error))
    return Change(a, b, ratio, None, None, p, NOT_CLEAR)


def _error(a: Distribution, b: Distribution) -> tuple[float, float]:
    """Standard error of the logarithm of the ratio of means, and its degrees of freedom."""
    parts = []
    for one in (a, b):
        assert one.stddev is not None
        variance = one.stddev**2 * one.count / (one.count - 1)
        parts.append(variance / (one.count * one.mean**2))
    total = sum(parts)
    if not total:
        return 0.0, 1.0
    bottom = parts[0] ** 2 / (a.count - 1) + parts[1] ** 2 / (b.count - 1)
    return math.sqrt(total), total**2 / bottom


def _decided(change: Change, clear: bool, level: float) -> Change:
    if change.p is None or change.ratio is None:
        return change
    first, second = change.a.query_time, change.b.query_time
    assert first is not None and second is not None
    error, freedom = _error(first, second)
    half = float(special.stdtrit(freedom, 1 - (1 - level) / 2)) * error
    verdict = (SLOWER if change.ratio > 1 else FASTER) if clear else NOT_CLEAR
    return replace(
        change,
        low=change.ratio * math.exp(-half),
        high=change.ratio * math.exp(half),
        verdict=verdict,
    )


def _notes(a: Document, b: Document) -> list[str]:
    said = []
    if a.is_sampled != b.is_sampled:
        said.append(
            "One is of a log, the other of statement counters. Where a server stores a statement "
            "in a normalised or truncated form, its class appears as new and as gone."
        )
    said += _apart(a, b)
    limits = [
        {one.value for one in document.censored if one.kind == "threshold"} for document in (a, b)
    ]
    if any(limits):
        said.append(
            "Only slow statements are logged"
            + (", and not from the same time on" if limits[0] != limits[1] else "")
            + ": means are those of slow calls, and a class that got faster may be gone."
        )
    return [*said, *_not_listed("A", a, "B", "new"), *_not_listed("B", b, "A", "gone")]


_OF_VIEWS = {"performance_schema": kinds.MYSQL, "pg_stat_statements": kinds.POSTGRES}


def _systems(document: Document) -> set[str]:
    """Whose statements a document holds."""
    formats = {one.format for one in document.inputs if one.events}
    return {_OF_VIEWS.get(one, one.partition("-")[0]) for one in formats}


def _apart(a: Document, b: Document) -> list[str]:
    """What leaves hardly a class in both."""
    if empty := [name for name, one in (("A", a), ("B", b)) if not one.overall.count]:
        return [f"There is no statement in {' nor in '.join(empty)}."]
    first, second = _systems(a), _systems(b)
    if not first & second:
        return [
            f"A is of {', '.join(sorted(first))}, B of {', '.join(sorted(second))}: the same"
            " question is seldom the same statement in both."
        ]
    return []


def _not_listed(name: str, document: Document, other: str, how: str) -> list[str]:
    """What a side does not list, and how much that is at most."""
    if not document.classes_not_listed:
        return []
    hidden, all_ = document.classes_not_listed, document.classes_total
    said = f"{name} does not list {hidden:,} of its {all_:,} classes"
    if rest := document.rest:
        took = f", {rest.time_s:.3g} s" if rest.query_time else ""
        said += f" (together {count(round(rest.weighted_count or rest.count), 'call')}{took})"
    return [f"{said}: which of {other}'s are {how} is known once it has all (--limit all)."]


def to_json(compared: Compared) -> dict[str, Any]:
    """The comparison for programs."""
    return {
        "schema_version": 1,
        "level": compared.level,
        "notes": list(compared.notes),
        "a": [one.path for one in compared.a.inputs],
        "b": [one.path for one in compared.b.inputs],
        "changes": [
            {
                **_class_json(one.b),
                "verdict": one.verdict,
                "why": one.why,
                "ratio": one.ratio,
                "ci_low": one.low,
                "ci_high": one.high,
                "p": one.p,
                "a": _side(one.a),
                "b": _side(one.b),
            }
            for verdict in (SLOWER, FASTER, NOT_CLEAR, NOT_JUDGED)
            for one in compared.of(verdict)
        ],
        "new": [{**_class_json(one), "b": _side(one)} for one in compared.new],
        "gone": [{**_class_json(one), "a": _side(one)} for one in compared.gone],
        "not_listed_in_a": [
            {**_class_json(one), "b": _side(one)} for one in compared.not_listed_in_a
        ],
        "not_listed_in_b": [
            {**_class_json(one), "a": _side(one)} for one in compared.not_listed_in_b
        ],
    }


def _class_json(one: Class) -> dict[str, Any]:
    return {"id": one.id, "fingerprint": one.fingerprint, "distill": one.distill}


def _side(one: Class) -> dict[str, Any]:
    timed = one.query_time
    return {
        "count": one.count,
        "time_s": timed.sum if timed else None,
        "time_share": one.time_share,
        "mean_s": timed.mean if timed else None,
        "p95_s": timed.p95 if timed else None,
    }
