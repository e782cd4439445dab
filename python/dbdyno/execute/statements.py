"""SQL of the user's that a server does not take: all of it is reported before the first trial, by
preparing it on the servers that have just started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.errors import DynoError, Mistakes
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.file.statements import RefusedStatement
from dbdyno.experiment.types import Hooks
from dbdyno.experiment.workloads import mix
from dbdyno.plan.types import Cell, GroupPlan

STATEMENTS_MAX = 1000  # of a group


def check(
    cell: Cell, cells: Sequence[Cell], hooks: Hooks, deployments: Mapping[str, Deployment]
) -> None:
    """DynoError for statements of this cell, and of `cells` that its servers will be used for, that
    the servers refuse. Commands of the user may make tables: those of trials have not run yet."""
    if hooks.before_trial or hooks.before_cell:
        return
    mistakes = Mistakes()
    for one in [cell] if hooks.levels else cells:
        for group in one.groups:
            if group.workload == mix.WORKLOAD.name and _is_prepared(one, group):
                for mistake in _of_group(group, deployments[group.target]):
                    mistakes.add(mistake)
    mistakes.stop()


def _is_prepared(cell: Cell, group: GroupPlan) -> bool:
    """Sent as text, a parameter's type may decide whether a statement is taken."""
    return any(one.name == group.target and one.protocol == "prepared" for one in cell.targets)


def _of_group(group: GroupPlan, deployment: Deployment) -> Iterator[RefusedStatement]:
    server = deployment.server
    places = mix.prepared(group.options)
    if server is None or not places:
        return
    session = [*deployment.resolved.session_sql, *deployment.target.session]
    try:
        found = server.refusals(deployment.database, session, [*places][:STATEMENTS_MAX])
    except DynoError:  # the engine will meet the same, or can do without
        return
    for one in found:
        yield RefusedStatement(
            f"{deployment.kind} does not take `{places[one.sql]}`: {one.why}",
            sql=one.sql,
            at=one.at,
            fix=one.hint or "correct the statement: nothing was measured",
        )
