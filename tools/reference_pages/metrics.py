"""Every metric and every sampler: names, units, spellings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from dbdyno.experiment.claims import known_metrics
from dbdyno.samplers import SAMPLERS
from dbdyno.samplers.machine import cpu, disk, memory, network, paging, pressure
from dbdyno.samplers.server import process
from dbdyno.store.metrics.sampled import PEAKS, SLOPES
from reference_pages.markdown import code, sections, table

INTRO = """Short forms of latencies (`p95`, `mean`) are response times in an open loop (a group with `rate` or `find`) and service times in a closed one; they are an error if a group is an open loop in some cells only.
The same names are in results, claims, conditions and charts. With several groups, a group's metrics start with its
name (`readers.transactions_per_s`); with several targets in a cell, samples of a server start with the target's
(`db.status.Threads_running`). Only committed work counts, in throughput and in latency. Service time runs from a transaction's first byte sent to its
answer, response time from its due time, which exists only in an [open loop](../guide/open-loop.md): a group with `rate` or `find`."""

SAMPLED = """Sampled once a second on the trial's clock, by threads of `dyno`, not by the load threads. The value of a trial is the
mean over its measured time. A source that cannot be read leaves a gap and a warning, never a failed trial."""

OF_GENERATOR = (
    (
        "generator.busy_max",
        "largest busy share of a load thread in any second; above 0.8 the generator limits the load",
    ),
    (
        "generator.lag_ms_p99",
        "upper bound of the time that answers waited to be read, which is the error of latencies. It"
        " starts at the return of the previous poll, the send of the request or the wake-up of the"
        " thread, whichever was last; it excludes waits for a CPU",
    ),
    (
        "generator.load_threads",
        "number of threads that drove the sessions: `load_threads`, otherwise the optimum of a probe"
        " before the first trial, otherwise derived from sessions and CPUs",
    ),
)

IMPORTED = """A run from `dyno import` has the values of its tool, under the names above if the meaning is the same, otherwise under names of the tool:"""

OF_TOOLS = (
    (
        "tool.latency_ms_NAME",
        "latency of a transaction: `max`, `min`, `stddev`, or another percentile (`p90`, `p99_95`)",
    ),
    ("tool.bytes_per_s", "fio: bandwidth, bytes a second"),
    ("tool.reads_per_s", "sysbench fileio; `tool.writes_per_s`, `tool.fsyncs_per_s` alike"),
    ("tool.read_bytes_per_s", "sysbench fileio, from its MiB/s; `tool.written_bytes_per_s` alike"),
    ("tool.new_orders_per_min", "HammerDB: NOPM"),
    ("tool.skipped_per_s", "pgbench: transactions skipped, with `-R` and `-L`"),
)

HOSTS = """With `host:` an external target (`url:`) has samples of its own machine, under the same names with `host.` before them: `host.cpu.busy`,
`host.memory.dirty_bytes`, `host.disk.util`, `host.paging.major_faults_per_s`, `host.load.runnable`; with several targets `db.host.cpu.busy`.
`host.disk` is that of all its physical disks together, `host.network` that of all interfaces with hardware behind them; a Prometheus does not say which these are, so that
bridges, bonds, VLANs, tunnels and the like are omitted by their names.

- `host: ssh://user@db1` reads /proc once a second over one connection of your own `ssh` and installs nothing. The server's process is `host.server`
  (`host.server.cpu_cores`) if it can be found: by its port for root and its own account, else by its name if there is only one. Samples are placed by their arrival.
  A connection that drops is a warning, and is made again.
- `host: prometheus:http://prom:9090?instance=db1:9100` asks for what node_exporter measured, once, after the trial. There is no `host.server`. A
  value holds for a whole scrape interval, so trials should last several of them.

Without `host:` the machine's samples are the load generator's, and the report says `host not seen`."""


def page() -> str:
    """docs/reference/metrics.md"""
    return sections(
        "# Metrics",
        INTRO,
        table(
            ("metric", "also written", "unit", "better", "of", "meaning"),
            (_row(metric) for metric in known_metrics.METRICS),
        ),
        "## Sampled",
        SAMPLED,
        table(("source", "metrics", "meaning"), (_sampler(name) for name in SAMPLERS)),
        f"Besides the mean, {', '.join(code(f'{name}_max') for name in sorted(PEAKS))} keep the highest level."
        f" {', '.join(code(f'{name}_per_h') for name in sorted(SLOPES))} and `replica_lag_s.NAME_per_h` are slopes:"
        " by how much the level rises an hour, by least squares over the measured time. They may be negative."
        " A slope says something once the trial is longer than what fills caches (study `soak`).",
        f"Families, whose names are open: {', '.join(code(f'{f}.NAME') for f in known_metrics.FAMILIES)}.",
        "## Of another host",
        HOSTS,
        "## Of other tools",
        IMPORTED,
        table(("metric", "meaning"), ((code(name), text) for name, text in OF_TOOLS)),
        "## Of the meter",
        table(("metric", "meaning"), ((code(name), text) for name, text in OF_GENERATOR)),
    )


def _row(metric: known_metrics.Metric) -> tuple[str, ...]:
    spellings = dict.fromkeys((*metric.aliases, metric.short))
    written = ", ".join(code(name) for name in spellings if name in metric.aliases)
    having = {
        known_metrics.ANY: "a group",
        known_metrics.OPEN: "an open loop",
        known_metrics.SEARCH: "a search",
    }
    having[known_metrics.BLOCKS] = "a group of `io`"
    having[known_metrics.PIPELINED] = "a group with a `pipeline`"
    having[known_metrics.FAULTED] = "a group, with faults"
    group = having[metric.loop] if metric.per_group else "all groups together"
    return code(metric.name), written, metric.unit, metric.direction, group, metric.about


def _sampler(path: str) -> tuple[str, str, str]:
    module, name = import_module(f"dbdyno.samplers.{path}"), path.rpartition(".")[2]
    found: Any = next(
        member
        for member in vars(module).values()
        if isinstance(member, type)
        and member.__module__ == module.__name__
        and hasattr(member, "about")
    )
    names = ", ".join(code(f"{found.source}.{each}") for each in _names().get(name, ("NAME",)))
    return code(name), names, found.about


def _names() -> Mapping[str, tuple[str, ...]]:
    """Names that do not depend on a server, from what the samplers make of readings."""
    ticks = {**dict.fromkeys(cpu.COLUMNS, 1), "ctxt": 1}
    counters = {"8:0": tuple(range(17))}
    reading = process.Reading(io={1: (0, 0)}, tasks={1: (0, 0)})
    return {
        "cpu": tuple(cpu.shares(dict.fromkeys(ticks, 0), ticks, 1.0)),
        "memory": tuple(memory.NAMES.values()),
        "network": network.NAMES,
        "paging": tuple(paging.NAMES.values()),
        "load": ("one_minute", "runnable"),
        "disk": tuple(disk.rates(counters, counters, 1.0)),
        "pressure": tuple(
            f"{name}_{kind}" for name in pressure.RESOURCES for kind in ("some", "full")
        ),
        "state": ("stopped", "blocked"),
        "files": ("open", "data_bytes"),
        "process": tuple(process.rates(reading, reading, 1.0)),
    }
