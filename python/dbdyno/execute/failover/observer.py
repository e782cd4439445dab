"""Writes down who becomes a primary within a trial, where nodes decide that and clients follow by
themselves: of a topology whose primaries share the data. It asks all nodes four times a second, so
that times are known to within a quarter of a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from dbdyno.execute.failover.watcher import ELECTED
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import PRIMARY, REPLICA
from dbdyno.store.rolelog import RoleLog
from dbdyno.topology import Cluster
from dbdyno.topology.failover import RETURNED

ASK_S = 0.25


class Watch:
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
        self._threads: list[threading.Thread] = []

    def questions(self) -> Sequence[Callable[[], None]]:
        """Asked for ever, each by a thread of its own."""
        raise NotImplementedError

    def start(self, measure_unix_s: float) -> None:
        """The clock is known: from here on the nodes are asked."""
        self._zero_unix_s = measure_unix_s
        for question in self.questions():
            thread = threading.Thread(target=self._ask, args=(question,), name="roles", daemon=True)
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

    def _ask(self, question: Callable[[], None]) -> None:
        while True:
            question()
            if self._over.wait(ASK_S):
                return

    def _note(self, name: str, change: str, said: str = "") -> None:
        self._log.append(round(self._now() - self._zero_unix_s, 4), name, change, said)


class Observer(Watch):
    """Of roles."""

    def __init__(
        self, deployment: Deployment, log: RoleLog, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(deployment, log, now)
        self._roles: dict[str, str] = {}  # the last of each node that was one of two

    def questions(self) -> Sequence[Callable[[], None]]:
        return [lambda: self.see(self._cluster.roles())]

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
                self._note(name, change, said)
