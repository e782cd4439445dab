"""The rows, in the order of the page: a row is `rows/FAMILY/NAME.py` with `ROW`, and is in its
family's `NAMES`."""

from __future__ import annotations

from importlib import import_module

from tools.proof.row import Row

FAMILIES: tuple[str, ...] = (
    "verdicts",
    "descriptions",
    "searches",
    "between_runs",
    "measuring",
    "models",
    "proving",
    "checks",
    "lab",
)


def rows() -> tuple[Row, ...]:
    """All rows."""
    return tuple(row for family in FAMILIES for row in _family(family))


def _family(family: str) -> tuple[Row, ...]:
    names = import_module(f"{__name__}.{family}").NAMES
    found = tuple(import_module(f"{__name__}.{family}.{name}").ROW for name in names)
    assert tuple(row.name for row in found) == names
    return found
