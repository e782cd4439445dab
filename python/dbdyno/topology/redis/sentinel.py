"""A primary of Redis and its replicas, with a sentinel for each node.

The sentinels watch all nodes and each other, and promote a replica once a majority of them agrees
that the primary is down. A sentinel runs on the machine of its node, so to speak: in the
same network between the nodes; faults of the server leave it. Where sentinels differ on which
node is the primary, the one with the highest epoch of the configuration is right: that is what
clients that listen to `+switch-master` hear last.

Sources: Redis documentation, "High availability with Redis Sentinel", "Sentinel client spec", the
comments of sentinel.conf.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dbdyno.experiment.types import PRIMARY, SENTINEL, Node
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.process.account import account_for, private_directory, private_file
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.managed import ENVIRONMENT, NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.systems.redis.settings import configuration
from dbdyno.topology.base import LOOK_TIMEOUT_S, Members, Wiring, refuse, with_word
from dbdyno.topology.redis import nodes

WATCH = "sentinel"  # use of a node's port
GROUP = "dbdyno"  # what the sentinels call the nodes together
OWN = ("replica_announce_ip", "replica_announce_port", "replicaof", "slaveof")
AFTER_S = 1.0  # of a topology without `failover`
# How long sentinels wait until they try again what they could not do. Redis's own is three minutes.
TRY_AGAIN_S = 10.0
NOTE = (
    "the first node starts on a copy of the loaded data, the others get it from there; a sentinel"
    " for each node"
)
WAITING_NOTE = "; WAIT follows each write"


class Sentinel(Wiring):
    """See the module."""

    topology = SENTINEL
    kind = "redis"
    rejoins = True
    takes_writes = re.compile(
        r"^ *\S+ (?P<time>\d+ \w{3} \d{4} [\d:.]+) \* MASTER MODE enabled", re.M
    )

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        assert target.topology is not None
        refuse(target, OWN)
        nodes.check_target(target)
        note = NOTE + WAITING_NOTE * bool(target.topology.wait_for_replicas)
        return with_word(target, resolved, nodes.wanted(target), note)

    def prepare(self, members: Members, node: Node, directory: Path) -> None:
        if node != members.nodes[0]:
            nodes.empty(directory)

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        members.port(node, WATCH)  # known before any node connects to another
        return NodeOptions()

    def wire(self, members: Members, node: Node) -> None:
        if node != members.leader:
            members.server(node).ask("REPLICAOF", LOOPBACK, members.primary.port)

    def rewire(self, members: Members, node: Node) -> None:
        """A node that is not the primary follows it again, as the configuration file would say that
        sentinels have it rewrite: the one that these have announced by now, which sessions may not
        have followed yet, or never do without `failover`. What else is wrong with a node they mend
        by themselves, after some seconds."""
        primary = self.announced(members) or members.leader.name
        if node.name != primary:
            port = members.servers[primary].port  # type: ignore[attr-defined]
            members.server(node).ask("REPLICAOF", LOOPBACK, port)

    def accompany(
        self,
        members: Members,
        environment: Callable[[str], Mapping[str, str]],
        cpus: Sequence[int],
        check: Callable[[], None],
    ) -> None:
        """Starts the sentinels once all replicas follow, so that their first question to the
        primary finds all of them; the next one comes 10 s later."""
        servers: dict[str, Any] = dict(members.servers)
        port = members.primary.port
        nodes.await_following(servers, {each.name: port for each in members.followers}, check)
        for node in members.nodes:
            self._start(members, node, environment(node.name), cpus)

    def _start(
        self, members: Members, node: Node, environment: Mapping[str, str], cpus: Sequence[int]
    ) -> None:
        server = members.server(node)
        account = account_for(nodes.ACCOUNT)
        # It rewrites its file, by another one in the same directory.
        directory = private_directory(server.directory / "sentinel", account)
        file = private_file(directory / "sentinel.conf", _configuration(members, node), account)
        process = Guarded(host=members.binaries.host, account=account)
        server.companions.append(process)
        process.launch(
            [members.binaries.paths["server"], file, "--sentinel"],
            environment={**ENVIRONMENT, "HOME": str(directory), **environment},
            log=server.directory / "sentinel.log",
            cpus=cpus,
        )

    def lacking(self, members: Members) -> str:
        said = [*_sentinels_lack(members)]
        roles = {name: self._said_role(server) for name, server in members.servers.items()}
        leading = [name for name, role in roles.items() if role == PRIMARY]
        announced = self.announced(members)
        if leading != [announced]:
            said.append(f"{', '.join(leading) or 'no node'} leads, and {announced} is announced")
            return "; ".join(said)
        port = members.servers[leading[0]].port  # type: ignore[attr-defined]
        for name, server in members.servers.items():
            if name not in leading and not nodes.is_following(server, port):
                said.append(f"{name} does not follow {leading[0]}")
        return "; ".join(said)

    def _said_role(self, server: Any) -> str:
        return self.role(server) if server.process.alive() else ""

    def role(self, server: Any) -> str:
        return nodes.role(server)

    def engine_options(self, target: TargetPlan, server: Any) -> Mapping[str, Any]:
        waits = target.topology.wait_for_replicas if target.topology else 0
        return {"wait_replicas": waits} if waits else {}

    def announced(self, members: Members) -> str | None:
        """The name of the node that the sentinels call the primary; None if none answers."""
        with ThreadPoolExecutor(len(members.nodes)) as pool:
            answers = list(pool.map(lambda node: _announced(members, node), members.nodes))
        found = [answer for answer in answers if answer is not None]
        if not found:
            return None
        _, port = max(found)
        for name, server in members.servers.items():
            if server.port == port:  # type: ignore[attr-defined]
                return name
        return None


def _announced(members: Members, node: Node) -> tuple[int, int] | None:
    """What one sentinel says: the epoch of its configuration, and the primary's port."""
    try:
        client = _client(members, node)
        try:
            _, port = client.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP)
            return int(_facts(client)["config-epoch"]), int(port)
        finally:
            client.close()
    except Exception:  # it is down, or hangs
        return None


def _sentinels_lack(members: Members) -> list[str]:
    """What each sentinel does not know yet."""
    others, said = len(members.nodes) - 1, []
    for node in members.nodes:
        client = _client(members, node)
        try:
            facts = _facts(client)
        finally:
            client.close()
        for what, known in (
            ("replicas", int(facts["num-slaves"])),
            ("other sentinels", int(facts["num-other-sentinels"])),
        ):
            if known < others:
                said.append(f"the sentinel of {node.name} knows {known} of {others} {what}")
        if facts["flags"] != "master":
            said.append(f"the sentinel of {node.name} calls the primary {facts['flags']}")
    return said


def _client(members: Members, node: Node) -> Any:
    port = members.port(node, WATCH)
    return members.server(node).client_at(port, LOOK_TIMEOUT_S)


def _facts(client: Any) -> dict[str, str]:
    flat = client.call("SENTINEL", "MASTER", GROUP)
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _configuration(members: Members, node: Node) -> str:
    topology = members.target.topology
    assert topology is not None
    failover = topology.failover
    after_s = AFTER_S if failover is None or failover.after_s is None else failover.after_s
    majority = len(members.nodes) // 2 + 1
    own = {
        "bind": LOOPBACK,
        "port": str(members.port(node, WATCH)),
        "dir": str(members.server(node).directory / "sentinel"),
        "daemonize": "no",
        "logfile": "",
        "requirepass": members.password,
    }
    watched = (
        f"monitor {GROUP} {LOOPBACK} {members.primary.port} {majority}",
        f"auth-pass {GROUP} {members.password}",
        f"down-after-milliseconds {GROUP} {round(after_s * 1000)}",
        f"failover-timeout {GROUP} {round(TRY_AGAIN_S * 1000)}",
    )
    return configuration(own) + "".join(f"sentinel {line}\n" for line in watched)


WIRING = Sentinel()
