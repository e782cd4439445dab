"""The faults of one trial: begun and undone at their moments, and put into its journal.

A fault is a moment of the trial's timeline; one with an end of its own waits for that in the same
thread, or for the end of the load. Faults of one node keep their order (`turns`). What is in force
when the load ends is undone before anything else is asked of the servers; where the user has
stopped the run, only what would outlive the servers. A fault that cannot be begun, or not be undone
at its moment, voids the trial: it did not do what it says. What a fault did to servers does not.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Interrupted
from dbdyno.execute.faulting import turns
from dbdyno.execute.faulting.operator import Lead, Operator
from dbdyno.execute.faulting.strike import Strike, chosen, planned
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.timeline import Moment, TrialVoid
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import DRAWN, FAULTS
from dbdyno.faults.base import FaultKind, Node, Paths, Stopped
from dbdyno.faults.drills.base import Drill, Steps
from dbdyno.faults.drills.base import Step as DrillStep
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.faultlog import BEGIN, FAILED, OK, STOPPED, UNDO, WAIT, FaultLog, Step
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.managed import Managed

POLL_S = 0.01
T = TypeVar("T")


class TrialFaults:
    """See the module. A part of the trial's timeline: its end ends faults that wait for theirs."""

    def __init__(
        self,
        context: ExecutionContext,
        cell: Cell,
        trial: TrialPlan,
        deployments: Mapping[str, Deployment],
        paths: Paths,
        lead: Lead = lambda deployment, down: None,
        now: Callable[[], float] = time.time,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        """`lead` has addresses of a deployment lead where they should by now. `now` and `wait` are
        seams for tests."""
        self._control = context.control
        self._now = now
        self._wait = wait
        self._log = FaultLog(context.run.trial_dir(trial.id), context.run.path)
        self._over = threading.Event()
        self._zero_unix_s = 0.0
        self._planned = planned(cell, trial)
        self._have_chosen = tuple(threading.Event() for _ in self._planned)
        self._ended = tuple(threading.Event() for _ in self._planned)
        self._seed = trial.seed
        self._deployments = deployments
        self._paths = paths
        self._lead = lead
        self._nodes: dict[str, Node] = {}
        self._strikes: list[Strike] = []
        self._lock = threading.Lock()  # of both
        self.broken = ""  # why the servers can be asked nothing about the trial, once healed

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
            for number, (fault, *_) in enumerate(self._planned)
        ]

    def _action(self, number: int) -> Callable[[float], None]:
        return lambda zero_unix_s: self._in_turn(number)

    def _in_turn(self, number: int) -> None:
        """Faults of a nemesis follow each other: one whose servers take their time to stop or to
        start delays the next one. Where the load ends first, there is none."""
        after = self._planned[number].after
        try:
            if after is None or self._until(self._ended[after].is_set):
                self._strike(number)
        finally:
            self._have_chosen[number].set()
            self._ended[number].set()

    def _strike(self, number: int) -> None:
        """A fault from its moment to its end: that of its own, or that of the load."""
        fault, _, is_drawn = self._planned[number]
        if not self._until(lambda: self._is_chosen_before(fault, (fault.at_s, number))):
            if is_drawn:
                return
            what = f"fault `{fault.do}` at {fault.at_s:g} s"
            raise TrialVoid(f"{what} did not happen: the load ended before those before it began")
        at_s = self._t_s() if is_drawn else fault.at_s  # it lasts as long however late it begins
        struck = self._chosen(number)
        self._have_chosen[number].set()
        in_force = _at_once(self._begin, struck)
        begun = [strike for strike, one in zip(struck, in_force, strict=True) if one]
        if fault.for_s is None or not begun:
            return
        until_s = at_s + fault.for_s
        self._wait(self._over, max(0.0, until_s - self._t_s()))
        self._until(lambda: self._may_end(begun))  # else the load has ended: all of them do
        if self._control.stop_now and FAULTS[fault.do].ends:
            return  # the servers are about to be removed
        standing = [
            strike for strike in begun if strike.is_in_force
        ]  # a `restart` may have ended it
        _at_once(lambda strike: self._undo(strike, until_s), standing)
        for strike in begun:
            if strike.problem:
                raise TrialVoid(f"{strike.what} was not undone: {strike.problem}")

    def _is_chosen_before(self, fault: Fault, until: tuple[float, int]) -> bool:
        """Whether those before `until` that may be of a fault's nodes have chosen theirs. One of a
        nemesis, which waits for the one before it, is not waited for."""
        names = self._deployments[fault.target].servers
        return all(
            self._have_chosen[place].is_set() or self._is_held_up(place)
            for place in turns.earlier(self._planned, fault, until, names)
        )

    def _is_held_up(self, number: int) -> bool:
        after = self._planned[number].after
        return after is not None and not self._ended[after].is_set()

    def _may_end(self, begun: Sequence[Strike]) -> bool:
        """Whether all have begun on these nodes that were to begin before the end."""
        end_s = begun[0].end_s
        if end_s is None:
            return True
        if not self._is_chosen_before(begun[0].fault, (end_s, -1)):
            return False
        strikes = list(self._strikes)
        return not any(turns.before_end(strike, strikes) for strike in begun)

    def _chosen(self, number: int) -> list[Strike]:
        """A fault's nodes, by the roles that they have now."""
        fault, _, is_drawn = self._planned[number]
        deployment = self._deployments[fault.target]
        draw = random.Random(f"dbdyno fault {self._seed} {number}")
        target = deployment.target
        arbitrator = target.arbitrator.name if target.arbitrator is not None else ""
        roles: Mapping[str, str] = dict.fromkeys(deployment.servers, "")
        if turns.certain(fault, deployment.servers) is None:
            roles = deployment.roles()  # which waits for nodes that hang
        names = chosen(fault, roles, draw, target.router_name, arbitrator)
        with self._lock:
            first = len(self._strikes) + 1
            struck = replace(fault, nodes=tuple(names))
            found = [
                Strike(first + nth, struck, self._node(name, deployment), is_drawn=is_drawn)
                for nth, name in enumerate(names)
            ]
            self._strikes += found
        return found

    def _node(self, name: str, deployment: Deployment) -> Node:
        if name not in self._nodes:
            made = self._server if name in deployment.servers else self._router
            if deployment.arbitrator is not None and name == deployment.arbitrator.name:
                made = self._arbitrator
            self._nodes[name] = made(name, deployment)
        return self._nodes[name]

    def _server(self, name: str, deployment: Deployment) -> Node:
        server = deployment.servers[name]
        assert isinstance(server, Managed), "checked by experiment.faults"
        struck: Any = server  # every one of them has SQL or none, which was checked too
        fenced = partial(deployment.is_fenced, name)
        disk = deployment.volumes.get(name)
        others = tuple(other.name for other in deployment.target.linked if other.name != name)
        return Node(
            *(name, struck, deployment.database, self._paths, others, disk, self._stopped, fenced),
            operations=self._operator(deployment),
            clock=deployment.clocks.get(name),
            names=deployment.named,
        )

    def _router(self, name: str, deployment: Deployment) -> Node:
        """What is in front of the nodes: a process without data."""
        struck: Any = deployment.router
        assert struck is not None, "checked by experiment.faults"
        return Node(name, struck, deployment.database, self._paths, stopped=self._stopped)

    def _arbitrator(self, name: str, deployment: Deployment) -> Node:
        """A member without data: a process that has links to the nodes, and none to clients."""
        struck: Any = deployment.arbitrator
        others = tuple(deployment.servers)
        return Node(
            *(name, struck, deployment.database, self._paths, others), stopped=self._stopped
        )

    def _stopped(self) -> bool:
        return self._control.stop_now

    def _operator(self, deployment: Deployment) -> Operator | None:
        cluster = deployment.cluster
        if cluster is None:
            return None
        return Operator(cluster, deployment.database, partial(self._lead, deployment, ()))

    def _begin(self, strike: Strike) -> bool:
        """Whether it is in force; TrialVoid, Interrupted if it cannot be."""
        try:
            self._wait_for_turn(strike)
            return self._carry_out(strike)
        finally:
            strike.is_over = True

    def _wait_for_turn(self, strike: Strike) -> None:
        """TrialVoid if the load ends first."""
        first = turns.ahead(strike, list(self._strikes))
        if first is None:
            return
        fault = strike.fault
        line = Step(strike.number, fault.do, strike.node.name, WAIT, fault.at_s, self._t_s())
        self._log.append(replace(line, said=f"for {first.what}"))
        is_its_turn = self._until(lambda: turns.ahead(strike, list(self._strikes)) is None)
        if is_its_turn or self._follows_late(strike):
            self._log.append(replace(line, t_s=self._t_s(), outcome=OK))
            return
        left = turns.ahead(strike, list(self._strikes)) or first
        why = f"it waited for {left.what}, which was not over when the load ended"
        self._log.append(replace(line, t_s=self._t_s(), outcome=FAILED, said=why))
        raise TrialVoid(f"{strike.what} did not happen: {why}")

    def _follows_late(self, strike: Strike) -> bool:
        """Waits for the work before it on its node, if that is under way, though the load has
        ended: a restore follows its backup."""
        while (first := turns.ahead(strike, list(self._strikes))) is not None:
            if self._control.stop_now or not turns.follows(strike, first):
                return False
            time.sleep(POLL_S)
        return True

    def _carry_out(self, strike: Strike) -> bool:
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

    def _until(self, condition: Callable[[], bool]) -> bool:
        """Waits for a condition; False if the load ends first."""
        while not condition():
            if self._over.wait(POLL_S):
                return False
        return True

    def _was_struck_later(self, strike: Strike) -> bool:
        """Whether another fault may have made it fail. One that is exclusive has its node for
        itself until it ends: what has begun since waits for it."""
        if FAULTS[strike.fault.do].exclusive:
            return False
        return any(
            other.node is strike.node and other.begun_s is not None and other.number > strike.number
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
            with _worded(node), _as_work(kind, node):
                if step == UNDO:
                    said = kind.undo(node, fault, strike.said)
                elif isinstance(kind, Drill):
                    strike.steps = Steps(self._t_s, partial(self._journal_step, line))
                    said = kind.carry_out(node, fault, strike.steps)
                else:
                    said = kind.begin(node, fault)
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

    def _journal_step(self, line: Step, step: DrillStep) -> None:
        outcome = "" if step.ended_s is None else OK
        self._log.append(replace(line, step=step.name, t_s=self._t_s(), outcome=outcome))

    # ---- the end

    def heal(self) -> tuple[str, ...]:
        """After the load: undoes what is in force, the last first. What could not be undone, in
        sentences."""
        problems = []
        for strike in self._standing():
            self._undo(strike, None)
            if strike.problem:
                problems.append(f"{strike.what} was not undone: {strike.problem}")
                if FAULTS[strike.fault.do].apart:
                    self.broken = problems[-1]
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


def _at_once(do: Callable[[Strike], T], strikes: Sequence[Strike]) -> list[T]:
    """What it returns for each of them; several at the same time. Raises, once all have ended,
    what the first one that failed did."""
    if len(strikes) < 2:
        return [do(strike) for strike in strikes]
    with ThreadPoolExecutor(len(strikes)) as pool:
        return list(pool.map(do, strikes))


@contextmanager
def _worded(node: Node) -> Iterator[None]:
    """Whatever a server, its disk or a client library says against a step, as a DynoError: the
    other faults are still to be undone."""
    try:
        yield
    except (DynoError, Stopped, Interrupted):
        raise
    except Exception as error:
        what = f"`{node.name}`: {type(error).__name__}: {error}"
        raise DynoError(what) from error


def _as_work(kind: FaultKind, node: Node) -> AbstractContextManager[None]:
    """What an operator does to one node of a topology: a switchover does not happen meanwhile."""
    if node.operations is None or kind.spans or not kind.works:
        return nullcontext()
    return node.operations.work(node.name, kind.name)


def check(plan: Plan) -> None:
    """DynoError for a fault of the plan that this machine cannot have."""
    checked: set[tuple[object, ...]] = set()
    for cell in plan.cells:
        targets = {target.name: target for target in cell.targets}
        for fault in cell.faults:
            target = targets[fault.target]
            one = (fault, target.kind, target.version, target.basedir)
            if one in checked:
                continue
            checked.add(one)
            for name in _kinds(fault):
                FAULTS[name].check(fault, target)


def impossible(fault: Fault, target: TargetPlan) -> DynoError | None:
    """Why this machine cannot have a fault of that target; None if it can."""
    try:
        for name in _kinds(fault):
            FAULTS[name].check(fault, target)
    except DynoError as error:
        return error
    return None


def _used(plan: Plan) -> Iterator[tuple[str, Fault]]:
    faults = dict.fromkeys(fault for cell in plan.cells for fault in cell.faults)
    return ((name, fault) for fault in faults for name in _kinds(fault))


def _kinds(fault: Fault) -> tuple[str, ...]:
    return fault.of if fault.do == DRAWN else (fault.do,)


def _reason(error: DynoError) -> str:
    return "; ".join(filter(None, (error.what.splitlines()[0], error.cause)))
