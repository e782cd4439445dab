"""The rows, in the order of the page: a row is `families/NAME.py` with `ROW`, and is listed
here."""

from __future__ import annotations

from importlib import import_module

from tools.attack.row import Row

NAMES: tuple[str, ...] = (
    "run_directories",
    "bundles",
    "imported_results",
    "saved_digests",
    "logs",
    "hostile_servers",
    "read_only_sessions",
    "kills",
)


def rows() -> tuple[Row, ...]:
    """All rows."""
    found = tuple(import_module(f"{__name__}.{name}").ROW for name in NAMES)
    assert tuple(row.name for row in found) == NAMES
    return found
