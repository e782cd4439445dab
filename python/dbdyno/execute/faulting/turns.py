"""Whose turn it is: faults of one node are carried out in the order of their moments.

Each fault has a thread of its own, and a machine that stalls wakes threads in any order. So each
looks here before it does something:

- It chooses its nodes once those before it have, as far as they may be of the same nodes.
- It begins once those that have chosen its node before it have begun or, if both have the node for
  themselves (`exclusive`), have been carried out; and once those have ended that were to end first.
- It ends once those have begun, and ended, on its node that were to begin or to end before.
- One that `spans` its topology, a switchover, is of all of its nodes. An operator's work on one of
  them (`works`) waits until it has been carried out, or itself waits for nodes; a mere fault until
  it has begun.

Faults of different nodes do not wait for each other. Each waits for earlier moments only. What a
nemesis draws begins when the one before it has ended: it is the last of those that have chosen
their nodes by then, and no end waits for it. So no two wait for each other. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from dbdyno.execute.faulting.strike import Planned, Strike
from dbdyno.experiment.types import ROUTER
from dbdyno.experiment.values.faults import Fault
from dbdyno.faults import FAULTS


def earlier(
    planned: Sequence[Planned], fault: Fault, until: tuple[float, int], names: Collection[str]
) -> tuple[int, ...]:
    """The places of the planned faults before `until` (a moment, and a place in the list for those
    of the same moment) that may be of nodes of `fault`. `names`: of all nodes of its target."""
    return tuple(
        place
        for place, (other, *_) in enumerate(planned)
        if (other.at_s, place) < until and may_meet(fault, other, names)
    )


def may_meet(one: Fault, other: Fault, names: Collection[str]) -> bool:
    """Whether two faults may be of the same node, whichever nodes have the roles that they name."""
    if one.target != other.target:
        return False
    if FAULTS[one.do].spans or FAULTS[other.do].spans:
        return True
    mine, theirs = certain(one, names), certain(other, names)
    return mine is None or theirs is None or bool(mine & theirs)


def certain(fault: Fault, names: Collection[str]) -> set[str] | None:
    """The nodes of a fault, if roles have no part in that; else None."""
    found = set(fault.nodes)
    return found if found <= {*names, ROUTER} else None


def ahead(strike: Strike, strikes: Iterable[Strike]) -> Strike | None:
    """The first that a strike must wait for before it begins; None: it is its turn."""
    return next((other for other in strikes if _is_ahead(other, strike)), None)


def _is_ahead(other: Strike, strike: Strike) -> bool:
    if other.number >= strike.number or other.fault is strike.fault or not other.meets(strike):
        return False
    if other.must_end_before(strike):
        return True
    if other.begun_s is None:
        return not other.is_over
    return not other.is_over and _has_it_alone(other, strike)


def _has_it_alone(other: Strike, strike: Strike) -> bool:
    """Whether what is being carried out keeps another one from beginning."""
    one, two = FAULTS[other.fault.do], FAULTS[strike.fault.do]
    if not (one.exclusive and two.exclusive):
        return False
    if other.node is strike.node or two.spans:
        return True
    return two.works and not other.steps.is_waiting


def follows(strike: Strike, first: Strike) -> bool:
    """Whether both are work on one node, and the first is under way."""
    works = FAULTS[strike.fault.do].works and FAULTS[first.fault.do].works
    return works and first.node is strike.node and first.begun_s is not None


def before_end(strike: Strike, strikes: Iterable[Strike]) -> Strike | None:
    """The first that a strike must wait for before it ends; None: it may."""
    return next((other for other in strikes if _is_before_end(other, strike)), None)


def _is_before_end(other: Strike, strike: Strike) -> bool:
    end_s = strike.end_s
    if end_s is None or other.fault is strike.fault or other.node is not strike.node:
        return False
    # One that a nemesis has drawn begins when the one before it has ended, not at its moment.
    if other.is_drawn or other.fault.at_s >= end_s:
        return False
    if other.end_s is not None and other.end_s < end_s and other.must_end_by(end_s):
        return True
    alone = FAULTS[other.fault.do].exclusive and FAULTS[strike.fault.do].exclusive
    return not other.is_over and (other.begun_s is None or alone)
