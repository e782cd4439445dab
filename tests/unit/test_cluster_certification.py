"""Conflicts of write-sets: who fails, where, and against a single writer."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.models.catalog.galera import certification as formula
from dbdyno.models.cluster.conflicts import loads
from dbdyno.models.cluster.conflicts import run as runs
from dbdyno.models.cluster.conflicts.keys import (
    EXCLUSIVE,
    REFERENCE,
    SHARED,
    TYPES,
    UPDATE,
    conflict,
)
from dbdyno.models.cluster.conflicts.transaction import (
    TRANSACTIONS_MAX,
    Costs,
    Outcome,
    Transaction,
)
from effort import examples

# Order takes 10 ms, applying 1 ms; a victim begins again after 100 ms.
COSTS = Costs(order_s=0.010, apply_s=0.001, backoff_s=0.1)


def run(*log: tuple[str, float, float, str], costs: Costs = COSTS) -> Outcome:
    """(node, start in ms, commit in ms, type of key `k`)."""
    made = [Transaction(n, a / 1000, b / 1000, {"k": kind}) for n, a, b, kind in log]
    return loads.of_log(made, costs)


def counts(found: Outcome) -> tuple[int, int, int]:
    return found.committed, found.certification_failures, found.aborts_at_apply


def test_a_write_set_that_was_ordered_first_fails_the_other_in_certification() -> None:
    # b is sent at 5 ms, before a's write-set of 0 ms arrives at 10 ms
    assert counts(run(("a", 0, 0, UPDATE), ("b", 2, 5, UPDATE))) == (2, 1, 0)


def test_a_running_transaction_is_aborted_at_apply() -> None:
    # b still runs at 10 ms, when a's write-set is applied on its node
    assert counts(run(("a", 0, 0, UPDATE), ("b", 5, 50, UPDATE))) == (2, 0, 1)


def test_what_had_been_seen_does_not_conflict() -> None:
    assert counts(run(("a", 0, 0, UPDATE), ("b", 20, 25, UPDATE))) == (2, 0, 0)


def test_transactions_of_one_node_wait_and_never_conflict() -> None:
    found = run(("a", 0, 0, UPDATE), ("a", 2, 5, UPDATE), ("a", 3, 3, EXCLUSIVE))
    assert counts(found) == (3, 0, 0)
    # the third waits for the second, which waited for the first
    assert found.p99_s == pytest.approx(0.030)


def test_a_victim_runs_again_and_its_latency_counts_from_the_first_attempt() -> None:
    found = run(("a", 0, 0, UPDATE), ("b", 2, 5, UPDATE))
    # sent at 5, failed at 15, again from 115 to 118, ordered at 128: 126 ms after its start
    assert found.p99_s == pytest.approx(0.126)
    assert run(("b", 2, 5, UPDATE)).p99_s == pytest.approx(0.013)


def test_a_transaction_without_retries_is_given_up() -> None:
    found = run(("a", 0, 0, UPDATE), ("b", 2, 5, UPDATE), costs=Costs(order_s=0.010, retries=0))
    assert (found.committed, found.victims, found.given_up) == (1, 1, 1)


@pytest.mark.parametrize(
    ("one", "other", "fails"),
    [(EXCLUSIVE, SHARED, True), (EXCLUSIVE, REFERENCE, True), (EXCLUSIVE, EXCLUSIVE, True),
     (UPDATE, UPDATE, True), (UPDATE, REFERENCE, False), (REFERENCE, REFERENCE, False),
     (SHARED, SHARED, False), (SHARED, REFERENCE, False), (SHARED, UPDATE, True)],
)  # fmt: skip
def test_types_of_keys_decide(one: str, other: str, fails: bool) -> None:
    assert conflict(one, other) == conflict(other, one) == fails
    assert run(("a", 0, 0, one), ("b", 2, 5, other)).certification_failures == fails


@pytest.mark.parametrize(
    ("one", "other", "fails"),
    [(REFERENCE, UPDATE, True), (UPDATE, REFERENCE, True), (REFERENCE, REFERENCE, False),
     (EXCLUSIVE, REFERENCE, True), (UPDATE, UPDATE, True), (SHARED, REFERENCE, False)],
)  # fmt: skip
def test_at_apply_row_locks_decide(one: str, other: str, fails: bool) -> None:
    """As seen on real nodes: a foreign key's lock on its parent and an update of it exclude each
    other, whichever comes first."""
    assert run(("a", 0, 0, one), ("b", 5, 50, other)).aborts_at_apply == fails


def test_references_of_one_row_do_not_wait_for_each_other_on_a_node() -> None:
    together = run(("a", 0, 5, REFERENCE), ("a", 1, 6, REFERENCE))
    assert together.p99_s == pytest.approx(0.015)
    behind = run(("a", 0, 5, REFERENCE), ("a", 1, 6, REFERENCE), ("a", 2, 3, UPDATE))
    assert behind.p99_s == pytest.approx(
        0.025
    )  # from 2 until 16 for the lock, 1 to run, 10 to send


def test_conflict_is_symmetric() -> None:
    assert all(conflict(a, b) == conflict(b, a) for a in TYPES for b in TYPES)


def test_only_so_many_write_sets_are_looked_back_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs.CERT_WINDOW == 16_384
    monkeypatch.setattr(runs, "CERT_WINDOW", 8)
    slow = Costs(order_s=0.010, apply_s=0.5, backoff_s=1.0)
    others = [Transaction("a", i / 1e4, i / 1e4, {f"x{i}": UPDATE}) for i in range(20)]
    late = Transaction("b", 0.02, 0.02, {"k": UPDATE})
    assert loads.of_log([*others, late], slow).certification_failures >= 1
    assert loads.of_log([*others[:7], late], slow).certification_failures == 0


def poisson_log(
    rates: dict[str, float], draw: loads.Draw, execute_s: float, length_s: float, seed: int
) -> list[Transaction]:
    """Arrivals at a rate on each node, for a time; each runs for an exponential time."""
    rng = random.Random(seed)
    log: list[Transaction] = []
    for node, rate in rates.items():
        now = 0.0
        while (now := now + rng.expovariate(rate)) < length_s:
            length = rng.expovariate(1 / execute_s)
            log.append(Transaction(node, now, now + length, draw(rng)))
    return sorted(log, key=lambda one: one.start_s)


@pytest.mark.long
@pytest.mark.parametrize("rate", [5.0, 10.0])
def test_rare_conflicts_are_as_frequent_as_the_formula_says(rate: float) -> None:
    """P = 1 - exp(-rate x window): of other nodes' writes to the row, while a transaction runs and
    is sent."""
    execute_s, costs = 0.005, Costs(order_s=0.002, apply_s=0.0005)
    rates, draw = {"a": rate, "b": rate}, loads.hot_rows(1, 1.0)
    log = poisson_log(rates, draw, execute_s, 8000 / rate, seed=3)
    found = loads.of_log(log, costs)
    expected = 1 - math.exp(-rate * (execute_s + costs.order_s))
    assert found.victim_share == pytest.approx(expected, rel=0.15)
    assert found.aborts_at_apply > found.certification_failures  # it runs longer than it is sent
    alone = loads.of_log(loads.single_writer(log), costs)
    assert alone.victims == 0 and alone.mean_s < found.mean_s


@pytest.mark.long
@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_rows_that_are_not_equally_hot_conflict_as_often_as_the_formula_says(skew: float) -> None:
    rate, rows, execute_s, order_s = 50.0, 100, 0.005, 0.002
    weights = [*itertools.accumulate((i + 1) ** -skew for i in range(rows))]

    def draw(rng: random.Random) -> dict[str, str]:
        return {f"k{rng.choices(range(rows), cum_weights=weights)[0]}": UPDATE}

    log = poisson_log({"a": rate, "b": rate}, draw, execute_s, 400.0, seed=5)
    found = loads.of_log(log, Costs(order_s=order_s, apply_s=0.0005))
    expected = formula.hit(rate, float(rows), skew, execute_s + order_s)
    assert found.victim_share == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("rows", [1, 64, 65, 1000])
@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0, 3.0])
def test_groups_of_rows_are_as_good_as_each_row_by_itself(rows: int, skew: float) -> None:
    weights = [(i + 1) ** -skew for i in range(rows)]
    chances = [weight / sum(weights) for weight in weights]
    exact = sum(p * -math.expm1(-500 * 0.05 * p) for p in chances)
    assert formula.hit(500, float(rows), skew, 0.05) == pytest.approx(exact, rel=1e-3)
    assert formula.hottest(float(rows), skew) == pytest.approx(chances[0], rel=1e-3)


def test_two_writers_of_a_hot_row_are_no_faster_than_one() -> None:
    costs = Costs(order_s=0.001, apply_s=0.0003)
    draw = loads.hot_rows(1, 1.0)
    two = loads.of_sessions({"a": 2, "b": 2}, draw, 0.0005, 3.0, costs)
    one = loads.of_sessions({"a": 4}, draw, 0.0005, 3.0, costs)
    assert two.committed <= 1.05 * one.committed
    assert one.victims == 0 and two.victims > two.committed / 2


def test_rows_of_ones_own_never_conflict() -> None:
    found = loads.of_sessions({"a": 4, "b": 4}, loads.hot_rows(1, 0.0), 0.001, 1.0)
    assert found.victims == 0 and found.committed > 1000


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(0, 30),
                  st.dictionaries(st.sampled_from("xyz"), st.sampled_from(TYPES), min_size=1)),
        max_size=40,
    )
)  # fmt: skip
def test_every_attempt_is_counted_once(rows: list[tuple[str, int, int, dict[str, str]]]) -> None:
    log = [Transaction(n, a / 1e3, (a + d) / 1e3, keys) for n, a, d, keys in rows]
    found = loads.of_log(log, COSTS)
    assert found.committed + found.given_up == len(log)
    assert loads.of_log(log, COSTS) == found
    assert loads.of_log(loads.single_writer(log), COSTS).victims == 0


def test_what_is_no_transaction_is_refused() -> None:
    with pytest.raises(ValueError, match="commits after"):
        Transaction("a", 2, 1, {})
    with pytest.raises(KeyError):
        Transaction("a", 1, 2, {"k": "weird"})
    with pytest.raises(ValueError, match="at most"):
        loads.of_log([Transaction("a", 1, 2, {})] * (TRANSACTIONS_MAX + 1))
