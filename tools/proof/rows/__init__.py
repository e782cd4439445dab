"""The rows, in the order of the page; a row is `rows/NAME.py` with `ROW`."""

from __future__ import annotations

from importlib import import_module

from tools.proof.row import Row

NAMES: tuple[str, ...] = (
    "false_alarms",
    "power",
    "coverage",
    "aa",
    "runs_simulated",
    "aa_history",
    "latency",
    "stalls",
    "causes",
    "meter",
    "cluster",
    "redis",
)


def rows() -> tuple[Row, ...]:
    """All rows."""
    found = tuple(import_module(f"tools.proof.rows.{name}").ROW for name in NAMES)
    assert tuple(row.name for row in found) == NAMES
    return found
