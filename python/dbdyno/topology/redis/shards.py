"""Redis Cluster: each primary has the keys of a part of the 16384 hash slots, and its replicas take
over when the other primaries agree that it is lost.

The data were loaded into one server. A copy of them becomes the data of each primary, less the keys
of the others' slots; this is done once for a loaded directory. Replicas start empty, and get all of
their primary's. The nodes are joined by the commands that `redis-cli --cluster create` sends.

Sources: Redis documentation, "Redis cluster specification", "Scale with Redis Cluster", and the
pages of the CLUSTER commands.
"""

from __future__ import annotations

import binascii
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import CLUSTER, DOWN, Node
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.process.managed import NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.systems.redis.client import RedisError
from dbdyno.systems.redis.control import in_parts
from dbdyno.topology.base import LOOK_TIMEOUT_S, Members, Start, Wiring, refuse, with_word
from dbdyno.topology.redis import nodes

BUS = "bus"  # use of a node's port: the nodes talk to each other
SLOTS = 16384
SHARDS = "shards"  # in the directory that nodes start on copies of: the data of each primary
WANTED = {"cluster_enabled": "yes"}
OWN = (
    *("cluster_enabled", "cluster_config_file", "cluster_port", "port", "replicaof"),
    *("cluster_announce_ip", "cluster_announce_port", "cluster_announce_bus_port"),
    *("cluster_announce_tls_port", "tls_cluster", "cluster_preferred_endpoint_type"),
)
JOIN_TIMEOUT_S = 60.0
JOIN_POLL_S = 0.05
NOTE = (
    "the first {primaries} nodes are primaries, each with the loaded keys of its part of the slots;"
    " replicas get their primary's"
)
WAITING_NOTE = "; WAIT follows each write"


class Shards(Wiring):
    """See the module."""

    topology = CLUSTER
    kind = "redis"
    rejoins = True

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        topology = target.topology
        assert topology is not None
        refuse(target, OWN)
        nodes.check_target(target)
        note = NOTE.format(primaries=topology.primaries)
        note += WAITING_NOTE * bool(topology.wait_for_replicas)
        made = with_word(target, resolved, {**WANTED, **nodes.wanted(target)}, note)
        parts = {"topology": f"{CLUSTER} of {topology.primaries}"}
        return replace(made, data_settings={**made.data_settings, **parts})

    def seed(self, members: Members, start: Start, directory: Path) -> None:
        """Makes the data of each primary of what was loaded."""
        data, whole, shards = directory / "data", directory / "whole", directory / SHARDS
        data.rename(whole)
        shards.mkdir(mode=0o700)
        for number, slots in enumerate(_parts(members)):
            _copy(members, whole, data)
            server: Any = start(NodeOptions({"cluster_enabled": "no"}))
            try:
                _keep(server, slots)
                server.settle("")
            except BaseException:
                server.stop(discard=True)
                raise
            if not server.stop():
                raise DynoError(
                    "redis did not stop cleanly after its keys were divided",
                    cause="it was killed, or took too long to write its files",
                    fix="look at the memory and the disk of the machine, then run again",
                )
            data.rename(shards / str(number))
        shutil.rmtree(whole)
        (shards / "0").rename(data)

    def prepare(self, members: Members, node: Node, directory: Path) -> None:
        number = members.nodes.index(node)
        if number >= _primaries(members):
            nodes.empty(directory)
        elif number:
            shutil.rmtree(directory / "data")
            (directory / SHARDS / str(number)).rename(directory / "data")
        shutil.rmtree(directory / SHARDS)

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        return NodeOptions({"cluster_port": str(members.port(node, BUS))})

    def wire(self, members: Members, node: Node) -> None:
        """The last node joins them all: only then every node has an address."""
        if node != members.nodes[-1]:
            return
        primaries = members.nodes[: _primaries(members)]
        for number, (each, slots) in enumerate(zip(primaries, _parts(members), strict=True), 1):
            server = members.server(each)
            for first, last in _missing(server, slots):
                server.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", number)
        first = members.server(members.nodes[0])
        for other in members.nodes[1:]:
            first.ask("CLUSTER", "MEET", LOOPBACK, members.server(other).port, _bus(members, other))
        _await(lambda: _strangers(members), "do not all know each other")
        for number, replica in enumerate(members.nodes[len(primaries) :]):
            identity = members.server(primaries[number % len(primaries)]).ask("CLUSTER", "MYID")
            members.server(replica).ask("CLUSTER", "REPLICATE", identity)

    def lacking(self, members: Members) -> str:
        said, replicas = [], 0
        for name, server in members.servers.items():
            about = _cluster_info(server.ask("CLUSTER", "INFO"))  # type: ignore[attr-defined]
            state, known = about["cluster_state"], int(about["cluster_known_nodes"])
            if (state, known) != ("ok", len(members.nodes)):
                said.append(f"{name} sees {known} of {len(members.nodes)} nodes, state {state}")
            replication = server.info("replication")  # type: ignore[attr-defined]
            if replication["role"] != nodes.MASTER:
                replicas += 1
                if replication["master_link_status"] != "up":
                    said.append(f"{name} has no link to its primary")
        wanted = len(members.nodes) - _primaries(members)
        if replicas != wanted:
            said.append(f"{replicas} of {wanted} nodes are replicas")
        return "; ".join(said)

    def role(self, server: Any) -> str:
        about = _cluster_info(server.look(LOOK_TIMEOUT_S, "CLUSTER", "INFO"))
        return nodes.role(server) if about["cluster_state"] == "ok" else DOWN

    def stores(self, members: Members) -> tuple[tuple[Node, ...], ...]:
        """A primary and its replicas; a node that does not answer is alone."""
        found: dict[int, list[Node]] = {}
        for node in members.nodes:
            server: Any = members.server(node)
            try:
                said = server.look(LOOK_TIMEOUT_S, "ROLE")
            except (RedisError, OSError):
                said = [nodes.MASTER]
            port = server.port if said[0] == nodes.MASTER else int(said[2])
            found.setdefault(port, []).append(node)
        return tuple(tuple(store) for store in found.values())

    def engine_options(self, target: TargetPlan, server: Any) -> Mapping[str, Any]:
        waits = target.topology.wait_for_replicas if target.topology else 0
        return {
            "announced": f"{LOOPBACK}:{server.port}",
            **({"wait_replicas": waits} if waits else {}),
        }


def slot(key: str) -> int:
    """The hash slot of a key: CRC16 (XMODEM) of it, or of what its first braces hold."""
    raw = key.encode()
    _, opened, after = raw.partition(b"{")
    tag, closed, _ = after.partition(b"}")
    return binascii.crc_hqx(tag if opened and closed and tag else raw, 0) % SLOTS


def _primaries(members: Members) -> int:
    assert members.target.topology is not None
    return members.target.topology.primaries


def _parts(members: Members) -> list[range]:
    """The slots of each primary: equal parts, give or take one slot."""
    count = _primaries(members)
    bounds = [round(SLOTS * number / count) for number in range(count + 1)]
    return [range(first, end) for first, end in pairwise(bounds)]


def _keep(server: Any, slots: range) -> None:
    """Removes all keys of other slots."""
    others = (key for key in server.keys("*") if slot(key) not in slots)
    for some in in_parts(others):
        server.ask("UNLINK", *some)


def _missing(server: Any, slots: range) -> Iterator[tuple[int, int]]:
    """Ranges of a part that a node alone has not taken for the keys that it has."""
    taken = {
        number
        for first, last, *_ in server.ask("CLUSTER", "SLOTS")
        for number in range(int(first), int(last) + 1)
    }
    begun: int | None = None
    for number in (*slots, None):
        is_missing = number is not None and number not in taken
        if is_missing and begun is None:
            begun = number
        elif not is_missing and begun is not None:
            yield begun, (slots.stop if number is None else number) - 1
            begun = None


def _bus(members: Members, node: Node) -> int:
    return members.port(node, BUS)


def _strangers(members: Members) -> list[str]:
    """Nodes that do not know all others yet."""
    return [
        node.name for node in members.nodes if _known(members.server(node)) < len(members.nodes)
    ]


def _known(server: Any) -> int:
    """How many nodes a node has shaken hands with, itself included."""
    lines = str(server.ask("CLUSTER", "NODES")).splitlines()
    return sum("handshake" not in line.split()[2].split(",") for line in lines)


def _await(lacking: Callable[[], Sequence[str]], what: str) -> None:
    deadline = time.monotonic() + JOIN_TIMEOUT_S
    while names := lacking():
        if time.monotonic() > deadline:
            raise DynoError(
                f"{', '.join(names)} {what} within {JOIN_TIMEOUT_S:.0f} s",
                cause="a very busy machine, or a bus port that is taken",
                fix="try again; the servers' logs say more",
            )
        time.sleep(JOIN_POLL_S)


def _cluster_info(text: Any) -> dict[str, str]:
    return dict(line.split(":", 1) for line in str(text).splitlines() if ":" in line)


def _copy(members: Members, source: Path, target: Path) -> None:
    """Copies a stopped server's files; keeps their owner."""
    done = members.binaries.host.run(
        ["cp", "-a", "--reflink=auto", "--", source, target], timeout_s=3600.0
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise DynoError(
            f"cannot copy {source} to {target}: {lines[-1] if lines else 'cp failed'}",
            cause="the disk is full" if "No space left" in done.stderr else "",
            fix="free space, or choose other storage with --scratch",
        )


WIRING = Shards()
