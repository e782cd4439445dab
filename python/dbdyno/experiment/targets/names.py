"""`dns:` of a topology: names that sessions find its nodes by, as written, and what cannot be
meant.

`dbdyno.topology.names` has the name server; here are the checks before anything starts.
"""

from __future__ import annotations

from pydantic import Field

from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.types import Cell, Dns, Limits
from dbdyno.experiment.values.scalars import Duration, Pause, Strict


class DnsModel(Strict):
    """Sessions find the nodes by names. Each node has an address of its own; one that is replaced
    gets another, and an address that follows a role is a name whose record changes."""

    ttl: Duration = Field(
        description="how long an answer of the name server may be kept, in whole seconds"
    )
    keep: Pause | None = Field(
        None,
        description="how long clients keep an answer, whatever its `ttl`: as caches do that ignore"
        " it; default: for its `ttl`",
    )


def typed(name: str, model: DnsModel, transport: str, shards: bool, written: Node) -> Dns:
    """The names of target `name`; `written`: its `topology`. `shards`: whether clients follow
    nodes by what these say. DynoError, with its place, for one that cannot be."""
    node = written.mapping["dns"]
    if shards or transport != "tcp" or "router" in written.mapping:
        raise DynoError(
            f"target `{name}`: sessions do not find its nodes by names",
            where=node.place,
            cause="its nodes tell clients each other's addresses"
            if shards
            else "a router has the addresses of its nodes"
            if transport == "tcp"
            else f"`transport: {transport}` has no addresses",
            fix="remove `dns`",
        )
    if not model.ttl.is_integer():
        raise DynoError(
            f"target `{name}`: a TTL is a number of whole seconds, not {model.ttl:g} s",
            where=node.mapping["ttl"].where,
            fix=f"write `ttl: {max(1, round(model.ttl))}s`",
        )
    return Dns(model.ttl, model.keep)


def check(cell: Cell, root: Node) -> None:
    """Refuses networks between clients and nodes that are found by names."""
    for target in cell.targets:
        if target.topology is None or target.topology.dns is None:
            continue
        struck = any(one.target == target.name and one.is_on_clients for one in cell.faults)
        if not struck and target.limits == Limits():
            continue
        key = "faults" if struck else "targets"
        raise DynoError(
            f"target `{target.name}` has `dns`, and "
            + ("a fault is on links to clients" if struck else "a network to its clients"),
            where=root.mapping[key].place,
            cause="the network between clients and nodes is that of addresses they know",
            fix="remove `dns`, or the " + ("fault" if struck else "limit"),
        )
