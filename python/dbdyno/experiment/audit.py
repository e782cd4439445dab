"""`audit:`: what a trial is checked for besides its speed, and what a cell must have for that.

`commits` adds an identity to the transactions of any workload; `register`, `append` and `bank`
check the history of the workload of that name.
"""

from __future__ import annotations

import re
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
HISTORIES = ("register", "append", "bank")
OFF = "off"
# Either all of the first, or of the second.
NEEDS = ((SQL, TRANSACTIONS), (IDENTIFIED_WRITES,))
# What values of a history distinguish (`engine/core/src/workload/history.rs`).
SESSIONS_MAX, RETRIES_MAX, GROUPS_MAX = 8192, 63, 32


# Settings of servers that are the level of isolation of new sessions, and statements that set it.
LEVEL_SETTINGS = ("default_transaction_isolation", "transaction_isolation", "tx_isolation")
LEVEL_SQL = re.compile(
    r"(?:isolation\s+level|transaction_isolation|tx_isolation)\s*(?:=|\bto\b)?\s*['\"]?"
    r"(read[\s_-]+(?:un)?committed|repeatable[\s_-]+read|serializable)",
    re.IGNORECASE,
)


def _none_if_off(value: Any) -> Any:
    return None if value == OFF else value


Audited = Annotated[
    Literal["commits", "register", "append", "bank"] | None,
    BeforeValidator(_none_if_off),
    WithJsonSchema({"enum": [COMMITS, *HISTORIES, OFF]}),
]


class Refusal(NamedTuple):
    """Why something cannot be audited."""

    what: str
    cause: str
    fix: str


def recorded(audit: str | None, workload: str) -> bool:
    """Whether the history of a group of that workload is recorded under this audit."""
    return audit in HISTORIES and workload == audit


def level_of_sessions(target: Target) -> str:
    """The level of isolation that a target's sessions were given, by `session`, `isolation` or
    `config`, the first of these that says one; empty: the server's default."""
    said = [found[1] for statement in target.session for found in LEVEL_SQL.finditer(statement)]
    config = {name.replace("-", "_").lower(): str(value) for name, value in target.config.items()}
    levels = (
        *said[-1:],
        target.isolation or "",
        *(config.get(name, "") for name in LEVEL_SETTINGS),
    )
    level = next(filter(None, levels), "")
    return re.sub(r"[\s-]+", "_", level.strip().strip("'\"").lower())


def check(cell: Cell, root: Node) -> None:
    """Refuses an audit of what cannot carry an identity in its transactions, or has no history."""
    if cell.audit is None:
        return
    refusals = _of_commits(cell) if cell.audit == COMMITS else _of_history(cell, cell.audit)
    for who, refusal in refusals:
        if refusal is not None:
            raise DynoError(
                f"`audit` and {who}: {refusal.what}",
                where=root.mapping["audit"].where,
                cause=refusal.cause,
                fix=refusal.fix,
            )


def _of_commits(cell: Cell) -> tuple[tuple[str, Refusal | None], ...]:
    return (
        *((f"target `{target.name}`", _target(target)) for target in cell.targets),
        *((f"group `{group.name}`", _group(group)) for group in cell.groups),
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
    return _search(group)


def _search(group: Group) -> Refusal | None:
    if group.find is not None:
        return Refusal(
            "a search for a rate runs the load several times a trial",
            "the audit is of one load, and of all that it committed",
            "give the group a `rate`, or remove `audit`",
        )
    return None


def _of_history(cell: Cell, audit: str) -> tuple[tuple[str, Refusal | None], ...]:
    groups = [group for group in cell.groups if group.kind == audit]
    used = {group.target for group in groups}
    none = None if groups else _no_group(audit)
    return (
        ("its groups", none or _numbers(cell)),
        *(
            (f"target `{target.name}`", _history_of(target, audit))
            for target in cell.targets
            if target.name in used
        ),
        *((f"group `{group.name}`", _search(group) or _bounds(group)) for group in groups),
    )


def _no_group(audit: str) -> Refusal:
    return Refusal(
        f"none has the workload `{audit}`",
        f"`audit: {audit}` checks the history of that workload",
        f"add a group with `kind: {audit}`, or use `audit: {COMMITS}`, which takes any workload",
    )


def _numbers(cell: Cell) -> Refusal | None:
    if len(cell.groups) <= GROUPS_MAX:
        return None
    return Refusal(
        f"there are {len(cell.groups)}",
        f"values distinguish the writes of {GROUPS_MAX} groups",
        "use fewer groups, or remove `audit`",
    )


def _history_of(target: Target, audit: str) -> Refusal | None:
    kind = kinds.of(target.kind)
    if not kind.stores_data:
        return Refusal(
            f"{kind.title} keeps no data",
            "what is read must be what was written",
            "use a database, or remove `audit`",
        )
    if target.existing is not None:
        return Refusal(
            f"its schema `{target.existing}` is not dbdyno's",
            "each trial begins with known values in tables of dbdyno",
            "remove `data`, so that dbdyno makes a schema of its own",
        )
    if target.instances > 1:
        return Refusal(
            "its `instances` each have data of their own",
            f"`audit: {audit}` checks one history of one data set",
            "remove `instances`, or use a `topology`",
        )
    return None


def _bounds(group: Group) -> Refusal | None:
    for name, value, most in (
        ("sessions", group.sessions, SESSIONS_MAX),
        ("retries", group.retries, RETRIES_MAX),
    ):
        if value > most:
            return Refusal(
                f"it has {value} {name}",
                f"values distinguish the writes of {most} {name} of a group",
                f"lower `{name}`, or remove `audit`",
            )
    return None
