"""The servers of a hard combination: loaded once, copied for each start, started, stopped.

Servers never run on a snapshot of loaded data, only on copies of it (reflinks where the file system
has them).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dbdyno import systems, topology
from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.engine.frequencies import Held
from dbdyno.execute.servers import columns
from dbdyno.execute.servers.columns import Wanted
from dbdyno.execute.servers.copying import copy_tree
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.external import ExternalServers
from dbdyno.execute.servers.network.between import Between
from dbdyno.execute.servers.network.links import Links
from dbdyno.execute.servers.network.paths import Paths
from dbdyno.execute.servers.snapshots import Snapshots
from dbdyno.experiment.types import Node
from dbdyno.plan.data import data_sets
from dbdyno.plan.types import Cell, GroupPlan
from dbdyno.storage.volumes import Volumes
from dbdyno.systems import versions
from dbdyno.systems.base import Binaries, Resolved, Server, TargetPlan
from dbdyno.systems.external import reach
from dbdyno.systems.preloaded.clock import SkewedClock
from dbdyno.systems.process.scratch import Scratch

SETTLE_BYTES = 64 << 20  # Dirty + Writeback below this is quiet
SETTLE_MAX_S = 30.0
RELAY_BUSY = 0.8  # of a CPU: it has one thread


class ServerPool:
    """Keeps the servers that the current cell needs."""

    def __init__(self, context: ExecutionContext, scratch: Scratch) -> None:
        self._scratch = scratch
        self._plan = context.plan
        self._control = context.control
        self._host = context.host
        self._engine = context.engine
        self._say = context.say
        self._snapshots = Snapshots(context, scratch)
        self._looked_up: dict[tuple[str, Wanted], Held] = {}  # by snapshot and column
        self._loaded_from: dict[str, str] = {}  # target -> key of the snapshot it started from
        self.deployments: dict[str, Deployment] = {}
        self._remarks: list[str] = []
        self._remotes = ExternalServers(context, self._fill)
        self._links = self._new_links(context.plan.generator_cpus)
        self._volumes = Volumes(self._host, self._say, self._remarks.append)

    @property
    def scratch(self) -> Path:
        """Where the servers' files are."""
        return self._scratch.path

    @property
    def loaded_s(self) -> float:
        """Time spent on loading data for the first time so far."""
        return self._snapshots.loaded_s + self._remotes.loaded_s

    # ---- life of a hard combination

    def start(self, cell: Cell) -> None:
        """Stops what runs, and starts this cell's servers afresh on a copy of loaded data."""
        self.stop()
        self._scratch.renew()
        self._remarks.clear()
        self._links = self._new_links(self._plan.generator_cpus_of(cell))
        for target in cell.targets:
            self._control.check()
            if target.url is not None:
                self._reach(target, cell)
                continue
            system = systems.load(target.kind)
            deployment = Deployment(
                target, system, versions.find(target, self._host), topology.resolve(target)
            )
            self._begin(deployment, cell)
        if cell.state.cache == "cold":
            self._drop_caches(cell)
        self._settle()
        self._links.watch()

    def withdraw(self) -> None:
        """Stops all servers and lets go of their storage, which may be about to change."""
        self.stop()
        self._scratch.withdraw()

    def adopt(self, cell: Cell) -> None:
        """Goes on with the running servers for another cell of the same hard combination. Its
        connections may differ (protocol, TLS, transport, network, the driver's options)."""
        for target in cell.targets:
            deployment = self.deployments[target.name]
            deployment.target = target
            if target.url is None:
                deployment.resolved = topology.resolve(target)
                deployment.connect(self._links, cell)
            else:
                deployment.resolved = self._remotes.adopt(target, cell)
        self._links.watch()

    def stop(self) -> None:
        """Stops all servers and removes their working directories."""
        self._links.close()
        while self.deployments:
            _, deployment = self.deployments.popitem()
            deployment.stop_router()
            stop_all(deployment.servers.values())
            for node in deployment.target.nodes:
                shutil.rmtree(self._work(node), ignore_errors=True)
        self._volumes.close()
        self._loaded_from.clear()

    def flush(self) -> None:
        """Before a trial: what a power cut in it must not take away is on the volumes."""
        for deployment in self.deployments.values():
            if deployment.volumes:
                for server in deployment.written.values():
                    server.settle(deployment.database)
        self._volumes.flush()

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the trial should know: of the first after a start, once, and of the
        relay."""
        told = tuple(self._remarks)
        self._remarks.clear()
        busy = self._links.busy()
        if busy > RELAY_BUSY:
            told += (
                f"the relay between load and servers used {busy:.0%} of a CPU in this trial: it may"
                " be what limits throughput",
            )
        return told

    def alive(self) -> bool:
        """Whether all targets are as they were started, and reached: see `Deployment.alive`."""
        return not self.broken() and all(
            deployment.alive() for deployment in self.deployments.values()
        )

    def fits(self, cell: Cell) -> bool:
        """Whether the running servers of a cell's hard combination are as it needs them: nodes that
        reach each other by a relay are started so, and those whose clocks are put forward."""
        return all(
            (deployment.between is not None) == deployment.is_relayed_in(cell)
            and bool(deployment.clocks) == deployment.has_clocks_in(cell)
            for deployment in self.deployments.values()
        )

    @property
    def paths(self) -> Paths:
        """The network that nodes and load reach each other by."""
        return self._links.paths

    def broken(self) -> str:
        """Why what was measured counts for nothing; empty if it counts."""
        if not self._links.alive():
            return "the relay between load and servers ended in the trial"
        return self._volumes.broken()

    def reached_by(self, group: GroupPlan) -> tuple[str, ...]:
        """The engine's names of the servers that a group's sessions are dealt over."""
        return self.deployments[group.target].reached_by(group.access)

    def lead(self, deployment: Deployment, down: Collection[str]) -> None:
        """See `Deployment.lead`."""
        deployment.lead(self._links, down)

    def looked_up(self, cell: Cell) -> dict[str, dict[str, Held]]:
        """Values of `column:` parameters: by group, then by parameter. They are those of the data
        as loaded, so that all trials of a run choose among the same."""
        found: dict[str, dict[str, Held]] = {}
        for group in cell.groups:
            for name, wanted in columns.of_group(group).items():
                try:
                    values = self._values_of(self.deployments[group.target], wanted)
                except DynoError as error:
                    raise DynoError(
                        f"group `{group.name}`, parameter `{name}`: {error.what}",
                        cause=error.cause,
                        fix=f"correct `column: {wanted.column}`, or see that `setup:` fills it",
                    ) from None
                found.setdefault(group.name, {})[name] = values
        return found

    def _values_of(self, deployment: Deployment, wanted: Wanted) -> Held:
        key = (self._loaded_from[deployment.target.name], wanted)
        if key not in self._looked_up:
            server = deployment.server
            assert server is not None
            self._say(f"looking up the values of {wanted.column}")
            self._looked_up[key] = columns.look_up(
                server, deployment.database, wanted, self._plan.seed
            )
        return self._looked_up[key]

    # ---- external servers

    def _reach(self, target: TargetPlan, cell: Cell) -> None:
        """Makes an external server ready for a cell."""
        reached = self._remotes.start(target, cell)
        self._remarks += self._remotes.told()
        self._loaded_from[target.name] = f"{target.url} {reached.database}"
        self.deployments[target.name] = Deployment(
            target,
            reach.system_of(target),
            Binaries(reached.servers[target.name].version),
            reached.resolved,
            dict(reached.servers),
            reached.database,
        )

    def _fill(
        self, target: TargetPlan, server: Server, resolved: Resolved, schema: str, cell: Cell
    ) -> None:
        """Puts a cell's data into a schema of an external server."""
        deployment = Deployment(target, reach.system_of(target), Binaries(server.version), resolved)
        self._snapshots.fill(deployment, server, resolved, schema, data_sets(cell.groups, target))

    def recover(self) -> None:
        """Undoes what an earlier, killed process of this run left on external servers."""
        self._remotes.recover()

    def close(self) -> list[str]:
        """Stops managed servers and restores external ones. What could not be restored, in
        sentences. Whatever becomes of the first, the others are restored."""
        try:
            self.stop()
        except BaseException:
            for problem in self._remotes.close():
                self._say(problem)
            raise
        return self._remotes.close()

    # ---- starting

    def _begin(self, deployment: Deployment, cell: Cell) -> None:
        """Starts a deployment's servers, each on its own copy of the loaded data."""
        snapshot = self._snapshots.of(deployment, cell)
        deployment.database = snapshot.database
        self._loaded_from[deployment.target.name] = snapshot.key
        self.deployments[deployment.target.name] = deployment
        cpus = cell.server_cpus or self._plan.server_cpus

        def placed(node: Node) -> Path:
            return self._copied(snapshot.path, self._place(node, deployment))

        if deployment.is_relayed_in(cell):
            deployment.between = self._new_between(deployment.target)
        if deployment.has_clocks_in(cell):
            deployment.clocks = self._new_clocks(deployment.target)
        deployment.start(placed, cpus, self._control.check)
        self._remarks += deployment.remarks()
        deployment.connect(self._links, cell)

    def _new_between(self, target: TargetPlan) -> Between:
        assert target.topology is not None
        directory = self._scratch.path / "network" / target.name
        shutil.rmtree(directory, ignore_errors=True)
        return Between(
            *(self._links, self._host, self._engine, directory, target.name),
            target.topology.network,
        )

    def _new_clocks(self, target: TargetPlan) -> dict[str, SkewedClock]:
        directory = self._scratch.path / "clocks" / target.name
        shutil.rmtree(directory, ignore_errors=True)
        return {node.name: SkewedClock(directory, node.name) for node in target.nodes}

    def _new_links(self, cpus: Sequence[int]) -> Links:
        return Links(self._host, self._engine, cpus, self._remarks.append)

    def _copied(self, snapshot: Path, work: Path) -> Path:
        """The directory that a node works in: a copy of loaded data."""
        shutil.rmtree(work, ignore_errors=True)
        _make_passable(work.parent)
        copy_tree(self._host, snapshot, work)
        return work

    def _work(self, node: Node) -> Path:
        return self._scratch.path / "work" / node.name

    def _place(self, node: Node, deployment: Deployment) -> Path:
        """Where a node's directory will be: on a volume of its own, where the target has one."""
        if deployment.target.volume is None:
            return self._work(node)
        directory = self._scratch.path / "volumes" / node.name
        _make_passable(directory.parent)
        volume, seen = self._volumes.make(deployment.target, node, directory)
        deployment.volumes = {**deployment.volumes, node.name: volume}
        deployment.examined = seen
        return volume.path / "server"

    # ---- the machine around them

    def _drop_caches(self, cell: Cell) -> None:
        """Empties the kernel's page cache; the servers' own are empty, having just started."""
        os.sync()
        try:
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
        except OSError as error:
            raise DynoError(
                "state.cache: cold needs the right to drop the kernel's page cache",
                cause=str(error.strerror),
                fix="run as root, or set `state: {cache: warm}`",
            ) from error

    def _settle(self) -> None:
        """Waits until what loading and copying wrote is on its way no more."""
        os.sync()
        deadline = time.monotonic() + SETTLE_MAX_S
        while (left := _unwritten_bytes()) > SETTLE_BYTES:
            if time.monotonic() > deadline:
                self._remarks.append(
                    f"{left >> 20} MiB were still being written back {SETTLE_MAX_S:.0f} s after the"
                    " servers' start, when this trial began"
                )
                self._say(self._remarks[-1])
                return
            self._control.check()
            time.sleep(0.2)


def _make_passable(directory: Path) -> None:
    """Makes a directory that servers' accounts may pass, whatever our umask is."""
    directory.mkdir(exist_ok=True)
    directory.chmod(0o711)


def stop_all(servers: Collection[Server]) -> None:
    """Stops servers whose files are not needed any more, at once: members of a topology wait for
    each other."""
    if len(servers) < 2:
        for server in servers:
            server.stop(discard=True)
        return
    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(lambda server: server.stop(discard=True), servers))


def _unwritten_bytes() -> int:
    total_kib = 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in ("Dirty", "Writeback"):
            total_kib += int(rest.split()[0])
    return total_kib * 1024
