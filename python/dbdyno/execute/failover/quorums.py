"""Writes down which nodes lose their quorum within a trial, and regain it: of a Galera cluster
those whose component is not primary, of a group of MySQL those without a majority.

Each node is asked by a thread of its own four times a second: a node that hangs keeps no other from
being heard, and times are known to within a quarter of a second where a node answers at once. Only
cells with faults are watched, since the questions cost the servers a connection each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from dbdyno.execute.failover.observer import Watch
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.store.rolelog import QUORUM_LOST, QUORUM_REGAINED, RoleLog
from dbdyno.topology.base import Quorum


class QuorumObserver(Watch):
    """Of quorums."""

    def __init__(
        self, deployment: Deployment, log: RoleLog, now: Callable[[], float] = time.time
    ) -> None:
        """All nodes have a quorum: their topology is ready."""
        super().__init__(deployment, log, now)
        self._has: dict[str, bool | None] = dict.fromkeys(self._cluster.names, True)
        self._pids = {name: self._cluster.pid(name) for name in self._cluster.names}

    def questions(self) -> Sequence[Callable[[], None]]:
        return [partial(self._look, name) for name in self._cluster.names]

    def _look(self, name: str) -> None:
        pid = self._cluster.pid(name)
        self.see(name, pid, self._cluster.quorum(name))

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
