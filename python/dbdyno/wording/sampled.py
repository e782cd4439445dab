"""Names and units, for people, of what samplers measure: "disk.write_await_ms" is "Disk: wait of a
write". Counters of servers keep the names that their manuals have, except for those that the
report shows as columns (`kinds`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbdyno.experiment.claims.units import unit_of
from dbdyno.kinds import KINDS
from dbdyno.kinds.counter import Amount

SOURCES: Mapping[str, str] = {
    "cpu": "CPU",
    "memory": "Memory",
    "disk": "Disk",
    "network": "Network",
    "paging": "Paging",
    "load": "Tasks",
    "pressure": "Pressure",
    "server": "Server process",
    "state": "Server process",
    "files": "Server's files",
    "status": "Server",
    "sessions": "Sessions",
    "generator": "Load generator",
}
NAMES: Mapping[str, str] = {
    "cpu.user": "in programs",
    "cpu.system": "in the kernel",
    "cpu.iowait": "idle, waiting for I/O",
    "cpu.steal": "taken by the hypervisor",
    "cpu.steal_percent": "taken by the hypervisor",
    "cpu.idle": "idle",
    "cpu.busy": "busy",
    "cpu.context_switches_per_s": "context switches",
    "memory.dirty_bytes": "dirty, not yet written",
    "memory.writeback_bytes": "being written",
    "memory.available_bytes": "available",
    "memory.cached_bytes": "page cache",
    "memory.anonymous_bytes": "of programs",
    "memory.swap_free_bytes": "free swap",
    "disk.reads_per_s": "reads",
    "disk.writes_per_s": "writes",
    "disk.read_bytes_per_s": "read",
    "disk.write_bytes_per_s": "written",
    "disk.queue": "requests in the queue",
    "disk.util": "busy",
    "disk.read_await_ms": "wait of a read",
    "disk.write_await_ms": "wait of a write",
    "disk.flushes_per_s": "flushes",
    "network.received_bytes_per_s": "received",
    "network.sent_bytes_per_s": "sent",
    "network.loopback_bytes_per_s": "over loopback",
    "network.dropped_packets_per_s": "dropped packets",
    "network.segments_per_s": "TCP segments sent",
    "network.retransmits_per_s": "TCP segments sent again",
    "network.listen_overflows_per_s": "connections at a full listen queue",
    "network.listen_drops_per_s": "connections turned away",
    "paging.swap_in_pages_per_s": "pages swapped in",
    "paging.swap_out_pages_per_s": "pages swapped out",
    "paging.major_faults_per_s": "page faults that read a disk",
    "load.one_minute": "running or waiting, mean of a minute",
    "load.runnable": "runnable",
    "pressure.cpu_some": "some tasks waited for CPU",
    "pressure.cpu_full": "all tasks waited for CPU",
    "pressure.io_some": "some tasks waited for I/O",
    "pressure.io_full": "all tasks waited for I/O",
    "pressure.memory_some": "some tasks waited for memory",
    "pressure.memory_full": "all tasks waited for memory",
    "server.cpu_cores": "CPU",
    "server.rss_bytes": "resident memory",
    "server.processes": "processes",
    "server.stopped": "processes stopped by a signal",
    "server.blocked": "processes in an uninterruptible wait",
    "server.read_bytes_per_s": "read from disks",
    "server.write_bytes_per_s": "written to disks",
    "server.runqueue_cores": "waiting for a CPU",
    "server.context_switches_per_s": "context switches",
    "state.stopped": "stopped by a signal",
    "state.blocked": "in an uninterruptible wait",
    "files.open": "open",
    "files.data_bytes": "on the disk",
    "generator.busy": "busiest load thread",
    "generator.busy_max": "busiest load thread, at most",
    "generator.lag_ms_p99": "lag, 99th percentile",
    "generator.load_threads": "load threads",
}
_UNITS: Mapping[str, str] = {
    **dict.fromkeys(
        ("cpu.user", "cpu.system", "cpu.iowait", "cpu.steal", "cpu.idle", "cpu.busy"), "share"
    ),
    **{name: "share" for name in NAMES if name.startswith("pressure.")},
    **dict.fromkeys(("disk.util", "generator.busy", "generator.busy_max"), "share"),
    "generator.lag_ms_p99": "ms",
    "generator.load_threads": "threads",
    "server.processes": "processes",
    "files.open": "files",
    "disk.queue": "requests",
    "load.one_minute": "tasks",
    "load.runnable": "tasks",
}
RATE_OR_LEVEL = "per second, or level"  # of a counter that no kind's list has
_SCALED = {
    "bytes": ("MiB", 2**-20),
    "bytes/s": ("MiB/s", 2**-20),
    "bytes/h": ("MiB/h", 2**-20),
    "share": ("%", 100.0),
}
_FOR_PEOPLE = {"1/s": "per second", "1/h": "per hour", "us": "µs"}
COUNTERS: Mapping[str, Amount] = {
    counter.metric: counter
    for kind in KINDS.values()
    for counter in kind.counters
    if isinstance(counter, Amount)
}
# Target and `host` come before the source where an experiment has several targets, or other hosts.
_SAMPLED = re.compile(
    rf"(?P<where>(?:[^.]+\.){{0,2}}?)(?P<metric>(?P<source>{'|'.join(SOURCES)})\.(?P<name>.+))"
)


def label(metric: str) -> str:
    """A metric for people: "Disk: writes", "db: CPU: busy"; unchanged if no sampler makes it."""
    if not (found := _SAMPLED.fullmatch(metric)):
        return metric
    name = f"{SOURCES[found['source']]}: {short(found['metric'])}"
    where = found["where"].rstrip(".").replace(".", " ")
    return f"{where}: {name}" if where else name


def plain(metric: str) -> str:
    """A metric without the target and host in front of its source."""
    found = _SAMPLED.fullmatch(metric)
    return found["metric"] if found else metric


def source(name: str) -> str:
    """A source for people: "Disk", "db: Server process"."""
    return label(f"{name}.x").rpartition(": ")[0] or name


def short(metric: str) -> str:
    """A metric without target, for people, next to its source: "writes"."""
    peak = metric.removesuffix("_max")
    if peak in NAMES and peak != metric and metric not in NAMES:
        return f"{NAMES[peak]}, at most"
    level = metric.removesuffix("_per_h")
    if level in NAMES and level != metric:
        return f"{NAMES[level]}, growth per hour"
    if metric in NAMES:
        return NAMES[metric]
    name = metric.partition(".")[2]
    if (counter := COUNTERS.get(metric)) is None:
        return name
    return f"{counter.head.removesuffix('/s').removesuffix(' MiB')} ({name})"


def unit(metric: str) -> str:
    """The unit of what a sampler measures, by its name (house rule); "share" of one."""
    name = plain(metric)
    if name in _UNITS:
        return _UNITS[name]
    one = unit_of(name)
    if name.startswith("status."):
        counter = COUNTERS.get(name)
        of_rates = counter is not None and counter.head.endswith("/s")
        return one or ("per second" if of_rates else "" if counter else RATE_OR_LEVEL)
    return _FOR_PEOPLE.get(one, one)


def scaled(one: str) -> tuple[str, float]:
    """A unit in which people read smaller numbers, and the factor into it: MiB for bytes."""
    return _SCALED.get(one, (one, 1.0))
