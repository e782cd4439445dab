"""Whether the data are still whole after a trial: the workload's own conditions, checked by SQL.

A condition that does not hold voids the trial: what was measured is not the workload. The
conditions hold between transactions: they are asked when the load has ended.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment import workloads
from dbdyno.plan.types import Cell
from dbdyno.store.record import VOID, TrialRecord

ROWS_SHOWN = 3


def checked(record: TrialRecord, cell: Cell, deployments: Mapping[str, Deployment]) -> TrialRecord:
    """The record, void if a condition of a group's workload does not hold, or cannot be asked."""
    # Groups may share their data: asked once.
    wanted = dict.fromkeys(
        (group.target, check)
        for group in cell.groups
        if kinds.of(deployments[group.target].kind).stores_data
        for check in workloads.of(group.workload).checks(group.options)
    )
    broken: list[str] = []
    for target, check in wanted:
        deployment = deployments[target]
        for name, server in deployment.written.items():
            try:
                rows = server.run(deployment.database, [check.sql])
            except DynoError as error:
                broken.append(f"{name}: {check.name}: cannot be asked: {error.what}")
                continue
            if rows:
                shown = ", ".join(str(tuple(row)) for row in rows[:ROWS_SHOWN])
                broken.append(f"{name}: {check.name} does not hold in {len(rows)} places: {shown}")
    if not broken:
        return record
    reasons = "; ".join(broken)
    return record.replace(status=VOID, void_reason=f"the data are not whole: {reasons}")
