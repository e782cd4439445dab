"""`topology:` of a target and `route:` of a group: as written, and what cannot be meant.

`dbdyno.topology` has what starts each of them; here are the checks before anything starts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import listed
from dbdyno.experiment.targets import routers
from dbdyno.experiment.targets.limits import NetworkModel
from dbdyno.experiment.targets.routers import RouterModel
from dbdyno.experiment.types import (
    GALERA,
    GROUP,
    REPLICAS,
    TO_ANY,
    TO_PRIMARY,
    TO_REPLICAS,
    TO_ROUTER,
    Failover,
    Target,
    Topology,
)
from dbdyno.experiment.values.scalars import Duration, Strict, Whole

NODES_MAX = 9
AFTER_S = 1.0
AFTER_MIN_S = 0.2


@dataclass(frozen=True)
class Form:
    """What is known of a kind of topology. `waits`: commits can wait for replicas; `elects`: the
    nodes themselves choose another primary; `survivable`: the fewest nodes of which one can be
    lost."""

    about: str
    nodes_max: int
    waits: bool = False
    elects: bool = False
    survivable: int = 3  # others must be a majority


FORMS: Mapping[str, Form] = {
    GALERA: Form("a Galera cluster: each node has all data and takes writes", 7),
    REPLICAS: Form(
        "a primary and its replicas, which are only read", NODES_MAX, waits=True, survivable=2
    ),
    GROUP: Form(
        "group replication with a single primary, which the group elects", NODES_MAX, elects=True
    ),
}


class FailoverModel(Strict):
    """Another node takes over from a lost primary. Sessions with `route: primary` reach it by an
    address of dbdyno's own, which leads to whichever node is the primary."""

    after: Duration | None = Field(
        None,
        description=f"time without an answer of the primary after which it is replaced; at least"
        f" {AFTER_MIN_S:g}s, default {AFTER_S:g}s; not of `group`, which decides that itself",
    )


class TopologyModel(Strict):
    """Servers that work together, each started here."""

    kind: Literal["galera", "replicas", "group"] = Field(
        description="; ".join(f"`{name}`: {form.about}" for name, form in FORMS.items())
    )
    nodes: Whole = Field(
        3,
        ge=1,
        le=NODES_MAX,
        description="number of servers, the primary included; `galera`: at most "
        f"{FORMS[GALERA].nodes_max}",
    )
    wait_for_replicas: Whole = Field(
        0,
        ge=0,
        lt=NODES_MAX,
        description="of `replicas`: number of replicas that must have received a commit before it"
        " is acknowledged; 0: asynchronous. MariaDB and MySQL: semi-synchronous, PostgreSQL:"
        " synchronous",
    )
    failover: FailoverModel | None = Field(
        None,
        description="`{}` or `{after: 1s}`: another node takes over from a lost primary, and"
        " sessions follow it; default: no node takes over",
    )
    network: NetworkModel | None = Field(
        None,
        description="network between the nodes, the same between any two; default: loopback itself",
    )
    router: RouterModel | None = Field(
        None,
        description="pooler or load balancer in front of the nodes, which groups with"
        " `route: router` use; default: none",
    )


def typed(
    name: str,
    kind: str,
    model: TopologyModel,
    others: Mapping[str, Any],
    node: Node,
) -> Topology:
    """The topology of a target. `others`: its `instances`, `config` and `transport`. DynoError,
    with its place, for one that this kind of server does not have."""
    written = node.mapping["topology"]
    form, known = FORMS[model.kind], kinds.of(kind)
    at = {key: child.where for key, child in written.mapping.items()}
    if model.kind not in known.topologies:
        raise DynoError(
            f"target `{name}`: {known.title} has no topology `{model.kind}`",
            where=at["kind"],
            fix=f"use {listed(known.topologies)}"
            if known.topologies
            else "remove `topology`: each server of this kind is alone",
        )
    if model.nodes > form.nodes_max:
        raise DynoError(
            f"target `{name}`: `{model.kind}` has {form.nodes_max} nodes at most, not"
            f" {model.nodes}",
            where=at["nodes"],
            fix=f"write `nodes: {form.nodes_max}` or fewer",
        )
    _check_waiting(name, kind, model, node)
    failover = _failover(name, kind, model, others["transport"], node)
    if others["instances"] > 1:
        raise DynoError(
            f"target `{name}` has a topology and {others['instances']} instances",
            where=node.mapping["instances"].place,
            cause="`instances` are servers that know nothing of each other",
            fix="remove `instances`; `topology.nodes` is the number of servers",
        )
    if "port" in others["config"]:
        raise DynoError(
            f"target `{name}`: the servers of a topology cannot share the port of `config`",
            where=node.mapping["config"].mapping["port"].place,
            fix="remove `port`: dyno chooses a free one for each",
        )
    network = model.network.typed() if model.network is not None else None
    router = None
    if model.router is not None:
        router = routers.typed(
            name, kind, model.router, others["transport"], written.mapping["router"]
        )
    return Topology(model.kind, model.nodes, model.wait_for_replicas, failover, network, router)


def _failover(
    name: str, kind: str, model: TopologyModel, transport: str, node: Node
) -> Failover | None:
    """The `failover` of a topology. DynoError, with its place, where no node could take over, or
    no session could follow."""
    if model.failover is None:
        return None
    form, written = FORMS[model.kind], node.mapping["topology"].mapping["failover"]
    after_s = model.failover.after
    if model.nodes < form.survivable:
        left = model.nodes - 1
        raise DynoError(
            f"target `{name}`: no failover is possible with `nodes: {model.nodes}`",
            where=written.place,
            cause="no other node could take over"
            if not left
            else f"the {left} that is left is no majority, and stops taking writes",
            fix=f"write `nodes: {form.survivable}` or more, or remove `failover`",
        )
    if transport != "tcp":
        raise DynoError(
            f"target `{name}`: sessions cannot follow a primary by `transport: {transport}`",
            where=written.place,
            cause="a socket is that of one server",
            fix="write `transport: tcp`, or remove `failover`",
        )
    if after_s is not None and form.elects:
        raise DynoError(
            f"target `{name}`: `failover.after` means nothing to `{model.kind}`",
            where=written.mapping["after"].where,
            cause="the group itself decides when its primary is lost",
            fix="write `failover: {}`; `config: {group_replication_member_expel_timeout: ...}` says"
            " how long the group waits",
        )
    if after_s is not None and after_s < AFTER_MIN_S:
        raise DynoError(
            f"target `{name}`: `failover.after` is {after_s:g} s, and at least {AFTER_MIN_S:g} s"
            " are needed",
            where=written.mapping["after"].where,
            cause="a busy primary answers late, and is no lost one",
            fix=f"write `after: {AFTER_MIN_S:g}s` or more",
        )
    left = model.nodes - 2
    if kinds.of(kind).waits_for_ever and model.wait_for_replicas > left:
        raise DynoError(
            f"target `{name}`: after a failover commits would wait for"
            f" {model.wait_for_replicas} of {left} replicas for ever",
            where=written.place,
            cause=f"{kinds.of(kind).title} waits without a limit of time, and one of the replicas"
            " has become the primary",
            fix=f"write `nodes: {model.wait_for_replicas + 2}` or more, or wait for fewer",
        )
    return Failover(None if form.elects else after_s or AFTER_S)


def _check_waiting(name: str, kind: str, model: TopologyModel, node: Node) -> None:
    waits = model.wait_for_replicas
    if not waits:
        return
    known, replicas = kinds.of(kind), model.nodes - 1
    where = node.mapping["topology"].mapping["wait_for_replicas"].where
    if not FORMS[model.kind].waits:
        raise DynoError(
            f"target `{name}`: `wait_for_replicas` means nothing to `{model.kind}`",
            where=where,
            cause="its nodes agree on each commit before it is acknowledged",
            fix="remove it",
        )
    if waits > replicas:
        raise DynoError(
            f"target `{name}`: commits wait for {waits} replicas, and there are {replicas}",
            where=where,
            cause="`nodes` counts the primary too",
            fix=f"write `nodes: {waits + 1}` or more",
        )
    if waits > known.waits_for_replicas:
        raise DynoError(
            f"target `{name}`: {known.title} waits for {known.waits_for_replicas} replica at most",
            where=where,
            fix=f"write `wait_for_replicas: {known.waits_for_replicas}`",
        )


def route(group: str, asked: str | None, target: Target, node: Node, keys: Collection[str]) -> str:
    """The `route` of a group as written, `""` if there is none. DynoError, with its place, where
    it leads to no node. `keys`: those that the file has of the group."""
    if asked is None:
        return ""
    where = node.mapping["route"].where
    if "node" in keys:
        raise DynoError(
            f"group `{group}` has `route` and `node`",
            where=node.mapping["node"].place,
            cause="both say which servers its sessions are sent to",
            fix="remove `node`: `route: primary` means `write`, `route: replicas` means `read`",
        )
    if not target.nodes_for(asked):
        if asked == TO_ROUTER:
            raise DynoError(
                f"group `{group}`: target `{target.name}` has no router",
                where=where,
                fix="add `router: {kind: ...}` to its `topology`, or write `route: primary`",
            )
        names = [each.name for each in target.nodes]
        lacks = asked == TO_REPLICAS
        raise DynoError(
            f"group `{group}`: target `{target.name}` has no "
            + ("replicas" if lacks else f"node `{asked}`"),
            where=where,
            fix="give it a topology of more nodes, or remove `route`"
            if lacks
            else f"use {listed([TO_PRIMARY, TO_REPLICAS, TO_ANY, *names])}",
        )
    return asked
