"""Systems under test, found by their kind: `kind: mariadb` imports the module that its `Kind`
names, which holds `SYSTEM`. Managed and external servers of a kind share one folder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dbdyno.errors import DynoError
from dbdyno.kinds import KINDS

if TYPE_CHECKING:
    from dbdyno.systems.base import System


def load(kind: str) -> System:
    """The system of that kind; DynoError that lists the known ones if there is none."""
    if kind not in KINDS:
        raise DynoError(
            f"there is no system of kind {kind!r}",
            cause="a misspelt `kind:`",
            fix=f"use one of: {', '.join(KINDS)}",
        )
    return cast("System", import_module(f"dbdyno.systems.{KINDS[kind].module}").SYSTEM)


def registry() -> list[System]:
    """All systems, for the reference and the contract test."""
    return [load(kind) for kind in KINDS]
