"""One target of a cell with the servers of its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from dbdyno import topology
from dbdyno.execute.engine.request import DATABASE
from dbdyno.execute.servers.network.between import Between
from dbdyno.execute.servers.network.links import Links, Measured
from dbdyno.execute.servers.network.names import NamedNodes
from dbdyno.experiment.types import (
    CLUSTER,
    MEMBER,
    PRIMARY,
    REPLICA,
    REPLICAS,
    TO_PRIMARY,
    TO_REPLICAS,
    Network,
    Node,
)
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.plan.types import Cell
from dbdyno.storage.probe import Examined
from dbdyno.storage.volume import Volume
from dbdyno.systems.base import Binaries, Resolved, Server, System, TargetPlan
from dbdyno.systems.external.server import RemoteServer
from dbdyno.systems.preloaded import environment as preloaded
from dbdyno.systems.preloaded.clock import SkewedClock
from dbdyno.systems.process.managed import Managed, ManagedSystem, NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology import Cluster, names, routers
from dbdyno.topology.arbitrator import Arbitrator
from dbdyno.topology.names import NameServer
from dbdyno.topology.routers import RunningRouter

ACCESS_FOLLOWS = ("write", TO_PRIMARY, "read", TO_REPLICAS)  # those that name a role


@dataclass
class Deployment:
    """One target of a cell, and its servers once started."""

    target: TargetPlan
    system: System
    binaries: Binaries
    resolved: Resolved
    servers: dict[str, Server] = field(default_factory=dict)  # by their nodes' names
    database: str = DATABASE  # the schema that the load goes to
    cluster: Cluster | None = None  # of a target with a topology
    through: dict[str, int] = field(default_factory=dict)  # ports of relays, by node
    network: Measured | None = None  # between the load and its servers
    addresses: dict[str, int] = field(default_factory=dict)  # ports of those that follow roles
    _accesses: Collection[str] = ()  # of the groups that use it
    volumes: Mapping[str, Volume] = field(default_factory=dict)  # of its nodes, by name
    examined: Examined | None = None  # what was seen of its volumes, where it has any
    between: Between | None = None  # the network between its nodes
    router: RunningRouter | None = None  # in front of them, once started
    name_server: NameServer | None = None  # where clients find its nodes by names
    named: NamedNodes | None = None  # these nodes, once the load may connect
    # Of its nodes, by name, where faults put them forward or back.
    clocks: Mapping[str, SkewedClock] = field(default_factory=dict)

    def start(
        self,
        place: Callable[[Node], Path],
        cpus: Sequence[int] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Starts all servers, each in the directory that `place` makes for its node; those of a
        topology work together then. `check` is called between slow steps, and raises to end
        them."""
        if self.target.topology is not None:
            self.cluster = topology.cluster(
                *(self.target, self.system, self.binaries, self.resolved),
                *(self.servers, cpus, check),
                between=self.between,
                environment=self.environment,
                database=self.database,
            )
            self.cluster.start(place)
            self._start_router(cpus, check)
            self._start_name_server()
            return
        for node in self.target.nodes:
            check()
            given = NodeOptions(environment=self.environment(node.name))
            start = self.system.start
            if given.environment:  # of managed servers: others have no process of their own
                start = partial(cast("ManagedSystem", self.system).start, node=given)
            self.servers[node.name] = start(self.binaries, place(node), self.resolved, cpus)

    def environment(self, name: str) -> dict[str, str]:
        """What the process of a node is given, for the network between the nodes and for its
        clock."""
        between = {} if self.between is None else self.between.environment(name)
        clock = self.clocks[name].environment if name in self.clocks else {}
        return preloaded.together(between, clock)

    def _start_router(self, cpus: Sequence[int], check: Callable[[], None]) -> None:
        if self.target.router is None:
            return
        assert self.cluster is not None
        login = self.engine_target(self.servers[self.cluster.leader])
        self.router = routers.start(
            *(self.target, self.system, self.binaries.host, self.cluster, self.servers, login),
            *(cpus, check),
        )

    def _start_name_server(self) -> None:
        assert self.target.topology is not None
        if (dns := self.target.topology.dns) is not None:
            account = cast("ManagedSystem", self.system).account
            self.name_server = names.start(self.binaries.host, account, dns.ttl_s)

    def stop_router(self) -> None:
        """Ends what is in front of the servers: the router, and all sessions through it, and the
        name server; and the arbitrator next to them."""
        if self.cluster is not None:
            self.cluster.close_arbitrator()
        if self.router is not None:
            self.router.close()
            self.router = None
        if self.name_server is not None:
            self.name_server.stop()
            self.name_server = self.named = None

    @property
    def arbitrator(self) -> Arbitrator | None:
        """The member of its topology that has a vote and no data, once started."""
        return None if self.cluster is None else self.cluster.arbitrator

    @property
    def written(self) -> dict[str, Server]:
        """Those that take writes, by name: not the replicas. Of a topology the primary, whichever
        that is by now."""
        if self.cluster is not None and self.cluster.leader in self.servers:
            return {self.cluster.leader: self.servers[self.cluster.leader]}
        return self._started("write")

    def define(self, name: str, statements: Sequence[str]) -> None:
        """Runs statements that change the schema of the load's database at a node that takes
        writes, for all nodes that have its data. DynoError if a server refuses."""
        if self.cluster is not None:
            self.cluster.define(statements)
        else:
            self.servers[name].run(self.database, statements)

    @property
    def replicas(self) -> Mapping[str, Follower | RemoteServer]:
        """Those that follow another one by its log, as metrics call them: `read1`, `node2`."""
        topology = self.target.topology
        if topology is not None and topology.kind != REPLICAS:
            return {}  # others' nodes do not say in seconds how far they are
        names = (node.name for node in self.target.nodes if node.role == REPLICA)
        started = [name for name in names if name in self.servers]
        if self.cluster is not None:
            return {self._label(name): Follower(self.cluster, name) for name in started}
        found = {self._label(name): self.servers[name] for name in started}
        return cast("dict[str, RemoteServer]", found)

    def remarks(self) -> Sequence[str]:
        """What a reader of a trial should know of its nodes and their data, in sentences."""
        return () if self.cluster is None else self.cluster.remarks()

    @property
    def node_servers(self) -> dict[str, Server]:
        """Each server of a topology, as metrics call it: `node1`, `node2`; empty without one."""
        if self.cluster is None:
            return {}
        return {self._label(name): server for name, server in self.servers.items()}

    def _label(self, name: str) -> str:
        own = name.removeprefix(self.target.name).removeprefix(".")
        return own if self.target.topology is None else f"node{own or 1}"

    def roles(self) -> dict[str, str]:
        """The role of each node, by name. Nodes of a topology say what they are now: PRIMARY,
        REPLICA, MEMBER or DOWN. Others are what the experiment calls them, also when they are down
        or hang. Of members the one that sessions are led to is the primary."""
        if self.cluster is not None:
            roles, leader = self.cluster.roles(), self.cluster.leader
            if self.follows and roles[leader] == MEMBER:
                roles[leader] = PRIMARY
            return roles
        return {node.name: node.role for node in self.target.nodes}

    def is_fenced(self, name: str) -> bool:
        """Whether a failover has killed a node."""
        return self.cluster is not None and self.cluster.is_fenced(name)

    def alive(self) -> bool:
        """Whether every server that is written to still answers; those of a topology are all what
        they were at its start."""
        if self.router is not None and not self.router.alive():
            return False
        if self.name_server is not None and not self.name_server.alive():
            return False
        if self.cluster is not None:
            return self.cluster.healthy()
        return bool(self.written) and all(server.alive() for server in self.written.values())

    def _started(self, access: str) -> dict[str, Server]:
        names = (node.name for node in self.target.nodes_for(access))
        return {name: self.servers[name] for name in names if name in self.servers}

    @property
    def server(self) -> Server | None:
        """The first one, which speaks for all where they are alike."""
        return next(iter(self.written.values()), None)

    @property
    def kind(self) -> str:
        """What it is: behind a URL that names a protocol there may be another kind."""
        return str(getattr(self.server, "kind", self.target.kind))

    @property
    def sampled(self) -> Server | MergedServers | TopologyServers | None:
        """Whose metrics are the target's: of several servers the sums; of a topology the counters
        of its first node, and the processes of all, those of its router and its arbitrator
        included; of a cluster whose primaries share the load the sums over these."""
        if self.cluster is not None and self.server is not None:
            everyone = tuple(self.servers.values())
            primaries = everyone[: self.shards]
            first = MergedServers(primaries) if len(primaries) > 1 else self.server
            more = (each for each in (self.router, self.arbitrator) if each is not None)
            return TopologyServers(first, (*everyone, *more))
        servers = tuple(self.written.values())
        return MergedServers(servers) if len(servers) > 1 else self.server

    @property
    def shards(self) -> int:
        """How many nodes take writes at the start, each for a part of the data; 0: there are no
        parts."""
        topology = self.target.topology
        return topology.primaries if topology is not None and topology.kind == CLUSTER else 0

    def engine_targets(self) -> dict[str, dict[str, Any]]:
        """How the engine reaches each of its servers, by the engine's name for it: through their
        network, where they have one."""
        found = {name: self._node_target(server) for name, server in self.servers.items()}
        if self.router is not None:
            found[self.router.name] = {**found[self.target.name], "address": at(self.router.port)}
        for name, port in self.through.items():
            found[name]["address"] = at(port)
        # All nodes have one password and one certificate.
        for name, port in self.addresses.items():
            found[name] = {**found[self.target.name], "address": at(port)}
        return found

    @property
    def follows(self) -> bool:
        """Whether sessions follow a new primary."""
        topology = self.target.topology
        return self.cluster is not None and topology is not None and topology.failover is not None

    @property
    def has_quorums(self) -> bool:
        """Whether its nodes say whether they have a quorum."""
        return self.cluster is not None and self.cluster.has_quorums

    def reached_by(self, access: str) -> tuple[str, ...]:
        """The engine's names of what a group's sessions are dealt over."""
        if self.shards:
            return tuple(node.name for node in self.target.nodes)  # the driver chooses
        if self.follows and access in ACCESS_FOLLOWS:
            return tuple(self._led_to([access], ()))
        return tuple(node.name for node in self.target.nodes_for(access))

    def _led_to(self, accesses: Collection[str], down: Collection[str]) -> dict[str, str]:
        """Where addresses lead now, by the engine's names for them: one to the primary, and as many
        to replicas as there are, each to its own node, or to another that is no primary and not
        `down`. Where no such node is left, each leads to its own, which may be the new primary:
        with two nodes it is, as long as the old one is down."""
        assert self.cluster is not None
        names, leader = self.cluster.names, self.cluster.leader
        found: dict[str, str] = {}
        if set(accesses) & set(ACCESS_FOLLOWS[:2]):
            found[f"{self.target.name}.primary"] = leader
        if set(accesses) & set(ACCESS_FOLLOWS[2:]):
            able = [name for name in names if name != leader and name not in down]
            for number, own in enumerate(names[1:], 1):
                other = able[(number - 1) % len(able)] if able else own
                found[f"{self.target.name}.replica{number}"] = own if own in able else other
        return found

    def connect(self, links: Links, cell: Cell) -> None:
        """Puts the target's network between the load and its servers; one without conditions where
        faults of the cell change them. Sessions of the cell's groups may follow roles."""
        accesses = {group.access for group in cell.groups if group.target == self.target.name}
        network = self.target.limits.network
        struck = any(fault.is_on_clients for fault in self._faults(cell))
        if network is None and (struck or self.name_server is not None):
            network = Network()
        started = {
            name: server.port
            for name, server in self.servers.items()
            if isinstance(server, Managed)
        }
        if self.router is not None:
            started[self.router.name] = self.router.port
        links.set(self.target.name, network, started)
        self.through = links.ports(tuple(started))
        self.network = links.measured(tuple(started))
        self._accesses = accesses
        led = self._led_to(accesses, ()) if self.follows else {}
        links.set(self.target.name, None, dict.fromkeys(self.addresses.keys() - led.keys(), 0))
        links.set(self.target.name, Network(), {name: self._port(led[name]) for name in led})
        self.addresses = links.ports(tuple(led))
        if self.network is None:  # the relay alone
            self.network = links.measured(tuple(led))
        if self.name_server is not None:
            self._connect_by_names(links, started, led)

    def _connect_by_names(
        self, links: Links, started: Mapping[str, int], led: Mapping[str, str]
    ) -> None:
        """Has sessions find nodes, and those that have a role, by their names."""
        topology = self.target.topology
        assert topology is not None and topology.dns is not None
        assert self.name_server is not None and links.relay is not None
        if self.named is None:
            self.named = NamedNodes(links.relay, self.name_server, topology.dns.keep_s)
        self.named.open(started, {**{name: name for name in started}, **led})

    @property
    def leads_to_replicas(self) -> bool:
        """Whether sessions leave a replica that is down."""
        return any(name.startswith(f"{self.target.name}.replica") for name in self.addresses)

    def lead(self, links: Links, down: Collection[str] = ()) -> None:
        """Has all addresses lead where they should by now, not to nodes that are `down`. The
        connections of those that change are reset. A router that does not find the new primary by
        itself gets its address."""
        if self.router is not None and self.cluster is not None:
            self.router.lead(self.cluster.leader)
        led = self._led_to(self._accesses, down)
        if self.named is not None:
            self.named.lead(led)
            return
        for address, name in led.items():
            links.lead(address, self._port(name))

    def _port(self, name: str) -> int:
        """Where a node is reached: through its network, if it has one."""
        return self.through.get(name) or int(getattr(self.servers[name], "port", 0))

    def is_relayed_in(self, cell: Cell) -> bool:
        """Whether its nodes reach each other by a relay in a cell."""
        topology = self.target.topology
        if topology is None:
            return False
        struck = any(fault.is_between_nodes for fault in self._faults(cell))
        return topology.network is not None or struck

    def has_clocks_in(self, cell: Cell) -> bool:
        """Whether faults put its nodes' clocks forward or back in a cell."""
        return any(fault.is_on_clocks for fault in self._faults(cell))

    def _faults(self, cell: Cell) -> list[Fault]:
        return [fault for fault in cell.faults if fault.target == self.target.name]

    def _node_target(self, server: Server) -> dict[str, Any]:
        """`engine_target` with what the driver must know of the topology."""
        found, wiring = self.engine_target(server), topology.of(self.target)
        if wiring is None:
            return found
        own = wiring.engine_options(self.target, server)
        return {**found, "options": {**own, **found["options"]}}

    def engine_target(self, server: Server) -> dict[str, Any]:
        """How the load reaches one of its servers: with the user's session statements after
        dbdyno's, so that they have the last word, except on whether sessions may write."""
        found = server.engine_target(self.target, self.resolved, self.database)
        return {
            **found,
            "session_sql": [*found["session_sql"], *self.target.session],
            "read_only": self.resolved.read_only,
        }


def at(port: int) -> dict[str, Any]:
    """A port on loopback, as the engine's plan has addresses."""
    return {"tcp": {"host": LOOPBACK, "port": port}}


class HasProcess(Protocol):
    """What has a process of its own."""

    @property
    def pid(self) -> int | None:
        """None once it has ended."""


@dataclass(frozen=True)
class Follower:
    """A replica of a topology, as samplers ask it."""

    cluster: Cluster
    name: str

    def lag_s(self) -> float:
        """How far it is behind, seconds."""
        return self.cluster.lag_s(self.name)


class MergedServers:
    """Several servers as one, for samplers: counters and sessions are sums."""

    def __init__(self, servers: Sequence[Server]) -> None:
        assert servers
        self._servers = tuple(servers)

    @property
    def pid(self) -> tuple[int, ...] | None:
        """Of all that have processes of their own."""
        return tuple(server.pid for server in self._servers if server.pid is not None) or None

    @property
    def directory(self) -> Path | None:
        """Of the first: all lie on one file system."""
        return self._servers[0].directory

    def counters(self) -> dict[str, float]:
        """Sums over the servers."""
        total: Counter[str] = Counter()
        for server in self._servers:
            total.update(server.counters())  # type: ignore[arg-type]
        return {name: float(value) for name, value in total.items()}

    def gauges(self) -> frozenset[str]:
        """Of the first: they are alike."""
        return self._servers[0].gauges()

    def sessions_by_state(self) -> dict[str, int]:
        """Sums over the servers."""
        total: Counter[str] = Counter()
        for server in self._servers:
            total.update(server.sessions_by_state())
        return dict(total)


class TopologyServers:
    """A topology as one server, for samplers: what its first node counts, which executes or
    applies every commit, and the processes of all nodes."""

    def __init__(self, first: Server | MergedServers, servers: Sequence[HasProcess]) -> None:
        """`servers`: those with processes, and a router."""
        self._first = first
        self.directory = first.directory
        self.counters = first.counters
        self.gauges = first.gauges
        self.sessions_by_state = first.sessions_by_state
        self._servers = tuple(servers)

    @property
    def pid(self) -> tuple[int, ...] | None:
        """Of all nodes, and of their router."""
        return tuple(server.pid for server in self._servers if server.pid is not None) or None
