"""Values of digests as people read them: durations, shares, counts, moments, labels of classes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dbdyno.digest.document import Class, Distribution, Stats
from dbdyno.wording.numbers import MISSING, sig3, size
from dbdyno.wording.visible import visible

COLUMNS = ("total", "min", "mean", "p50", "p95", "p99", "max", "stddev")
NAMES_SHOWN = 3
MEASURES = {  # name in documents -> for people; others are shown by their own name
    "lock_time": "lock time",
    "innodb_rec_lock_wait": "row lock wait",
    "innodb_io_r_wait": "read wait",
    "innodb_queue_wait": "InnoDB queue wait",
    "engine_time": "engine time",
    "plan_time": "planning",
    "cpu_time": "CPU time",
    "queued_time": "queued",
    "bytes_sent": "bytes sent",
    "bytes_received": "bytes received",
    "tmp_bytes": "temporary bytes",
    "read_bytes": "bytes read",
}
MAIN = ("query_time", "lock_time", "rows_sent", "rows_examined", "rows_affected", "bytes_sent")
BUCKETS = ("< 1 us", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s +")


def duration(seconds: float | None) -> str:
    """A time at the scale where it is read well: 3.2 us, 45 ms, 1.2 s, 4 min 10 s, 2 h 05 min."""
    if seconds is None:
        return MISSING
    size_ = abs(seconds)
    if size_ == 0:
        return "0 s"
    if size_ < 0.9995e-3:
        return f"{sig3(seconds * 1e6)} us"
    if size_ < 0.9995:
        return f"{sig3(seconds * 1e3)} ms"
    if size_ < 119.5:
        return f"{sig3(seconds)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60:02d} s" if whole % 60 else "")
    minutes = round(seconds / 60)
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(minutes / 60)
    return f"{hours // 24:,} d {hours % 24} h"


def value(number: float | None, unit: str) -> str:
    """A value of a measure."""
    if number is None:
        return MISSING
    if unit == "ns":
        return duration(number)
    if unit == "bytes":
        return size(number)
    if unit == "flag":
        return share(number)
    return whole(number)


def cell(values: Distribution, unit: str, column: str) -> str:
    """One of `total`, `min`, `mean`, `p95` and so on of a measure; flags have only the mean."""
    if unit == "flag":
        return share(values.mean) if column == "mean" else ""
    return value(values.sum if column == "total" else getattr(values, column), unit)


def columns(rows: Sequence[tuple[str, str, Distribution]]) -> tuple[str, ...]:
    """Those of `COLUMNS` that any of these measures knows."""
    return tuple(
        column
        for column in COLUMNS
        if column in ("total", "mean") or any(getattr(v, column) is not None for _, _, v in rows)
    )


def whole(number: float) -> str:
    """A count: exact up to a million, then three digits."""
    if number < 1e6 and number == int(number):
        return f"{int(number):,}"
    for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if number >= limit:
            return f"{number / limit:.3g} {letter}"
    return sig3(number)


def share(part: float | None) -> str:
    """A share of a whole: 72.6 %."""
    if part is None:
        return MISSING
    if 0 < part < 0.0005:
        return "< 0.1 %"
    return f"{part * 100:.1f} %" if part < 0.9995 else "100 %"


def moment(unix_s: float | None) -> str:
    """2024-01-01 10:00:00, UTC."""
    if unix_s is None:
        return MISSING
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(unix_s))
    except (OverflowError, ValueError, OSError):
        return MISSING


def names(found: Mapping[str, int], shown: int = NAMES_SHOWN) -> str:
    """app 91 %, web 9 %, 3 more: the most frequent first."""
    total = sum(found.values())
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    said = [
        f"{one_line(name) or '(others)'}" + (f" {share(n / total)}" if len(ordered) > 1 else "")
        for name, n in ordered[:shown]
    ]
    if len(ordered) > shown:
        said.append(f"{len(ordered) - shown} more")
    return ", ".join(said)


def one_line(text: str) -> str:
    """Text of a stranger in one line, its control characters visible."""
    return " ".join(visible(text).split())


def short_id(one: Class) -> str:
    """The first eight digits: enough to distinguish the classes of one report."""
    return one.id[:8]


def label(one: Class) -> str:
    """A class in a word or two: verb and tables, else the begin of its statement."""
    return one_line(one.distill) or one_line(one.fingerprint)[:60]


def calls(stats: Stats) -> float:
    """How many calls the events represent."""
    return stats.weighted_count or stats.count


def called(stats: Stats) -> str:
    """1 call, 7,061 calls."""
    number = calls(stats)
    return f"{whole(number)} call" + ("" if number == 1 else "s")


def per_call(stats: Stats) -> float | None:
    """Mean query time, seconds."""
    return stats.query_time.mean if stats.query_time else None


def measure(name: str) -> str:
    """A measure's name for people."""
    return MEASURES.get(name, one_line(name).replace("_", " "))


def measured(one: Stats) -> list[tuple[str, str, Distribution]]:
    """(name, unit, values) of the query time and of each measure that was not always 0."""
    rows: list[tuple[str, str, Distribution]] = []
    if one.query_time:
        rows.append(("query_time", "ns", one.query_time))
    return rows + [(name, m.unit, m) for name, m in one.measures.items() if m.sum or m.max]


def main_measures(stats: Stats) -> list[tuple[str, str, Distribution]]:
    """The same for a first overview."""
    return sorted(
        (row for row in measured(stats) if row[0] in MAIN), key=lambda r: MAIN.index(r[0])
    )
