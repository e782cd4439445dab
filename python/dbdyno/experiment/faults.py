"""`faults:`: what is done to servers at seconds of a trial, as written.

What a fault does is a file of `dbdyno.faults`; this is what may be written of each, and whether the
cell's servers and its measured time have room for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment import drills, links
from dbdyno.experiment.file.document import Node as Written
from dbdyno.experiment.file.names import did_you_mean, listed
from dbdyno.experiment.types import (
    ARBITRATOR,
    IGNORED,
    PRIMARY,
    REPLICA,
    ROUTER,
    Group,
    Target,
)
from dbdyno.experiment.values.faults import (
    ALL_NODES,
    ANY_NODE,
    Fault,
)
from dbdyno.experiment.values.scalars import Duration, Pause, Shift, Size, Strict
from dbdyno.experiment.values.unions import one_of

FAULTS_MAX = 100  # of a cell
ALTER = "alter"
Nodes = str | Annotated[list[str], Field(min_length=1, max_length=64)]


class Alone(Strict):
    """A fault that leaves nothing to undo."""


class Lasting(Strict):
    """A fault that is undone after a while."""

    for_: Duration | None = Field(
        None, alias="for", description="undone after this time; default: at the end of the trial"
    )


class Ending(Strict):
    """A fault that ends a server."""

    back_after: Duration | None = Field(
        None,
        description="started again after this time, on its directory, with port and password as"
        " before; default: at the end of the trial",
    )


Statement = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Sql(Strict):
    """Statements that one more session sends during the load."""

    sql: Statement | Annotated[list[Statement], Field(min_length=1, max_length=100)] = Field(
        description="the statement, or a list of them, which one session sends in turn"
    )


class Alter(Strict):
    """A table is changed under load by a program that copies it: each row, while triggers keep the
    copy up to date, and then the copy takes the table's name."""

    tool: Literal["pt-online-schema-change"] = Field(
        "pt-online-schema-change", description="the program, of percona-toolkit"
    )
    table: Annotated[str, Field(pattern=r"^[0-9A-Za-z_$]{1,64}$")] = Field(
        description="a table of the load, with a primary or unique key"
    )
    change: Statement = Field(
        description="what follows `ALTER TABLE` and the table's name: `ADD INDEX by_pad (pad)`"
    )


class DiskLimit(Strict):
    """What a server may have of its volume, reads and writes each."""

    iops: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="operations per second"
    )
    bytes_per_s: Size | None = Field(None, description="bytes per second, such as 10M")


class Limit(Lasting):
    """Less CPU, memory or disk for a server than the machine has. Needs root and cgroups."""

    cpu: Annotated[float, Field(ge=0.01, le=1024)] | None = Field(
        None, description="CPUs that it may use, such as 0.5"
    )
    memory: Size | None = Field(None, description="memory that it may use, such as 256Mi")
    disk: DiskLimit | None = Field(
        None, description="share of its `volume`: `{iops: 500}`, `{bytes_per_s: 10M}`"
    )


class Partition(links.OnLinks, Lasting):
    """All packets on links of the nodes are lost: those to the other nodes, or to clients. Links
    between the nodes of the fault stay."""


class Link(links.LineModel, links.OnLinks, Lasting):
    """A bad line on links of the nodes. What is not named stays as it is."""


class Clock(Lasting):
    """The wall clock of a server is put forward or back; the others', and those of clients, are
    not. Needs libfaketime."""

    by: Shift = Field(
        description="how far, such as `5s` or `-1h`; `0s`: not at all, to compare with"
    )


class Nemesis(links.LineModel, links.OnLinks):
    """Faults drawn at random: which, when, on which node. The trial's seed decides, so that a
    trial that runs again meets the same. `from` and `one_way` are of `partition` and `link`, the
    line is that of `link`."""

    for_: Duration = Field(alias="for", description="time in which faults begin and are undone")
    every: Duration = Field(
        description="mean time between the end of one fault and the next one (exponential)"
    )
    hold: Duration = Field(2.0, description="how long each fault lasts")
    of: Annotated[
        list[Literal["kill", "pause", "stop", "restart", "partition", "link"]], Field(min_length=1)
    ] = Field(["kill", "pause"], description="faults that are drawn")
    node: Nodes = Field(
        ANY_NODE, description="as of other faults; chosen for each fault that is drawn"
    )


# What each fault takes. A contract test compares it with `dbdyno.faults.FAULTS`.
KEYS: Mapping[str, type[Strict]] = {
    "kill": Ending,
    "pause": Lasting,
    "resume": Alone,
    "stop": Ending,
    "restart": Alone,
    "power_cut": Ending,
    "fsync_error": Lasting,
    "limit": Limit,
    "partition": Partition,
    "link": Link,
    "sql": Sql,
    ALTER: Alter,
    "clock": Clock,
    "nemesis": Nemesis,
    **drills.KEYS,
}


ON_ROUTERS = ("kill", "stop", "restart", "pause", "resume")
ON_ARBITRATORS = (*ON_ROUTERS, *links.ON_LINKS)
ON_VOLUMES = ("power_cut", "fsync_error")  # faults of the disk that a target's `volume` describes


class FaultBase(Strict):
    """Something done to servers at a point in time of a trial."""

    at: Pause = Field(description="start, from the end of the warm-up")
    do: Literal[tuple(KEYS)] = Field(description="which fault")  # type: ignore[valid-type]
    node: Nodes = Field(
        PRIMARY,
        description="`primary`, `replica`, `any` (the trial's seed chooses), `all` (each of them at"
        " once), the name of a node, `router` (what is in front of the nodes), `arbitrator` (the"
        " member of a Galera cluster that has no data), or a list of these",
    )
    target: str | None = Field(
        None, description="name of a target; default: the only one that dyno starts a server for"
    )


def _model(name: str, own: type[Strict]) -> type[FaultBase]:
    bases: Any = (own, FaultBase)
    fields: dict[str, Any] = {"do": (Literal[name], Field(description="which fault"))}
    model: type[FaultBase] = create_model(
        f"{name.title().replace('_', '')}Fault", __base__=bases, __doc__=own.__doc__, **fields
    )
    return model


class _AnyFault(FaultBase):
    """Type of a fault without a known `do`, so that the error is about that."""

    model_config = ConfigDict(extra="allow")


MODELS: Mapping[str, type[FaultBase]] = {name: _model(name, own) for name, own in KEYS.items()}


def _which(fault: Any) -> str | None:
    do = fault.get("do")
    return do if isinstance(do, str) and do in MODELS else None


FaultModel: Any = one_of([*MODELS.items(), ("any", _AnyFault)], _which)


def read(
    models: Sequence[Any],
    targets: Sequence[Target],
    groups: Sequence[Group],
    length: tuple[float, bool],
    root: Written,
) -> tuple[Fault, ...]:
    """The faults of a cell with these targets. `length`: seconds that are measured, and whether the
    trial ends when it is steady. DynoError, with its place, for one that cannot be there."""
    if not models:
        return ()
    written = root.mapping["faults"]
    _refuse_searches(groups, written)
    wrong = partial(_wrong_one, written)
    drills.check_order(models, wrong)
    faults = tuple(
        _Reader(model, written.items[number], targets, length).fault()
        for number, model in enumerate(models)
    )
    drills.check_nodes(faults, {target.name: target for target in targets}, wrong)
    return faults


def _wrong_one(written: Written, number: int, what: str, fix: str) -> DynoError:
    return DynoError(what, where=written.items[number].where, fix=fix)


def _refuse_searches(groups: Sequence[Group], written: Written) -> None:
    for group in groups:
        if group.find:
            raise DynoError(
                f"group `{group.name}` searches for a rate, and there are faults",
                where=written.place,
                cause="each probe would meet them, and no rate holds while a server is down",
                fix="give the group a `rate`",
            )


class _Reader:
    """One fault of a cell."""

    def __init__(
        self, model: Any, written: Written, targets: Sequence[Target], length: tuple[float, bool]
    ) -> None:
        self.model = model
        self.written = written
        self.targets = {target.name: target for target in targets}
        self.duration_s, self.until_steady = length

    def fault(self) -> Fault:
        model = self.model
        self._check_moment()
        target = self._target()
        if model.do == "sql" and not kinds.of(target.kind).speaks_sql:
            title = kinds.of(target.kind).title
            raise self._wrong("do", f"`{target.name}` is {title}, which knows no SQL", "")
        if model.do == ALTER and model.tool not in kinds.of(target.kind).schema_changes:
            able = [name for name, each in kinds.KINDS.items() if model.tool in each.schema_changes]
            what = f"`{model.tool}` changes no table of {kinds.of(target.kind).title}"
            raise self._wrong("do", what, f"use a target of kind {listed(able)}")
        self._check_limits(target)
        drills.check(model, target, self._wrong)
        nodes = self._nodes(target)
        sql = self._sql()
        return Fault(
            at_s=model.at,
            do=model.do,
            nodes=nodes,
            target=target.name,
            for_s=self._for_s(),
            peers=links.peers(model, nodes, target, self._wrong),
            one_way=getattr(model, "one_way", None) or "",
            line=links.line(model),
            sql=sql[0] if sql else "",
            more_sql=tuple(sql[1:]),
            cpu_cores=getattr(model, "cpu", None),
            memory_bytes=getattr(model, "memory", None),
            disk_iops=self._of_disk("iops"),
            disk_bytes_per_s=self._of_disk("bytes_per_s"),
            clock_s=getattr(model, "by", 0.0),
            every_s=getattr(model, "every", 0.0),
            hold_s=getattr(model, "hold", 0.0),
            of=tuple(getattr(model, "of", ())),
            tool=model.tool if model.do == ALTER else drills.tool(model, target),
            logs=drills.logs(model),
            to_s=getattr(model, "to", None),
            version=getattr(model, "version", ""),
            basedir=getattr(model, "basedir", None) or "",
            kind=target.kind if model.do == drills.UPGRADE else "",
            table=getattr(model, "table", ""),
            record=drills.record(model),
        )

    def _sql(self) -> list[str]:
        """The statements of a fault `sql`, the change of `alter`; none of others."""
        key = "change" if self.model.do == ALTER else "sql"
        found: str | list[str] = getattr(self.model, key, [])
        return [found] if isinstance(found, str) else found

    def _of_disk(self, key: str) -> int | None:
        """A limit of the disk, where the fault has one."""
        found: int | None = getattr(getattr(self.model, "disk", None), key, None)
        return found

    def _check_limits(self, target: Target) -> None:
        model, of_disk = self.model, self._of_disk("iops") or self._of_disk("bytes_per_s")
        if model.do == "limit" and not of_disk and model.cpu is None and model.memory is None:
            raise self._wrong("do", "`limit` limits nothing", "add `cpu: 0.5` or `memory: 256Mi`")
        if (model.do in ON_VOLUMES or of_disk) and target.volume is None:
            raise self._wrong(
                "do",
                f"`{model.do}` needs a disk, and target `{target.name}` has none of its own",
                f"add `volume: {{size: 2Gi}}` to target `{target.name}`",
                "its data directory lies in the scratch directory, with those of all others",
            )
        lies = target.volume is not None and target.volume.flushes == IGNORED
        if model.do == "fsync_error" and lies:
            raise self._wrong(
                "do",
                f"no fsync on the volume of target `{target.name}` can fail",
                f"remove `flushes: {IGNORED}` from target `{target.name}`, or the fault",
                f"with `flushes: {IGNORED}` the kernel sends the disk no flush",
            )

    def _for_s(self) -> float | None:
        found: float | None = getattr(self.model, "for_", None)
        return found if found is not None else getattr(self.model, "back_after", None)

    def _check_moment(self) -> None:
        at_s, for_s = self.model.at, self._for_s() or 0.0
        if self.until_steady:
            raise self._wrong(
                "at",
                "a fault is of a trial that ends once it is steady",
                "give a length: `duration: 60s`",
                "a disturbance is not steady, and some trials would end before it",
            )
        if at_s >= self.duration_s:
            raise self._wrong(
                "at",
                f"the fault is not within the trial: it measures {self.duration_s:g} s",
                f"write less than {self.duration_s:g}s, or a longer `duration`",
                "0 is the start of the measured time; the warm-up is before it",
            )
        if at_s + for_s > self.duration_s:
            key = "back_after" if "back_after" in self.written.mapping else "for"
            raise self._wrong(
                key,
                f"the fault ends at {at_s + for_s:g} s, and the trial at {self.duration_s:g} s",
                f"shorten it, leave `{key}` out (it is undone at the end anyway), or measure"
                " longer",
            )

    def _target(self) -> Target:
        name = self.model.target
        if name is not None and name not in self.targets:
            raise self._wrong(
                "target",
                f"a fault is for `{name}`, and no group is sent to such a target",
                did_you_mean(name, self.targets),
            )
        nodes = [name] if name else self._asked()
        named = [t for t in self.targets.values() if {n.name for n in t.linked} & set(nodes)]
        if name is None and named:
            return self._ours(named[0])
        if name is not None:
            return self._ours(self.targets[name])
        ours = [target for target in self.targets.values() if why_not(target) is None]
        if len(ours) > 1:
            raise self._wrong(
                "node",
                "a fault does not say of which target its node is",
                f"add `target:`, one of {listed(target.name for target in ours)}",
            )
        return self._ours(ours[0] if ours else next(iter(self.targets.values())))

    def _ours(self, target: Target) -> Target:
        if reason := why_not(target):
            raise self._wrong("node", f"there can be no fault on target `{target.name}`", *reason)
        return target

    def _asked(self) -> list[str]:
        return [self.model.node] if isinstance(self.model.node, str) else self.model.node

    def _nodes(self, target: Target) -> tuple[str, ...]:
        """The nodes as written, the arbitrator by its name. DynoError for one that the target can
        never have."""
        names = [node.name for node in target.nodes]
        roles = {node.role for node in target.nodes}
        if target.topology is not None and target.topology.failover is not None:
            roles.add(PRIMARY)  # of members, the one that sessions are led to
        for asked in self._asked():
            if asked in names or asked in (ANY_NODE, ALL_NODES) or asked in roles:
                continue
            if self.model.do == "nemesis" and "node" not in self.model.model_fields_set:
                continue  # it draws from all of them
            if asked == ROUTER:
                self._check_router(target)
                continue
            if asked in (ARBITRATOR, target.arbitrator and target.arbitrator.name):
                self._check_arbitrator(target)
                continue
            one = f"name one: {listed(names)}; or `any`"
            alike = "instances" if target.topology is None else "nodes"
            if asked == PRIMARY:
                what, fix = (
                    f"none of the {len(names)} {alike} of `{target.name}` is the primary",
                    one,
                )
            elif asked == REPLICA:
                what = f"target `{target.name}` has no replica"
                fix = "write `node: primary`" if PRIMARY in roles else one
            else:
                what = f"target `{target.name}` has no node `{asked}`"
                fix = did_you_mean(asked, [*names, *drills.ROLES])
            raise self._wrong("node", what, fix)
        arbitrator = {ARBITRATOR: target.arbitrator.name} if target.arbitrator else {}
        return tuple(dict.fromkeys(arbitrator.get(asked, asked) for asked in self._asked()))

    def _check_router(self, target: Target) -> None:
        if target.router is None:
            raise self._wrong(
                "node",
                f"target `{target.name}` has no router",
                "add `router: {kind: haproxy}` to its `topology`, or name a node",
            )
        if self.model.do not in ON_ROUTERS:
            raise self._wrong(
                "node",
                f"`{self.model.do}` cannot be of a router",
                f"use one of {listed(ON_ROUTERS)}, or name a node",
                "it has no data and no links that dyno can cut",
            )

    def _check_arbitrator(self, target: Target) -> None:
        if target.arbitrator is None:
            raise self._wrong(
                "node",
                f"target `{target.name}` has no arbitrator",
                "add `arbitrator: true` to its `topology`, which is `galera`, or name a node",
            )
        for do in self.model.of if self.model.do == "nemesis" else (self.model.do,):
            if do not in ON_ARBITRATORS:
                raise self._wrong(
                    "node",
                    f"`{do}` cannot be of an arbitrator",
                    f"use one of {listed(ON_ARBITRATORS)}, or name a node",
                    "it has no data, and no clients",
                )

    def _wrong(self, key: str, what: str, fix: str, cause: str = "") -> DynoError:
        node = self.written.mapping.get(key)
        where = node.where if node is not None else self.written.where
        return DynoError(what, where=where, cause=cause, fix=fix)


def why_not(target: Target) -> tuple[str, str] | None:
    """Next step and cause where a target's servers can have no fault; None if they can."""
    kind = kinds.of(target.kind)
    if target.url is not None:
        return (
            "use a target that dyno starts (without `url`), or a command of yours under `hooks`",
            "it is an external server, and dyno stops none that it has not started",
        )
    if kind.in_engine or not kind.start_s:
        able = [name for name, each in kinds.KINDS.items() if each.start_s and not each.in_engine]
        return f"use a target of kind {listed(able)}", f"{kind.title} has no server process"
    return None


def sooner(faults: Sequence[Fault], factor: float) -> tuple[Fault, ...]:
    """The faults of a trial that lasts `factor` of the time asked for: in the same order, with the
    same shares of it."""
    return tuple(
        replace(
            fault,
            at_s=fault.at_s * factor,
            for_s=None if fault.for_s is None else fault.for_s * factor,
            every_s=fault.every_s * factor,
            hold_s=fault.hold_s * factor,
            to_s=None if fault.to_s is None else fault.to_s * factor,
        )
        for fault in faults
    )
