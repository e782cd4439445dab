"""The faults of one trial: begun and undone at their moments, and put into its journal.

A fault is a moment of the trial's timeline; one with an end of its own waits for that in the same
thread, or for the end of the load. What is in force then is undone before anything else is asked of
the servers; where the user has stopped the run, only what would outlive the servers. A fault that
cannot be begun, or not be undone at its moment, voids the trial: it did not do what it says. What
a fault did to servers does not.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Interrupted
from dbdyno.execute.faulting.strike import Strike, chosen, planned
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.timeline import Moment, TrialVoid
from dbdyno.experiment.types import Fault
from dbdyno.faults import DRAWN, FAULTS
from dbdyno.faults.base import Node, Paths, Stopped
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.faultlog import BEGIN, FAILED, OK, STOPPED, UNDO, FaultLog, Step
from dbdyno.systems.process.managed import Managed


class TrialFaults:
    """See the module. A part of the trial's timeline: its end ends faults that wait for theirs."""

    def __init__(
        self,
        context: ExecutionContext,
        cell: Cell,
        trial: TrialPlan,
        deployments: Mapping[str, Deployment],
        paths: Paths,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._control = context.control
        self._now = now
        self._log = FaultLog(context.run.trial_dir(trial.id), context.run.path)
        self._over = threading.Event()
        self._zero_unix_s = 0.0
        self._planned = tuple(planned(cell, trial))
        self._seed = trial.seed
        self._deployments = deployments
        self._paths = paths
        self._nodes: dict[str, Node] = {}
        self._strikes: list[Strike] = []
        self._lock = threading.Lock()  # of both

    # ---- a part of the timeline

    def start(self, measure_unix_s: float) -> None:
        """The clock is known."""
        self._zero_unix_s = measure_unix_s

    def stop(self) -> None:
        """The load has ended: whatever waits for the end of its fault ends it now."""
        self._over.set()

    def moments(self) -> list[Moment]:
        """One a fault. Their actions raise TrialVoid or Interrupted."""
        return [
            Moment(fault.at_s, f"fault `{fault.do}` at {fault.at_s:g} s", self._action(number))
            for number, fault in enumerate(self._planned)
        ]

    def _action(self, number: int) -> Callable[[float], None]:
        return lambda zero_unix_s: self._strike(number)

    def _strike(self, number: int) -> None:
        """A fault from its moment to its end: that of its own, or that of the load."""
        fault = self._planned[number]
        begun = [strike for strike in self._chosen(number) if self._begin(strike)]
        if fault.for_s is None or not begun:
            return
        until_s = fault.at_s + fault.for_s
        self._over.wait(max(0.0, until_s - self._t_s()))
        if self._control.stop_now and FAULTS[fault.do].ends:
            return  # the servers are about to be removed
        for strike in begun:
            if strike.is_in_force:  # a `restart` may have ended it
                self._undo(strike, until_s)
        for strike in begun:
            if strike.problem:
                raise TrialVoid(f"{strike.what} was not undone: {strike.problem}")

    def _chosen(self, number: int) -> list[Strike]:
        """A fault's nodes, by the roles that they have now."""
        fault = self._planned[number]
        deployment = self._deployments[fault.target]
        draw = random.Random(f"dbdyno fault {self._seed} {number}")
        names = chosen(fault, deployment.roles(), draw)
        with self._lock:
            first = len(self._strikes) + 1
            struck = replace(fault, nodes=tuple(names))
            found = [
                Strike(first + nth, struck, self._node(name, deployment))
                for nth, name in enumerate(names)
            ]
            self._strikes += found
        return found

    def _node(self, name: str, deployment: Deployment) -> Node:
        if name not in self._nodes:
            server = deployment.servers[name]
            assert isinstance(server, Managed), "checked by experiment.faults"
            struck: Any = server  # every one of them has SQL or none, which was checked too
            stopped = partial(getattr, self._control, "stop_now")
            others = tuple(other for other in deployment.servers if other != name)
            self._nodes[name] = Node(
                name, struck, deployment.database, self._paths, others, stopped
            )
        return self._nodes[name]

    def _begin(self, strike: Strike) -> bool:
        """Whether it is in force; TrialVoid, Interrupted if it cannot be."""
        strike.begun_s = self._t_s()
        try:
            strike.said = self._step(strike, BEGIN, strike.fault.at_s)
        except DynoError as error:
            if self._was_struck_later(strike):
                return False  # a statement whose server was killed in its middle, say
            raise TrialVoid(f"{strike.what} did not happen: {_reason(error)}") from None
        strike.in_force_s = self._t_s()
        for other in list(self._strikes):
            healed = other.fault.do in FAULTS[strike.fault.do].heals
            if other.node is strike.node and other.is_in_force and healed:
                other.undone_s = strike.in_force_s
        return True

    def _was_struck_later(self, strike: Strike) -> bool:
        began_s = strike.begun_s
        assert began_s is not None
        return any(
            other.node is strike.node and other.begun_s is not None and other.begun_s > began_s
            for other in list(self._strikes)
        )

    def _undo(self, strike: Strike, at_s: float | None) -> None:
        """Undoes it; a `problem` if it cannot be."""
        try:
            self._step(strike, UNDO, at_s)
        except DynoError as error:
            strike.problem = _reason(error)
            return
        strike.undone_s = self._t_s()

    def _step(self, strike: Strike, step: str, at_s: float | None) -> str:
        """Begins or undoes it, between two lines of the journal."""
        kind, node, fault = FAULTS[strike.fault.do], strike.node, strike.fault
        line = Step(strike.number, fault.do, node.name, step, at_s, self._t_s())
        if kind.exclusive:
            node.lock.acquire()
        try:
            self._log.append(line)
            began = step == BEGIN
            said = kind.begin(node, fault) if began else kind.undo(node, fault, strike.said)
        except Stopped:
            self._log.append(replace(line, t_s=self._t_s(), outcome=STOPPED))
            raise Interrupted from None
        except DynoError as error:
            strike.problem = _reason(error)
            self._log.append(replace(line, t_s=self._t_s(), outcome=FAILED, said=_reason(error)))
            raise
        finally:
            if kind.exclusive:
                node.lock.release()
        self._log.append(replace(line, t_s=self._t_s(), outcome=OK, said=said))
        return said

    # ---- the end

    def heal(self) -> tuple[str, ...]:
        """After the load: undoes what is in force, the last first. What could not be undone, in
        sentences."""
        problems = []
        for strike in self._standing():
            self._undo(strike, None)
            if strike.problem:
                problems.append(f"{strike.what} was not undone: {strike.problem}")
        return tuple(problems)

    def release(self) -> None:
        """Of a trial that counts for nothing and whose servers will be removed: undoes what would
        hinder that, or outlive them."""
        for strike in self._standing():
            if not FAULTS[strike.fault.do].ends:
                self._undo(strike, None)

    def _standing(self) -> Iterator[Strike]:
        return (strike for strike in reversed(self._strikes) if strike.is_in_force)

    def facts(self) -> tuple[dict[str, Any], ...]:
        """All faults that were begun, by time, for the trial's record."""
        begun = [strike for strike in self._strikes if strike.begun_s is not None]
        return tuple(strike.facts() for strike in sorted(begun, key=lambda one: one.begun_s or 0.0))

    def _t_s(self) -> float:
        return round(self._now() - self._zero_unix_s, 4)


def recover(plan: Plan) -> None:
    """Before a run's first trial: removes what processes that are gone have left on the machine."""
    used = {name for name, _ in _used(plan)}
    for kind in FAULTS.values():
        if kind.name in used:
            kind.recover()


def check(plan: Plan) -> None:
    """DynoError for a fault of the plan that this machine cannot have."""
    for name, fault in _used(plan):
        FAULTS[name].check(fault)


def _used(plan: Plan) -> Iterator[tuple[str, Fault]]:
    faults = dict.fromkeys(fault for cell in plan.cells for fault in cell.faults)
    return ((name, fault) for fault in faults for name in _kinds(fault))


def _kinds(fault: Fault) -> tuple[str, ...]:
    return fault.of if fault.do == DRAWN else (fault.do,)


def _reason(error: DynoError) -> str:
    return "; ".join(filter(None, (error.what.splitlines()[0], error.cause)))
