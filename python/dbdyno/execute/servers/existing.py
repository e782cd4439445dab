"""Tables that exist already: whether they are what a workload asks for.

A `mix` brings statements of its own, and the engine's preparation of them is the check. `oltp`
asks for tables sbtest1, sbtest2... with keys up to `id_range`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.errors import DynoError
from dbdyno.experiment import workloads
from dbdyno.plan.types import GroupPlan
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.external.server import RemoteServer


@dataclass(frozen=True)
class Wanted:
    """Tables that a group will ask for, and the highest key it draws."""

    group: str
    tables: int
    keys: int


def wanted(target: TargetPlan, groups: Sequence[GroupPlan]) -> list[Wanted]:
    """What the groups of a target ask for."""
    found = []
    for group in groups:
        if group.target == target.name and group.workload == "oltp":
            options = workloads.effective(group.workload, group.options)
            found.append(Wanted(group.name, int(options["tables"]), int(options["id_range"])))
    return found


def check(server: RemoteServer, target: TargetPlan, asked: Wanted) -> None:
    """DynoError for the first table that is missing, of another shape, or too small."""
    assert target.existing is not None
    for number in range(1, asked.tables + 1):
        table = f"sbtest{number}"
        try:
            highest = server.highest_id(target.existing, table)
        except DynoError as error:
            raise DynoError(
                f"group `{asked.group}` asks for {asked.tables} tables with columns id, k, c and "
                f"pad in `{target.existing}` at {server.place}: {error.what}",
                cause="the schema holds other tables, fewer of them, or our user may not read them",
                fix=f"lower `tables`, grant SELECT on `{target.existing}`, or describe your own "
                "statements with `kind: mix`",
            ) from None
        if highest < asked.keys:
            raise DynoError(
                f"group `{asked.group}` draws keys up to {asked.keys}, and the highest id in "
                f"{target.existing}.{table} at {server.place} is {highest}",
                cause="most of what it asks for would not be found",
                fix=f"set `rows: {highest}` (or `id_range`)"
                if highest
                else "fill the table, or use another",
            )
