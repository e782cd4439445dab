"""Writes down who becomes a primary within a trial, where nodes decide that and clients follow by
themselves: of a topology whose primaries share the data. It asks all nodes four times a second, so
that times are known to within a quarter of a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dbdyno.execute.failover.watcher import ELECTED
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import PRIMARY, REPLICA
from dbdyno.store.rolelog import RoleLog
from dbdyno.topology import Cluster
from dbdyno.topology.failover import RETURNED

ASK_S = 0.25


class Observer:
    """Of one target in one trial; a part of its timeline. What it sees is in `roles.ndjson`."""

    def __init__(
        self, deployment: Deployment, log: RoleLog, now: Callable[[], float] = time.time
    ) -> None:
        assert deployment.cluster is not None
        self._cluster: Cluster = deployment.cluster
        self._log = log
        self._now = now
        self._zero_unix_s = now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="roles", daemon=True)
        self._roles: dict[str, str] = {}  # the last of each node that was one of two

    def start(self, measure_unix_s: float) -> None:
        """The clock is known: from here on the nodes are asked."""
        self._zero_unix_s = measure_unix_s
        self._thread.start()

    def stop(self) -> None:
        """The load has ended."""
        self._over.set()

    def close(self) -> None:
        """Waits for the last question."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def settle(self) -> None:
        """Nothing waits for the end of faults."""

    def _work(self) -> None:
        while True:
            self.see(self._cluster.roles())
            if self._over.wait(ASK_S):
                return

    def see(self, roles: dict[str, str]) -> None:
        """Takes note of the nodes' roles now. One that does not answer keeps what it was."""
        for name, role in roles.items():
            if role not in (PRIMARY, REPLICA):
                continue
            before = self._roles.get(name, role)
            self._roles[name] = role
            if before != role:
                change = ELECTED if role == PRIMARY else RETURNED
                said = "" if role == PRIMARY else "follows another primary"
                self._log.append(round(self._now() - self._zero_unix_s, 4), name, change, said)
