"""The servers of a lab: started like those of a trial, with an empty database instead of data.

Nodes of a topology start on copies of one stopped directory; a single server needs no copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dbdyno import kinds, systems, topology
from dbdyno.errors import DynoError
from dbdyno.execute.servers.copying import copy_tree
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.pool import stop_all
from dbdyno.experiment.types import DOWN, GALERA, GROUP, Node
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import FAULTS
from dbdyno.faults.base import Node as Struck
from dbdyno.systems import versions
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process import tree
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.managed import Managed

DATABASE = "lab"  # an empty one; without dbdyno's mark: what users put into it is theirs
# What can be done to a node: the fault that does it, and whether that is begun or undone.
ACTIONS = {
    "kill": ("kill", True),
    "stop": ("stop", True),
    "start": ("kill", False),
    "restart": ("restart", True),
    "pause": ("pause", True),
    "resume": ("resume", True),
}


class LabServers:
    """All nodes of a lab. `say` gets what is done, `check` raises to end it."""

    def __init__(
        self, target: TargetPlan, say: Callable[[str], None], check: Callable[[], None]
    ) -> None:
        """Nothing is started. DynoError for what is not installed, or contradicts itself."""
        self._say = say
        self._check = check
        self.deployment = Deployment(
            target,
            systems.load(target.kind),
            versions.find(target),
            topology.resolve(target),
            database=DATABASE if kinds.of(target.kind).speaks_sql else "0",
        )
        topology.check_installed(target, self.deployment.binaries)
        self._struck: dict[str, Struck] = {}
        self._is_ending = False

    @property
    def version(self) -> str:
        """As the server's program prints it."""
        return self.deployment.binaries.version

    def start(self, scratch: Path) -> None:
        """Starts all nodes below a scratch directory; returns once they work together."""
        deployment = self.deployment
        work = scratch / "work"
        work.mkdir(mode=0o711)
        work.chmod(0o711)  # whatever our umask is
        if deployment.target.topology is None:
            deployment.start(partial(self._fresh, work), check=self._check)
            self._make_database(*deployment.servers.values())
        else:
            base = self._base(scratch)
            deployment.start(partial(self._copied, base, work), check=self._check)
            shutil.rmtree(base, ignore_errors=True)
        for name, server in deployment.servers.items():
            struck: Any = server  # a managed server, as faults know it
            self._struck[name] = Struck(name, struck, deployment.database)
        if deployment.router is not None:
            router: Any = deployment.router  # which is struck as servers are
            self._struck[router.name] = Struck(router.name, router, deployment.database)
        if deployment.arbitrator is not None:
            arbitrator: Any = deployment.arbitrator  # and this
            self._struck[arbitrator.name] = Struck(arbitrator.name, arbitrator, deployment.database)

    def _fresh(self, work: Path, node: Node) -> Path:
        """The directory of a single server."""
        directory = work / node.name
        self._prepare(directory, self.deployment.resolved)
        self._say(f"starting {node.name}")
        return directory

    def _copied(self, base: Path, work: Path, node: Node) -> Path:
        """The directory of a node that joins others."""
        self._say(f"starting {node.name}")
        copy_tree(self.deployment.binaries.host, base, work / node.name)
        return work / node.name

    def _base(self, scratch: Path) -> Path:
        """A stopped directory, copies of which can become nodes."""
        deployment, resolved = self.deployment, self.deployment.resolved
        base = scratch / "snapshots" / "empty"
        base.parent.mkdir(mode=0o711)
        base.parent.chmod(0o711)
        settings = {**resolved.settings, **resolved.load_settings}
        alone = replace(resolved, settings=settings, node_settings={})
        self._prepare(base, alone)
        server: Any = deployment.system.start(deployment.binaries, base, alone, ())
        try:
            self._make_database(server)
        except BaseException:
            server.stop(discard=True)
            raise
        if not server.stop():
            raise DynoError(
                f"{deployment.target.kind} did not stop cleanly after its data directory was made",
                cause="it was killed, or took too long to write its caches back",
                fix="look at the memory and the disk of the machine, then try again",
            )
        self._check()
        topology.seed(
            *(deployment.target, deployment.system, deployment.binaries),
            *(deployment.resolved, base),
        )
        return base

    def _prepare(self, directory: Path, resolved: Any) -> None:
        self._check()
        self._say(f"{self.deployment.target.kind} {self.version}: making a data directory")
        self.deployment.system.prepare(self.deployment.binaries, directory, resolved)

    def _make_database(self, server: Any) -> None:
        if kinds.of(self.deployment.target.kind).speaks_sql:
            server.rows(f"CREATE DATABASE {DATABASE}")

    def stop(self) -> None:
        """Ends all nodes; what they wrote is not needed any more. None is started from now on."""
        self._is_ending = True
        for server in self.deployment.servers.values():
            if isinstance(server, Managed):
                server.resume()  # a frozen one does not hear that it should end
        self.deployment.stop_router()
        stop_all(self.deployment.servers.values())

    def act(self, action: str, name: str) -> str:
        """Does one of ACTIONS to a node, the router or the arbitrator, by the code that does it to
        those of trials; what the fault says. DynoError where it is not possible."""
        if name not in self._struck:
            raise DynoError(f"lab `{self.deployment.target.name}` has no node `{name}`")
        if action in ("start", "restart") and name in self.deployment.servers:
            self._check_joins(action, name)
        fault_name, begins = ACTIONS[action]
        node, kind = self._struck[name], FAULTS[fault_name]
        fault = Fault(0.0, fault_name, (name,), self.deployment.target.name)
        with node.lock:
            if self._is_ending:  # while this waited for its turn
                raise DynoError(f"lab `{self.deployment.target.name}` ends just now")
            return kind.begin(node, fault) if begins else kind.undo(node, fault, "")

    def _check_joins(self, action: str, name: str) -> None:
        """DynoError where a node would wait for others of which none runs: who starts again joins a
        cluster, and begins none."""
        target = self.deployment.target
        states = self.states()
        if target.topology is None or target.topology.kind not in (GALERA, GROUP):
            return
        if any(state == "running" for other, state in states.items() if other != name):
            return
        if action == "start" and states[name] != "down":
            return  # which the fault says
        raise DynoError(
            f"no other node of lab `{target.name}` runs",
            cause=f"a node of `{target.topology.kind}` that starts again joins the others",
            fix=f"begin again: dyno lab down {target.name}, then dyno lab up ...",
        )

    def states(self) -> dict[str, str]:
        """Of each node's process: running, paused or down."""
        return {
            name: state_of(server.process)  # type: ignore[attr-defined]
            for name, server in self.deployment.servers.items()
        }

    def roles(self) -> dict[str, str]:
        """What each node is, as it says itself; a node that does not answer is down."""
        deployment, states = self.deployment, self.states()
        if deployment.cluster is not None:
            return deployment.cluster.roles()
        return {
            name: role if states[name] == "running" and deployment.servers[name].alive() else DOWN
            for name, role in deployment.roles().items()
        }


def state_of(process: Guarded) -> str:
    """Of a process: running, paused or down."""
    letter = tree.state(process.pid) if process.alive() else "X"
    if letter in tree.GONE:
        return "down"
    return "paused" if letter in tree.STOPPED else "running"
