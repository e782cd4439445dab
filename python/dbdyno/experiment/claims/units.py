"""The unit of a metric, for programs: what is known about it, else what ends its name."""

from __future__ import annotations

from dbdyno.experiment.claims import metrics

# House rule: units end names. Longest first, so that `bytes_per_s` is not taken for seconds.
_SUFFIXES = (
    ("_bytes_per_s", "bytes/s"),
    ("_bytes_per_h", "bytes/h"),
    ("_us_per_op", "us"),
    ("_per_s", "1/s"),
    ("_per_h", "1/h"),
    ("_bytes_max", "bytes"),
    ("_bytes", "bytes"),
    ("_kb", "kB"),
    ("_percent", "%"),
    ("_pct", "%"),
    ("_cores", "cores"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_s", "s"),
)


def unit_of(name: str) -> str:
    """The unit of a metric or of a sampled value; empty if it has none or none is known."""
    if known := metrics.info(name).unit:
        return known
    if "replica_lag_s." in name and metrics.is_slope(name):
        return "s/h"
    return next((unit for suffix, unit in _SUFFIXES if f"_{name}".endswith(suffix)), "")
