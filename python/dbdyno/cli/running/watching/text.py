"""Texts on a run in progress: lines, lengths of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdyno.execute.engine.job import Event
from dbdyno.experiment.claims.known_metrics import CLASS_FAMILY
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.plurals import count


def trial_line(plan: Plan, trial: TrialPlan, cell: Cell, attempt: int) -> str:
    """`trial 3/24, block 1: cache=on sessions=4`; without levels if there is one cell."""
    again = f" (attempt {attempt})" if attempt > 1 else ""
    where = f"trial {trial.position}/{len(plan.trials)}, block {trial.block}"
    levels = levels_of(cell)
    return f"{where}{': ' if levels else ''}{levels}{again}"


def levels_of(cell: Cell) -> str:
    """`cache=on sessions=4`."""
    return " ".join(f"{name}={level}" for name, level in cell.levels.items())


def record_line(record: TrialRecord) -> str:
    """What came of a trial: `tps 1,234.5  p95 0.31 ms  (1 warning)`, or why it is void."""
    if record.status != COMPLETE:
        return f"void: {record.void_reason}"
    warned = f"  ({count(len(record.warnings), 'warning')})" * bool(record.warnings)
    return "  ".join(headline(record.metrics, record.bounds)) + warned


def event_line(event: Event) -> str:
    """What an event has to say to everybody; empty for one that only shows progress."""
    kind = event["event"]
    if kind == "warning":
        return f"warning: {event['message']}"
    if kind == "error":
        return f"error {event['code']} in {event['group']}: {event['message']}"
    if kind == "outage" and event.get("end_s") is None:
        return f"{event['group']} lost a connection: {event['cause']}"
    return ""


def loading_line(event: Event) -> str:
    """`sbtest1: 10,000 of 20,000 rows`."""
    unit = event.get("unit", "rows")
    return f"{event['table']}: {event['rows']:,} of {event['rows_total']:,} {unit}"


def interval_line(event: Event, name: str, group: dict[str, Any], sessions: dict[str, int]) -> str:
    """One group's interval as sysbench prints it, so that eyes and scripts know their way."""
    length_s = event["length_s"]
    latency = group.get("latency") or {}
    p95_ns = latency.get("p95_ns")
    p95 = f"{p95_ns / 1e6:.2f}" if p95_ns is not None else "-"
    prefix = f"{name}: " if len(event["groups"]) > 1 else ""
    warm = " (warm-up)" if event["phase"] == "warmup" else ""
    open_loop = group.get("open")
    waiting = _open_part(open_loop, length_s) if open_loop else ""
    return (
        f"[ {event['t_s']:.0f}s ] {prefix}thds: {sessions.get(name, 0)} "
        f"tps: {group['transactions'] / length_s:.2f} qps: {group['operations'] / length_s:.2f} "
        f"lat (ms,95%): {p95} err/s: {group['errors'] / length_s:.2f} "
        f"lost: {group['lost']}{waiting}{warm}"
    )


def headline_of(event: Event) -> str:
    """`tps 1,234.5  p95 0.31 ms` of an interval; with several groups, each by its name."""
    shown = []
    for name, group in event["groups"].items():
        prefix = f"{name}." if len(event["groups"]) > 1 else ""
        shown.append(f"{prefix}tps {group['transactions'] / event['length_s']:,.1f}")
        p95_ns = (group.get("latency") or {}).get("p95_ns")
        if p95_ns is not None:
            shown.append(f"{prefix}p95 {milliseconds(p95_ns / 1e6)} ms")
        if group["errors"]:
            shown.append(f"{prefix}err/s {group['errors'] / event['length_s']:,.1f}")
        if group.get("open"):
            shown.append(f"{prefix}backlog {group['open']['backlog']:,}")
    return "  ".join(shown)


def _open_part(open_loop: dict[str, Any], length_s: float) -> str:
    """What an open loop has besides: arrivals, those that wait, and response time."""
    response_ns = (open_loop.get("response") or {}).get("p95_ns")
    response = f"{response_ns / 1e6:.2f}" if response_ns is not None else "-"
    return (
        f" due/s: {open_loop['due'] / length_s:.2f} backlog: {open_loop['backlog']}"
        f" resp (ms,95%): {response}"
    )


BOUNDS = {"": "", AT_LEAST: ">= ", AT_MOST: "< "}  # as reports have them, in plain text


def headline(metrics: Any, bounds: Mapping[str, str]) -> list[str]:
    """tps and p95 of each group, for the line that a finished trial leaves; of an open loop its
    response, and what a search found."""
    shown = []
    for name, value in metrics.items():
        if f".{CLASS_FAMILY}." in f".{name}":
            continue
        prefix, _, metric = name.rpartition(".")
        label = f"{prefix}." if prefix else ""
        least = BOUNDS[bounds.get(name, "")]
        if metric == "transactions_per_s":
            shown.append(f"{label}tps {value:,.1f}")
        elif metric == "rate_max_per_s":
            shown.append(f"{label}max rate {least}{value:,.1f}/s")
        elif metric == "response_ms_p95":
            shown.append(f"{label}response p95 {least}{milliseconds(value)} ms")
        elif metric == "service_ms_p95":
            shown.append(f"{label}p95 {milliseconds(value)} ms")
    return shown


def milliseconds(value: float) -> str:
    """Three significant digits, whole from a second on."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A length of time for people: 45 s, 12 min, 3 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"
