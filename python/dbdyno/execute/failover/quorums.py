"""Writes down which nodes lose their quorum within a trial, and regain it: of a Galera cluster
those whose component is not primary, of a group of MySQL those without a majority.

Each node is asked by a thread of its own four times a second: a node that hangs keeps no other from
being heard, and times are known to within a quarter of a second where a node answers at once. Only
cells with faults are watched, since the questions cost the servers a connection each.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dbdyno.execute.servers.deployment import Deployment
from dbdyno.store.rolelog import QUORUM_LOST, QUORUM_REGAINED, RoleLog
from dbdyno.topology import Cluster
from dbdyno.topology.base import Quorum

ASK_S = 0.25


class QuorumObserver:
    """Of one target in one trial; a part of its timeline. What it sees is in `roles.ndjson`."""

    def __init__(
        self, deployment: Deployment, log: RoleLog, now: Callable[[], float] = time.time
    ) -> None:
        """All nodes have a quorum: their topology is ready."""
        assert deployment.cluster is not None
        self._cluster: Cluster = deployment.cluster
        self._log = log
        self._now = now
        self._zero_unix_s = now()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._has: dict[str, bool | None] = dict.fromkeys(self._cluster.names, True)
        self._pids = {name: self._cluster.pid(name) for name in self._cluster.names}

    def start(self, measure_unix_s: float) -> None:
        """The clock is known: from here on the nodes are asked."""
        self._zero_unix_s = measure_unix_s
        for name in self._cluster.names:
            thread = threading.Thread(target=self._ask, args=(name,), name="quorum", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """The load has ended."""
        self._over.set()

    def close(self) -> None:
        """Waits for the last questions."""
        self.stop()
        for thread in self._threads:
            thread.join()

    def settle(self) -> None:
        """Nothing waits for the end of faults."""

    def _ask(self, name: str) -> None:
        while True:
            pid = self._cluster.pid(name)
            self.see(name, pid, self._cluster.quorum(name))
            if self._over.wait(ASK_S):
                return

    def see(self, name: str, pid: int | None, quorum: Quorum | None) -> None:
        """Takes note of what a node says now. One that does not answer keeps what it had. One that
        was started again joins the others, and has no quorum until it has: that is no loss."""
        if pid != self._pids[name]:
            self._pids[name] = pid
            if self._has[name]:
                self._has[name] = None
        if quorum is None:
            return
        before = self._has[name]
        if quorum.has:
            self._has[name] = True
            if before is False:
                self._note(name, QUORUM_REGAINED, quorum.said)
        elif before:
            self._has[name] = False
            self._note(name, QUORUM_LOST, quorum.said)

    def _note(self, name: str, change: str, said: str) -> None:
        self._log.append(round(self._now() - self._zero_unix_s, 4), name, change, said)
