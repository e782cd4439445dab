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
from dbdyno.experiment.targets import names, routers
from dbdyno.experiment.targets.limits import NetworkModel
from dbdyno.experiment.targets.names import DnsModel
from dbdyno.experiment.targets.routers import RouterModel
from dbdyno.experiment.types import (
    CLUSTER,
    GALERA,
    GROUP,
    LOGICAL,
    MARIABACKUP,
    PGPOOL,
    REPLICAS,
    RSYNC,
    SENTINEL,
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
    nodes themselves choose another primary, after a time of their own; `multi_primary`: all nodes
    can be primaries; `survivable`: the fewest nodes of which one can be lost; `shards`: each
    primary has a part of the data, clients know which, and follow by themselves."""

    about: str
    nodes_max: int
    waits: bool = False
    elects: bool = False
    multi_primary: bool = False
    survivable: int = 3  # others must be a majority
    shards: bool = False
    nodes: int = 3  # unless the file says


FORMS: Mapping[str, Form] = {
    GALERA: Form("a Galera cluster: each node has all data and takes writes", 7),
    REPLICAS: Form(
        "a primary and its replicas, which are only read", NODES_MAX, waits=True, survivable=2
    ),
    GROUP: Form(
        "group replication with a single primary, which the group elects, or with `primaries: all`",
        NODES_MAX,
        elects=True,
        multi_primary=True,
    ),
    SENTINEL: Form(
        "a Redis primary and its replicas, a sentinel for each node: the sentinels promote another",
        NODES_MAX,
        waits=True,
    ),
    CLUSTER: Form(
        "a Redis Cluster: each primary has a part of the keys, and its replicas take over",
        NODES_MAX,
        waits=True,
        shards=True,
        nodes=6,
    ),
}
PRIMARIES_MIN = 3  # of a cluster: a majority of them must agree that one is lost
ALL = "all"


class FailoverModel(Strict):
    """Another node takes over from a lost primary. Sessions with `route: primary` reach it by an
    address of dbdyno's own, which leads to whichever node is the primary."""

    after: Duration | None = Field(
        None,
        description=f"time without an answer of the primary after which it is replaced; at least"
        f" {AFTER_MIN_S:g}s, default {AFTER_S:g}s; of `sentinel`: what each sentinel waits before"
        " it takes the primary for down; not of `group` with one primary, which itself decides",
    )


class TopologyModel(Strict):
    """Servers that work together, each started here."""

    kind: Literal["galera", "replicas", "group", "sentinel", "cluster"] = Field(
        description="; ".join(f"`{name}`: {form.about}" for name, form in FORMS.items())
    )
    nodes: Whole | None = Field(
        None,
        ge=1,
        le=NODES_MAX,
        description="number of servers, the primary included; `galera`: at most "
        f"{FORMS[GALERA].nodes_max}; default 3, `cluster`: {FORMS[CLUSTER].nodes}",
    )
    primaries: Literal["one", "all"] | None = Field(
        None,
        description="of `group`: `one` node takes writes, or `all` do (multi-primary mode);"
        " default: one",
    )
    cluster_replicas: Whole | None = Field(
        None,
        ge=0,
        lt=NODES_MAX,
        description="of `cluster`: number of replicas of each primary; the first `nodes / (1 +"
        f" cluster_replicas)` nodes are primaries, at least {PRIMARIES_MIN}; default 1",
    )
    wait_for_replicas: Whole = Field(
        0,
        ge=0,
        lt=NODES_MAX,
        description="of `replicas`, `sentinel` and `cluster`: number of replicas that must have"
        " received a commit before it is acknowledged; 0: asynchronous. MariaDB and MySQL:"
        " semi-synchronous, PostgreSQL: synchronous, Redis: WAIT after each write",
    )
    replication: Literal["physical", "logical"] | None = Field(
        None,
        description="of `replicas` of PostgreSQL: `physical` (default), standbys replay the log of"
        " the primary; `logical`, replicas subscribe to all tables of the load's database and apply"
        " changes of rows, without DDL and sequences",
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
    dns: DnsModel | None = Field(
        None,
        description="`{ttl: 5s}`: sessions find the nodes by names, at a name server on loopback;"
        " needs BIND 9; default: they know addresses",
    )
    arbitrator: bool = Field(
        False,
        description="of `galera`: whether Galera's arbitrator (garbd) is one more member, which has"
        " a vote and no data",
    )
    sst: Literal["rsync", "mariabackup"] | None = Field(
        None,
        description=f"of `galera`: how a node gets all data from another one: `{RSYNC}` (default),"
        f" whose donor takes no writes meanwhile, or `{MARIABACKUP}`, whose donor does",
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
    nodes = form.nodes if model.nodes is None else model.nodes
    if nodes > form.nodes_max:
        raise DynoError(
            f"target `{name}`: `{model.kind}` has {form.nodes_max} nodes at most, not {nodes}",
            where=at["nodes"],
            fix=f"write `nodes: {form.nodes_max}` or fewer",
        )
    _check_primaries(name, model, node)
    replicas = _cluster_replicas(name, model, nodes, node)
    _check_waiting(name, kind, model, replicas if form.shards else nodes - 1, node)
    if form.shards and others["transport"] != "tcp":
        raise DynoError(
            f"target `{name}`: a `{model.kind}` is not reached by `transport:"
            f" {others['transport']}`",
            where=node.mapping["transport"].where,
            cause="its nodes send clients to each other's TCP addresses",
            fix="write `transport: tcp`",
        )
    is_logical = _is_logical(name, kind, model, node)
    failover = _failover(name, kind, model, nodes, others["transport"], node)
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
    _check_galera(name, model, at)
    network = model.network.typed() if model.network is not None else None
    router = None
    if model.router is not None:
        router = routers.typed(
            name, kind, model.router, others["transport"], written.mapping["router"]
        )
    dns = None
    if model.dns is not None:
        dns = names.typed(name, model.dns, others["transport"], form.shards, written)
    return Topology(
        *(model.kind, nodes, model.wait_for_replicas, failover, network, replicas, router),
        dns=dns,
        logical=is_logical,
        multi_primary=model.primaries == ALL,
        arbitrator=model.arbitrator,
        sst=model.sst or RSYNC,
    )


def _check_primaries(name: str, model: TopologyModel, node: Node) -> None:
    """DynoError, with its place, for `primaries` where they follow from the kind."""
    if model.primaries is None or FORMS[model.kind].multi_primary:
        return
    causes = {
        GALERA: "each of its nodes takes writes",
        CLUSTER: "its number of primaries follows from `nodes` and `cluster_replicas`",
    }
    raise DynoError(
        f"target `{name}`: `primaries` means nothing to `{model.kind}`",
        where=node.mapping["topology"].mapping["primaries"].where,
        cause=causes.get(model.kind, "one of its nodes takes writes, and the others follow it"),
        fix=f"remove it; `{GROUP}` can have one primary or all",
    )


def _is_logical(name: str, kind: str, model: TopologyModel, node: Node) -> bool:
    """Whether replicas subscribe to rows. DynoError, with its place, where they cannot, and for
    what does not go with it."""
    if model.replication is None:
        return False
    known, written = kinds.of(kind), node.mapping["topology"].mapping
    if model.kind != REPLICAS or model.replication not in known.replications:
        whose = f"`{model.kind}`" if model.kind != REPLICAS else f"replicas of {known.title}"
        raise DynoError(
            f"target `{name}`: `replication` means nothing to {whose}",
            where=written["replication"].where,
            cause="they replicate in one way only",
            fix="remove it",
        )
    if model.replication != LOGICAL:
        return False
    if model.failover is not None:
        raise DynoError(
            f"target `{name}`: no failover is possible with `replication: {LOGICAL}`",
            where=written["failover"].place,
            cause="a subscriber has no position in the log of another one, so that the others could"
            " not follow it without a gap; nor does it get values of sequences",
            fix="remove `failover`, or write `replication: physical`",
        )
    if model.router is not None:
        _check_router(name, model.router, written["router"])
    return True


def _check_router(name: str, router: RouterModel, written: Node) -> None:
    """In front of subscribers."""
    if router.kind == PGPOOL:
        raise DynoError(
            f"target `{name}`: {PGPOOL} does not go with `replication: {LOGICAL}`",
            where=written.mapping["kind"].where,
            cause="it takes every node for the primary that is not in recovery, and a subscriber is"
            " not",
            fix="use haproxy or pgbouncer, or write `replication: physical`",
        )
    if router.conformance:
        raise DynoError(
            f"target `{name}`: no router is examined with `replication: {LOGICAL}`",
            where=written.mapping["conformance"].where,
            cause="its examination makes tables at the primary, and DDL is not replicated",
            fix="remove `conformance`, or write `replication: physical`",
        )


def _check_galera(name: str, model: TopologyModel, at: Mapping[str, Any]) -> None:
    """DynoError, with its place, for a key of Galera in another topology."""
    if model.kind == GALERA:
        return
    causes = {
        "arbitrator": "garbd is a member of Galera clusters alone",
        "sst": "its nodes do not get their data by Galera's state transfer",
    }
    for key, cause in causes.items():
        if getattr(model, key):
            raise DynoError(
                f"target `{name}`: `{key}` means nothing to `{model.kind}`",
                where=at[key],
                cause=cause,
                fix="remove it",
            )


def _cluster_replicas(name: str, model: TopologyModel, nodes: int, node: Node) -> int:
    """Replicas of each primary of a cluster; 0 for another topology. DynoError, with its place, for
    nodes that cannot be dealt so."""
    written = node.mapping["topology"].mapping
    if not FORMS[model.kind].shards:
        if model.cluster_replicas is None:
            return 0
        raise DynoError(
            f"target `{name}`: `cluster_replicas` means nothing to `{model.kind}`",
            where=written["cluster_replicas"].where,
            cause="all of its nodes have all data",
            fix="remove it; `nodes` is the number of servers",
        )
    replicas = 1 if model.cluster_replicas is None else model.cluster_replicas
    primaries, rest = divmod(nodes, 1 + replicas)
    if rest or primaries < PRIMARIES_MIN:
        fewest = PRIMARIES_MIN * (1 + replicas)
        raise DynoError(
            f"target `{name}`: {nodes} nodes are no cluster with {replicas} replica"
            f"{'s' * (replicas != 1)} of each primary",
            where=(written.get("nodes") or written["kind"]).where,
            cause=f"at least {PRIMARIES_MIN} primaries are needed, each with as many replicas",
            fix=f"write `nodes: {fewest}`"
            if fewest <= NODES_MAX
            else "write `cluster_replicas: 1`, or less",
        )
    return replicas


def _failover(
    name: str, kind: str, model: TopologyModel, nodes: int, transport: str, node: Node
) -> Failover | None:
    """The `failover` of a topology. DynoError, with its place, where no node could take over, or
    no session could follow."""
    if model.failover is None:
        return None
    form, written = FORMS[model.kind], node.mapping["topology"].mapping["failover"]
    after_s = model.failover.after
    elects = form.elects and model.primaries != ALL
    if form.shards:
        raise DynoError(
            f"target `{name}`: `failover` means nothing to `{model.kind}`",
            where=written.place,
            cause="its replicas take over by themselves, and clients follow what its nodes say",
            fix="remove it; `config: {cluster_node_timeout: ...}` says after how many ms a node is"
            " lost",
        )
    if nodes < 2 or nodes + model.arbitrator < form.survivable:
        left = nodes - 1
        vote = " or `arbitrator: true`," if model.kind == GALERA and left else ""
        raise DynoError(
            f"target `{name}`: no failover is possible with `nodes: {nodes}`",
            where=written.place,
            cause="no other node could take over"
            if not left
            else f"the {left} that is left is no majority, and stops taking writes",
            fix=f"write `nodes: {form.survivable}` or more,{vote} or remove `failover`",
        )
    if transport != "tcp":
        raise DynoError(
            f"target `{name}`: sessions cannot follow a primary by `transport: {transport}`",
            where=written.place,
            cause="a socket is that of one server",
            fix="write `transport: tcp`, or remove `failover`",
        )
    if after_s is not None and elects:
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
    left = nodes - 2
    if kinds.of(kind).waits_for_ever and model.wait_for_replicas > left:
        raise DynoError(
            f"target `{name}`: after a failover commits would wait for"
            f" {model.wait_for_replicas} of {left} replicas for ever",
            where=written.place,
            cause=f"{kinds.of(kind).title} waits without a limit of time, and one of the replicas"
            " has become the primary",
            fix=f"write `nodes: {model.wait_for_replicas + 2}` or more, or wait for fewer",
        )
    return Failover(None if elects else after_s or AFTER_S)


def _check_waiting(name: str, kind: str, model: TopologyModel, replicas: int, node: Node) -> None:
    """`replicas`: how many a primary has."""
    waits = model.wait_for_replicas
    if not waits:
        return
    known = kinds.of(kind)
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
            cause="`nodes` counts the primary too"
            if not FORMS[model.kind].shards
            else "`cluster_replicas` is the number of replicas that each primary has",
            fix=f"write `nodes: {waits + 1}` or more"
            if not FORMS[model.kind].shards
            else f"write `cluster_replicas: {waits}` or more",
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
    if target.topology is not None and FORMS[target.topology.kind].shards:
        raise DynoError(
            f"group `{group}`: `route` means nothing to a `{target.topology.kind}`",
            where=where,
            cause="each operation goes to the primary that has its key",
            fix="remove `route`",
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
