"""`limits:` of a target: what a server that dbdyno starts may have, as written."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.types import Limits, Network
from dbdyno.experiment.values.scalars import Pause, Size, Strict

DELAY_MAX_S = 10.0
BYTES_PER_S_MIN = 10_000


def _delay(seconds: float) -> float:
    if seconds > DELAY_MAX_S:
        raise ValueError(f"must be at most {DELAY_MAX_S:g}s")
    return seconds


def _bandwidth(bytes_per_s: int) -> int:
    if bytes_per_s < BYTES_PER_S_MIN:
        raise ValueError(f"must be at least {BYTES_PER_S_MIN // 1000}k, in bytes a second")
    return bytes_per_s


Delay = Annotated[Pause, AfterValidator(_delay)]
BytesPerS = Annotated[Size, AfterValidator(_bandwidth)]


class NetworkModel(Strict):
    """Network between the load and each server of the target, or between the nodes of a topology:
    a relay on loopback."""

    delay: Delay = Field(
        0.0, description="delay of one way, at most 10s: a round trip takes twice as long"
    )
    bytes_per_s: BytesPerS | None = Field(
        None,
        description="bandwidth of each direction, shared by all connections to a server, such as"
        " 10M; default: no limit",
    )

    def typed(self) -> Network:
        """The network."""
        return Network(self.delay, self.bytes_per_s)


class LimitsModel(Strict):
    """Limits of a server that dbdyno starts."""

    network: NetworkModel | None = Field(
        None, description="network between the load and the server; default: loopback itself"
    )


def typed(name: str, kind: str, transport: str, model: LimitsModel | None, node: Node) -> Limits:
    """The limits. DynoError, with its place, for a network of a target without TCP."""
    if model is None or model.network is None:
        return Limits()
    place = node.mapping["limits"].mapping["network"].place
    problem: dict[str, Any] | None = None
    if not kinds.of(kind).port:
        problem = {
            "cause": f"{kinds.of(kind).title} is not reached over a network",
            "fix": "remove `network`",
        }
    elif transport != "tcp":
        problem = {
            "cause": f"the load reaches it by `transport: {transport}`",
            "fix": "write `transport: tcp`, or remove `network`",
        }
    if problem is not None:
        raise DynoError(
            f"target `{name}`: `limits.network` means nothing here", where=place, **problem
        )
    return Limits(model.network.typed())
