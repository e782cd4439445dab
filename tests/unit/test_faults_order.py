"""Which faults go before which others, on one node and on all. Pure functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from dbdyno.execute.faulting import turns
from dbdyno.execute.faulting.strike import Planned, Strike
from dbdyno.experiment.values.faults import Fault
from dbdyno.faults import FAULTS
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Steps

NAMES = ("db", "db.2", "db.3")


def fault(at_s: float, do: str, node: str = "db", for_s: float | None = None) -> Fault:
    return Fault(at_s, do, (node,), "db", for_s)


def nodes() -> dict[str, Node]:
    server: Any = None
    return {name: Node(name, server, "") for name in NAMES}


def strikes(*faults: Fault) -> list[Strike]:
    there = nodes()
    return [Strike(number, each, there[each.nodes[0]]) for number, each in enumerate(faults, 1)]


@pytest.mark.parametrize(
    ("first", "second", "before", "during"),
    [
        (fault(1, "kill"), fault(1, "stop"), True, True),
        (fault(1, "kill"), fault(1, "kill", "db.2"), False, False),
        (fault(1, "sql"), fault(2, "kill"), True, False),
        (fault(1, "backup"), fault(2, "sql"), True, False),
        (fault(1, "replace", "db.3"), fault(2, "switchover"), True, True),
        (fault(1, "kill", "db.3"), fault(2, "switchover"), True, True),
        (fault(1, "sql", "db.3"), fault(2, "switchover"), True, False),
        (fault(1, "switchover"), fault(2, "upgrade", "db.2"), True, True),
        (fault(1, "switchover"), fault(2, "restart", "db.2"), True, True),
        (fault(1, "switchover"), fault(2, "kill", "db.2"), True, False),
        (fault(1, "switchover"), fault(2, "sql", "db.2"), True, False),
    ],
)
def test_a_fault_waits_for_those_before_it_on_its_node(
    first: Fault, second: Fault, before: bool, during: bool
) -> None:
    one, two = strikes(first, second)
    assert (turns.ahead(two, [one, two]) is one) == before, "before the first has begun"
    assert turns.ahead(one, [one, two]) is None
    one.begun_s = 1.0
    assert (turns.ahead(two, [one, two]) is one) == during, "while it is carried out"
    one.is_over, one.in_force_s = True, 1.1
    assert turns.ahead(two, [one, two]) is None


def test_a_fault_of_another_target_is_no_concern_of_a_switchover() -> None:
    other = replace(fault(1, "replace", "db.3"), target="other")
    one, two = strikes(other, fault(2, "switchover"))
    assert turns.ahead(two, [one, two]) is None


def test_work_goes_before_a_switchover_that_waits_for_nodes() -> None:
    change, restart = strikes(fault(1, "switchover"), fault(2, "restart", "db.3"))
    change.begun_s, change.steps = 1.0, Steps()
    with change.steps("wait"):
        assert turns.ahead(restart, [change, restart]) is None
    assert turns.ahead(restart, [change, restart]) is change


def test_a_fault_waits_for_an_end_that_was_due_and_for_no_other() -> None:
    pause, early, late, change = strikes(
        fault(1, "pause", "db.2", for_s=2),
        fault(2, "sql", "db.2"),
        fault(3, "sql", "db.2"),
        fault(4, "switchover"),
    )
    pause.begun_s, pause.in_force_s, pause.is_over = 1.0, 1.0, True
    assert turns.ahead(early, [pause, early]) is None
    assert turns.ahead(late, [pause, late]) is pause
    assert turns.ahead(change, [pause, change]) is pause
    pause.undone_s = 3.2
    assert turns.ahead(late, [pause, late]) is None


def test_an_end_waits_for_what_was_to_begin_before_it() -> None:
    pause, kill, late, drawn = strikes(
        fault(1, "pause", for_s=2), fault(2, "kill"), fault(3, "kill"), fault(2, "kill")
    )
    drawn.is_drawn = True
    assert turns.before_end(pause, [pause, kill]) is kill
    kill.is_over = True
    assert turns.before_end(pause, [pause, kill, late, drawn]) is None
    short = replace(pause, fault=fault(2, "pause", for_s=0.5))
    short.begun_s, short.is_over = 2.0, True
    assert turns.before_end(pause, [pause, kill, short]) is short, "which was to end before it"
    short.undone_s = 2.6
    assert turns.before_end(pause, [pause, kill, short]) is None
    unlimited = replace(pause, fault=fault(1, "pause"))
    assert turns.before_end(unlimited, [unlimited, late]) is None


def test_which_faults_may_be_of_one_node() -> None:
    def may(one: Fault, other: Fault) -> bool:
        assert turns.may_meet(one, other, NAMES) == turns.may_meet(other, one, NAMES)
        return turns.may_meet(one, other, NAMES)

    assert may(fault(1, "kill"), fault(2, "stop"))
    assert not may(fault(1, "kill"), fault(2, "stop", "db.2"))
    assert may(fault(1, "kill", "replica"), fault(2, "stop", "db.2"))
    assert may(fault(1, "kill", "all"), fault(2, "stop", "db.2"))
    assert not may(fault(1, "kill", "router"), fault(2, "stop", "db.2"))
    assert may(fault(1, "switchover", "primary"), fault(2, "stop", "db.2"))
    assert not may(replace(fault(1, "kill"), target="other"), fault(2, "kill"))


def test_those_before_a_fault_have_earlier_moments_or_earlier_places() -> None:
    listed = [Planned(one) for one in (fault(2, "kill"), fault(1, "stop"), fault(2, "stop"))]
    moments = [(one.fault.at_s, place) for place, one in enumerate(listed)]
    found = [
        turns.earlier(listed, one.fault, moment, NAMES)
        for one, moment in zip(listed, moments, strict=True)
    ]
    assert found == [(1,), (), (0, 1)]
    assert turns.earlier(listed, listed[1].fault, (2, -1), NAMES) == (1,)


@pytest.mark.parametrize("seed", range(300))
def test_whatever_the_machine_does_all_faults_are_carried_out_in_their_order(seed: int) -> None:
    """Threads get their turns at random; each does what `TrialFaults` does."""
    draw = random.Random(seed)
    kinds = ["kill", "pause", "sql", "switchover", "restart", "replace", "partition"]
    listed = [_any_fault(draw, kinds) for _ in range(draw.randint(2, 8))]
    planned = [Planned(one) for one in listed]
    there, struck, log = nodes(), list[Strike](), list[tuple[str, Strike]]()

    def have_chosen(one: Fault, until: tuple[float, int]) -> bool:
        asked = turns.earlier(planned, one, until, NAMES)
        return {id(listed[place]) for place in asked} <= {id(each.fault) for each in struck}

    def thread(place: int) -> Iterator[Callable[[], bool]]:
        one = listed[place]
        yield lambda: have_chosen(one, (one.at_s, place))
        strike = Strike(len(struck) + 1, one, there[one.nodes[0]])
        struck.append(strike)
        yield lambda: turns.ahead(strike, struck) is None
        strike.begun_s = one.at_s
        log.append(("begin", strike))
        yield lambda: True
        strike.is_over, strike.in_force_s = True, one.at_s
        if strike.end_s is None:
            return
        end_s = strike.end_s
        yield lambda: have_chosen(one, (end_s, -1)) and turns.before_end(strike, struck) is None
        strike.undone_s = strike.end_s
        log.append(("end", strike))

    waiting = [(each, next(each)) for each in map(thread, range(len(listed)))]
    while waiting:
        able = [one for one in waiting if one[1]()]
        assert able, f"all wait for each other: {listed}"
        each, _ = chosen = draw.choice(able)
        waiting.remove(chosen)
        if (condition := next(each, None)) is not None:
            waiting.append((each, condition))
    for name in NAMES:
        moments = [_moment(*one) for one in log if one[1].node.name == name]
        assert moments == sorted(moments), [listed, moments]
    begun = [strike for what, strike in log if what == "begin"]
    for place, change in enumerate(begun):
        if FAULTS[change.fault.do].spans:
            assert all(one.fault.at_s <= change.fault.at_s for one in begun[:place])
            assert all(one.fault.at_s >= change.fault.at_s for one in begun[place:])


def _any_fault(draw: random.Random, kinds: list[str]) -> Fault:
    do, at_s = draw.choice(kinds), draw.randint(1, 6)
    node = "db" if do == "switchover" else draw.choice(NAMES)
    lasts = FAULTS[do].lasts and draw.random() < 0.7
    return fault(at_s, do, node, draw.randint(1, 4) if lasts else None)


def _moment(what: str, strike: Strike) -> tuple[float, bool]:
    """When it was to happen; what ends at the same time comes first."""
    if what == "begin":
        return strike.fault.at_s, True
    assert strike.end_s is not None
    return strike.end_s, False
