"""The nodes of one topology: started in order, wired, asked for their roles, started again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, Node
from dbdyno.systems.base import Binaries, Resolved, Server, TargetPlan
from dbdyno.systems.process.managed import ManagedSystem, NodeOptions
from dbdyno.systems.process.starting import PortTaken
from dbdyno.topology.base import Between, Members, NodeServer, Wiring

READY_TIMEOUT_S = 120.0
POLL_S = 0.05
TRIES = 3  # starts of a node whose ports another process took meanwhile
LOG_LINES = 12  # of each node, in an error


def start_node(
    system: ManagedSystem,
    members: Members,
    directory: Path,
    cpus: Sequence[int],
    options: NodeOptions,
) -> Server:
    """Starts one server with the settings of all nodes and its own, which it is not asked about."""
    resolved = members.resolved
    asked = {k: v for k, v in resolved.asked.items() if k not in options.settings}
    with_node = replace(resolved, settings=asked, node_settings={})
    return system.start(members.binaries, directory, with_node, cpus, options)


class Cluster:
    """Servers that work together. `servers` is filled as they start, so that their owner can
    stop them whatever happens."""

    def __init__(
        self,
        wiring: Wiring,
        system: ManagedSystem,
        target: TargetPlan,
        binaries: Binaries,
        resolved: Resolved,
        servers: dict[str, Server],
        cpus: Sequence[int] = (),
        check: Callable[[], None] = lambda: None,
        between: Between | None = None,
    ) -> None:
        """`check` is called between slow steps, and raises to end them. `between`: the network that
        the nodes reach each other by; None: they do so directly."""
        self._wiring = wiring
        self._system = system
        self._cpus = cpus
        self._check = check
        self._between = between
        self._members = Members(target, binaries, resolved, servers)
        self._roles: dict[str, str] = {}  # once all were ready

    def start(self, place: Callable[[Node], Path]) -> None:
        """Starts all nodes, each in the directory that `place` makes of the loaded data. DynoError
        that says what the servers say, if they do not work together in time."""
        for node in self._members.nodes:
            self._check()
            directory = place(node)
            with self._explained(node):
                self._wiring.prepare(self._members, node, directory)
            self._start(node, directory)
            with self._explained(node):
                self._wiring.wire(self._members, node)
        self._wait()
        if self._between is not None:
            self._between.check()
        self._roles = self.roles()

    def roles(self) -> dict[str, str]:
        """What each node is now, as it says itself: by name PRIMARY, REPLICA, MEMBER or DOWN."""
        names = [node.name for node in self._members.nodes]
        with ThreadPoolExecutor(len(names)) as pool:
            return dict(zip(names, pool.map(self._role, names), strict=True))

    def healthy(self) -> bool:
        """Whether all nodes are what they were when they were ready."""
        return bool(self._roles) and self.roles() == self._roles

    def together(self) -> bool:
        """Whether all nodes answer, and work together again where nodes that have left the others
        join them by themselves. One that was expelled does not know it at once: its role alone does
        not tell."""
        if self._wiring.rejoins:
            return not self._lacking()
        return DOWN not in self.roles().values()

    def _role(self, name: str) -> str:
        server = self._members.servers.get(name)
        try:
            if server is None or not server.process.alive():  # type: ignore[attr-defined]
                return DOWN
            return self._wiring.role(server)
        except Exception:  # a dead or hung server: each client library says that in its own way
            return DOWN

    def _start(self, node: Node, directory: Path) -> None:
        for attempt in range(1, TRIES + 1):
            options = self._options(node, directory)
            self._lead()
            try:
                server = start_node(self._system, self._members, directory, self._cpus, options)
            except PortTaken:
                if attempt == TRIES:
                    raise
                self._members.forget_ports(node)
            except DynoError as error:
                raise DynoError(
                    f"node {node.name}: {error.what}", cause=error.cause, fix=error.fix
                ) from None
            else:
                self._members.servers[node.name] = server
                self._lead()
                return

    def _lead(self) -> None:
        """Puts the network in front of all ports that are known."""
        if self._between is not None:
            self._between.open(self._members.ports())

    def _options(self, node: Node, directory: Path) -> NodeOptions:
        members = self._members
        between = self._between
        return replace(
            self._wiring.options(members, node, directory),
            environment={} if between is None else between.environment(node.name),
            password=members.password,
            certificate=members.certificate,
            rewire=partial(self._wiring.rewire, members, node),
        )

    @contextmanager
    def _explained(self, node: Node) -> Iterator[None]:
        """What a server refuses while nodes are connected, as a DynoError with its words."""
        try:
            yield
        except DynoError:
            raise
        except Exception as error:  # each client library has errors of its own
            raise self._failed(f"{node.name} cannot be connected: {error}") from error

    def _wait(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while lacking := self._lacking():
            self._check()
            dead = [name for name, one in self._running().items() if not one.process.alive()]
            if dead:
                raise self._failed(f"{' and '.join(dead)} ended; {lacking}", dead)
            if time.monotonic() > deadline:
                raise self._failed(f"not ready within {READY_TIMEOUT_S:.0f} s; {lacking}")
            time.sleep(POLL_S)

    def _lacking(self) -> str:
        try:
            return self._wiring.lacking(self._members)
        except Exception as error:  # a server that does not answer; each client library says how
            return str(error)

    def _running(self) -> dict[str, NodeServer]:
        return self._members.servers  # type: ignore[return-value]

    def _failed(self, why: str, names: Collection[str] = ()) -> DynoError:
        """`names`: whose logs show it; empty: those of all."""
        target = self._members.target
        assert target.topology is not None
        logs = "\n".join(
            "\n".join([f"{name}:", *server.log_tail().splitlines()[-LOG_LINES:]])
            for name, server in self._running().items()
            if not names or name in names
        )
        return DynoError(
            f"target `{target.name}`, {target.topology.kind} of {target.topology.nodes}: {why}",
            cause="a setting in `config:` that the nodes cannot work with, or a very busy machine",
            fix=f"the logs end:\n{logs}",
        )
