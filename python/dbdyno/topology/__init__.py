"""Topologies: servers that work together. One file (or folder) a kind of topology, a `Wiring` for
each kind of server that has it, all of them in `WIRINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, Resolved, Server, System, TargetPlan
from dbdyno.systems.external import reach
from dbdyno.systems.process.managed import ManagedSystem
from dbdyno.topology import galera, group, names, routers
from dbdyno.topology.base import Between, Members, Wiring
from dbdyno.topology.cluster import Cluster, start_node
from dbdyno.topology.redis import sentinel, shards
from dbdyno.topology.replicas import logical, mariadb, mysql, postgres

__all__ = ["WIRINGS", "Cluster", "check_installed", "cluster", "of", "resolve", "seed"]

WIRINGS: tuple[Wiring, ...] = (
    galera.WIRING,
    mariadb.WIRING,
    mysql.WIRING,
    postgres.WIRING,
    logical.WIRING,
    group.WIRING,
    sentinel.WIRING,
    shards.WIRING,
)


def of(target: TargetPlan) -> Wiring | None:
    """How a target's servers are made to work together; None if each is alone."""
    if target.topology is None:
        return None
    asked = (target.topology.kind, target.kind, target.topology.logical)
    for wiring in WIRINGS:
        if (wiring.topology, wiring.kind, wiring.logical) == asked:
            return wiring
    raise DynoError(f"{target.kind} has no topology `{target.topology.kind}`")


def resolve(target: TargetPlan) -> Resolved:
    """`System.resolve` of a target, with what its topology asks of its nodes."""
    resolved = reach.system_of(target).resolve(target)
    wiring = of(target)
    return resolved if wiring is None else wiring.resolve(target, resolved)


def check_installed(target: TargetPlan, binaries: Binaries) -> None:
    """DynoError with the command that installs it, if something that a topology needs besides its
    servers, such as its router, is missing."""
    wiring = of(target)
    if wiring is not None:
        wiring.check_installed(target, binaries)
    routers.check_installed(target, reach.system_of(target), binaries.host)
    if target.topology is not None and target.topology.dns is not None:
        names.check_installed()


def cluster(
    target: TargetPlan,
    system: System,
    binaries: Binaries,
    resolved: Resolved,
    servers: dict[str, Server],
    cpus: Sequence[int] = (),
    check: Callable[[], None] = lambda: None,
    between: Between | None = None,
    environment: Callable[[str], Mapping[str, str]] = lambda node: {},
    database: str = "",
) -> Cluster:
    """The nodes of a target, not started yet. `resolved` is that of `resolve`; `check` is called
    between slow steps, and raises to end them. `between`: the network that the nodes reach each
    other by; `environment`: of a node's process, by its name; `database`: that the load goes to."""
    wiring = of(target)
    assert wiring is not None
    managed = cast(ManagedSystem, system)
    return Cluster(
        *(wiring, managed, target, binaries, resolved, servers, cpus, check),
        between=between,
        environment=environment,
        database=database,
    )


def seed(
    target: TargetPlan,
    system: System,
    binaries: Binaries,
    resolved: Resolved,
    directory: Path,
    cpus: Sequence[int] = (),
) -> None:
    """Changes a loaded, stopped directory so that copies of it can become the nodes of a target;
    nothing without a topology."""
    wiring = of(target)
    if wiring is None:
        return
    members = Members(target, binaries, resolved, {})
    start = partial(start_node, cast(ManagedSystem, system), members, directory, cpus)
    wiring.seed(members, start, directory)
