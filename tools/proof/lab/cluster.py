"""How long servers that work together take from nothing to ready, and until nothing is left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tools.proof.lab.setups import Setup

from dbdyno import systems, topology
from dbdyno.execute.servers.copying import copy_tree
from dbdyno.execute.servers.pool import stop_all
from dbdyno.experiment.types import Node, Topology
from dbdyno.hosts import LOCAL
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.process.scratch import Scratch


@dataclass(frozen=True)
class Times:
    """Seconds: a data directory made and prepared for all nodes; its copies started until they are
    ready; all stopped and removed."""

    prepared_s: float
    ready_s: float
    down_s: float

    @property
    def up_s(self) -> float:
        """From nothing to ready."""
        return self.prepared_s + self.ready_s


def up_and_down(setup: Setup, root: Path) -> Times:
    """Brings a topology up and down by the parts of dbdyno that do it for a run, without its load
    of data. DynoError if the nodes do not work together."""
    form = Topology(setup.form, setup.nodes)
    plan = TargetPlan("db", setup.kind, topology=form, memory_bytes=64 << 20, durability="full")
    system, resolved = systems.load(setup.kind), topology.resolve(plan)
    binaries = system.find(None)
    servers: dict[str, Server] = {}
    begun_s = time.monotonic()
    with Scratch(root) as scratch:
        loaded = scratch.path / "loaded"
        system.prepare(binaries, loaded, resolved)
        topology.seed(plan, system, binaries, resolved, loaded)
        prepared_s = time.monotonic()

        def copied(node: Node) -> Path:
            copy_tree(LOCAL, loaded, scratch.path / node.name)
            return scratch.path / node.name

        try:
            topology.cluster(plan, system, binaries, resolved, servers).start(copied)
            ready_s = time.monotonic()
        finally:
            stop_all(servers.values())
    return Times(prepared_s - begun_s, ready_s - prepared_s, time.monotonic() - ready_s)
