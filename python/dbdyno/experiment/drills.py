"""Drills among `faults:`, as written: backups, restores, planned changes of nodes; and which
targets they can be of.

What a drill does is a file of `dbdyno.faults.drills`; tools of backups are in
`dbdyno.systems.backups`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean, listed
from dbdyno.experiment.types import GALERA, PRIMARY, REPLICA, REPLICAS, Target
from dbdyno.experiment.values.faults import (
    AFTER,
    ALL_NODES,
    ANY_NODE,
    Fault,
)
from dbdyno.experiment.values.scalars import Duration, Pause, Strict, Version
from dbdyno.experiment.values.versions import is_older

BACKUP, RESTORE = "backup", "restore"
SWITCHOVER, REPLACE, UPGRADE = "switchover", "replace", "upgrade"
DETACH = "detach"
CLOCK = "clock"  # which is no drill
NO_LOGS, DUMP = "none", "dump"
OLDER = "newer programs have changed the data, and older ones cannot go on with it"
SUBSCRIBERS = "the other subscribers could not follow a new primary without a gap"
NOT_ONE = (PRIMARY, ANY_NODE, ALL_NODES)  # of nodes that drop data: none that is drawn
ROLES = (PRIMARY, REPLICA, ANY_NODE, ALL_NODES)  # which may be another node later on
Wrong = Callable[[str, str, str, str], DynoError]  # key, what, fix, cause
WrongOne = Callable[[int, str, str], DynoError]  # number of a fault, what, fix


class Backup(Strict):
    """A backup of a server in mid-load, for a `restore` after it."""

    tool: Literal["mariabackup", "dump", "clone", "basebackup"] | None = Field(
        None,
        description="MariaDB: `mariabackup` (default), `dump`; PostgreSQL: `basebackup` (default),"
        " `dump`; MySQL: `clone` (default), `dump`",
    )
    logs: Literal["none", "streamed", "kept"] = Field(
        "none",
        description="binary logs or WAL for a replay: `none`; `streamed`, read all the time by"
        " mariadb-binlog or pg_receivewal; `kept`, on another disk that survives the server",
    )


class Restore(Strict):
    """A server is lost with its data directory, and made again of its last backup."""

    to: Pause | None = Field(
        None,
        description="second of the trial up to which logs are replayed (binary logs: to the whole"
        " second before); default: to their end",
    )


class Planned(Strict):
    """Work of an operator on nodes of a topology."""


class Replace(Strict):
    """A node is lost with its data, and another one takes its place under its name."""

    record: Literal["before", "after"] | None = Field(
        None,
        description="of `topology: {dns: ...}`: when the record of its name gets the new machine's"
        " address: `before` its server starts (default), or `after` it works",
    )


class Upgrade(Strict):
    """A node goes on with programs of another version, on its data."""

    version: Version = Field(description='leading numbers of the version, such as "11.8"')
    basedir: str | None = Field(
        None,
        description="directory of its programs; default: where dyno looks; to be written where the"
        " target has a `basedir`",
    )


class Detach(Strict):
    """A replica becomes a server of its own, and goes back."""

    back_after: Duration | None = Field(
        None,
        description="seeded from the primary again after this time; default: at the end of the"
        " trial",
    )


KEYS: Mapping[str, type[Strict]] = {
    BACKUP: Backup,
    RESTORE: Restore,
    SWITCHOVER: Planned,
    REPLACE: Replace,
    UPGRADE: Upgrade,
    DETACH: Detach,
}


def tool(model: Any, target: Target) -> str:
    """The tool of a backup; empty of other faults."""
    if model.do != BACKUP:
        return ""
    return str(model.tool or kinds.of(target.kind).backups[0])


def logs(model: Any) -> str:
    """Where a backup has its logs kept; empty: nowhere."""
    found = str(getattr(model, "logs", NO_LOGS))
    return "" if found == NO_LOGS else found


def record(model: Any) -> str:
    """When a replaced node's record changes: AFTER, or empty: before it starts."""
    return AFTER if getattr(model, "record", None) == AFTER else ""


def check(model: Any, target: Target, wrong: Wrong) -> None:
    """DynoError for a drill that the target cannot have."""
    if model.do in (BACKUP, RESTORE):
        _check_alone(model, target, wrong)
    if model.do == BACKUP:
        _check_tool(model, target, wrong)
    if model.do == RESTORE and model.to is not None and model.to > model.at:
        raise wrong("to", "the moment is after the loss of the server", "write an earlier one", "")
    if model.do == SWITCHOVER:
        _check_switchover(model, target, wrong)
    if model.do in (REPLACE, DETACH):
        _check_replica(model, target, wrong)
    if model.do == REPLACE and model.record and not (target.topology and target.topology.dns):
        raise wrong(
            "record",
            f"clients do not find nodes of `{target.name}` by names",
            "add `dns: {ttl: 5s}` to its `topology`, or remove `record`",
            "there is no record that could change",
        )
    if model.do == UPGRADE:
        _check_upgrade(model, target, wrong)


def _check_upgrade(model: Any, target: Target, wrong: Wrong) -> None:
    if not kinds.of(target.kind).upgrades:
        able = [name for name, each in kinds.KINDS.items() if each.upgrades]
        title = kinds.of(target.kind).title
        fix = f"use a target of kind {listed(able)}, or compare two cells by `version`"
        raise wrong("do", f"dyno does not upgrade {title} on its data", fix, "")
    if target.version is not None and is_older(model.version, target.version):
        raise wrong(
            "version",
            f"{model.version} is older than {target.version}, which target `{target.name}` runs",
            "write a newer version, or compare two cells by `version`",
            OLDER,
        )
    if target.basedir is not None and model.basedir is None:
        raise wrong(
            "version",
            f"the programs of target `{target.name}` are those of its `basedir`, and the upgrade"
            f" does not say where those of {model.version} are",
            f"add `basedir:` to the fault, the directory of the programs of {model.version}",
            "those that dyno finds by itself may be another build",
        )


def _check_alone(model: Any, target: Target, wrong: Wrong) -> None:
    kind = kinds.of(target.kind)
    if not kind.backups:
        able = [name for name, each in kinds.KINDS.items() if each.backups]
        fix = f"use a target of kind {listed(able)}"
        raise wrong("do", f"dyno knows no backup of {kind.title}", fix, "")
    if target.topology is not None:
        raise wrong(
            "do",
            f"`{model.do}` is of a server that is alone, and `{target.name}` has a topology",
            "remove `topology`, or write `do: replace`: a node gets its data from the others",
            "nodes would be ahead of the one that was restored",
        )


def _check_tool(model: Any, target: Target, wrong: Wrong) -> None:
    kind, name = kinds.of(target.kind), tool(model, target)
    if name not in kind.backups:
        raise wrong("tool", f"{kind.title} has no `{name}`", did_you_mean(name, kind.backups), "")
    if not logs(model):
        return
    if name not in kind.backups_with_logs:
        able = listed(kind.backups_with_logs) if kind.backups_with_logs else ""
        raise wrong(
            "logs",
            f"nothing can be replayed after `{name}` of {kind.title}",
            f"use `tool: {able}`, or `logs: {NO_LOGS}`" if able else f"write `logs: {NO_LOGS}`",
            "it does not say where the log was"
            if able
            else "dyno replays no logs of that kind of server",
        )
    if not kind.writes_log(target.config):
        raise wrong(
            "logs",
            f"target `{target.name}` writes no log that could be replayed",
            f"write `config: {{{kind.log_setting}: binlog}}` there, or `logs: {NO_LOGS}` here",
            f"`{kind.log_setting}` is off by default, or its `config` switches it off",
        )


def _check_switchover(model: Any, target: Target, wrong: Wrong) -> None:
    topology = target.topology
    if topology is not None and topology.logical:
        raise wrong(
            "do",
            f"there is no switchover on target `{target.name}`, whose replication is logical",
            "write `replication: physical`",
            SUBSCRIBERS,
        )
    if topology is None or topology.kind != REPLICAS or topology.failover is None:
        raise wrong(
            "do",
            f"there is no switchover on target `{target.name}`",
            "write `topology: {kind: replicas, nodes: 3, failover: {after: 1s}}`",
            "it takes replicas, and sessions that follow the primary",
        )
    if model.node != PRIMARY:
        raise wrong("node", "a switchover is one of the primary", "remove `node`", "")


def _check_replica(model: Any, target: Target, wrong: Wrong) -> None:
    topology, able = target.topology, (REPLICAS, GALERA) if model.do == REPLACE else (REPLICAS,)
    if topology is None or topology.kind not in able:
        raise wrong(
            "do",
            f"`{model.do}` is not possible on target `{target.name}`",
            f"write `topology: {{kind: {' or '.join(able)}}}`",
            "a node gets its data from another one",
        )
    if topology.kind != REPLICAS:
        return
    if topology.logical:
        _check_subscriber(model, target, wrong)
    always_leads = model.node == target.nodes[0].name and topology.failover is None
    if always_leads or model.node in NOT_ONE or not isinstance(model.node, str):
        raise wrong(
            "node",
            f"`{model.do}` is of one replica",
            "write `node: replica`, or its name",
            "a lost primary is replaced by a failover; after that, it is a replica",
        )


def _check_subscriber(model: Any, target: Target, wrong: Wrong) -> None:
    topology = target.topology
    assert topology is not None
    if model.do == DETACH:
        raise wrong(
            "do",
            f"no replica of target `{target.name}`, whose replication is logical, can be detached",
            "write `replication: physical`",
            "a subscriber takes writes already, and does not get the values of sequences",
        )
    waits, left = topology.wait_for_replicas, topology.nodes - 2
    if waits > left:
        raise wrong(
            "do",
            f"commits would wait for {waits} of {left} replicas while one is replaced, for ever",
            f"write `nodes: {waits + 2}` or more, or wait for fewer",
            "the slot of the new replica is made once all open transactions have ended, and these"
            " would wait for the new replica",
        )


def check_order(models: Sequence[Any], wrong: WrongOne) -> None:
    """DynoError for a drill that those before it do not leave possible: a restore without a backup,
    or whose backup does not have the logs that it needs; an upgrade to an older version."""
    for number, model in enumerate(models):
        if model.do == RESTORE:
            _check_restore(number, models, wrong)
        if model.do == UPGRADE:
            _check_upgrades(number, models, wrong)


def _check_upgrades(number: int, models: Sequence[Any], wrong: WrongOne) -> None:
    """Of one node, as far as the file says that it is the same."""
    model = models[number]
    for one in models:
        same = one.node == model.node and model.node not in ROLES
        if same and _is_earlier(one, model, UPGRADE) and is_older(model.version, one.version):
            raise wrong(
                number,
                f"{model.version} is older than {one.version}, which `{model.node}` runs by then:"
                f" {OLDER}",
                "write a newer version",
            )


def _check_restore(number: int, models: Sequence[Any], wrong: WrongOne) -> None:
    model = models[number]
    before = [one for one in models if _is_earlier(one, model, BACKUP)]
    if not before:
        raise wrong(
            number,
            "`restore` has no backup that it could restore",
            "add `{at: 2s, do: backup}` before it",
        )
    if model.to is not None and model.to <= model.at and not any(map(logs, before)):
        raise wrong(
            number,
            "no logs are replayed up to `to`: no backup before it keeps any",
            "write `logs: kept` at the backup, or remove `to`",
        )
    if model.to is not None and any(_is_earlier(one, model, CLOCK) for one in models):
        raise wrong(
            number,
            "`to` is no moment of the server's logs: a fault `clock` puts its time off",
            f"remove `{CLOCK}`, or `to`",
        )
    last = max(before, key=lambda one: float(one.at))
    again = [one for one in models if _is_earlier(one, model, RESTORE) and one.at > last.at]
    if logs(last) and any(one.node == model.node for one in again):
        raise wrong(
            number,
            "the logs of its backup end with the `restore` before it",
            "add a `backup` between the two",
        )
    upgraded = [one for one in models if _is_earlier(one, model, UPGRADE) and one.at > last.at]
    if last.tool != DUMP and any(one.node == model.node for one in upgraded):
        raise wrong(
            number,
            "its backup is of the version before the `upgrade`: only that can use its files",
            f"add a `backup` after the upgrade, or use `tool: {DUMP}`",
        )


def _is_earlier(one: Any, model: Any, do: str) -> bool:
    """Whether `one` does that before `model`, and may be of the same target."""
    same = one.target is None or model.target is None or one.target == model.target
    return bool(one.do == do and one.at < model.at and same)


def check_nodes(faults: Sequence[Fault], targets: Mapping[str, Target], wrong: WrongOne) -> None:
    """DynoError for a restore of a node of which no backup before it is sure to be."""
    for number, fault in enumerate(faults):
        if fault.do != RESTORE:
            continue
        names = [node.name for node in targets[fault.target].nodes]
        same = [one for one in faults if one.do == BACKUP and one.target == fault.target]
        before = [_nodes(one, names, ()) for one in same if one.at_s < fault.at_s]
        taken, asked = set[str]().union(*before), _nodes(fault, names, names)
        if lacking := [name for name in names if name in asked - taken]:
            raise wrong(
                number,
                f"no `backup` before it is one of `{lacking[0]}`, which it restores",
                f"write `node: {lacking[0]}`, or `node: {ALL_NODES}`, at a `backup` before it",
            )


def _nodes(fault: Fault, names: Sequence[str], drawn: Sequence[str]) -> set[str]:
    """The names of a fault's nodes, of servers that are alone; `drawn`: of `any` among several."""
    found: set[str] = set()
    for asked in fault.nodes:
        if asked in names:
            found.add(asked)
        elif asked == ALL_NODES or len(names) == 1:
            found |= set(names)
        else:
            found |= set(drawn)
    return found
