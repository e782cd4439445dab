"""Routers: poolers and load balancers in front of a topology. One file a kind, all of them in
`ROUTERS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Router
from dbdyno.hosts.base import Host
from dbdyno.systems.base import Server, System, TargetPlan, Word
from dbdyno.systems.process.account import account_for
from dbdyno.systems.process.managed import Managed, ManagedSystem
from dbdyno.topology.cluster import Cluster
from dbdyno.topology.routers import haproxy, pgbouncer, pgpool, running
from dbdyno.topology.routers.base import RouterKind
from dbdyno.topology.routers.running import RunningRouter, Setting

__all__ = ["ROUTERS", "RunningRouter", "check_installed", "kind_of", "start", "word"]

ROUTERS: tuple[RouterKind, ...] = (
    pgbouncer.ROUTER,
    pgpool.ROUTER,
    haproxy.ROUTER,
)


def kind_of(router: Router) -> RouterKind:
    """The kind that a router names."""
    for one in ROUTERS:
        if one.kind == router.kind:
            return one
    raise DynoError(f"there is no router `{router.kind}`")


def check_installed(target: TargetPlan, system: System, host: Host) -> None:
    """DynoError with the command that installs it, if a target's router is missing."""
    if target.router is not None:
        kind_of(target.router).find(host, cast(ManagedSystem, system).account)


def start(
    target: TargetPlan,
    system: System,
    host: Host,
    cluster: Cluster,
    servers: dict[str, Server],
    login: dict[str, Any],
    cpus: Sequence[int] = (),
    check: Callable[[], None] = lambda: None,
) -> RunningRouter:
    """Starts a target's router, under the account of its servers. `login`: how the engine logs in
    at any of them."""
    assert target.router is not None
    account = cast(ManagedSystem, system).account
    kind = kind_of(target.router)
    return running.start(
        Setting(
            kind=kind,
            target=target,
            host=host,
            account=account_for(account),
            program=kind.find(host, account),
            cluster=cluster,
            servers=cast("dict[str, Managed]", servers),
            login=login,
            language=kinds.of(target.kind).language,
            cpus=cpus,
            check=check,
        )
    )


def word(router: Router, version: str) -> Word:
    """A router as a word of the report."""
    own = {"pool_mode": router.pool_mode, "pool_size": router.pool_size, "check": router.check_s}
    asked = {**{k: v for k, v in own.items() if v}, **router.config}
    settings = {name: str(value) for name, value in asked.items()}
    return Word(f"router: {router.kind}", settings, f"{version}: {kind_of(router).about}")
