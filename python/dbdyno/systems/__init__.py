"""Systems under test: one file a kind, found by name.

`kind: mariadb` in an experiment imports `dbdyno.systems.mariadb`, which holds `SYSTEM`. A new
system is one new file and its name in `KINDS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dbdyno.errors import DynoError

if TYPE_CHECKING:
    from dbdyno.systems.base import System

KINDS = ("sqlite", "mariadb", "mysql", "postgres", "null")
"""Every kind of system, in the order of the reference."""


def load(kind: str) -> System:
    """The system of that kind; DynoError that lists the known ones if there is none."""
    if kind not in KINDS:
        raise DynoError(
            f"there is no system of kind {kind!r}",
            cause="a misspelt `kind:`",
            fix=f"use one of: {', '.join(KINDS)}",
        )
    return cast("System", import_module(f"dbdyno.systems.{kind}").SYSTEM)


def registry() -> list[System]:
    """All systems, for the reference and the contract test."""
    return [load(kind) for kind in KINDS]
