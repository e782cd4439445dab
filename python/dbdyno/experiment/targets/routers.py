"""`router:` of a topology: a pooler or load balancer in front of it, as written, and what cannot be
meant.

`dbdyno.topology.routers` has what starts each of them; here are the checks before anything starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import listed
from dbdyno.experiment.types import (
    HAPROXY,
    PGBOUNCER,
    PGPOOL,
    SESSION_POOL,
    TO_ROUTER,
    TRANSACTION_POOL,
    Cell,
    Group,
    Router,
    Scalar,
    Target,
)
from dbdyno.experiment.values.scalars import Duration, Strict, Whole

CHECK_S = 1.0
POOL_MAX = 1000
CONFORMANCE_SESSIONS = 2  # that an examination has open at once
PREPARES = "max_prepared_statements"  # of PgBouncer 1.21 and later


@dataclass(frozen=True)
class Form:
    """What is known of a kind of router. `languages`: of servers; `keys`: those that mean something
    to it; `pool_size`: where none is written; `is_through`: whether a client's bytes, TLS included,
    reach the server unchanged."""

    about: str
    languages: tuple[str, ...]
    keys: tuple[str, ...]
    pool_size: int = 0
    is_through: bool = False
    whole_checks: bool = False  # in seconds only


FORMS: Mapping[str, Form] = {
    PGBOUNCER: Form(
        "PgBouncer: sessions share connections to the primary",
        (kinds.POSTGRES,),
        ("pool_mode", "pool_size", "config"),
        pool_size=20,
    ),
    PGPOOL: Form(
        "pgpool-II: reads go to standbys, all else to the primary",
        (kinds.POSTGRES,),
        ("pool_size", "check", "config"),
        pool_size=64,
        whole_checks=True,
    ),
    HAPROXY: Form(
        "HAProxy: connections go to the node that takes writes, which health checks find",
        (kinds.POSTGRES, kinds.MYSQL),
        ("check",),
        is_through=True,
    ),
}
# Titles of routers that users look for and that are refused, and why: what cannot be run here
# cannot be promised.
NOT_TESTED: Mapping[str, tuple[str, str]] = {
    "mysqlrouter": (
        "MySQL Router",
        "its configuration follows from metadata that MySQL Shell writes into the servers, and"
        " Debian has no package of MySQL Shell",
    )
}


class RouterModel(Strict):
    """A pooler or load balancer in front of the nodes. Groups with `route: router` reach them
    through it."""

    kind: Literal["pgbouncer", "pgpool", "haproxy", "mysqlrouter"] = Field(
        description="; ".join(f"`{name}`: {form.about}" for name, form in FORMS.items())
        + "; refused, since it is not tested here: "
        + ", ".join(f"`{name}`" for name in NOT_TESTED)
    )
    pool_mode: Literal["session", "transaction"] | None = Field(
        None,
        description="of `pgbouncer`: a session keeps its connection until it ends (`session`, the"
        " default), or gives it back after each transaction (`transaction`)",
    )
    pool_size: Whole | None = Field(
        None,
        ge=1,
        le=POOL_MAX,
        description="of `pgbouncer`: number of connections to the primary, default"
        f" {FORMS[PGBOUNCER].pool_size}; of `pgpool`: number of sessions at once, default"
        f" {FORMS[PGPOOL].pool_size}",
    )
    check: Duration | None = Field(
        None,
        description="of `haproxy` and `pgpool`: time between two health checks of a node; of"
        f" `pgpool` whole seconds; default {CHECK_S:g}s",
    )
    config: dict[str, Scalar] = Field(
        {}, description="of `pgbouncer` and `pgpool`: settings, by the router's own names"
    )
    conformance: bool = Field(
        False,
        description="examine after each trial which node runs what through the router (PostgreSQL):"
        " metrics `routing.misrouted` and `routing.wrong_results`, and a table in the report",
    )


def typed(name: str, kind: str, model: RouterModel, transport: str, written: Node) -> Router:
    """The router of target `name`, whose servers are of `kind`; `written`: its part of the file.
    DynoError, with its place, for one that cannot be."""
    known = kinds.of(kind)
    able = [each for each, one in FORMS.items() if known.language in one.languages]
    fix = f"use {listed(able)}" if able else "remove `router`"
    if model.kind in NOT_TESTED:
        title, cause = NOT_TESTED[model.kind]
        raise DynoError(
            f"target `{name}`: {title} is not tested here",
            where=written.mapping["kind"].where,
            cause=cause,
            fix=fix,
        )
    form = FORMS[model.kind]
    if known.language not in form.languages:
        raise DynoError(
            f"target `{name}`: {model.kind} does not speak to {known.title}",
            where=written.mapping["kind"].where,
            fix=fix,
        )
    _check_keys(name, model, form, written)
    if transport != "tcp":
        raise DynoError(
            f"target `{name}`: a router cannot be reached by `transport: {transport}`",
            where=written.place,
            cause="a socket is that of one server",
            fix="write `transport: tcp`, or remove `router`",
        )
    check_s = model.check or CHECK_S
    if form.whole_checks and not check_s.is_integer():
        raise DynoError(
            f"target `{name}`: {model.kind} checks its nodes at whole seconds, not {check_s:g} s",
            where=written.mapping["check"].where,
            fix=f"write `check: {max(1, round(check_s))}s`",
        )
    size = (model.pool_size or form.pool_size) if "pool_size" in form.keys else 0
    if model.conformance:
        _check_conformance(name, known.language, size, written)
    return Router(
        kind=model.kind,
        pool_mode=(model.pool_mode or SESSION_POOL) if "pool_mode" in form.keys else "",
        pool_size=size,
        check_s=check_s if "check" in form.keys else 0.0,
        config=dict(model.config),
        conformance=model.conformance,
    )


def _check_keys(name: str, model: RouterModel, form: Form, written: Node) -> None:
    for key in ("pool_mode", "pool_size", "check", "config"):
        if getattr(model, key) and key not in form.keys:
            raise DynoError(
                f"target `{name}`: `{key}` means nothing to {model.kind}",
                where=written.mapping[key].place,
                fix="remove it",
            )


def _check_conformance(name: str, language: str, size: int, written: Node) -> None:
    where = written.mapping["conformance"].where
    if language != kinds.POSTGRES:
        raise DynoError(
            f"target `{name}`: `conformance` examines routers of PostgreSQL only",
            where=where,
            cause="its evidence is PostgreSQL's log, and its statements are PostgreSQL's",
            fix="remove it; HAProxy passes whole connections on, to one node each",
        )
    if size and size < CONFORMANCE_SESSIONS:
        raise DynoError(
            f"target `{name}`: `conformance` has {CONFORMANCE_SESSIONS} sessions at once, and the"
            f" pool has room for {size}",
            where=where,
            fix=f"write `pool_size: {CONFORMANCE_SESSIONS}` or more",
        )


def check(cell: Cell, root: Node) -> None:
    """Refuses what is lost on the way through a cell's routers."""
    for target in cell.targets:
        if target.router is None:
            continue
        groups = [
            group
            for group in cell.groups
            if group.target == target.name and group.access == TO_ROUTER
        ]
        _check_faults(cell, target, root)
        _check_tls(target, root)
        _check_sessions(target, groups, root)
        for group in groups:
            if target.router.pool_mode == TRANSACTION_POOL:
                _check_state(target, group, root)


def _of_target(target: Target, key: str, root: Node) -> Node:
    """What the file has for a key of a target, else the target."""
    written = root.mapping["targets"].mapping[target.name]
    return written.mapping.get(key, written)


def _check_faults(cell: Cell, target: Target, root: Node) -> None:
    """A line between clients and a node is none that a router uses."""
    if any(fault.target == target.name and fault.is_on_clients for fault in cell.faults):
        raise DynoError(
            f"a fault cuts clients off from nodes of target `{target.name}`, and a router reaches"
            " these past it",
            where=root.mapping["faults"].place,
            cause="the network of `from: clients` is that between the load and the nodes",
            fix="write `from: nodes`, or use `pause` or `kill`",
        )


def _check_tls(target: Target, root: Node) -> None:
    assert target.router is not None
    if FORMS[target.router.kind].is_through or target.tls in ("prefer", "off"):
        return
    raise DynoError(
        f"target `{target.name}`: {target.router.kind} offers no TLS here, and `tls: {target.tls}`"
        " asks for it",
        where=_of_target(target, "tls", root).place,
        fix="write `tls: off`; all of it is on loopback",
    )


def _check_sessions(target: Target, groups: Sequence[Group], root: Node) -> None:
    """Sessions that keep a place of the pool to their end need one each."""
    router = target.router
    assert router is not None
    asked = sum(group.sessions for group in groups)
    if not router.pool_size or router.pool_mode == TRANSACTION_POOL or asked <= router.pool_size:
        return
    raise DynoError(
        f"target `{target.name}`: {asked} sessions go through {router.kind}, which has room for"
        f" {router.pool_size}",
        where=_of_target(target, "topology", root).place,
        cause="each keeps its place until it ends, and the others would wait for ever",
        fix=f"write `pool_size: {asked}` or more, or fewer sessions"
        + (f", or `pool_mode: {TRANSACTION_POOL}`" if router.kind == PGBOUNCER else ""),
    )


def _check_state(target: Target, group: Group, root: Node) -> None:
    """What a session of the server knows is not there after the transaction."""
    assert target.router is not None
    cause = "after each transaction the pooler gives the session another connection"
    if target.protocol == "prepared" and PREPARES not in target.router.config:
        raise DynoError(
            f"group `{group.name}`: statements cannot be prepared through"
            f" `pool_mode: {TRANSACTION_POOL}`",
            where=_of_target(target, "protocol", root).place,
            cause=f"{cause}, which does not know them",
            fix="write `protocol: text`; PgBouncer from 1.21 on can keep them:"
            f" `config: {{{PREPARES}: 100}}` of the router",
        )
    if target.isolation not in (None, "read_committed") or target.session:
        key = "session" if target.session else "isolation"
        raise DynoError(
            f"group `{group.name}`: `{key}` is lost in `pool_mode: {TRANSACTION_POOL}`",
            where=_of_target(target, key, root).place,
            cause=f"{cause}, without what was set before",
            fix="set it for the server: `config: {default_transaction_isolation: ...}`",
        )
