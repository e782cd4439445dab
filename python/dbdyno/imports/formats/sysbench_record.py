"""What `dyno sysbench` writes: the record of `--dyno-out` (a JSON object a line, a second each),
and the object of `--json`.

Source: `engine/sysbench/src/report/record.rs` and `json.rs`. An event is a transaction; statements
of a script are operations, events of a test without any are transactions of one operation. Service
time is from begin to end of an event, response time from when it was due.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.imports.found import (
    OWN,
    QUANTILES,
    TOOL,
    Found,
    Interval,
    Part,
    histogram_metrics,
    latency_metrics,
)
from dbdyno.imports.text import Line, Text
from dbdyno.store.metrics.histogram import Histogram, decode, merge

MARK = '"dyno_sysbench"'  # in the first line of a record
WORDS = (
    "An event of `dyno sysbench` is a transaction here (tps), and a statement an operation (qps);"
    " events of tests without statements are transactions of one operation.",
)
CUT_OFF = "cut off: it was stopped early, and this is its measurement until then"
_TESTS = ("cpu", "memory", "fileio", "threads", "mutex")  # without statements

Json = Mapping[str, Any]


@dataclass(frozen=True)
class _Result:
    """A record or a result, taken apart."""

    head: Json
    intervals: Sequence[Json]
    end: Json | None  # of the whole; None: it was cut off
    failure: str


class _Record:
    name = "dyno sysbench's record and JSON"

    def recognises(self, head: list[Line]) -> bool:
        lines = [text for _, text in head[:4]]
        if lines[0].startswith("{") and MARK in lines[0]:
            return True
        keys = [text.strip().partition(":")[0] for text in lines[1:]]
        return lines[0] == "{" and keys == ['"version"', '"test"', '"kind"']

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        is_record = MARK in text.head()[0][1]
        result = _record(text) if is_record else _object(text)
        try:
            return [_found(text, result)]
        except DynoError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            text.refuse(1, f"a line is not as `dyno sysbench` writes it: {error!r}"[:200])


FORMAT = _Record()


def _record(text: Text) -> _Result:
    """Lines of JSON. A last one that was cut off in its midst is omitted."""
    found: list[Json] = []
    lines = list(text.lines())
    for at, line in lines:
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError("it is no object")
        except (ValueError, RecursionError) as error:
            if at == lines[-1][0] and found:
                break
            text.refuse(at, f"this is no JSON object: {error}"[:200])
        found.append(value)
    intervals = [one for one in found[1:] if not one.get("end")]
    ends = [one for one in found[1:] if one.get("end")]
    end = ends[-1] if ends else None
    failure = CUT_OFF if end is None else str(end.get("failure") or "")
    return _Result(found[0], intervals, end, failure)


def _object(text: Text) -> _Result:
    try:
        root = json.loads(text.whole())
        if not isinstance(root, dict):
            raise ValueError("it is no object")
        intervals = root.get("intervals") or []
        return _Result(root, intervals, root["total"], str(root.get("failure") or ""))
    except (ValueError, KeyError, RecursionError) as error:
        text.refuse(1, f"this is not what --json writes: {error}"[:200])


def _found(text: Text, result: _Result) -> Found:
    head, end = result.head, result.end
    seconds = _seconds(result)
    if seconds <= 0:
        text.refuse(1, "nothing was measured", cause="the run ended before its first second")
    kind = str(head["kind"])
    whole = [end] if end is not None else list(result.intervals)
    is_statements = kind not in _TESTS and any(_count(one, "queries") for one in whole)
    service = _histogram(whole, "histogram")
    metrics = _rates(whole, seconds, is_statements) | _latencies(whole, service)
    options = {str(name): str(value) for name, value in (head.get("options") or {}).items()}
    rate = head.get("rate_per_s")
    if rate is not None:
        options["rate"] = f"{float(rate):g}"
    return Found(
        tool=OWN,
        version=str(head["version"]) if "dyno_sysbench" in head else "",
        file=text.path,
        line=1,
        parts={"": Part(metrics, _intervals(result.intervals, is_statements), service)},
        said={"test": str(head["test"]), "threads": str(int(head["threads"]))},
        sessions=int(head["threads"]),
        duration_s=seconds,
        settings=options,
        words=WORDS,
        warnings=(f"ended before its time: {result.failure}",) if result.failure else (),
        started_unix_s=head.get("started_unix_s"),
    )


def _seconds(result: _Result) -> float:
    """Length of what was measured."""
    last = result.end or (result.intervals[-1] if result.intervals else {})
    return float(last.get("time_total_s", 0.0))


def _count(one: Json, name: str) -> int:
    return int(one[name])


def _rates(whole: Sequence[Json], seconds: float, is_statements: bool) -> dict[str, float]:
    def per_s(name: str) -> float:
        return sum(_count(one, name) for one in whole) / seconds

    found = {
        "transactions_per_s": per_s("events"),
        "operations_per_s": per_s("queries" if is_statements else "events"),
        "errors_per_s": per_s("errors"),
        f"{TOOL}reconnects_per_s": per_s("reconnects"),
    }
    for name in ("bytes_read", "bytes_written"):  # of fileio and memory
        if any(_count(one, name) for one in whole):
            found[f"{TOOL}{name}_per_s"] = per_s(name)
    return found


def _latencies(whole: Sequence[Json], service: Histogram | None) -> dict[str, float]:
    """Of the whole; of a record that was cut off, what its seconds add up to."""
    found: dict[str, float] = {}
    known = {"service": service, "response": _histogram(whole, "response_histogram")}
    for kind, histogram in known.items():
        spreads = [one[f"{'latency' if kind == 'service' else kind}_ms"] for one in whole]
        spreads = [one for one in spreads if one]
        count = sum(int(one["count"]) for one in spreads)
        if not count:
            continue
        exact = {"mean": sum(float(one["sum"]) for one in spreads) / count}
        if kind == "service":
            exact["min"] = min(float(one["min"]) for one in spreads)
            exact["max"] = max(float(one["max"]) for one in spreads)
        if histogram is not None:
            found |= histogram_metrics(histogram, kind)
        elif len(spreads) == 1:
            exact |= {str(q): float(ms) for q, ms in spreads[0]["percentiles"].items()}
        found |= latency_metrics(exact, kind)
    return found


def _histogram(whole: Sequence[Json], name: str) -> Histogram | None:
    parts = [decode(one[name]) for one in whole if one.get(name)]
    return merge(parts) if parts else None


def _intervals(lines: Sequence[Json], is_statements: bool) -> tuple[Interval, ...]:
    found = []
    for one in lines:
        length_s = float(one["time_interval_s"])
        if length_s <= 0:
            continue
        latency = one["latency_ms"] or {}
        named = {
            QUANTILES[q]: float(ms) * 1e6
            for q, ms in (latency.get("percentiles") or {}).items()
            if q in QUANTILES
        }
        if latency:
            named |= {"mean": float(latency["avg"]) * 1e6, "max": float(latency["max"]) * 1e6}
        operations = one["queries" if is_statements else "events"]
        found.append(
            Interval(
                t_s=float(one["time_total_s"]),
                length_s=length_s,
                transactions_per_s=one["events"] / length_s,
                operations_per_s=operations / length_s,
                errors_per_s=one["errors"] / length_s,
                latency_ns=named,
            )
        )
    return tuple(found)
