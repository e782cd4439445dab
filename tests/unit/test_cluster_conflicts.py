"""Write-sets on several nodes, step by step: every moment is worked out by hand."""

from __future__ import annotations

import pytest

from dbdyno.models.cluster.conflicts import loads
from dbdyno.models.cluster.conflicts.keys import UPDATE
from dbdyno.models.cluster.conflicts.locks import Locks
from dbdyno.models.cluster.conflicts.transaction import Costs, Outcome, Transaction


def run(*log: tuple[str, float, float, str], **costs: float) -> Outcome:
    """(node, start in ms, commit in ms, key); order takes 10 ms, applying 1 ms, a victim begins
    again after 100 ms, if `costs` (in ms) does not say otherwise."""
    given = {"order": 10.0, "apply": 1.0, "backoff": 100.0, **costs}
    made = [Transaction(n, a / 1000, b / 1000, {key: UPDATE}) for n, a, b, key in log]
    return loads.of_log(made, Costs(**{f"{k}_s": v / 1000 for k, v in given.items()}))


def counts(found: Outcome) -> tuple[int, int, int]:
    return found.committed, found.certification_failures, found.aborts_at_apply


@pytest.mark.parametrize(
    ("statement", "slowest"),
    [(0, 179),  # b1 learns at 10, asks at 110 behind b2, has the row from 120, runs 50, sends 10
     (20, 180),  # learns at 21, its second statement; asks at 121
     (100, 210)],  # learns when it asks to commit, at 51
)  # fmt: skip
def test_who_waits_for_a_row_fails_at_once_and_who_has_it_learns_with_its_next_statement(
    statement: float, slowest: float
) -> None:
    found = run(("a", 0, 0, "k"), ("b", 1, 51, "k"), ("b", 2, 2, "k"), statement=statement)
    assert counts(found) == (3, 0, 2)
    assert found.p99_s == pytest.approx(slowest / 1000)


def test_who_has_sent_its_write_set_learns_when_that_is_ordered() -> None:
    # a is ordered at 10: who waits on b's node fails there and then, the one that was sent at 15;
    # from 110 the first, from 115 the other, ordered at 120 and, when the row is free, at 130
    found = run(("a", 0, 0, "k"), ("b", 2, 5, "k"), ("b", 6, 6, "k"))
    assert counts(found) == (3, 1, 1)
    assert found.p99_s == pytest.approx(0.131)  # 3 to run, once more: 2 -> 120 + 3 + 10 = 133


def test_a_node_commits_in_the_order_of_the_group() -> None:
    # b's own write-set is ordered at 11, behind one that it applies until 60
    assert run(("a", 0, 0, "x"), ("b", 1, 1, "y"), apply=50).p99_s == pytest.approx(0.059)


def test_a_node_applies_one_write_set_after_the_other_and_holds_their_rows() -> None:
    # b's node applies x until 60 and y until 110; then b has y, and is ordered at 120
    found = run(("a", 0, 0, "x"), ("a", 0, 0, "y"), ("b", 61, 61, "y"), apply=50)
    assert counts(found) == (3, 0, 0) and found.p99_s == pytest.approx(0.059)


def test_a_row_is_free_when_its_commit_is_done() -> None:
    found = run(("a", 0, 0, "k"), ("a", 0, 0, "k"), commit=2)
    assert found.p99_s == pytest.approx(0.024)


COSTS = Costs(order_s=0.010, apply_s=0.001, backoff_s=0.005)


@pytest.mark.parametrize(
    ("sessions", "committed"),
    [(1, 4),  # 3 to ask, 10 to order: at 3, 16, 29 and 42
     (2, 6)],  # the other asks while one is ordered: the row changes hands every 10
)  # fmt: skip
def test_sessions_of_one_node_hand_the_row_over(sessions: int, committed: int) -> None:
    draw = loads.hot_rows(1, 1.0)
    found = loads.of_sessions({"a": sessions}, draw, 0.0, 0.050, COSTS, pause_s=0.003)
    assert counts(found) == (committed, 0, 0)


def test_sessions_of_two_nodes_fail_and_are_slower_than_two_of_one() -> None:
    # a commits at 13, 26, 39 and 52; b sends at 3, 18, 33 and 48, fails 10 later each time, and
    # commits at 73, when a has done
    draw = loads.hot_rows(1, 1.0)
    found = loads.of_sessions({"a": 1, "b": 1}, draw, 0.0, 0.050, COSTS, pause_s=0.003)
    assert counts(found) == (5, 4, 0) and found.length_s == pytest.approx(0.074)


def test_locks_are_given_in_turn_and_shared_ones_together() -> None:
    locks: Locks[str] = Locks()
    assert locks.ask("one", "k", True) and locks.ask("two", "k", True)
    assert not locks.ask("three", "k", False)
    assert not locks.ask("four", "k", True)  # not past one that waits
    assert locks.against("k", True) == ["three"]
    assert locks.against("k", False) == ["one", "two", "three", "four"]
    assert locks.leave("one") == []
    assert locks.leave("two") == ["three"]
    assert locks.leave("three") == ["four"]
    assert locks.leave("four") == [] and locks.against("k", False) == []


def test_who_gives_up_waiting_lets_those_behind_it_in() -> None:
    locks: Locks[str] = Locks()
    assert locks.ask("one", "k", True) and not locks.ask("two", "k", False)
    assert not locks.ask("three", "k", True)
    assert locks.leave("two") == ["three"]


def test_an_applier_is_first_in_the_queue() -> None:
    locks: Locks[str] = Locks()
    assert locks.ask("holder", "k", False) and not locks.ask("waiter", "k", False)
    assert not locks.ask("applier", "k", False, first=True)
    assert locks.leave("holder") == ["applier"]


def test_a_wait_that_doubles_has_a_longest_one() -> None:
    costs = Costs(backoff_s=0.5, doubling_s=1.0, doubling_max_s=6.0)
    assert [costs.again_s(tries) for tries in (1, 2, 3, 4, 400)] == [1.5, 2.5, 4.5, 6.5, 6.5]
    assert Costs(backoff_s=0.5).again_s(9) == 0.5
