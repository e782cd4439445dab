"""Flow control: a member that does not keep up stops everybody's writes.

A node asks for a pause when its queue of write-sets exceeds gcs.fc_limit, and lets go at
gcs.fc_factor of it. Unless gcs.fc_single_primary, the limit is multiplied by the square root of the
number of members: twice as much in a cluster of four
(https://galeracluster.com/library/documentation/managing-fc.html,
https://mariadb.com/docs/server/ref/mdb/wsrep_provider_options/gcs.fc_single_primary/). As a fluid:
with a factor of 1, the default, a full queue lets as many writes through as are applied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dbdyno.models.cluster.group import Process
from dbdyno.models.cluster.topology import Topology

_EPSILON = 1e-9


class Flow:
    """Queues of slow members, as a fluid."""

    def __init__(self, topology: Topology, processes: Mapping[str, Process]) -> None:
        self.topology, self.processes = topology, processes
        self._seen_s = 0.0

    def limit(self, members: int) -> float:
        """Write-sets that may wait in one queue of a view of that many."""
        options = self.topology.options
        return options.fc_limit * (1.0 if options.fc_single_primary else math.sqrt(members))

    def slow(self, process: Process) -> list[Process]:
        """Members of its view that apply less than is written."""
        others = (self.processes[name] for name in process.view.members)
        rate = self.topology.writes_per_s
        return [o for o in others if o.apply_per_s is not None and o.apply_per_s < rate]

    def brake(self, process: Process) -> Process | None:
        """The member whose full queue holds this one's writes back."""
        limit = self.limit(len(process.view.members))
        full = [one for one in self.slow(process) if one.queue >= limit - _EPSILON]
        return min(full, key=lambda one: one.apply_per_s or 0.0, default=None)

    def advance(self, now_s: float, writes: Callable[[Process], bool]) -> None:
        """Lets time pass: queues fill while writes go on, and drain while they do not."""
        passed, self._seen_s = now_s - self._seen_s, now_s
        if passed <= 0:
            return
        for one in self.processes.values():
            if not one.active:
                continue
            grown = one.queue + passed * self._growth(one, writes)
            one.queue = min(max(0.0, grown), self.limit(len(one.view.members)))

    def next_s(self, now_s: float, writes: Callable[[Process], bool]) -> float | None:
        """When the next queue is full."""
        moments = []
        for one in self.processes.values():
            left = self.limit(len(one.view.members)) - one.queue
            growth = self._growth(one, writes) if one.active else 0.0
            if growth > 0 and left > _EPSILON:
                moments.append(now_s + left / growth)
        return min(moments, default=None)

    def _growth(self, one: Process, writes: Callable[[Process], bool]) -> float:
        """Write-sets a second."""
        if one.apply_per_s is None:
            return -math.inf if one.queue else 0.0
        flows = one.view.primary and writes(one)
        return (self.topology.writes_per_s if flows else 0.0) - one.apply_per_s
