"""`audit: commits`: whether commits are audited, and what a cell must have for that."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment import workloads
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import listed
from dbdyno.experiment.types import Cell, Group, Target
from dbdyno.kinds.kind import IDENTIFIED_WRITES, SQL, TRANSACTIONS, Kind

COMMITS = "commits"
OFF = "off"
# Either all of the first, or of the second.
NEEDS = ((SQL, TRANSACTIONS), (IDENTIFIED_WRITES,))


def _none_if_off(value: Any) -> Any:
    return None if value == OFF else value


Audited = Annotated[
    Literal["commits"] | None,
    BeforeValidator(_none_if_off),
    WithJsonSchema({"enum": [COMMITS, OFF]}),
]


class Refusal(NamedTuple):
    """Why something cannot be audited."""

    what: str
    cause: str
    fix: str


def check(cell: Cell, root: Node) -> None:
    """Refuses an audit of what cannot carry an identity in its transactions."""
    if cell.audit is None:
        return
    refusals = (
        *((f"target `{target.name}`", _target(target)) for target in cell.targets),
        *((f"group `{group.name}`", _group(group)) for group in cell.groups),
    )
    for who, refusal in refusals:
        if refusal is not None:
            raise DynoError(
                f"`audit` and {who}: {refusal.what}",
                where=root.mapping["audit"].where,
                cause=refusal.cause,
                fix=refusal.fix,
            )


def _target(target: Target) -> Refusal | None:
    kind = kinds.of(target.kind)
    if not _can_carry(kind) or not kind.stores_data:
        able = [name for name, one in kinds.KINDS.items() if one.stores_data and _can_carry(one)]
        lacking = [need for need in NEEDS[0] if need not in kind.capabilities]
        what = f"does not have {listed(lacking)}" if lacking else "keeps no data"
        return Refusal(
            f"{kind.title} {what}",
            "each transaction inserts an identity into a table",
            f"use a target of kind {listed(able)}, or remove `audit`",
        )
    if target.url is not None and not kind.speaks_sql:
        return Refusal(
            "it is not started by dbdyno",
            "what an audit leaves in a server of others would have to be removed key by key",
            "let dbdyno start the server, or remove `audit`",
        )
    if target.existing is not None:
        return Refusal(
            f"its schema `{target.existing}` is not dbdyno's",
            "the audit creates a table for identities",
            "remove `data`, so that dbdyno makes a schema of its own",
        )
    return None


def _can_carry(kind: Kind) -> bool:
    return any(set(needs) <= set(kind.capabilities) for needs in NEEDS)


def _group(group: Group) -> Refusal | None:
    if group.kind in (workloads.SCRIPT, workloads.REPLAY.name):
        return Refusal(
            f"workload `{group.kind}` brings its own transactions",
            "nothing can be added to what a script or a recording sends",
            "use another workload, or remove `audit`",
        )
    if workloads.pipeline(group.kind, group.options) > 1:
        return Refusal(
            "operations of a `pipeline` have no commit of their own",
            "an identity and what it stands for are stored in one step",
            "write `pipeline: 1`, or remove `audit`",
        )
    if group.find is not None:
        return Refusal(
            "a search for a rate runs the load several times a trial",
            "the audit is of one load, and of all that it committed",
            "give the group a `rate`, or remove `audit`",
        )
    return None
