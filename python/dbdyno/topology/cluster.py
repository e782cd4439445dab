"""The nodes of one topology: started in order, wired, asked for their roles, started again, and
one of them in the place of a lost primary."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, INSTANCE, MEMBER, PRIMARY, Node
from dbdyno.systems.backups.base import lose
from dbdyno.systems.base import Binaries, Resolved, Server, TargetPlan
from dbdyno.systems.process.managed import ManagedSystem, NodeOptions
from dbdyno.systems.process.starting import PortTaken
from dbdyno.topology import failover, planned
from dbdyno.topology.arbitrator import Arbitrator
from dbdyno.topology.base import Between, Members, NodeServer, Quorum, Wiring
from dbdyno.topology.locks import NodeLocks

READY_TIMEOUT_S = 120.0
POLL_S = 0.05
TRIES = 3  # starts of a node whose ports another process took meanwhile
LOG_LINES_MAX = 1000  # that are searched
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
        environment: Callable[[str], Mapping[str, str]] = lambda node: {},
        database: str = "",
    ) -> None:
        """`check` is called between slow steps, and raises to end them. `between`: the network that
        the nodes reach each other by; None: they do so directly. `environment`: what the process
        of a node is given, by the node's name. `database`: that the load goes to."""
        self._wiring = wiring
        self._system = system
        self._cpus = cpus
        self._check = check
        self._between = between
        self._environment = environment
        self._members = Members(target, binaries, resolved, servers, database)
        self._roles: dict[str, str] = {}  # once all were ready
        # Of nodes that are started again or replaced, and of all while roles change as planned.
        self._locks = NodeLocks()
        self.strays: set[str] = set()  # replicas that do not know the new primary yet
        self._seeding: set[str] = set()  # nodes that are being made again
        self.tell: failover.Tell = lambda node, what, said: None  # hears of changes of roles

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
        self._accompany()
        self._wait()
        if self._between is not None:
            self._between.check()
        self._roles = self.roles()

    def _accompany(self) -> None:
        """Starts what works next to the nodes."""
        between, members = self._between, self._members
        with self._explained(members.nodes[0]):
            self._wiring.accompany(
                members,
                (lambda name: {}) if between is None else between.environment,
                self._cpus,
                self._check,
            )

    @property
    def arbitrator(self) -> Arbitrator | None:
        """The member without data, once started."""
        return self._members.arbitrator

    def close_arbitrator(self) -> None:
        """Ends it."""
        if self._members.arbitrator is not None:
            self._members.arbitrator.close()
            self._members.arbitrator = None

    def roles(self) -> dict[str, str]:
        """What each node is now, as it says itself: by name PRIMARY, REPLICA, MEMBER, DOWN, or
        INSTANCE of one that was detached."""
        names = [node.name for node in self._members.nodes]
        with ThreadPoolExecutor(len(names)) as pool:
            return dict(zip(names, pool.map(self.role, names), strict=True))

    def healthy(self) -> bool:
        """Whether all nodes are what they were when they were ready, and their arbitrator runs."""
        if self.arbitrator is not None and not self.arbitrator.alive():
            return False
        return bool(self._roles) and self.roles() == self._roles

    def together(self) -> bool:
        """Whether all nodes answer, and work together again where nodes that have left the others
        join them by themselves. One that was expelled does not know it at once: its role alone does
        not tell."""
        if self._wiring.rejoins:
            return not self._lacking()
        return DOWN not in self.roles().values()

    def role(self, name: str) -> str:
        """What one node is now, as it says within LOOK_TIMEOUT_S; INSTANCE if it was detached."""
        server = self._members.servers.get(name)
        try:
            if server is None or not server.process.alive():  # type: ignore[attr-defined]
                return DOWN
            said = self._wiring.role(server)
        except Exception:  # a dead or hung server: each client library says that in its own way
            return DOWN
        if said == PRIMARY and name in self._seeding:  # it follows nobody yet
            return DOWN
        # One that was detached takes writes, and is no primary of this topology.
        return INSTANCE if name in self._members.detached else said

    def lag_s(self, name: str) -> float:
        """How far a replica is behind, seconds. DynoError if that is not known."""
        return self._wiring.lag_s(self._members, self._node(name))

    def define(self, statements: Sequence[str]) -> None:
        """Runs statements in the load's database that change its schema, for all nodes."""
        self._wiring.define(self._members, statements)

    def remarks(self) -> Sequence[str]:
        """What a reader of a trial should know of the nodes and their data, in sentences."""
        return self._wiring.remarks(self._members)

    @property
    def has_quorums(self) -> bool:
        """Whether its nodes say whether they have one."""
        return type(self._wiring).quorum is not Wiring.quorum

    def quorum(self, name: str) -> Quorum | None:
        """What one node says of its quorum within LOOK_TIMEOUT_S; None if it does not."""
        server = self._running().get(name)
        try:
            return None if server is None else self._wiring.quorum(server)
        except Exception:  # a dead or hung server: each client library says that in its own way
            return None

    def pid(self, name: str) -> int | None:
        """Of a node's process: another one each time that it is started again."""
        server: Any = self._members.servers.get(name)
        return None if server is None else server.pid

    def _node(self, name: str) -> Node:
        return next(each for each in self._members.nodes if each.name == name)

    # ---- another primary

    @property
    def leader(self) -> str:
        """The name of the node that is the primary, or that sessions are led to."""
        return self._members.leader.name

    @property
    def names(self) -> tuple[str, ...]:
        """Of all nodes, in the order of their start."""
        return tuple(node.name for node in self._members.nodes)

    @property
    def all_write(self) -> bool:
        """Whether every node takes writes."""
        return all(node.role == MEMBER for node in self._members.nodes)

    @property
    def elects(self) -> bool:
        """Whether the nodes themselves say which of them takes writes: none is promoted here."""
        return self._wiring.succession is None

    def is_fenced(self, name: str) -> bool:
        """Whether a node was killed by a failover, and has not come back since. Waits for one
        that has begun: its node is dead, and deposed only once another was promoted."""
        with self._locks.of(name, "the end of a pause"):
            return name in self._members.deposed

    @property
    def watched(self) -> bool:
        """Whether programs next to the nodes say which of them is the primary."""
        return type(self._wiring).announced is not Wiring.announced

    def announced(self) -> str | None:
        """The primary by these programs; None if none of them answers."""
        return self._wiring.announced(self._members)

    def stores(self) -> tuple[tuple[Node, ...], ...]:
        """The nodes that have the same data now, by the part of the data that they have."""
        return self._wiring.stores(self._members)

    def accept(self, name: str) -> None:
        """Another node leads now: the nodes have elected it, or it takes writes anyway."""
        self._members.leader_name = name

    def take_over(self) -> bool:
        """Replaces a primary that does not answer. False if it was started again meanwhile; a
        DynoError if no node can take over."""
        succession, old = self._wiring.succession, self._members.leader
        assert succession is not None
        process = self._members.server(old).process
        # A start that is under way holds the lock until the server is ready, and wins. One that
        # hangs is not asked once more: that would take LOOK_TIMEOUT_S. What an operator does to
        # other nodes is not waited for: a loss has no appointment.
        waited = self._locks.take(old.name, "a failover")
        try:
            if self._members.server(old).process is not process or self._members.leader != old:
                return False
            if waited and self.role(old.name) == PRIMARY:
                return False
            failover.take_over(succession, self._members, self.tell, self._check)
        finally:
            self._locks.leave(old.name)
        self.strays = {node.name for node in self._members.followers} - self._members.deposed
        return True

    def switch_over(self, step: planned.Step, lead: Callable[[], None]) -> str:
        """Has a replica take over from a primary that is well, once no node is worked on; `lead`
        has clients follow it, and `step` times the parts. DynoError, and everything is as it was,
        if that cannot be without a loss; once a promotion has begun that fails, the old primary
        stays closed."""
        succession, members, held = self._wiring.succession, self._members, ExitStack()
        assert succession is not None
        with held:
            found = planned.ready(succession, members, self._locks, held, step, self._check)
            old, new = members.leader, found.node
            planned.switch_over(succession, members, new, step, self.tell, lead)
            self.strays = {node.name for node in members.followers} - members.deposed
            with step("follow"):
                self.regroup()
            with step("retire"):
                said = succession.retire(members, old)
                if old.name in members.deposed:  # it was not started again
                    members.deposed.discard(old.name)
                    self.tell(old.name, failover.RETURNED, said)
        return f"{new.name} leads; {old.name} {said}{found.waited}"

    def work(self, name: str, what: str) -> AbstractContextManager[None]:
        """Work of an operator on a node, in several steps: no switchover happens meanwhile."""
        return self._locks.work(name, what)

    def must_be_replaceable(self, name: str) -> None:
        """To be asked before a node's data are removed: DynoError unless another node has them, and
        could send them to it."""
        others = (other for other in self.names if other != name)
        if self._wiring.rejoins:
            if not any(self.role(other) == MEMBER for other in others):
                raise DynoError(
                    f"{name} is not replaced: no other node serves clients",
                    cause="it would have got its data from one of them",
                    fix="replace it when another node is back",
                )
            return
        planned.must_follow(self._members, name)
        if not self._members.primary.process.alive():
            raise DynoError(
                f"{name} is not replaced: {self.leader}, the primary, is down",
                cause="it would have got its data from the primary",
                fix="replace it before the primary is lost, or later: after the failover",
            )

    def seed_again(
        self, name: str, step: planned.Step, check: Callable[[], None], database: str
    ) -> str:
        """Makes a node again whose process is dead and whose data are gone. DynoError if it leads:
        then nothing is left of it."""
        members, succession, node = self._members, self._wiring.succession, self._node(name)
        if self._wiring.rejoins:
            return planned.joins_by_itself(members, node, step)
        planned.must_follow(self._members, name)
        with self._locks.work(name, "a replacement"):
            with self._locks.of(name, "a replacement"):
                self._seeding.add(name)
                try:
                    said = self._wiring.seed_again(members, node, step, check)
                    if said is not None:
                        return said
                    assert succession is not None
                    said = planned.seed_again(succession, members, node, step, check, database)
                finally:
                    self._seeding.discard(name)
            # After a failover meanwhile, it catches up only once it may be led to the new primary.
            with step("catch_up"):
                succession.catch_up(members, node)
        return said

    def detach(self, name: str, step: planned.Step, database: str) -> str:
        """Makes a replica a server of its own. Where it is found to be none, it is made a replica
        again."""
        members, succession, node = self._members, self._wiring.succession, self._node(name)
        assert succession is not None
        with self._locks.work(name, "a detachment"), self._locks.of(name, "a detachment"):
            try:
                planned.detach(succession, members, node, step, database)
            except BaseException:
                if name in members.detached:
                    self.rejoin(name, step, lambda: None, database)
                raise
        return f"{name} follows no other node, and takes writes"

    def rejoin(
        self, name: str, step: planned.Step, check: Callable[[], None], database: str
    ) -> str:
        """Throws the data of a detached server away, and has it follow again."""
        server: Any = self._members.servers[name]
        with self._locks.work(name, "a replacement"):
            with self._locks.of(name, "a replacement"):
                server.kill()
                lose(server.directory / "data")
                self._members.detached.discard(name)
            return self.seed_again(name, step, check, database)

    def catch_up(self, name: str) -> None:
        """Returns once a node that was started again has applied what its primary has committed by
        now. A node that joins the others by itself has, when it serves clients; one that was
        detached follows nobody."""
        members, succession, node = self._members, self._wiring.succession, self._node(name)
        if succession is None or node == members.leader or name in members.detached:
            return
        succession.catch_up(members, node)

    def takes_writes_since(self) -> float | None:
        """When the present primary began to, by its own log, in Unix seconds; None if that does
        not say it to a fraction of a second, or all nodes take writes all the time."""
        says = self._wiring.takes_writes
        if says is None or self.all_write:
            return None
        return failover.logged_at(says, self._running()[self.leader].log_tail(LOG_LINES_MAX))

    def regroup(self) -> None:
        """Has replicas follow a new primary, as far as they answer and are not worked on: `strays`
        are left. Raises, once all had their turn, what the first one that failed did."""
        problems: list[Exception] = []
        for node in self._members.followers:
            with self._locks.if_free(node.name, "a change of its primary") as is_free:
                if not is_free or node.name not in self.strays or self.role(node.name) == DOWN:
                    continue
                try:
                    self._follow(node)
                except Exception as error:  # each client library has errors of its own
                    problems.append(error)
        if problems:
            raise problems[0]

    def _follow(self, node: Node) -> None:
        succession = self._wiring.succession
        assert succession is not None
        said = succession.follow(self._members, node)
        self.strays.discard(node.name)
        self.tell(node.name, failover.FOLLOWS, said)

    def _returning(self, node: Node, directory: Path, given: NodeOptions) -> NodeOptions:
        """What a node is given that starts again: as a replica, if another leads by now."""
        members, succession = self._members, self._wiring.succession
        if succession is None or not members.leader_name or node.name in members.detached:
            return given
        if node.name in members.deposed:
            with self._explained(node):
                succession.prepare_return(members, node, directory)
        now = self._wiring.options(members, node, directory)
        sql = () if node == members.leader else succession.return_sql()
        return replace(given, settings=now.settings, init_sql=sql)

    def _rewire(self, node: Node) -> None:
        """Once a node has been started again."""
        members, succession = self._members, self._wiring.succession
        if node.name in self._seeding or node.name in members.detached:
            return
        if succession is None or not members.leader_name:
            with self._explained(node):
                self._wiring.rewire(members, node)
        elif node != members.leader:
            with self._explained(node):
                said = succession.follow(members, node)
            members.deposed.discard(node.name)
            self.strays.discard(node.name)
            self.tell(node.name, failover.RETURNED, said)

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
        own = self._wiring.options(members, node, directory)
        return replace(
            own,
            environment={**own.environment, **self._environment(node.name)},
            password=members.password,
            certificate=members.certificate,
            returns=partial(self._returning, node, directory),
            rewire=partial(self._rewire, node),
            lock=self._locks.of(node.name, "a start"),
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
            if self.arbitrator is not None and not self.arbitrator.alive():
                raise self.arbitrator.ended()
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
