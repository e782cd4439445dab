"""pgbench's own output: the final report and the progress lines of `-P`.

Sources: PostgreSQL's manual, pgbench (sections "Notes" and "Report"), of versions 9.4 to 17; output
of pgbench 15. A transaction is one run of a script. Latency is a transaction's; with `-R` it counts
from the time the transaction was scheduled, so that it is a response time. The rate is the one
without connection establishing where both are printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.imports.found import TOOL, Found, Interval, Part, latency_metrics
from dbdyno.imports.text import Line, Text, number

WORDS = (
    "pgbench's transaction (one run of its script) is a transaction here and, since it does not"
    " count statements, there is no qps. Its latency is that of a transaction, from its due time"
    " where a rate was given (-R).",
)

_VERSION = re.compile(r"pgbench \(PostgreSQL\) (\S+)|pgbench \((\d\S*)")
_FIELD = re.compile(r"([a-z][a-z ]*?)(?: = |: )(.*)")
_PROGRESS = re.compile(
    r"progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+|NaN) ms stddev [\d.NaN]+(?:, (\d+) failed)?"
)
_TPS = re.compile(r"([\d.]+) \((including|excluding|without) ")
_MS = re.compile(r"([\d.]+) ms")
_DONE = re.compile(r"(\d+)(?:/(\d+))?")
INTERVALS_MAX = 1_000_000
LINE_MAX = 1000


@dataclass
class _Report:
    line: int
    fields: dict[str, tuple[int, str]] = field(default_factory=dict)
    tps: dict[str, float] = field(default_factory=dict)
    progress: list[Interval] = field(default_factory=list)


class _Pgbench:
    name = "pgbench's output"

    def recognises(self, head: list[Line]) -> bool:
        return any(
            _VERSION.match(text) or _PROGRESS.match(text) or text.startswith("transaction type: ")
            for _, text in head
        )

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        version = ""
        reports: list[_Report] = []
        for at, line in text.lines():
            if found := _VERSION.match(line):
                version = (found[1] or found[2]).rstrip(")")
                reports.append(_Report(at))
            elif len(line) <= LINE_MAX:
                if not reports or _next(reports[-1], line):
                    reports.append(_Report(at))
                _take(text, reports[-1], at, line)
        found_all = [_found(text, version, one) for one in reports if one.progress or one.tps]
        if not found_all:
            text.refuse(
                1,
                "pgbench printed no result: no `tps =` and no progress line",
                cause="it failed, or was run to initialise (`-i`)",
            )
        return found_all


FORMAT = _Pgbench()


def _next(report: _Report, line: str) -> bool:
    """Whether a line begins another report in the same file."""
    return bool(report.tps) and line.startswith(("transaction type: ", "progress: ", "starting "))


def _take(text: Text, report: _Report, at: int, line: str) -> None:
    if found := _PROGRESS.match(line):
        end_s, tps = (_number(text, at, value) for value in found.group(1, 2))
        before = report.progress[-1].t_s if report.progress else 0.0
        if end_s <= before:
            text.refuse(at, f"time runs backwards: {end_s:g} s after {before:g} s")
        if len(report.progress) == INTERVALS_MAX:
            text.refuse(at, f"more than {INTERVALS_MAX} progress lines")
        latency = {} if found[3] == "NaN" else {"mean": _number(text, at, found[3]) * 1e6}
        failed = float((found[4] or "0")[:15]) / (end_s - before)
        report.progress.append(Interval(end_s, end_s - before, tps, tps, failed, latency))
    elif line.startswith("tps = "):
        if (rate := _TPS.match(line[6:])) is None:
            text.refuse(at, f"expected `tps = RATE (...)`, not `{line[:60]}`")
        report.tps[rate[2]] = _number(text, at, rate[1])
    elif (found := _FIELD.fullmatch(line)) and len(report.fields) < 100:
        report.fields.setdefault(found[1], (at, found[2]))


def _found(text: Text, version: str, report: _Report) -> Found:
    fields = report.fields
    rated = "rate limit schedule lag" in fields
    clients = fields.get("number of clients", (0, ""))[1]
    said = {"clients": clients} if re.fullmatch(r"\d{1,6}", clients) else {}
    summary = _totals if report.tps else _without_end
    metrics, duration_s, warnings = summary(text, report, "response" if rated else "service")
    described = ("transaction type", "scaling factor", "query mode", "number of threads")
    return Found(
        tool="pgbench",
        version=version,
        file=text.path,
        line=report.line,
        parts={"": Part(metrics, tuple(report.progress))},
        said=said,
        sessions=int(said.get("clients", "0")),
        duration_s=duration_s,
        settings={name: fields[name][1] for name in described if name in fields},
        words=WORDS,
        warnings=warnings,
    )


def _totals(
    text: Text, report: _Report, kind: str
) -> tuple[dict[str, float], float, tuple[str, ...]]:
    fields, rates = report.fields, report.tps
    tps = rates.get("without", rates.get("excluding", rates.get("including", 0.0)))
    metrics = {"transactions_per_s": tps}
    latency = {}
    for name, ours in (("latency average", "mean"), ("latency stddev", "stddev")):
        if name in fields and (found := _MS.match(fields[name][1])):
            latency[ours] = _number(text, fields[name][0], found[1])
    metrics |= latency_metrics(latency, kind)
    processed = _count(fields, "number of transactions actually processed")
    # A run by number of transactions does not say how long it took: so many at such a rate.
    duration_s = processed / tps if tps else 0.0
    stated = re.fullmatch(r"(\d{1,9}) s", fields.get("duration", (0, ""))[1])
    if stated:
        duration_s = float(stated[1])
    if duration_s:
        for name, ours in (
            ("number of failed transactions", "failed_per_s"),
            ("total number of retries", "retries_per_s"),
            ("number of transactions skipped", f"{TOOL}skipped_per_s"),
        ):
            if name in fields:
                metrics[ours] = _count(fields, name) / duration_s
    warnings = () if processed else ("no transaction was processed",)
    return metrics, duration_s, warnings


def _without_end(
    text: Text, report: _Report, kind: str
) -> tuple[dict[str, float], float, tuple[str, ...]]:
    seconds = sum(one.length_s for one in report.progress)
    done = sum(one.transactions_per_s * one.length_s for one in report.progress)
    lines = len(report.progress)
    said = (
        f"cut off: no final report, so throughput is the mean of {lines} progress"
        f" line{'s' * (lines > 1)}"
    )
    return {"transactions_per_s": done / seconds}, seconds, (said,)


def _count(fields: Mapping[str, tuple[int, str]], name: str) -> int:
    """The count that a field begins with (`50/50`, `0 (0.000%)`); 0 if it is not there."""
    found = _DONE.match(fields.get(name, (0, ""))[1])
    return int(found[1][:18]) if found else 0


def _number(text: Text, at: int, value: str) -> float:
    try:
        return number(value)
    except ValueError:
        text.refuse(at, f"expected a number, not `{value[:40]}`")
