"""Sampling a server for some time, and the document that the differences make."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbdyno import __version__
from dbdyno.digest.document import SCHEMA_VERSION
from dbdyno.digest.servers.chosen import Choice
from dbdyno.digest.servers.counted import Counted, Histogram, Shot, Source
from dbdyno.digest.servers.identity import Identity, identify
from dbdyno.errors import DynoError

OURS = "dbdyno_digest"  # an alias in each of our own statements, by which they are omitted
GONE = "(a statement whose text the server no longer has)"
LUMPED = "(all statements that found no room in the server's table)"
QUANTILE_ERROR = 10 ** (1 / 50) - 1  # MySQL's buckets grow by this
STEPS_MAX = 5000
# Statements that the view does not count; some commands of clients are no statements.
UNCOUNTED_MIN, UNCOUNTED_SHARE = 20, 0.05
ELSEWHERE = (
    "A digest of its slow log (long_query_time=0), its general log or a capture of its connections"
    " (tcpdump) has them all."
)


@dataclass
class Watched:
    """What has been seen so far. `timelines` are sparse: step -> (calls, seconds)."""

    begin_unix_s: float
    end_unix_s: float = 0.0
    rows: dict[Any, Counted] = field(default_factory=dict)
    timelines: dict[Any, dict[int, tuple[int, float]]] = field(default_factory=dict)
    steps: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    restarted: int = 0
    resets: int = 0
    evicted: int = 0
    counted: int = 0  # with our own
    executed: int = 0
    prepared: int = 0

    def add(self, before: Shot, after: Shot, source: Source) -> None:
        """One step more."""
        changed = {}
        was_reset = bool(before.resets) and before.resets != after.resets
        for key, row in after.rows.items():
            added, anew = row.since(None if was_reset else before.rows.get(key))
            self.restarted += anew
            if added.count > 0:
                changed[key] = added
        self.counted += sum(row.count for row in changed.values())
        unknown = {row.statement for row in changed.values()} - self.texts.keys() - {""}
        found = {key: " ".join(text.split()) for key, text in source.texts(unknown).items()}
        self.texts |= dict.fromkeys(unknown, GONE) | found
        kept = {k: r for k, r in changed.items() if OURS not in self.texts.get(r.statement, "")}
        for key, row in kept.items():
            self.rows[key] = self.rows[key].plus(row) if key in self.rows else row
            self.timelines.setdefault(key, {})[self.steps] = (row.count, row.time_s)
        self.steps += 1
        self.resets += was_reset
        self.evicted += _added(before.evicted, after.evicted)
        self.executed += _added(before.executed, after.executed)
        self.prepared += _added(before.prepared, after.prepared)
        self.end_unix_s = after.at_unix_s


def _added(before: int | None, after: int | None) -> int:
    return 0 if before is None or after is None else max(0, after - before)


@dataclass(frozen=True)
class Sampled:
    """All samples of a server. `spread`: query times by statement; `known`: classes by text."""

    seen: Watched
    notes: Sequence[str]
    spread: Mapping[str, Histogram]
    known: Mapping[str, Identity]


def watch(
    source: Source, for_s: float, every_s: float, choice: Choice, **how: Any
) -> dict[str, Any]:
    """The document of a server over `for_s` seconds; `how` as in `sample`. DynoError as that, or if
    nothing that was chosen was counted."""
    return document(source, sample(source, for_s, every_s, **how), choice)


def sample(
    source: Source,
    for_s: float,
    every_s: float,
    *,
    on_step: Callable[[float], None] = lambda seconds: None,
    on_interrupt: Callable[[], None] = lambda: None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    identify: Callable[[Iterable[str], str], Mapping[str, Identity]] = identify,
) -> Sampled:
    """Samples a server for `for_s` seconds, every `every_s`. Ctrl-C ends it with what has been
    seen, once there are two samples, and tells `on_interrupt`. `on_step` hears how long it has
    been; `identify` gives the classes of texts in a language. DynoError if the server cannot be
    read.
    """
    if every_s <= 0 or for_s < every_s:
        raise DynoError(
            "`--for` must be at least `--every`, and that more than 0",
            fix="such as --for 10m --every 10s",
        )
    steps = math.ceil(for_s / every_s - 1e-9)
    if steps > STEPS_MAX:
        raise DynoError(
            f"that would be {steps:,} samples; at most {STEPS_MAX:,} are taken",
            fix="a longer --every",
        )
    notes = source.check()
    before = source.take()
    seen = Watched(before.at_unix_s)
    histograms = source.histograms()
    begin = clock()
    try:
        for step in range(1, steps + 1):
            sleep(max(0.0, begin + min(step * every_s, for_s) - clock()))
            after = source.take()
            seen.add(before, after, source)
            before = after
            on_step(clock() - begin)
    except KeyboardInterrupt:
        if not seen.steps:
            raise
        source.close()  # it may have been in the middle of an answer; what follows logs in again
        notes.append(f"Interrupted: {seen.steps} of {steps} samples were taken.")
        on_interrupt()
    spread: Mapping[str, Histogram] = {}
    if histograms is not None and not seen.restarted and not seen.resets:
        spread = _between(histograms, source.histograms() or {})
    known = identify((text for text in seen.texts.values() if is_sql(text)), source.language)
    return Sampled(seen, [*notes, *_notes(seen)], spread, known)


def document(source: Source, sampled: Sampled, choice: Choice) -> dict[str, Any]:
    """The document of what was sampled. DynoError if nothing that was chosen was counted."""
    if not any(choice.takes(row) for row in sampled.seen.rows.values()):
        raise _nothing(source, sampled.seen)
    return _document(source, sampled, choice)


def _nothing(source: Source, seen: Watched) -> DynoError:
    sent = sum(row.count for row in seen.rows.values())
    if sent:
        return DynoError(
            f"{source.place}: none of the {sent:,} statements counted is of those asked for",
            fix="remove --db or --user, or give others",
        )
    uncounted = _uncounted(seen)
    seconds = seen.end_unix_s - seen.begin_unix_s
    return DynoError(
        f"{source.place}: no statement was counted in {seconds:.0f} s",
        cause=uncounted or "the server executed no statement",
        fix=ELSEWHERE if uncounted else "sample it while it is used: --for 10m",
    )


def is_sql(text: str) -> bool:
    """Whether a text is a statement, and not a placeholder for one."""
    return text not in (GONE, LUMPED) and not text.startswith("<")


def _notes(seen: Watched) -> list[str]:
    said = []
    if seen.resets or seen.restarted:
        said.append(
            "The server's statistics were reset while they were sampled: what was counted between"
            " the last sample and the reset is missing."
        )
    if uncounted := _uncounted(seen):
        said += [uncounted, ELSEWHERE]
    lumped = [row for row in seen.rows.values() if not row.statement]
    if lumped:
        total = sum(row.time_s for row in seen.rows.values()) or 1.0
        part = sum(row.time_s for row in lumped) / total
        many = sum(row.count for row in lumped)
        said.append(
            f"The server's table of statements is full: {many:,} statements"
            f" ({part:.1%} of the time) could not be distinguished (the row whose digest is"
            " NULL). Raise performance_schema_digests_size, or truncate the table."
        )
    if seen.evicted and not lumped:
        said.append(
            f"The server dropped statements for want of room {seen.evicted:,} times: rare"
            " statements are counted too low. Raise pg_stat_statements.max."
        )
    return said


def counted_share(seen: Watched) -> float:
    """Of the statements that clients have sent, those that the server's view counts; 1 where it
    does not say how many were sent."""
    return min(1.0, seen.counted / seen.executed) if seen.executed else 1.0


def _uncounted(seen: Watched) -> str:
    """What the server's view omits of what clients have sent; empty: next to nothing."""
    missing = seen.executed - seen.counted
    if missing < max(UNCOUNTED_MIN, UNCOUNTED_SHARE * seen.executed):
        return ""
    why = ""
    if seen.prepared > missing / 2:
        why = f"; {seen.prepared:,} were executions of prepared statements, which it omits"
    return (
        f"Clients have sent {seen.executed:,} statements, and the server's table of statements"
        f" counted {seen.counted:,} ({seen.counted / seen.executed:.1%}){why}."
    )


def _between(before: Mapping[str, Histogram], after: Mapping[str, Histogram]) -> dict[str, Any]:
    found = {}
    for statement, counts in after.items():
        old = before.get(statement, {})
        added = {end: n - old.get(end, 0) for end, n in counts.items()}
        if all(n >= 0 for n in added.values()):
            found[statement] = {end: n for end, n in added.items() if n}
    return found


def _document(source: Source, sampled: Sampled, choice: Choice) -> dict[str, Any]:
    seen, spread, known = sampled.seen, sampled.spread, sampled.known
    by_fingerprint = {one.fingerprint: one for one in known.values()}
    rows = {key: row for key, row in seen.rows.items() if choice.takes(row)}
    groups: dict[str, list[Any]] = {}
    for key, row in rows.items():
        text = seen.texts.get(row.statement, GONE) if row.statement else LUMPED
        text = known[text].fingerprint if text in known else text
        groups.setdefault(choice.name_of(row, text), []).append(key)
    total_s = sum(row.time_s for row in rows.values())
    classes = [
        _class([rows[key] for key in keys], source, spread, total_s)
        | _identity(by_fingerprint.get(name) if choice.group_by == "fingerprint" else None, name)
        | {"timeline_s": _times(seen, keys)}
        for name, keys in groups.items()
    ]
    shown, hidden = choice.limited(classes)
    for rank, one in enumerate(shown, 1):
        one["rank"] = rank
    rest = [rows[key] for one in hidden for key in groups[one["fingerprint"]]]
    events = sum(row.count for row in seen.rows.values())
    ends = {"first_unix_s": seen.begin_unix_s, "last_unix_s": seen.end_unix_s}
    all_ = _sum(list(rows.values()))
    return {
        "schema_version": SCHEMA_VERSION,
        "engine_version": __version__,
        "group_by": choice.group_by,
        "order_by": choice.order_by,
        "inputs": [
            {
                "path": source.place,
                "format": source.format,
                "server": source.server,
                "servers": [source.server],
                "events": events,
                "filtered": events - all_.count,
            }
        ],
        "censored": [],
        "notes": list(sampled.notes),
        "overall": _stats(all_, source.units, {}) | ends,
        "classes_total": len(groups),
        "classes": shown,
        "rest": _stats(_sum(rest), source.units, {}) if rest else None,
        "timeline": {
            "begin_unix_s": seen.begin_unix_s,
            "bucket_s": (seen.end_unix_s - seen.begin_unix_s) / seen.steps,
            "count": [round(n) for n in _steps(seen, rows, 0)],
            "time_s": _times(seen, list(rows)),
            "gap_s": [],
        },
        "concurrency": None,
    }


def _times(seen: Watched, keys: Iterable[Any]) -> list[float]:
    """Query time of some rows in each step."""
    return _steps(seen, keys, 1)


def _steps(seen: Watched, keys: Iterable[Any], which: int) -> list[float]:
    sums = [0.0] * seen.steps
    for key in keys:
        for step, both in seen.timelines[key].items():
            sums[step] += both[which]
    return sums


def _class(
    members: list[Counted],
    source: Source,
    spread: Mapping[str, Histogram],
    total_s: float,
) -> dict[str, Any]:
    added: dict[float, int] = {}
    for statement in {one.statement for one in members}:
        for end, n in spread.get(statement, {}).items():
            added[end] = added.get(end, 0) + n
    made = _stats(_sum(members), source.units, added)
    timed = made["query_time"]
    spread_s = timed["stddev"]
    return {
        **made,
        "time_share": timed["sum"] / total_s if total_s else None,
        "v_m": spread_s**2 / timed["mean"] if spread_s is not None and timed["mean"] else None,
        "databases": _by(members, lambda row: row.database),
        "users": _by(members, lambda row: row.user),
    }


def _identity(one: Identity | None, name: str) -> dict[str, Any]:
    """How a class is called: as in logs, if it is one of statements. Else its ID is of its name: 32
    hexadecimal digits, for which MD5 is only a name."""
    if one is not None:
        return {
            "id": one.id,
            "fingerprint": one.fingerprint,
            "distill": one.distill,
            "tables": list(one.tables),
        }
    made = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
    return {"id": made, "fingerprint": name, "distill": "", "tables": []}


def _sum(rows: list[Counted]) -> Counted:
    if not rows:
        return Counted("", "", "", 0, 0.0)
    total = rows[0]
    for row in rows[1:]:
        total = total.plus(row)
    return total


def _stats(row: Counted, units: Mapping[str, str], added: Histogram) -> dict[str, Any]:
    timed: dict[str, Any] = _distribution(row.count, row.time_s)
    timed["stddev"] = row.moments.stddev if row.moments is not None else None
    made: dict[str, Any] = {
        "count": row.count,
        "weighted_count": float(row.count),
        "errors": row.errors,
        "query_time": timed,
        "measures": {
            name: {"unit": units[name], **_distribution(row.count, value)}
            for name, value in row.measures.items()
        },
    }
    if added:
        timed |= {
            "p50": _quantile(added, 0.50),
            "p95": _quantile(added, 0.95),
            "p99": _quantile(added, 0.99),
            "quantile_error": QUANTILE_ERROR,
        }
        made["histogram"] = _decades(added)
    return made


def _distribution(count: int, total: float) -> dict[str, Any]:
    return {"count": count, "sum": total, "mean": total / count if count else 0.0}


def _quantile(counts: Histogram, part: float) -> float:
    wanted, at = part * sum(counts.values()), 0
    for end in sorted(counts):
        at += counts[end]
        if at >= wanted:
            return end
    return max(counts)


def _decades(counts: Histogram) -> list[int]:
    """By tenfold times, as in logs; the server's first bucket ends at 10 us."""
    found = [0] * 9
    for end, n in counts.items():
        decade = math.ceil(math.log10(max(end, 1e-6)) - 1e-6) + 6
        found[min(8, max(1, decade))] += n
    return found


def _by(rows: list[Counted], name_of: Callable[[Counted], str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if name := name_of(row):
            found[name] = found.get(name, 0) + row.count
    return found
