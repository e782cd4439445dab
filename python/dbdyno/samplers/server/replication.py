"""How far a replica is behind the server that is written to, seconds, once a second.

MariaDB and MySQL report it in whole seconds (SHOW REPLICA STATUS); PostgreSQL as the age of the
last transaction replayed, 0 once all that was received is replayed: between those, clocks matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dbdyno.samplers.base import prefixed

SOURCE = "replica_lag_s"


class Replica(Protocol):
    """What is asked of a server here; see `systems.remote`."""

    def lag_s(self) -> float:
        """How far it is behind, seconds."""


class Replication:
    """See the module."""

    source = SOURCE
    about = "seconds that a replica is behind, mean and `_max`, by node: read1, node2..."
    quick = False

    def __init__(self, replica: Replica, node: str, target: str = "") -> None:
        self.source = prefixed(target, SOURCE)
        self._replica = replica
        self._node = node

    def open(self) -> None:
        """Nothing to prepare: lag is a level."""

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        return {self._node: self._replica.lag_s()}

    def close(self) -> None:
        """The connection belongs to the server."""
