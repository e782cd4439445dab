"""Names and units, for people, of what samplers measure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbdyno.wording import sampled

REFERENCE = Path(__file__).parents[2] / "docs/reference/metrics.md"


@pytest.mark.parametrize(
    ("metric", "label", "unit"),
    [
        ("cpu.iowait", "CPU: idle, waiting for I/O", "share"),
        ("disk.write_await_ms", "Disk: wait of a write", "ms"),
        ("memory.dirty_bytes_max", "Memory: dirty, not yet written, at most", "bytes"),
        ("db.host.disk.util", "db host: Disk: busy", "share"),
        (
            "db.server.rss_bytes_per_h",
            "db: Server process: resident memory, growth per hour",
            "bytes/h",
        ),
        ("files.open", "Server's files: open", "files"),
        ("files.open_per_h", "Server's files: open, growth per hour", "per hour"),
        ("db.server.cpu_cores", "db: Server process: CPU", "cores"),
        (
            "status.Innodb_row_lock_waits",
            "Server: row lock waits (Innodb_row_lock_waits)",
            "per second",
        ),
        ("status.Threads_running", "Server: threads running (Threads_running)", ""),
        ("status.Handler_write", "Server: Handler_write", "per second, or level"),
        ("sessions.waiting for a lock", "Sessions: waiting for a lock", ""),
        ("generator.busy_max", "Load generator: busiest load thread, at most", "share"),
        ("transactions_per_s", "transactions_per_s", "per second"),
        ("readers.service_ms_p95", "readers.service_ms_p95", "ms"),
    ],
)
def test_a_metric_has_a_name_and_a_unit(metric: str, label: str, unit: str) -> None:
    assert (sampled.label(metric), sampled.unit(metric)) == (label, unit)


def test_everything_that_the_reference_lists_has_a_name() -> None:
    page = REFERENCE.read_text()
    table = page.partition("| source | metrics | meaning |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"`([a-z]+\.[a-z_]+)`", table))
    assert len(listed) > 45
    assert listed <= sampled.NAMES.keys()


def test_a_source_has_a_name() -> None:
    assert sampled.source("disk") == "Disk"
    assert sampled.source("db.server") == "db: Server process"
    assert sampled.source("elsewhere") == "elsewhere"
