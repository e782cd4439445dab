"""What every topology is: how copies of one stopped server become servers that work together."""

from __future__ import annotations

import re
import secrets
import uuid
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Node
from dbdyno.systems import portable_options
from dbdyno.systems.backups.base import Step
from dbdyno.systems.base import Binaries, Resolved, Server, TargetPlan, Word
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.managed import NodeOptions
from dbdyno.systems.process.paths import LOOPBACK, free_port
from dbdyno.topology.arbitrator import Arbitrator

CLIENTS = "clients"  # use of the port of a server that its clients know
LOOK_TIMEOUT_S = 2  # for a server to say what its role is


class NodeServer(Server, Protocol):
    """A managed server of SQL, as topologies ask it."""

    process: Guarded
    port: int
    place: str

    def rows(self, sql: str) -> Sequence[Sequence[Any]]:
        """Runs one statement on the control connection."""

    def look(self, sql: str, timeout_s: int) -> Sequence[Sequence[Any]]:
        """Rows of one statement on a connection of its own, which is not waited for longer."""

    def log_tail(self, lines: int = ...) -> str:
        """The end of its log."""


class Between(Protocol):
    """The network between the nodes of a topology, which leads their connections."""

    def open(self, ports: Mapping[str, Mapping[str, int]]) -> None:
        """Leads connections of all nodes to these ports of the others, from now on; by node, then
        by use of the port. DynoError if it cannot."""

    def environment(self, node: str) -> Mapping[str, str]:
        """What makes a node's process take part."""

    def check(self) -> None:
        """Once all nodes work together: DynoError if they do so without this network."""


@dataclass
class Members:
    """The nodes of one topology: who they are, and what they have in common. `servers` are those
    that were started, by name."""

    target: TargetPlan
    binaries: Binaries
    resolved: Resolved
    servers: dict[str, Server]
    database: str = ""  # that the load goes to
    group: str = field(default_factory=lambda: str(uuid.uuid4()))  # names all of them together
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    certificate: Certificate = field(default_factory=Certificate.make)
    sst_password: str = field(default_factory=lambda: secrets.token_urlsafe(24))  # of Galera
    leader_name: str = ""  # of the node that is the primary now; empty: that of the start
    deposed: set[str] = field(default_factory=set)  # primaries that have not come back since
    detached: set[str] = field(default_factory=set)  # replicas that are servers of their own now
    closing: Any = None  # what keeps the primary closed while another one is being promoted
    arbitrator: Arbitrator | None = None  # once started
    _ports: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All of them, in the order of their start."""
        return self.target.nodes

    def server(self, node: Node) -> Any:
        """The running server of a node, a `NodeServer`."""
        return self.servers[node.name]

    def number(self, node: Node) -> int:
        """Its place in the order, from 1."""
        return self.nodes.index(node) + 1

    def port(self, node: Node, use: str) -> int:
        """A port of a node, or of the arbitrator, besides that of its clients, chosen once for each
        use."""
        key = (node.name, use)
        if key not in self._ports:
            taken = set(self._ports.values())
            found = free_port()
            while found in taken:
                found = free_port()
            self._ports[key] = found
        return self._ports[key]

    def ports(self) -> dict[str, dict[str, int]]:
        """All that were chosen so far, and those of clients of the servers that were started: by
        name of node, then by use."""
        found: dict[str, dict[str, int]] = {node.name: {} for node in self.target.linked}
        for (name, use), port in self._ports.items():
            found[name][use] = port
        for name, server in self.servers.items():
            found[name][CLIENTS] = server.port  # type: ignore[attr-defined]
        return found

    def address(self, node: Node, use: str) -> str:
        """Host and port of `port`."""
        return f"{LOOPBACK}:{self.port(node, use)}"

    def addresses(self, use: str) -> str:
        """Those of all nodes, as lists of seeds have them."""
        return ",".join(self.address(node, use) for node in self.nodes)

    @property
    def leader(self) -> Node:
        """The node that is the primary: the first one, until another takes over. Of members that
        all take writes, the one that sessions are led to."""
        return next((node for node in self.nodes if node.name == self.leader_name), self.nodes[0])

    @property
    def primary(self) -> Any:
        """The server of the node that is the primary."""
        return self.servers[self.leader.name]

    @property
    def waits(self) -> int:
        """The number of replicas that a commit waits for."""
        return self.target.topology.wait_for_replicas if self.target.topology else 0

    @property
    def followers(self) -> tuple[Node, ...]:
        """All other nodes that were started so far, and are not detached."""
        leader = self.leader
        others = (node for node in self.nodes if node != leader)
        started = (node for node in others if node.name in self.servers)
        return tuple(node for node in started if node.name not in self.detached)

    def forget_ports(self, node: Node) -> None:
        """Has new ones chosen: another process was faster."""
        for key in [key for key in self._ports if key[0] == node.name]:
            del self._ports[key]


Start = Callable[[NodeOptions], Server]


class Quorum(NamedTuple):
    """Whether a node belongs to a part of its cluster that may decide."""

    has: bool
    said: str  # by the node


@dataclass(frozen=True)
class Position:
    """How far a replica is in the log of its primary."""

    received: int  # transactions or bytes: what replicas of one primary are compared by
    applied: bool  # whether it has applied all that it has received
    text: str  # as the server says it


class Succession(Protocol):
    """How another node becomes the primary where the nodes do not elect one. Methods may raise
    what client libraries do."""

    @abstractmethod
    def position(self, server: Any) -> Position:
        """Of a replica, asked within LOOK_TIMEOUT_S."""

    @abstractmethod
    def prepare(self, members: Members, node: Node) -> None:
        """Makes a replica ready for others to follow it, before it is promoted."""

    @abstractmethod
    def promote(self, members: Members, node: Node) -> None:
        """Has a replica that has applied everything take writes; returns once it does."""

    @abstractmethod
    def follow(self, members: Members, node: Node) -> str:
        """Has a running node follow the present leader. What came of it, in a sentence's end:
        `follows db.2`."""

    @abstractmethod
    def prepare_return(self, members: Members, node: Node, directory: Path) -> None:
        """Changes the directory of a deposed primary so that it can start as a replica."""

    @abstractmethod
    def return_sql(self) -> tuple[str, ...]:
        """Statements of a node's init file that returns as a replica."""

    # ---- planned work (`planned`)

    @abstractmethod
    def close(self, members: Members) -> Callable[[], None]:
        """Has the primary acknowledge nothing any more; what has it do so again. DynoError, and
        nothing has changed, if it cannot be closed."""

    @abstractmethod
    def drain(self, members: Members, node: Node) -> None:
        """Returns once a replica has all that the closed primary has committed."""

    @abstractmethod
    def retire(self, members: Members, node: Node) -> str:
        """Has a closed primary, which another has replaced, follow that. What came of it."""

    @abstractmethod
    def seeded(self, members: Members, node: Node, directory: Path) -> None:
        """Changes a directory that holds a copy of the leader's data so that it can start as a
        replica."""

    @abstractmethod
    def join(self, members: Members, node: Node, backup: Path) -> str:
        """Has a node that was started on a backup of the leader follow from there on."""

    @abstractmethod
    def forget(self, members: Members, node: Node) -> None:
        """Has the leader keep nothing for a replica that follows no more."""

    @abstractmethod
    def catch_up(self, members: Members, node: Node) -> None:
        """Returns once a replica has applied what the leader has committed by now."""


class Wiring(Protocol):
    """A topology of one kind of server. `resolve` is pure; all others are called in the order in
    which they stand here."""

    topology: str
    kind: str
    logical: bool = False  # see `Topology.logical`
    succession: Succession | None = None  # None: the nodes elect a primary, or all take writes
    # The line of its log by which a server says that it takes writes from now on, with its time
    # (UTC, ISO 8601 or Redis's) as the group `time`; None where logs have whole seconds, or do not
    # say it.
    takes_writes: re.Pattern[str] | None = None
    rejoins: bool = False  # whether a node that has left the others joins them again by itself

    @abstractmethod
    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        """A target's settings with those that all nodes need, as a word for the report. DynoError
        where the user's `config` contradicts them."""

    def check_installed(self, target: TargetPlan, binaries: Binaries) -> None:
        """DynoError with the command that installs it, if a program or library is missing."""
        return

    def seed(self, members: Members, start: Start, directory: Path) -> None:
        """Changes a loaded, stopped directory so that copies of it can become nodes."""
        return

    def prepare(self, members: Members, node: Node, directory: Path) -> None:
        """Changes a node's copy before the node starts for the first time."""
        return

    @abstractmethod
    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        """What a node is started with in its directory."""

    def wire(self, members: Members, node: Node) -> None:
        """Connects a node that was started, for the first time, to those before it."""
        return

    def rewire(self, members: Members, node: Node) -> None:
        """Does what a node that was started again does not do by itself."""
        return

    def accompany(
        self,
        members: Members,
        environment: Callable[[str], Mapping[str, str]],
        cpus: Sequence[int],
        check: Callable[[], None],
    ) -> None:
        """Starts programs that work next to the nodes, as `companions` of their servers, once all
        nodes are wired. `environment`: of a program on the machine of the node of that name.
        `check` is called between slow steps, and raises to end them."""
        return

    @abstractmethod
    def lacking(self, members: Members) -> str:
        """Why they do not work together yet, in the servers' words; empty once they do."""

    @abstractmethod
    def role(self, server: Any) -> str:
        """PRIMARY, REPLICA, MEMBER or DOWN, as the server says within LOOK_TIMEOUT_S. May raise
        what its client library does."""

    def quorum(self, server: Any) -> Quorum | None:
        """What a node says of its quorum within LOOK_TIMEOUT_S; None: it is no member now, or the
        topology has none. May raise what its client library does."""
        return None

    def announced(self, members: Members) -> str | None:
        """The name of the node that is the primary, by what watches the nodes from outside. None:
        nothing does, or it does not answer."""
        return None

    def stores(self, members: Members) -> tuple[tuple[Node, ...], ...]:
        """The nodes that have the same data now, by the part of the data that they have."""
        return (members.nodes,)

    def lag_s(self, members: Members, node: Node) -> float:
        """How far a replica is behind, seconds. DynoError if that is not known."""
        return float(members.server(node).lag_s())

    def define(self, members: Members, statements: Sequence[str]) -> None:
        """Runs statements in the load's database that change its schema, so that all nodes have
        what they make. DynoError if a server refuses."""
        members.primary.run(members.database, statements)

    def remarks(self, members: Members) -> Sequence[str]:
        """What a reader of a trial should know of the nodes and their data, in sentences."""
        return ()

    def seed_again(
        self, members: Members, node: Node, step: Step, check: Callable[[], None]
    ) -> str | None:
        """Makes a node again, whose process is dead and whose data are gone; what it got. None: by
        a backup of the leader, as `planned` does. `step` times parts of it, `check` is called
        between them, and raises to end them."""
        return None

    def engine_options(self, target: TargetPlan, server: Any) -> Mapping[str, Any]:
        """The options of the engine's driver for a node, for a load of the topology."""
        return {}


def with_word(
    target: TargetPlan, resolved: Resolved, wanted: Mapping[str, str], note: str
) -> Resolved:
    """`resolved` with settings of all nodes. DynoError where the user's `config` says something
    else. Defaults of dbdyno that contradict them are dropped."""
    assert target.topology is not None
    config = {name: resolved.settings[name] for name in _plain(target) & set(resolved.settings)}
    word = f"topology: {target.topology.kind}"
    portable_options.merge(target.kind, word, wanted, config)
    count = target.topology.nodes
    nodes = f"{count} node{'s' * (count != 1)}"
    nodes += ", logical replication" if target.topology.logical else ""
    nodes += " and an arbitrator" if target.arbitrator is not None else ""
    return Resolved(
        settings=resolved.settings,
        session_sql=resolved.session_sql,
        words=(*resolved.words, Word(f"{word}, {nodes}", dict(wanted), note)),
        read_only=resolved.read_only,
        load_settings=resolved.load_settings,
        data_settings=resolved.data_settings,
        node_settings=dict(wanted),
    )


def refuse(target: TargetPlan, names: Sequence[str]) -> None:
    """DynoError for a setting in the user's `config` that a topology gives each node itself."""
    assert target.topology is not None
    for name in target.config:
        if name.strip().replace("-", "_").lower() in names:
            raise DynoError(
                f"{target.kind}: `{name}` cannot be set in `config:`",
                cause=f"`topology: {target.topology.kind}` gives each node its own",
                fix=f"remove `{name}`",
            )


def _plain(target: TargetPlan) -> set[str]:
    return {str(name).strip().replace("-", "_").lower() for name in target.config}
