"""What an operator does to a topology in a drill, with the addresses that its clients follow."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

from dbdyno.execute.servers.deployment import Deployment
from dbdyno.faults.base import Step
from dbdyno.topology import Cluster

Lead = Callable[[Deployment, Collection[str]], None]


class Operator:
    """Of one topology; `lead` has all addresses lead where they should by now."""

    def __init__(self, cluster: Cluster, database: str, lead: Callable[[], None]) -> None:
        self._cluster = cluster
        self._database = database
        self._lead = lead

    def work(self, name: str, what: str) -> AbstractContextManager[None]:
        """See `faults.base.Operations`."""
        return self._cluster.work(name, what)

    def switch_over(self, step: Step) -> str:
        """See `faults.base.Operations`."""
        return self._cluster.switch_over(step, self._lead)

    def must_be_replaceable(self, name: str) -> None:
        """See `faults.base.Operations`."""
        self._cluster.must_be_replaceable(name)

    def replace(self, name: str, step: Step, check: Callable[[], None]) -> str:
        """See `faults.base.Operations`."""
        return self._cluster.seed_again(name, step, check, self._database)

    def detach(self, name: str, step: Step) -> str:
        """See `faults.base.Operations`."""
        return self._cluster.detach(name, step, self._database)

    def rejoin(self, name: str, step: Step, check: Callable[[], None]) -> str:
        """See `faults.base.Operations`."""
        return self._cluster.rejoin(name, step, check, self._database)

    def catch_up(self, name: str) -> None:
        """See `faults.base.Operations`."""
        self._cluster.catch_up(name)
