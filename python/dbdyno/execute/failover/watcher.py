"""Watches the primary of a topology during a trial, and has sessions follow a new one.

It asks the primary a few times a second what it is. One that has not answered for the topology's
`failover.after`, and of which one question has failed (it was refused, or waited LOOK_TIMEOUT_S in
vain), is replaced; a busy primary only answers late. Where the nodes elect none, the most advanced
replica is promoted; where all take writes, another one that does is chosen. A group elects by
itself, and is only asked; where sentinels watch the nodes, these are asked, several times a second.
Then the address of dbdyno's own leads there, and its connections to the
old primary are reset. Where sessions are sent to replicas, these are asked, too, and addresses
leave one that does not answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

from dbdyno.errors import DynoError
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import DOWN, INSTANCE, MEMBER, PRIMARY
from dbdyno.store.rolelog import RoleLog
from dbdyno.topology import Cluster

POLL_S = 0.05
HEAR_S = 0.1  # between two questions to those who watch the nodes
ASK_MIN_S, ASK_MAX_S = 0.05, 0.25  # between two questions to the primary
SUSPICIOUS_S = 0.3  # without an answer: then a group is asked whom it has elected
ASKS = 5  # so many questions while a primary may be silent

SILENT, ELECTED, CHOSEN, FAILED = "silent", "elected", "chosen", "failed"
LOGGED = "logged"  # the server's own view of a promotion
UNDATED = "undated"  # the same, at a time that is ambiguous
SHIFTED = "takes writes, by its log; not known when: its clock was off, and may have been right"
LEFT, JOINED = "left", "joined"  # by sessions that read
"""What else happens to nodes than `topology.failover` does to them."""


class Watcher:
    """Of one target in one trial; a part of its timeline. What it does is in `roles.ndjson`."""

    def __init__(
        self,
        deployment: Deployment,
        lead: Callable[[Collection[str]], None],
        log: RoleLog,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`lead` has addresses lead where they should, except to the nodes that are down."""
        topology, cluster = deployment.target.topology, deployment.cluster
        assert topology is not None and topology.failover is not None and cluster is not None
        self._cluster: Cluster = cluster
        self._first = cluster.leader
        self._after_s = topology.failover.after_s
        self._every_s = min(ASK_MAX_S, max(ASK_MIN_S, (self._after_s or 1.0) / ASKS))
        self._lead = lead
        self._log = log
        self._now = now
        self._zero_unix_s = now()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._answered = time.monotonic()  # when a primary last answered
        self._failed = 0  # questions since then
        self._told: set[str] = set()  # reported once in a failover
        self._down: set[str] = set()  # replicas
        self._replicas = deployment.leads_to_replicas
        self._clocks = deployment.clocks
        self._leading = threading.Lock()  # addresses are led by one thread at a time

    # ---- a part of the timeline

    def start(self, measure_unix_s: float) -> None:
        """The clock is known: from here on it is watched."""
        self._zero_unix_s = measure_unix_s
        self._heard()
        self._cluster.tell = self.tell
        for work in (self._ask, self._watch, *([self._read] if self._replicas else [])):
            thread = threading.Thread(target=work, name="failover", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """The load has ended: no failover begins any more."""
        self._over.set()

    def close(self) -> None:
        """Waits for a failover that is under way."""
        self.stop()
        for thread in self._threads:
            thread.join()
        if self._threads and self._cluster.leader != self._first:
            self._read_log(self._cluster.leader)

    def _read_log(self, leader: str) -> None:
        """Adds what the log of the present primary says, by the clock of the trial."""
        logged_unix_s, clock = self._cluster.takes_writes_since(), self._clocks.get(leader)
        if logged_unix_s is None:
            return
        unix_s = logged_unix_s
        if clock is not None:
            found = clock.unskewed(logged_unix_s, self._zero_unix_s, self._now())
            if found is None:
                self.tell(leader, UNDATED, SHIFTED)
                return
            unix_s = found
        off_s = logged_unix_s - unix_s
        said = f", whose clock was {off_s:+g} s off" if round(off_s, 3) else ""
        self._add(unix_s, leader, LOGGED, f"takes writes, by its log{said}")

    def settle(self) -> None:
        """Faults were undone since: replicas that answer only now follow the present primary."""
        if not self._cluster.strays:
            return
        try:
            self._cluster.regroup()
        except Exception as error:  # each client library has errors of its own
            self._fail(_reason(error))

    def tell(self, node: str, change: str, said: str) -> None:
        """Adds a change of roles to the trial's."""
        self._add(self._now(), node, change, said)

    def _add(self, unix_s: float, node: str, change: str, said: str) -> None:
        self._log.append(round(unix_s - self._zero_unix_s, 4), node, change, said)

    # ---- asking

    def _ask(self) -> None:
        while not self._over.wait(self._every_s):
            if self._leads(self._cluster.leader):
                self._heard()
            else:
                self._failed += 1

    def _read(self) -> None:
        """Which of the others answer: sessions that read are led there."""
        while not self._over.wait(self._every_s):
            leader = self._cluster.leader
            others = [name for name in self._cluster.names if name != leader]
            # One that was detached serves readers no more than one that is down.
            gone = (DOWN, INSTANCE)
            down = {name for name in others if self._cluster.role(name) in gone}
            with self._leading:
                if self._cluster.leader == leader:  # else it is about other nodes
                    self._readers_leave(down)

    def _readers_leave(self, down: set[str]) -> None:
        if down == self._down:
            return
        for name in sorted(down ^ self._down):
            self.tell(name, LEFT if name in down else JOINED, "by sessions that read")
        self._down = down
        try:
            self._lead(down)
        except DynoError as error:  # the relay has ended, which voids the trial
            self._fail(error.what)

    def _leads(self, name: str) -> bool:
        return self._cluster.role(name) in (PRIMARY, MEMBER)

    def _heard(self) -> None:
        self._answered, self._failed = time.monotonic(), 0

    # ---- deciding

    def _watch(self) -> None:
        while not self._over.wait(HEAR_S if self._cluster.watched else POLL_S):
            try:
                self._look()
            except Exception as error:  # a node that dies now; each client library says how
                self._fail(_reason(error))

    def _fail(self, why: str) -> None:
        """It is tried again."""
        if why not in self._told:
            self._told.add(why)
            self.tell(self._cluster.leader, FAILED, why)

    def _look(self) -> None:
        if self._cluster.watched:
            self._hear()
            return
        silent_s = time.monotonic() - self._answered
        if silent_s < (self._after_s or SUSPICIOUS_S) or not self._failed:
            if self._cluster.strays:
                self._cluster.regroup()
            return
        old = self._cluster.leader
        if not self._cluster.elects:
            self._silent(old, silent_s)
            if not self._cluster.take_over():
                self._heard()  # it has come back
                return
        else:
            other = self._another(old)
            if other is None:
                return
            self._silent(old, silent_s)
            self._cluster.accept(other)
            self.tell(other, CHOSEN if self._after_s else ELECTED, "")
        self._led(old)

    def _hear(self) -> None:
        """Follows what others say who watch the nodes: they have decided."""
        old, name = self._cluster.leader, self._cluster.announced()
        silent_s = time.monotonic() - self._answered
        if self._failed and silent_s >= SUSPICIOUS_S:
            self._silent(old, silent_s)
        if name is None or name == old or not self._leads(name):
            return
        self._cluster.accept(name)
        self.tell(name, ELECTED, "")
        self._led(old)

    def _led(self, old: str) -> None:
        """Leads sessions to the new primary."""
        with self._leading:
            self._lead(self._down | {old})
        self.tell(self._cluster.leader, "address", "sessions are led here")
        self._heard()
        self._told.clear()

    def _silent(self, node: str, silent_s: float) -> None:
        said = f"no answer as a primary for {silent_s:.2f} s"
        if f"{node} is silent" not in self._told:
            self._told.add(f"{node} is silent")
            self.tell(node, SILENT, said)

    def _another(self, old: str) -> str | None:
        """A node besides `old` that takes writes, the first in the order of their start."""
        for name in self._cluster.names:
            if name != old and self._leads(name):
                return name
        return None


def _reason(error: Exception) -> str:
    return error.what if isinstance(error, DynoError) else str(error) or type(error).__name__
