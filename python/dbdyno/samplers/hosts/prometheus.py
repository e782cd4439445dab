"""What a Prometheus knows about a host from its node_exporter, asked for once, after the trial.

One instant query with a range selector gives the samples as they were scraped, with their times:
nothing is interpolated, and the server does no work while load is measured. Between two scrapes the
counters become the metrics of the local samplers, so a value holds for a whole scrape interval; a
trial should last several. Times are those of Prometheus' clock.

Sources: https://prometheus.io/docs/prometheus/latest/querying/api/ (instant queries, range
vectors); node_exporter's collectors cpu, diskstats, loadavg, meminfo, netdev, netstat, stat,
vmstat, each with its defaults.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.experiment.targets.host import Prometheus
from dbdyno.samplers.hosts import feed
from dbdyno.samplers.machine import cpu, disk, memory, network, paging

TIMEOUT_S = 5.0
ANSWER_BYTES_MAX = 32 << 20
BEFORE_S = 60.0  # asked for before the warm-up too: the first rate needs a scrape before it

_MEMORY = {f"node_memory_{name}_bytes": metric for name, metric in memory.NAMES.items()}
_PAGING = {f"node_vmstat_{name}": name for name in paging.NAMES}
_LOAD = {"node_load1": "one_minute", "node_procs_running": "runnable"}
_TCP = {
    f"node_netstat_{kind}_{name}": metric
    for kind, names in network.TCP.items()
    for name, metric in names.items()
}
# Of an interface; what is sent on loopback is received there too.
_INTERFACE = {
    "node_network_receive_bytes_total": network.RECEIVED,
    "node_network_transmit_bytes_total": network.SENT,
    "node_network_receive_drop_total": network.DROPPED,
    "node_network_transmit_drop_total": network.DROPPED,
}
# Columns of /proc/diskstats after the names, and one of node_exporter's units in theirs.
_DISK = {
    "node_disk_reads_completed_total": (0, 1.0),
    "node_disk_read_bytes_total": (2, 1 / disk.SECTOR_BYTES),
    "node_disk_read_time_seconds_total": (3, 1000.0),
    "node_disk_writes_completed_total": (4, 1.0),
    "node_disk_written_bytes_total": (6, 1 / disk.SECTOR_BYTES),
    "node_disk_write_time_seconds_total": (7, 1000.0),
    "node_disk_io_time_seconds_total": (9, 1000.0),
    "node_disk_io_time_weighted_seconds_total": (10, 1000.0),
    "node_disk_flush_requests_total": (15, 1.0),
}
_CPU, _SWITCHES = "node_cpu_seconds_total", "node_context_switches_total"
NAMES = (_CPU, _SWITCHES, *_MEMORY, *_PAGING, *_LOAD, *_TCP, *_INTERFACE, *_DISK)
# Devices on top of others would be counted twice; the rest are no disks.
_NO_DISK = re.compile(r"(dm-|md|loop|ram|zram|sr|fd)\d")
# Its interfaces do not say whether they have hardware behind them. These pass on what others count.
_NO_INTERFACE = re.compile(
    r"(veth|docker|podman|br-|br\d|virbr|vnet|tap|tun|wg|bond|team|dummy|ifb|cali|cni|cilium|lxc|sit"
    r"|flannel|nodelocal|kube|ovs|vxlan|geneve|gre|ip6tnl|macv|ipvl|vlan|zt|tailscale)|.*[.@]"
)
_HOLDS_DEVICES = 16  # columns of a device with flushes

Series = Mapping[str, Any]  # {"metric": {labels}, "values": [[unix_s, "text"], ...]}
Reading = dict[str, dict[str, float]]  # by kind (cpu, memory, ...), then by name


class PrometheusFeed:
    """See the module."""

    finish_s = TIMEOUT_S + 1.0

    def __init__(self, source: Prometheus, prefix: str) -> None:
        self._source = source
        self._prefix = prefix

    def run(self, zero_unix_s: float, ending: threading.Event, emit: feed.Emit) -> None:
        """See `feed.Feed`."""
        begun = time.time()
        ending.wait()
        try:
            series = query(self._source, begun - BEFORE_S, time.time())
            lines = list(samples(series, zero_unix_s, self._prefix))
        except (OSError, ValueError) as error:
            emit(feed.gap(0.0, self._prefix, f"Prometheus at {self._source.url}: {error}"))
            return
        for line in lines:
            emit(line)
        if not any(line["t_s"] > 0 for line in lines):
            reason = f"no two scrapes of instance {self._source.instance} fell into the trial"
            emit(feed.gap(0.0, self._prefix, f"Prometheus at {self._source.url}: {reason}"))


def query(source: Prometheus, first_unix_s: float, last_unix_s: float) -> Sequence[Series]:
    """All series that we read of an instance, as scraped between two moments. OSError or
    ValueError, with what is wrong."""
    names = "|".join(NAMES)
    instance = source.instance.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    length_s = max(1, round(last_unix_s - first_unix_s))
    selector = f'{{__name__=~"{names}",instance="{instance}"}}[{length_s}s]'
    asked = urllib.parse.urlencode(
        {"query": selector, "time": f"{last_unix_s:.3f}", "timeout": f"{TIMEOUT_S:g}s"}
    )
    try:
        with urllib.request.urlopen(
            f"{source.url}/api/v1/query?{asked}", timeout=TIMEOUT_S
        ) as answer:
            text = answer.read(ANSWER_BYTES_MAX + 1)
    except urllib.error.HTTPError as error:
        raise OSError(_refused(error)) from None
    except urllib.error.URLError as error:
        raise OSError(str(error.reason)) from None
    if len(text) > ANSWER_BYTES_MAX:
        raise ValueError(f"it answers with more than {ANSWER_BYTES_MAX >> 20} MiB")
    return _result(text)


def _refused(error: urllib.error.HTTPError) -> str:
    """Prometheus says in JSON what it does not like."""
    try:
        return f"status {error.code}: {json.loads(error.read(1 << 16))['error']}"
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        return f"status {error.code}"


def _result(text: bytes) -> Sequence[Series]:
    try:
        answer = json.loads(text)
        if answer["status"] != "success" or answer["data"]["resultType"] != "matrix":
            raise ValueError
        result: Sequence[Series] = answer["data"]["result"]
        for series in result:
            _ = series["metric"]["__name__"], [(float(t), float(v)) for t, v in series["values"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("its answer is not that of Prometheus' API") from None
    return result


def samples(series: Sequence[Series], zero_unix_s: float, prefix: str) -> Iterator[dict[str, Any]]:
    """Lines of samples, one a source and pair of scrapes, in order."""
    scrapes = readings(series)
    moments = sorted(scrapes)
    for before, at in itertools.pairwise(moments):
        elapsed_s = at - before
        for source, values in between(scrapes[before], scrapes[at], elapsed_s):
            if values:
                yield feed.sample(at - zero_unix_s, elapsed_s, f"{prefix}.{source}", values)


def readings(series: Sequence[Series]) -> dict[float, Reading]:
    """What was seen at each scrape, by its time; summed over what is no device."""
    found: dict[float, Reading] = defaultdict(lambda: defaultdict(lambda: defaultdict(float)))
    for one in series:
        labels = one["metric"]
        kind, name, scale = _place(labels)
        if not kind:
            continue
        for moment, value in one["values"]:
            found[float(moment)][kind][name] += float(value) * scale
    return found


def _place(labels: Mapping[str, str]) -> tuple[str, str, float]:
    """(kind, name, factor) of a series; kind "" for one that is omitted."""
    name = labels["__name__"]
    if name == _CPU:
        return "cpu", labels.get("mode", ""), 1.0
    if name == _SWITCHES:
        return "cpu", "ctxt", 1.0
    for kind, names in (
        *(("memory", _MEMORY), ("paging", _PAGING)),
        *(("load", _LOAD), ("network", _TCP)),
    ):
        if name in names:
            return kind, names[name], 1.0
    device = labels.get("device", "")
    if name in _INTERFACE:
        return _of_interface(_INTERFACE[name], device)
    if name in _DISK and device and not _NO_DISK.match(device):
        column, scale = _DISK[name]
        return f"disk {device}", str(column), scale
    return "", "", 0.0


def _of_interface(metric: str, device: str) -> tuple[str, str, float]:
    if device == network.LOOPBACK and metric == network.SENT:
        return "network", network.LOOPED, 1.0
    if device == network.LOOPBACK or not device or _NO_INTERFACE.match(device):
        return "", "", 0.0
    return "network", metric, 1.0


def between(
    last: Reading, now: Reading, elapsed_s: float
) -> Iterator[tuple[str, dict[str, float]]]:
    """(source, metrics) of what happened between two scrapes, `elapsed_s` apart."""
    yield "cpu", cpu.shares(last.get("cpu", {}), now.get("cpu", {}), elapsed_s)
    yield "memory", dict(now.get("memory", {}))
    yield "disk", disk.rates(_devices(last), _devices(now), elapsed_s)
    yield "network", network.rates(last.get("network", {}), now.get("network", {}), elapsed_s)
    yield "paging", paging.rates(last.get("paging", {}), now.get("paging", {}), elapsed_s)
    yield "load", dict(now.get("load", {}))


def _devices(reading: Reading) -> dict[str, tuple[float, ...]]:
    """Counters by device, in the columns of /proc/diskstats."""
    found = {}
    for kind, columns in reading.items():
        if kind.startswith("disk "):
            width = _HOLDS_DEVICES if "15" in columns else 11
            found[kind] = tuple(columns.get(str(i), 0.0) for i in range(width))
    return found
