"""pgbench's logs: a line a transaction (`-l`) or a line an interval (`--aggregate-interval`).

Source: PostgreSQL's manual, pgbench, "Per-Transaction Logging" and "Aggregated Logging".

    client_id transaction_no time script_no time_epoch time_us [schedule_lag] [retries]
    interval_start num_transactions sum_latency sum_latency_2 min_latency max_latency [...]

Times are microseconds. `time` includes the schedule lag of `-R`, so that both service and response
are known from a line. Each thread of pgbench writes a file (`pgbench_log.PID`, `.PID.1`, ...):
`files` puts them together. Percentiles come from all transactions, not from a tool's summary.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.imports.found import (
    Found,
    Interval,
    Part,
    histogram_metrics,
    latency_metrics,
)
from dbdyno.imports.text import Line, Text
from dbdyno.store.metrics.histogram import Histogram, merge

WORDS = (
    "pgbench's log has a line a transaction; percentiles are of all of them (buckets narrower than"
    " 1 %). With -R a transaction's response time is the logged one, and its service time that"
    " less the schedule lag.",
)

AGGREGATED = (
    "pgbench's aggregated log has sums only: a mean and a maximum, no percentile; its first and"
    " last interval are not whole and not counted.",
)
CUT = "the log's last line was cut off and not used"

_TRANSACTION = re.compile(
    r"(\d{1,9}) (\d{1,18}) (\d{1,15}|skipped|failed|serialization|deadlock) (\d{1,9})"
    r" (\d{9,12}) (\d{1,6})( \d{1,15})?( \d{1,9})?"
)
_AGGREGATE = re.compile(
    r"(\d{9,12}) (\d{1,15}) (\d{1,18}) (\d{1,30}) (\d{1,15}) (\d{1,15})((?: \d+)*)"
)
CHUNK = 1 << 16  # distinct latencies kept before they are put into buckets
RETRIES_MAX = 100
SECONDS_MAX = 30 * 86_400


@dataclass
class _Log:
    """What a per-transaction log adds up to."""

    clients: set[str] = field(default_factory=set)
    per_second: dict[int, list[int]] = field(default_factory=dict)  # [committed, failed, sum us]
    service: dict[int, int] = field(default_factory=dict)  # us -> count
    response: dict[int, int] = field(default_factory=dict)
    merged: dict[str, Histogram] = field(default_factory=dict)
    columns: int = 6
    seventh_max: int = 0
    first_us: int = 0
    last_us: int = 0


class _PgbenchLog:
    name = "pgbench's logs"

    def recognises(self, head: list[Line]) -> bool:
        first = next((text for _, text in head if text.strip()), "")
        return bool(_TRANSACTION.fullmatch(first) or _AGGREGATE.fullmatch(first))

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        return [together([text])]


FORMAT = _PgbenchLog()


def together(texts: Sequence[Text]) -> Found:
    """The logs of all threads of one pgbench as one result, at the first one's place."""
    first = next(line for _, line in texts[0].lines() if line.strip())
    return (_aggregated if _AGGREGATE.fullmatch(first) else _transactions)(texts)


def _transactions(texts: Sequence[Text]) -> Found:
    log = _Log()
    cut = False
    for text in texts:
        held: Line | None = None  # one line back, since the last one may be cut off
        for line in text.lines():
            if held is not None:
                _line(text, log, *held)
            held = line
        if held is not None and _TRANSACTION.fullmatch(held[1]):
            _line(text, log, *held)
        elif held is not None:
            cut = True
    if not log.per_second:
        texts[0].refuse(1, "the log has no complete line")
    return _found(texts[0], log, cut=cut)


def _line(text: Text, log: _Log, at: int, line: str) -> None:
    found = _TRANSACTION.fullmatch(line)
    if found is None:
        text.refuse(at, f"not a line of pgbench's log: `{line[:60]}`")
    end_us = int(found[5]) * 1_000_000 + int(found[6])
    row = log.per_second.setdefault(int(found[5]), [0, 0, 0])
    if len(log.per_second) > SECONDS_MAX:
        text.refuse(at, "the log spans more than 30 days")
    if len(log.clients) < 100_000:
        log.clients.add(found[1])
    log.last_us = max(log.last_us, end_us)
    if not found[3].isdecimal():
        row[1] += 1
        log.first_us = min(log.first_us or end_us, end_us)
        return
    took_us = int(found[3])
    log.first_us = min(log.first_us or end_us, end_us - took_us)
    row[0] += 1
    row[2] += took_us
    if found[7]:
        log.columns = max(log.columns, 8 if found[8] else 7)
        log.seventh_max = max(log.seventh_max, int(found[7]))
        log.response[took_us] = log.response.get(took_us, 0) + 1
        took_us -= min(int(found[7]), took_us)
    log.service[took_us] = log.service.get(took_us, 0) + 1
    for name, counts in (("service", log.service), ("response", log.response)):
        if len(counts) > CHUNK:
            _fold(log, name, counts)


def _fold(log: _Log, name: str, counts: dict[int, int]) -> None:
    """Puts exact latencies into buckets, so that memory stays flat."""
    if counts:
        more = Histogram.weighted({us * 1000: n for us, n in counts.items()})
        log.merged[name] = merge([log.merged[name], more]) if name in log.merged else more
        counts.clear()


def _rated(log: _Log) -> bool:
    """Whether the seventh number is the schedule lag of -R. Alone it may also be the count of
    retries that --max-tries writes; those are few, and a lag that small hardly matters."""
    return log.columns == 8 or (log.columns == 7 and log.seventh_max > RETRIES_MAX)


def _found(text: Text, log: _Log, *, cut: bool) -> Found:
    _fold(log, "service", log.service)
    _fold(log, "response", log.response)
    if log.columns > 6 and not _rated(log):
        log.merged = {"service": log.merged["response"]}  # whole times: no lag is taken off
    duration_s = max(log.last_us - log.first_us, 1) / 1e6
    committed = sum(row[0] for row in log.per_second.values())
    failed = sum(row[1] for row in log.per_second.values())
    metrics = {"transactions_per_s": committed / duration_s, "failed_per_s": failed / duration_s}
    for name, histogram in log.merged.items():
        metrics |= histogram_metrics(histogram, name)
        mean_ns = histogram.mean_ns()
        metrics |= latency_metrics({"mean": mean_ns / 1e6} if mean_ns else {}, name)
    return Found(
        tool="pgbench",
        version="",
        file=text.path,
        line=1,
        parts={"": Part(metrics, tuple(_seconds(log)), log.merged.get("service"))},
        said={"clients": str(len(log.clients))},
        sessions=len(log.clients),
        duration_s=duration_s,
        words=WORDS,
        warnings=(CUT,) if cut else (),
        started_unix_s=log.first_us / 1e6,
    )


def _seconds(log: _Log) -> list[Interval]:
    """Whole seconds of the log; those in which nothing ended are intervals too."""
    start_s = log.first_us / 1e6
    found = []
    first, last = min(log.per_second), max(log.per_second)
    if last - first > SECONDS_MAX:
        return []  # a clock that was set in between: no series can be drawn
    for second in range(first, last + 1):
        committed, failed, sum_us = log.per_second.get(second, [0, 0, 0])
        end_s = second + 1 - start_s
        latency = {"mean": sum_us / committed * 1e3} if committed and not _rated(log) else {}
        found.append(Interval(end_s, 1.0, committed, committed, failed, latency))
    return found


def _aggregated(texts: Sequence[Text]) -> Found:
    rows: dict[int, list[int]] = {}  # start -> transactions, sum us, max us
    cut = False
    for text in texts:
        cut = _rows(text, rows) or cut
    if not rows:
        texts[0].refuse(1, "the log has no complete line")
    starts = sorted(rows)
    length_s = float(min((b - a for a, b in itertools.pairwise(starts)), default=1))
    intervals = []
    for start in starts:
        count, sum_us, max_us = rows[start]
        latency = {"mean": sum_us / count * 1e3, "max": max_us * 1e3} if count else {}
        rate, end_s = count / length_s, start - starts[0] + length_s
        intervals.append(Interval(end_s, length_s, rate, rate, 0.0, latency))
    # The first and the last interval are not whole: transactions begin and end within them.
    inner = starts[1:-1] if len(starts) > 2 else starts
    committed, sum_us = (sum(rows[start][i] for start in inner) for i in (0, 1))
    span_s = inner[-1] - inner[0] + length_s
    latency_ms = {"max": max(row[2] for row in rows.values()) / 1e3}
    if committed:
        latency_ms["mean"] = sum_us / committed / 1e3
    metrics = {"transactions_per_s": committed / span_s, **latency_metrics(latency_ms)}
    warnings = [CUT] if cut else []
    if inner is starts:
        warnings.append("the log has fewer than 3 intervals, and its ends are not whole ones")
    return Found(
        tool="pgbench",
        version="",
        file=texts[0].path,
        line=1,
        parts={"": Part(metrics, tuple(intervals))},
        duration_s=span_s,
        words=AGGREGATED,
        warnings=tuple(warnings),
        started_unix_s=float(starts[0]),
    )


def _rows(text: Text, rows: dict[int, list[int]]) -> bool:
    """Adds the intervals of a log to `rows`; whether its last line is cut off."""
    cut_at = 0
    for at, line in text.lines():
        if cut_at:
            text.refuse(cut_at, "not a line of pgbench's aggregated log")
        found = _AGGREGATE.fullmatch(line)
        if found is None:
            cut_at = at  # an error unless it is the last line
            continue
        row = rows.setdefault(int(found[1]), [0, 0, 0])
        row[0] += int(found[2])
        row[1] += int(found[3])
        row[2] = max(row[2], int(found[6]))
        if len(rows) > SECONDS_MAX:
            text.refuse(at, "the log has more intervals than a month has seconds")
    return bool(cut_at)
