"""Faults on links: between which nodes and clients, which way, and what a line is like, as written.

A link is one between nodes of a topology, or between a node and the load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.targets.limits import BytesPerS, Delay
from dbdyno.experiment.types import ARBITRATOR, Target
from dbdyno.experiment.values.faults import (
    CLIENTS,
    IN,
    NODES,
    OUT,
    Line,
)
from dbdyno.experiment.values.scalars import Fraction, Strict

ALL = "all"  # NODES and CLIENTS
ON_LINKS = ("partition", "link")  # faults
Wrong = Callable[[str, str, str, str], DynoError]  # key, what, fix, cause
Peers = str | Annotated[list[str], Field(min_length=1, max_length=64)]


def _share(loss: float) -> float:
    if not 0 <= loss < 1:
        raise ValueError("must be at least 0% and less than 100%; `partition` loses all packets")
    return loss


class OnLinks(Strict):
    """Which links of the nodes."""

    from_: Peers = Field(
        NODES,
        alias="from",
        description="other ends of the links: `nodes` (the other nodes of the topology, and their"
        " arbitrator), `clients` (the load), `all` (both), the name of a node, or a list of these",
    )
    one_way: Literal["out", "in"] | None = Field(
        None,
        description=f"`{OUT}`: only what the nodes send, `{IN}`: only what is sent to them;"
        " default: both ways",
    )


class LineModel(Strict):
    """What a line is like for a while."""

    delay: Delay | None = Field(None, description="delay of one way, at most 10s")
    jitter: Delay | None = Field(
        None, description="up to so much more delay, evenly distributed; bytes stay in order"
    )
    loss: Annotated[Fraction, AfterValidator(_share)] | None = Field(
        None, description="share of packets that are lost, such as 1%: TCP sends them again"
    )
    bytes_per_s: BytesPerS | None = Field(
        None, description="bandwidth of each direction, such as 1M"
    )


def line(model: Any) -> Line:
    """The line of a fault; all None where it has none."""
    given = {key: getattr(model, key, None) for key in ("delay", "jitter", "bytes_per_s", "loss")}
    return Line(given["delay"], given["jitter"], given["bytes_per_s"], given["loss"])


def peers(model: Any, nodes: Sequence[str], target: Target, wrong: Wrong) -> tuple[str, ...]:
    """The other ends of a fault's links: NODES, CLIENTS, names. `nodes`: those that it strikes,
    names or roles. DynoError where there can be no such link; empty for other faults."""
    drawn = getattr(model, "of", None)
    kinds_of_fault = [model.do] if drawn is None else drawn
    if not set(kinds_of_fault) & set(ON_LINKS):
        if drawn is not None and "from_" in model.model_fields_set:
            raise wrong(
                "from", "nothing in `of` is on links", f"add one of {', '.join(ON_LINKS)}", ""
            )
        return ()
    if "link" in kinds_of_fault and line(model) == Line():
        raise wrong("do", "`link` changes nothing", "add `delay: 50ms` or `loss: 1%`", "")
    written = [model.from_] if isinstance(model.from_, str) else model.from_
    ends: dict[str, tuple[str, ...]] = {ALL: (NODES, CLIENTS)}
    if target.arbitrator is not None:
        ends[ARBITRATOR] = (target.arbitrator.name,)
    asked = tuple(dict.fromkeys(end for peer in written for end in ends.get(peer, (peer,))))
    for peer in asked:
        _check(peer, nodes, target, wrong)
    return asked


def _check(peer: str, nodes: Sequence[str], target: Target, wrong: Wrong) -> None:
    names = [node.name for node in target.linked]
    if peer == CLIENTS:
        _check_clients(nodes, target, wrong)
        return
    if peer != NODES and peer not in names:
        what = f"target `{target.name}` has no node `{peer}`"
        raise wrong("from", what, did_you_mean(peer, [*names, NODES, CLIENTS, ALL]), "")
    if target.topology is None or len(names) < 2:
        raise wrong(
            "from",
            f"the servers of target `{target.name}` have no links between each other",
            f"write `from: {CLIENTS}`, or give it a `topology` of several nodes",
            "it has no `topology`" if target.topology is None else "its `topology` has one node",
        )
    if peer in nodes:
        raise wrong("from", f"`{peer}` is at both ends of the link", "remove it from one", "")
    if set(names) <= set(nodes):
        raise wrong("node", "no node is left at the other end", "name fewer nodes", "")


def _check_clients(nodes: Sequence[str], target: Target, wrong: Wrong) -> None:
    if target.arbitrator is not None and set(nodes) == {target.arbitrator.name}:
        raise wrong(
            "from",
            f"`{target.arbitrator.name}` has no link to clients",
            f"write `from: {NODES}`, or name a node",
            "an arbitrator has no data, and no clients",
        )
    kind = kinds.of(target.kind)
    if not kind.port or target.transport != "tcp":
        raise wrong(
            "from",
            f"target `{target.name}` has no link to clients",
            "write `transport: tcp`" if kind.port else "use another fault",
            f"the load reaches it by `transport: {target.transport}`"
            if kind.port
            else f"{kind.title} is not reached over a network",
        )
