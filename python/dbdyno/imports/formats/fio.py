"""fio's JSON, plain and json+ (with all buckets), of versions 2.x and 3.x.

Sources: fio's manual, section "JSON output" and "JSON+ output" (https://fio.readthedocs.io); output
of fio 3.33. A request is an operation here and a transaction. `bw_bytes` is bytes a second; older
versions give `bw` in KiB a second, which is turned into bytes. Latency is *completion* latency
(`clat`: from submission to completion), since fio gives its percentiles. Each job is a result; jobs
of one name and group (`numjobs` without `group_reporting`) are added up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.imports.found import (
    TOOL,
    Found,
    Part,
    histogram_metrics,
    latency_metrics,
)
from dbdyno.imports.text import Line, Text
from dbdyno.store.metrics.histogram import Histogram

DIRECTIONS = ("read", "write", "trim")
LEVELS = ("rw", "bs", "iodepth", "numjobs", "ioengine", "direct")  # options that may become factors
JOBS_MAX = 10_000
WORDS = (
    "fio's requests are operations and transactions here (one each, so that tps is IOPS); its"
    " latency is completion latency (clat), and `tool.bytes_per_s` its bandwidth in bytes a second"
    " (16 KiB x 3,000/s is 49.2 MB/s and 46.9 MiB/s).",
)

Job = Mapping[str, Any]


class _Fio:
    name = "fio's JSON"

    def recognises(self, head: list[Line]) -> bool:
        lines = [text for _, text in head]
        # Warnings may precede the object.
        brace = next((i for i, text in enumerate(lines) if text.strip()[:1] == "{"), None)
        return brace is not None and any('"fio version"' in text for text in lines[brace:])

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        line, root = _parsed(text)
        jobs = root.get("jobs")
        if not isinstance(jobs, list) or not jobs or len(jobs) > JOBS_MAX:
            text.refuse(line, "fio's object has no list of `jobs`")
        shared = root.get("global options")
        try:
            return [
                _found(text, line, root, group, shared if isinstance(shared, Mapping) else {})
                for group in _grouped(jobs)
            ]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            text.refuse(line, f"a job of fio's object is not as fio writes it: {error!r}"[:200])


FORMAT = _Fio()


def _parsed(text: Text) -> tuple[int, dict[str, Any]]:
    """The last object of the file (`--status-interval` writes several, each with the totals so
    far) and the line that it begins in."""
    body = text.whole()
    decoder = json.JSONDecoder()
    found: tuple[int, dict[str, Any]] | None = None
    start = body.find("{")
    while start >= 0:
        line = body.count("\n", 0, start) + 1
        try:
            value, end = decoder.raw_decode(body, start)
        except json.JSONDecodeError as error:
            text.refuse(error.lineno, f"this is not JSON: {error.msg}")
        except (RecursionError, ValueError):
            text.refuse(line, "this is not JSON: it nests too deep, or has an infinite number")
        if isinstance(value, dict) and "fio version" in value:
            found = (line, value)
        again = re.compile(r"^\{", re.MULTILINE).search(body, end)
        start = again.start() if again else -1
    if found is None:
        text.refuse(1, "no object with a `fio version`")
    return found


def _grouped(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs of one name and group together, in order."""
    found: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        found.setdefault((str(job["jobname"]), str(job.get("groupid", 0))), []).append(job)
    return list(found.values())


def _found(
    text: Text, line: int, root: Mapping[str, Any], jobs: Sequence[Job], shared: Mapping[str, Any]
) -> Found:
    name = str(jobs[0]["jobname"])
    options = {**shared, **(jobs[0].get("job options") or {})}
    parts = {}
    for direction in DIRECTIONS:
        sides = [job[direction] for job in jobs if job.get(direction, {}).get("total_ios")]
        if sides:
            parts[direction] = _part(sides)
    if not parts:
        text.refuse(line, f"fio's job `{name[:60]}` did nothing", cause="it failed, or just began")
    levels = {"job": name, **{key: str(options[key]) for key in LEVELS if key in options}}
    runtimes = [float(job[d].get("runtime", 0)) for job in jobs for d in DIRECTIONS if d in job]
    errors = sum(bool(job.get("error")) for job in jobs)
    depth = str(options.get("iodepth", "1")), str(options.get("numjobs", "1"))
    sessions = int(depth[0]) * int(depth[1]) if all(d.isdecimal() for d in depth) else 0
    started = root.get("timestamp")
    return Found(
        tool="fio",
        version=str(root["fio version"]).removeprefix("fio-"),
        file=text.path,
        line=line,
        parts=parts,
        said=levels,
        sessions=min(sessions, 10**6),
        duration_s=max(runtimes, default=0.0) / 1000,
        settings={str(key): str(value) for key, value in list(options.items())[:100]},
        words=WORDS,
        warnings=(f"{errors} of {len(jobs)} jobs ended with an error",) if errors else (),
        started_unix_s=float(started) if isinstance(started, int) else None,
    )


def _part(sides: Sequence[Mapping[str, Any]]) -> Part:
    """One direction of the jobs that were added up."""
    iops = sum(float(side["iops"]) for side in sides)
    moved = sum(float(side.get("bw_bytes", float(side["bw"]) * 1024)) for side in sides)
    metrics = {
        "transactions_per_s": iops,
        "operations_per_s": iops,
        f"{TOOL}bytes_per_s": moved,
    }
    histogram = _histogram(sides)
    if histogram is not None:
        metrics |= histogram_metrics(histogram)
    metrics |= _latency(sides, exact=histogram is None)
    return Part(metrics, (), histogram)


def _latency(sides: Sequence[Mapping[str, Any]], *, exact: bool) -> dict[str, float]:
    """Mean over all, and the percentiles if there is one job: those of several do not add up,
    unless all buckets are there."""
    count = sum(float(side["total_ios"]) for side in sides)
    found = {}
    means = []
    for side in sides:
        clat, per_ms = _clat(side)
        if "mean" in clat:
            means.append(float(clat["mean"]) / per_ms * float(side["total_ios"]))
        if exact and len(sides) == 1:
            for q, value in (clat.get("percentile") or {}).items():
                short = f"{float(q):f}".rstrip("0").rstrip(".")
                if 0 < float(q) < 100 and float(value) > 0:
                    found[short] = float(value) / per_ms
    if len(means) == len(sides):
        found["mean"] = sum(means) / count
    return latency_metrics(found)


def _clat(side: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
    """Completion latency and how many of its units make a millisecond."""
    return (side["clat_ns"], 1e6) if "clat_ns" in side else (side.get("clat", {}), 1e3)


def _histogram(sides: Sequence[Mapping[str, Any]]) -> Histogram | None:
    """All buckets of json+, if every job has them."""
    counts: dict[int, int] = {}
    for side in sides:
        clat, per_ms = _clat(side)
        bins = clat.get("bins")
        if not bins:
            return None
        for value, count in bins.items():
            at = round(float(value) * 1e6 / per_ms)
            counts[at] = counts.get(at, 0) + int(count)
    return Histogram.weighted(counts)
