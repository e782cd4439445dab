"""Who may work on which node while another thread does. Threads and events, no time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from dbdyno.topology.locks import NodeLocks


class Watched(threading.Condition):
    """A condition that tells when somebody waits for it. Who hears it and takes the condition comes
    after the wait has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.set()
        return super().wait(timeout)


def watched(locks: NodeLocks) -> threading.Event:
    """Set once a thread waits for a node."""
    locks._changed = found = Watched()
    return found.waits


def elsewhere(do: Callable[[], object]) -> threading.Thread:
    """A thread that has begun to do it."""
    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    return thread


def until_done(thread: threading.Thread) -> None:
    thread.join(120)
    assert not thread.is_alive(), "it waits for ever"


def test_a_node_is_held_by_one_thread_and_others_wait() -> None:
    locks = NodeLocks()
    waits, found = watched(locks), list[bool]()
    with locks.of("db", "a start"), locks.of("db", "a replacement"):
        second = elsewhere(lambda: found.append(locks.take("db", "a failover")))
        assert waits.wait(120)
        until_done(elsewhere(lambda: found.append(locks.take("db.2", "a start"))))
        assert found == [False], "another node is free"
    until_done(second)
    assert found == [False, True]


def test_all_nodes_are_taken_only_while_nobody_holds_one_or_works_on_one() -> None:
    locks, found = NodeLocks(), list[bool]()

    def look() -> None:
        with locks.all_if_idle("a switchover") as is_idle:
            found.append(is_idle)

    with locks.of("db.3", "a start"):
        until_done(elsewhere(look))
    with locks.work("db.2", "upgrade"):
        until_done(elsewhere(look))
        look()  # one's own work is none of others
    until_done(elsewhere(look))
    assert found == [False, False, True, True]


@pytest.mark.parametrize("how", ["take", "work"])
def test_who_would_begin_on_a_node_waits_while_another_thread_has_all(how: str) -> None:
    locks = NodeLocks()
    waits, did = watched(locks), list[str]()

    def begin() -> None:
        if how == "take":
            locks.take("db.2", "a start")
        else:
            with locks.work("db.2", "upgrade"):
                pass
        did.append("begun")

    with locks.all_if_idle("a switchover"), locks.of("db", "a start"):
        other = elsewhere(begin)
        assert waits.wait(120)
        did.append("changed")
    until_done(other)
    assert did == ["changed", "begun"]


def test_work_on_a_node_leaves_it_free_for_a_failover() -> None:
    locks = NodeLocks()
    with locks.work("db", "upgrade"):
        until_done(elsewhere(lambda: locks.take("db", "a failover")))


def test_a_node_that_is_held_is_left_to_who_has_it() -> None:
    locks, found = NodeLocks(), list[bool]()

    def look() -> None:
        with locks.if_free("db.2", "a change of its primary") as is_free:
            found.append(is_free)

    with locks.of("db.2", "a start"):
        until_done(elsewhere(look))
        look()
    with locks.work("db.2", "upgrade"):
        until_done(elsewhere(look))
    assert found == [False, True, True]


def test_a_thread_holds_one_node_or_all() -> None:
    locks = NodeLocks()
    with (
        locks.of("db", "a start"),
        pytest.raises(AssertionError, match=r"db\.2 would be taken after \['db'\]"),
    ):
        locks.take("db.2", "a start")
    with locks.all_if_idle("a switchover") as is_idle, locks.of("db", "a start"):
        assert is_idle
        locks.take("db.2", "a start")


def test_what_others_do_is_said_once_for_each_node() -> None:
    locks, found = NodeLocks(), list[tuple[str, ...]]()
    with locks.work("db.3", "upgrade"), locks.of("db.3", "a start"):
        until_done(elsewhere(lambda: found.append(locks.others())))
        assert locks.others() == ()
    with locks.all_if_idle("a switchover"):
        until_done(elsewhere(lambda: found.append(locks.others())))
    assert found == [("upgrade of db.3",), ("a switchover",)]
