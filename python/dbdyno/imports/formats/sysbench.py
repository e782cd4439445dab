"""sysbench's text: 0.5 (and 0.4, which prints the same blocks), 1.0, 1.1; interval lines, final
blocks, histograms; several results in one file.

Sources: output of sysbench 1.0.20; its manual (https://github.com/akopytov/sysbench, README.md) and
published results of 0.5 and 1.1 for the lines in which those differ. A *transaction* of an OLTP
script is one of dbdyno's and a *query* is an operation; tests without queries count *events*, which
are our transactions of one operation. sysbench's latency is an event's; with `--rate` it counts
from the time an event was due, so that it is a response time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dbdyno.imports.found import (
    QUANTILES,
    TOOL,
    Found,
    Interval,
    Part,
    histogram_metrics,
    latency_metrics,
)
from dbdyno.imports.text import Line, Text, number
from dbdyno.store.metrics.histogram import Histogram

WORDS = (
    "sysbench's `transactions` are transactions here (tps) and its `queries` are operations (qps):"
    " a query is not a transaction. Its latency is that of a transaction.",
)

_HEADER = re.compile(r"sysbench (\d[\w.+-]*)")
_INTERVAL = re.compile(r"\[ *(\d+)s ?\] (?:(?:thds|threads): *(\d+),? )?(.*\S)")
_PAIR = re.compile(r"([A-Za-z][\w/]*(?: \w+)*)(?: \([^)]*?(\d+(?:\.\d+)?)%\))?: *([\d.]+)")
_PERCENT_AFTER = re.compile(r"response time: *([\d.]+)ms \((\d+(?:\.\d+)?)%\)")
_FIELD = re.compile(r" *([A-Za-z][\w ./,()-]*?|\d+\w\w percentile|approx\. +\d+ percentile): *(.*)")
_BUCKET = re.compile(r" +(\d+\.\d+) \|\**\s+(\d+)$")
_OPTIONS = re.compile(r"(Number of threads|Target transaction rate|Block size|Doing) *:? *(.*)")
_PERCENTILE = re.compile(r"(?:approx\. +)?(\d+(?:\.\d+)?)(?:th|st|nd|rd)? +percentile")
_RATE = re.compile(r"([\d.]+) +\(([\d.]+) per sec\.\)")
_FILES = {
    "reads": ("read, MiB/s", "read"),
    "writes": ("written, MiB/s", "written"),
    "fsyncs": ("", ""),
}
_RESULT = frozenset({"transactions", "total number of events", "events/s (eps)"})
_END = "total number of events"
LINE_MAX = 1000  # characters: sysbench prints no longer one
FIELDS_MAX = 500  # of a final block
INTERVALS_MAX = 1_000_000  # lines of one result
BUCKETS_MAX = 100_000


@dataclass
class _Block:
    """One result while it is read."""

    line: int
    version: str = ""
    threads: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    intervals: list[tuple[int, Interval]] = field(default_factory=list)
    final: dict[str, tuple[int, str]] = field(default_factory=dict)
    buckets: dict[float, int] = field(default_factory=dict)

    @property
    def began(self) -> bool:
        """Whether anything of a measurement was seen."""
        return bool(self.intervals or _RESULT & self.final.keys())


class _Sysbench:
    name = "sysbench's text"

    def recognises(self, head: list[Line]) -> bool:
        return any(
            _HEADER.match(text)
            or (_INTERVAL.fullmatch(text) and "tps:" in text)
            or text.startswith(("SQL statistics:", "OLTP test statistics:", "Threads started!"))
            for _, text in head
        )

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        blocks = list(_blocks(text))
        found = [_found(text, block) for block in blocks if block.began]
        if not found:
            text.refuse(
                blocks[0].line if blocks else 1,
                "sysbench printed no result: no interval line and no final block",
                cause="it failed (see its FATAL line), or it was `prepare` or `cleanup`",
            )
        return found


FORMAT = _Sysbench()


def _blocks(text: Text) -> Iterator[_Block]:
    """Results in the order of the file: each begins with a header, or where one is missing with
    the options or interval lines that follow a final block."""
    block: _Block | None = None
    version = ""
    for at, line in text.lines():
        if found := _HEADER.match(line):
            version = found[1].rstrip(":")
            if block is not None and block.began:
                yield block
            block = _Block(at, version)
            continue
        again = line.startswith("Running the test with following options")
        if block is None or (again and block.began) or _starts_over(block, line):
            if block is not None:
                yield block
            block = _Block(at, version)
        _take(text, block, at, line)
    if block is not None:
        yield block


def _starts_over(block: _Block, line: str) -> bool:
    """Whether an interval line begins another result: time starts again after a final block. Where
    it goes on, the block was one of `--report-checkpoints`."""
    if _END not in block.final or len(line) > LINE_MAX:
        return False
    found = _INTERVAL.fullmatch(line)
    if found is None or "Checkpoint" in line:
        return False
    return not block.intervals or float(found[1][:9]) <= block.intervals[-1][1].t_s


def _take(text: Text, block: _Block, at: int, line: str) -> None:
    if len(line) > LINE_MAX:
        return
    if found := _INTERVAL.fullmatch(line):
        if (interval := _interval(text, block, at, found)) is not None:
            block.intervals.append((at, interval))
            block.final.clear()  # what came before was a checkpoint of `--report-checkpoints`
            if len(block.intervals) > INTERVALS_MAX:
                text.refuse(at, f"more than {INTERVALS_MAX} interval lines in one result")
    elif found := _BUCKET.fullmatch(line):
        if len(block.buckets) > BUCKETS_MAX:
            text.refuse(at, f"a histogram of more than {BUCKETS_MAX} buckets")
        try:
            value = number(found[1])
        except ValueError as error:
            text.refuse(at, f"a bucket of a histogram: {error}")
        block.buckets[value] = block.buckets.get(value, 0) + int(found[2][:18])
    elif found := _OPTIONS.match(line):
        if found[1] == "Number of threads":
            block.threads = int(found[2]) if re.fullmatch(r"\d{1,6}", found[2]) else 0
        else:
            block.settings[found[1].lower()] = found[2].strip()
    elif (found := _FIELD.fullmatch(line)) and found[2] and len(block.final) < FIELDS_MAX:
        block.final[found[1].strip()] = (at, found[2].strip())


def _interval(text: Text, block: _Block, at: int, line: re.Match[str]) -> Interval | None:
    """An interval line; None for one without a rate (`queue length:`, a checkpoint's heading)."""
    end_s = float(line[1][:9])
    block.threads = block.threads or int((line[2] or "0")[:6])
    try:
        pairs = {found[1]: (number(found[3]), found[2]) for found in _PAIR.finditer(line[3])}
    except ValueError as error:
        text.refuse(at, f"an interval line with {error}")
    if "eps" in pairs:  # tests without queries: cpu, memory, threads, mutex
        pairs["tps"] = pairs["qps"] = pairs["eps"]
    if "fsyncs" in pairs or "tps" not in pairs:
        return None
    tps = pairs["tps"][0]
    rw = pairs.get("reads", (0.0, ""))[0] + pairs.get("writes", (0.0, ""))[0]
    qps = pairs["qps"][0] if "qps" in pairs else rw or tps  # 0.5 does not count BEGIN and COMMIT
    latency = {}
    for name in ("lat", "latency"):
        if name in pairs and pairs[name][1]:
            latency[pairs[name][1] or ""] = pairs[name][0]
    if found := _PERCENT_AFTER.search(line[3]):
        latency[found[2]] = float(found[1])
    errors = pairs.get("err/s", pairs.get("errors", pairs.get("deadlocks", (0.0, ""))))[0]
    before = block.intervals[-1][1].t_s if block.intervals else 0.0
    if end_s <= before:
        text.refuse(
            at,
            f"time runs backwards: an interval that ends at {end_s:g} s after one at {before:g} s",
            cause="two results run into each other without a header between them",
            fix="put each result into its own file",
        )
    known = {QUANTILES[q]: ms * 1e6 for q, ms in latency.items() if q in QUANTILES}
    return Interval(end_s, end_s - before, tps, qps, errors, known)


def _found(text: Text, block: _Block) -> Found:
    complete = _END in block.final
    summary = _totals if complete else _without_end
    metrics, duration_s, warnings = summary(text, block)
    histogram = _histogram(block)
    kind = "response" if "target transaction rate" in block.settings else "service"
    if histogram is not None:
        metrics = {**histogram_metrics(histogram, kind), **metrics}
    return Found(
        tool="sysbench",
        version=block.version,
        file=text.path,
        line=block.line,
        parts={"": Part(metrics, tuple(one for _, one in block.intervals), histogram)},
        said={"threads": str(block.threads)} if block.threads else {},
        sessions=block.threads,
        duration_s=duration_s,
        settings=block.settings,
        words=WORDS,
        warnings=warnings,
    )


def _totals(text: Text, block: _Block) -> tuple[dict[str, float], float, tuple[str, ...]]:
    """Metrics of the final block, its length in seconds, warnings."""
    final = block.final
    events = _value(text, final[_END])
    elapsed = final.get("total time") or final.get("time elapsed")
    if elapsed is None:
        text.refuse(final[_END][0], "the final block has no total time")
    seconds = _value(text, (elapsed[0], elapsed[1].removesuffix("s")))
    if seconds <= 0:
        text.refuse(elapsed[0], "in the final block the test takes no time")
    metrics = {"transactions_per_s": events / seconds, "operations_per_s": events / seconds}
    if "transactions" in final:
        metrics["transactions_per_s"] = _per_s(text, final["transactions"])
        metrics["operations_per_s"] = _queries_per_s(text, final, seconds)
    for name, ours in (("ignored errors", "errors_per_s"), ("deadlocks", "errors_per_s")):
        if name in final:
            metrics[ours] = _per_s(text, final[name])
    for kind, (mebibytes, moved) in _FILES.items():  # fileio
        if f"{kind}/s" in final:
            metrics[f"{TOOL}{kind}_per_s"] = _value(text, final[f"{kind}/s"])
        if mebibytes in final:
            metrics[f"{TOOL}{moved}_bytes_per_s"] = _value(text, final[mebibytes]) * 2**20
    latency = {}
    for name, place in final.items():
        if name in ("min", "avg", "max") or _PERCENTILE.fullmatch(name):
            ms = _value(text, (place[0], place[1].removesuffix("ms")))
            percentile = _PERCENTILE.fullmatch(name)
            if ms > 0:  # nothing takes no time: below what is printed, or `--percentile=0`
                latency[percentile[1] if percentile else {"avg": "mean"}.get(name, name)] = ms
    kind = "response" if "target transaction rate" in block.settings else "service"
    warnings = () if events else ("no event was counted",)
    return {**metrics, **latency_metrics(latency, kind)}, seconds, warnings


def _queries_per_s(text: Text, final: Mapping[str, tuple[int, str]], seconds: float) -> float:
    if "queries" in final:
        return _per_s(text, final["queries"])
    if "total" in final:  # 0.5: all of them, BEGIN and COMMIT included
        return _value(text, final["total"]) / seconds
    if "read/write requests" in final:
        return _per_s(text, final["read/write requests"])
    return _per_s(text, final["transactions"])


def _without_end(text: Text, block: _Block) -> tuple[dict[str, float], float, tuple[str, ...]]:
    """Means over the interval lines, where the final block is missing."""
    intervals = [interval for _, interval in block.intervals]
    if not intervals:
        text.refuse(block.line, "the final block is cut off, and there is no interval line")
    seconds = sum(one.length_s for one in intervals)

    def mean(values: list[float]) -> float:
        weighted_sum = sum(v * one.length_s for v, one in zip(values, intervals, strict=True))
        return weighted_sum / seconds

    metrics = {
        "transactions_per_s": mean([one.transactions_per_s for one in intervals]),
        "operations_per_s": mean([one.operations_per_s for one in intervals]),
        "errors_per_s": mean([one.errors_per_s for one in intervals]),
    }
    said = (
        f"cut off: no final block, so throughput is the mean of {len(intervals)} interval"
        f" line{'s' * (len(intervals) > 1)} and there is no percentile of the whole"
    )
    return metrics, seconds, (said,)


def _histogram(block: _Block) -> Histogram | None:
    """`--histogram`, whose values are printed in milliseconds with three digits."""
    if not block.buckets:
        return None
    return Histogram.weighted({round(ms * 1e6): count for ms, count in block.buckets.items()})


def _per_s(text: Text, place: tuple[int, str]) -> float:
    """The rate of `81     (80.61 per sec.)`."""
    found = _RATE.fullmatch(place[1])
    if found is None:
        text.refuse(place[0], f"expected `COUNT (RATE per sec.)`, not `{place[1][:40]}`")
    return _value(text, (place[0], found[2]))


def _value(text: Text, place: tuple[int, str]) -> float:
    try:
        value = number(place[1])
        if value < 0:
            raise ValueError
    except ValueError:
        text.refuse(place[0], f"expected a number, not `{place[1][:40]}`")
    return value
