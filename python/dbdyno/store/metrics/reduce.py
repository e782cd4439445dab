"""A trial's events and samples, reduced to metrics. Pure.

Only the measured phase counts. Rates divide by the engine's measured time; latencies come from the
`end` event's histograms, where a quantile q is there only with at least 10 / (1 - q) values behind
it, and what was given up counts with its age (`latency`); so does response of open loops
(`open_loop`). CPU per operation divides by *committed
operations of all groups*: work spent on failed attempts is part of the price of those that
succeeded. With several groups a group's metrics carry its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from dbdyno import kinds
from dbdyno.experiment import workloads
from dbdyno.experiment.claims.known_metrics import CLASS_FAMILY, KIND_FAMILY
from dbdyno.plan.types import GroupPlan
from dbdyno.store.metrics import drills, open_loop
from dbdyno.store.metrics.latency import QUANTILES, Times, times
from dbdyno.store.metrics.of_nodes import summed
from dbdyno.store.metrics.sampled import sampled_metrics
from dbdyno.store.metrics.steady import Part
from dbdyno.systems.base import TargetPlan

Event = Mapping[str, Any]

MIB = 1 << 20
BUSY_MAX = 0.8  # of a second, by a load thread: the engine's own bound
STEAL_MAX = 2.0  # percent of CPU time taken by the hypervisor
ERRORS_MAX = 0.01  # share of attempts that fail
# Faults that end a server's process.
ENDING = frozenset(
    {
        *("kill", "stop", "restart", "power_cut", "fsync_error"),
        *("restore", "switchover", "replace", "upgrade", "detach"),
    }
)
FENCED = "fenced"  # a change of roles that does too
STUCK_NS = 1e9  # age of a transaction in flight at the end that deserves a word
WARNINGS_MAX = 50


def _works_in_engine(kind: str) -> bool:
    return kinds.of(kind).in_engine and kinds.of(kind).stores_data


class Reduced(NamedTuple):
    """Canonical metric name -> finite value, what a reader of the numbers should know, and the
    metrics that are bounds."""

    metrics: dict[str, float]
    warnings: tuple[str, ...]
    bounds: Mapping[str, str] = MappingProxyType({})


def reduce_trial(
    events: Sequence[Event],
    samples: Sequence[Mapping[str, Any]],
    groups: Sequence[GroupPlan],
    targets: Sequence[TargetPlan] = (),
    part: Part | None = None,
    faults: Sequence[Mapping[str, Any]] = (),
    roles: Sequence[Mapping[str, Any]] = (),
) -> Reduced:
    """Reduces one trial. Without an `end` event there is nothing measured: no metrics, a warning.

    `targets` (the cell's) say whose CPU the load threads use: those of an in-process system do the
    system's work, which is then `server_cpu_us_per_op`. With a server both kinds of work mix in the
    load threads, and no CPU per operation is given. Of a trial with a steady `part` only that
    counts. `faults` and changes of `roles` are those of its record: where a server has ended, its
    CPU time is not known.
    """
    end = next((event for event in reversed(events) if event.get("event") == "end"), None)
    if end is None or not end["measured_s"] > 0:
        return Reduced({}, ("nothing was measured: the engine did not reach the end",))
    whole_s, from_s = float(end["measured_s"]), 0.0
    if part is not None:
        end, from_s = part.end, part.from_s
    measured_s = float(end["measured_s"])
    used = {group.target for group in groups}
    # Where load threads do a system's work, too, being busy is no fault of theirs.
    working = [_works_in_engine(target.kind) for target in targets if target.name in used]
    in_process = bool(working) and all(working)
    mixed = any(working) and not in_process

    intervals = part.intervals if part else _measured(events)
    metrics: dict[str, float] = {}
    bounds: dict[str, str] = {}
    for group in groups:
        prefix = f"{group.name}." if len(groups) > 1 else ""
        total = end["groups"][group.name]
        block_bytes = workloads.block_bytes(group.workload, group.options)
        classes = workloads.classes(group.workload, group.options)
        parts = [_group(total, measured_s, block_bytes), _classes(total, classes)]
        if total.get("open"):
            own = [
                (event["t_s"], event["groups"][group.name])
                for event in intervals
                if group.name in event["groups"]
            ]
            parts.append(open_loop.reduce_open(total, own, measured_s))
        for found in parts:
            bounds.update({prefix + name: bound for name, bound in found.bounds.items()})
            metrics.update({prefix + name: value for name, value in found.metrics.items()})
    changes = {target.name: _of_nodes(target, roles) for target in targets}
    over_time = _over_time([*intervals, end] if part else events, groups, faults, changes)
    metrics.update(over_time.metrics)
    bounds.update(over_time.bounds)
    # What comes after a fault is its effect: neither lost connections nor gaps are accidents.
    struck_s = min((fault["begun_s"] for fault in faults), default=math.inf)
    sampled = sampled_metrics(samples, whole_s, from_s, struck_s)
    metrics.update(sampled.metrics)
    metrics.update(summed(sampled.metrics, targets))
    metrics.update(_load_threads(events))
    metrics.update(drills.of_faults(faults))
    ended = any(fault["do"] in ENDING for fault in faults)
    ended = ended or any(change["change"] == FENCED for change in roles)
    cpu = _cpu(end, None if ended else sampled.server_cpu_s, in_process)
    metrics.update({k: v for k, v in cpu.items() if not (mixed and k.endswith("_cpu_us_per_op"))})

    warnings = [*(part.warnings if part else ()), *_meter(end, in_process, mixed)]
    for group in groups:
        who = f"{group.name}: " if len(groups) > 1 else ""
        total = end["groups"][group.name]
        if total.get("open"):
            growth = metrics[f"{group.name}." * (len(groups) > 1) + "unfinished_growth"]
            said = open_loop.warnings(group, total, growth, measured_s)
            warnings.extend(f"{who}{text}" for text in said)
        warnings.extend(_of_group(total, who))
    warnings.extend(_of_events(events, from_s, whole_s, struck_s))
    warnings.extend(_of_machine(metrics))
    warnings.extend(sampled.warnings)
    finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
    unique = list(dict.fromkeys(warnings))
    if len(unique) > WARNINGS_MAX:
        more = len(unique) - WARNINGS_MAX + 1
        unique = [*unique[: WARNINGS_MAX - 1], f"and {more} more warnings"]
    known = {name: bound for name, bound in bounds.items() if name in finite}
    return Reduced(finite, tuple(unique), known)


def _measured(events: Sequence[Event]) -> list[Event]:
    """The intervals of the measured time."""
    return [
        event
        for event in events
        if event.get("event") == "interval" and event["phase"] == "measure"
    ]


def _group(total: Mapping[str, Any], measured_s: float, block_bytes: int) -> Times:
    """Metrics of one group from its totals. `block_bytes`: of a transaction, if it is a block."""
    metrics = {
        "transactions_per_s": total["transactions"] / measured_s,
        "operations_per_s": total["operations"] / measured_s,
        "rows_per_s": total["rows"] / measured_s,
        "errors_per_s": sum(total["errors"].values()) / measured_s,
        "refused_commits_per_s": total.get("refused_commits", 0) / measured_s,
        "retries_per_s": total["retries"] / measured_s,
        "failed_per_s": total["failed"] / measured_s,
    }
    if block_bytes:
        metrics["mib_per_s"] = metrics["transactions_per_s"] * block_bytes / MIB
    if together := total.get("operations_per_write"):
        metrics["operations_per_write"] = together
    service = times("service", total.get("latency"))
    metrics |= service.metrics
    bounds = dict(service.bounds)
    for kind, latency in total.get("kinds", {}).items():
        prefix = f"{KIND_FAMILY}.{kind}."
        committed = latency["count"] - latency.get("censored", 0) if latency else 0
        metrics[f"{prefix}per_min"] = 60 * committed / measured_s
        found = times("service", latency)
        metrics |= {prefix + name: value for name, value in found.metrics.items()}
        bounds |= {prefix + name: bound for name, bound in found.bounds.items()}
    return Times(metrics, bounds)


def _classes(total: Mapping[str, Any], reads: Mapping[str, bool]) -> Times:
    """Times of the user's own classes of statements, and of all that change data together."""
    latencies = {
        name: latency
        for name, latency in total.get("classes", {}).items()
        if name in reads and latency and latency["count"]
    }
    metrics: dict[str, float] = {}
    for name, latency in latencies.items():
        found = times("service", latency).metrics
        metrics |= {f"{CLASS_FAMILY}.{name}.{metric}": value for metric, value in found.items()}
    written = [latency for name, latency in latencies.items() if not reads[name]]
    if count := sum(latency["count"] for latency in written):
        whole_ns = sum(latency["count"] * latency["mean_ns"] for latency in written)
        metrics["write_ms_mean"] = whole_ns / count / 1e6
    return Times(metrics, {})


def _of_nodes(target: TargetPlan, roles: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    names = {node.name for node in target.nodes} if roles else set()
    return [change for change in roles if change["node"] in names]


def _over_time(
    events: Sequence[Event],
    groups: Sequence[GroupPlan],
    faults: Sequence[Mapping[str, Any]],
    changes: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Times:
    """Metrics from the commits of each tick: how even the throughput was, and when there was
    none."""
    from dbdyno.store.metrics import outages, spread  # numpy: not needed to open a run
    from dbdyno.store.metrics.timeseries import read_trace

    trace = read_trace("", events, ())
    found = {**spread.of_stalls(trace), **outages.of_statements(faults)}
    bounds: dict[str, str] = {}
    for group in groups:
        prefix = f"{group.name}." if len(groups) > 1 else ""
        own = spread.of_group(trace, group.name)
        found.update({prefix + name: value for name, value in own.items()})
        seen = outages.of_group(trace, group.name, faults, changes.get(group.target, ()))
        found.update({prefix + name: value for name, value in seen.metrics.items()})
        bounds.update({prefix + name: bound for name, bound in seen.bounds.items()})
    return Times(found, bounds)


def _cpu(end: Event, server_cpu_s: float | None, in_process: bool) -> dict[str, float]:
    """CPU per committed operation, in microseconds, and the state of the meter."""
    generator = end["generator"]
    metrics = {"generator.busy_max": float(generator["busy_max"])}
    if (lag := generator.get("lag")) and lag.get("p99_ns") is not None:
        metrics["generator.lag_ms_p99"] = lag["p99_ns"] / 1e6
    operations = sum(total["operations"] for total in end["groups"].values())
    if not operations:
        return metrics
    engine = generator["cpu_s"] * 1e6 / operations
    if in_process:
        metrics["server_cpu_us_per_op"] = engine
        return metrics
    metrics["generator_cpu_us_per_op"] = engine
    if server_cpu_s is not None:
        metrics["server_cpu_us_per_op"] = server_cpu_s * 1e6 / operations
    return metrics


def _load_threads(events: Sequence[Event]) -> dict[str, float]:
    begun = next((event for event in events if event.get("event") == "start"), None)
    return {"generator.load_threads": float(begun["workers"])} if begun else {}


def _meter(end: Event, in_process: bool, mixed: bool) -> Iterable[str]:
    generator = end["generator"]
    busy = generator["busy_max"] > BUSY_MAX  # in a mixed trial that may be the in-process system
    if generator["generator_bound"] and not in_process and not (mixed and busy):
        yield _bound(end)
    if end["interrupted"]:
        yield "the trial was ended early by a signal"


def _bound(end: Event) -> str:
    """Which limit of the generator was reached: its CPU, which hides throughput, or the time that
    answers may have lain unread (lag), which is the error bar of every latency."""
    generator = end["generator"]
    if generator["busy_max"] > BUSY_MAX:
        seen = f"a load thread was busy for {generator['busy_max']:.0%} of a second"
        return f"generator-bound (CPU): {seen}; the system may be faster than measured"
    lag = generator.get("lag") or {}
    latencies = [total.get("latency") or {} for total in end["groups"].values()]
    found = []  # by how much each percentile may be too high
    for q, share, what in (("p50_ns", "half", "median"), ("p99_ns", "1 %", "99th percentile")):
        fastest_ns = min((ns for latency in latencies if (ns := latency.get(q))), default=0)
        if (lay_ns := lag.get(q)) and fastest_ns:
            lay = f"{share} of the answers may have lain unread for {_us(lay_ns / 1e3)} µs or more"
            beside = f"next to a latency whose {what} is {_us(fastest_ns / 1e3)} µs"
            found.append((lay_ns / fastest_ns, f"{lay}, {beside}"))
    # Too few answers for a percentile: the longest wait is what is known.
    longest = f"answers may have lain unread for up to {_us(lag.get('max_ns', 0) / 1e3)} µs"
    said = max(found)[1] if found else longest
    return f"generator-bound (lag): {said}; latencies may be that much too high"


def _us(value: float) -> str:
    """Microseconds to two digits below ten, else whole."""
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _of_group(total: Mapping[str, Any], who: str) -> Iterable[str]:
    errors, committed = sum(total["errors"].values()), total["transactions"]
    if not committed:
        yield f"{who}no transaction was committed"
    if errors > ERRORS_MAX * (errors + committed):
        most = max(total["errors"], key=total["errors"].__getitem__)
        share = errors / (errors + committed)
        yield f"{who}{share:.1%} of attempts failed (most often: {most})"
    if given_up := _given_up(total.get("latency") or {}):
        yield who + given_up
    slowest_ns = (total.get("latency") or {}).get("max_ns", 0)
    stuck_ns = total["in_flight_oldest_ns"]
    if stuck_ns > max(STUCK_NS, slowest_ns):
        yield (
            f"{who}a transaction begun {stuck_ns / 1e9:.1f} s before the end was still in flight;"
            " it counts nowhere, so the longest latencies are longer than shown"
        )


def _given_up(latency: Mapping[str, Any]) -> str:
    """Which percentiles are lower bounds, for what was given up; empty if none is."""
    names = [name for q, _ in QUANTILES if (name := f"{q}_ns") in latency.get("at_least", ())]
    if not names:
        return ""
    share = latency["censored"] / latency["count"]
    first = names[0].removesuffix("_ns").replace("p999", "p99.9")
    return (
        f"{latency['censored']:,} transactions ({share:.2%}) were given up and count with their"
        f" age: service times from {first} on are lower bounds"
    )


def _of_events(
    events: Sequence[Event], from_s: float, until_s: float, struck_s: float
) -> Iterable[str]:
    outages = [
        event
        for event in events
        if event.get("event") == "outage"
        and event["start_s"] < min(until_s, struck_s)
        and (event.get("end_s") is None or event["end_s"] > from_s)
    ]
    if outages:
        first = min(outages, key=lambda event: event["start_s"])
        yield (
            f"{len(outages)} outage{'s' if len(outages) > 1 else ''} (first: {first['group']}"
            f" session {first['session']} at {first['start_s']:.1f} s: {first['cause']})"
        )
    intervals = _measured(events)
    covered = sum(event["length_s"] for event in intervals)
    longest = max((event["length_s"] for event in intervals), default=0.0)
    if intervals and until_s - covered > 1.5 * longest:
        yield f"intervals cover {covered:.1f} s of {until_s:.1f} s: some are missing"
    for event in events:
        if event.get("event") == "warning":
            yield str(event["message"])


def _of_machine(metrics: Mapping[str, float]) -> Iterable[str]:
    steal = metrics.get("cpu.steal_percent", 0.0)
    if steal > STEAL_MAX:
        yield (
            f"the hypervisor took {steal:.1f} % of the CPU time (steal):"
            " other tenants of the machine are in these numbers"
        )
