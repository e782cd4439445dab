"""Anomalies in transactions on lists: each by a minimal case, and agreement with brute force."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from dbdyno.audit.histories import append
from dbdyno.audit.histories.append import ListNode
from dbdyno.audit.histories.findings import Findings
from dbdyno.audit.histories.lists import Contents, elements
from effort import examples
from fixtures import histories
from fixtures.brute_force import (
    READ,
    WRITE,
    Step,
    Transaction,
    closures,
    dependencies,
    serializable,
)
from fixtures.histories import FAILED, UNKNOWN

GROUPS = [0]


def r(key: int, *found: int) -> Step:
    return (READ, key, found)


def a(key: int, element: int) -> Step:
    return (WRITE, key, element)


def contents(final: Mapping[int, Sequence[int]]) -> Contents:
    return {
        key: elements("".join(f"{element}," for element in each))
        for key, each in final.items()
        if each
    }


def check(
    each: Sequence[Transaction],
    final: Mapping[int, Sequence[int]],
    outcomes: Mapping[int, int] | None = None,
) -> Findings:
    made = histories.transactions(each, outcomes)
    return append.check(made, GROUPS, [ListNode(contents(final))])


def found(
    each: Sequence[Transaction], final: Mapping[int, Sequence[int]], **more: object
) -> dict[str, int]:
    counts = check(each, final, **more).counts  # type: ignore[arg-type]
    return {name: count for name, count in counts.items() if count}


def test_a_serial_history_has_nothing() -> None:
    each = [[a(1, 11)], [r(1, 11), a(2, 12)], [r(2, 12), a(1, 13), r(1, 11, 13)]]
    assert found(each, {1: [11, 13], 2: [12]}) == {}
    assert check(each, {1: [11, 13], 2: [12]}).judged == 3


def test_a_lost_update() -> None:
    each = [[r(1), a(1, 11)], [r(1), a(1, 12)]]
    assert found(each, {1: [11, 12]}) == {"lost_update": 1}
    assert check(each, {1: [11, 12]}).examples["lost_update"] == (
        "list 1: (session 0, transaction 0) and (session 1, transaction 0) both found its first 0"
        " elements and appended to them"
    )


def test_a_lost_append_updates_no_version() -> None:
    """As after a failover to a replica that had not received it."""
    each = [[r(1), a(1, 11)], [r(1), a(1, 12)]]
    assert found(each, {1: [12]}) == {"lost": 1}
    assert found([*each, [r(1), a(1, 13)]], {1: [12, 13]}) == {"lost": 1, "lost_update": 1}


def test_read_skew() -> None:
    each = [[a(1, 11), a(2, 12)], [r(1), r(2, 12)]]
    assert found(each, {1: [11], 2: [12]}) == {"read_skew": 1}
    assert check(each, {1: [11], 2: [12]}).examples["read_skew"] == (
        "(session 1, transaction 0) read list 1 without what (session 0, transaction 0) appended to"
        " it next; (session 1, transaction 0) read what (session 0, transaction 0) had appended to"
        " list 2"
    )


def test_write_skew_also_of_three() -> None:
    two = [[r(1), a(2, 12)], [r(2), a(1, 11)]]
    assert found(two, {1: [11], 2: [12]}) == {"write_skew": 2}
    three = [[r(1), a(2, 12)], [r(2), a(3, 13)], [r(3), a(1, 11)]]
    assert found(three, {1: [11], 2: [12], 3: [13]}) == {"write_skew": 3}


def test_dirty_reads() -> None:
    each = [[a(1, 11)], [r(1, 11)], [r(1)]]
    assert found(each, {}, outcomes={0: FAILED}) == {"dirty_reads": 1}
    assert found(each, {}, outcomes={0: UNKNOWN}) == {"dirty_reads": 1}, "it is absent"
    assert found(each, {1: [11]}, outcomes={0: UNKNOWN}) == {}, "it took effect"


def test_intermediate_reads() -> None:
    each = [[a(1, 11), a(1, 12)], [r(1, 11)]]
    counts = found(each, {1: [11, 12]})
    assert counts["intermediate_reads"] == 1


def test_circular_information_flow_and_cycles_of_writes() -> None:
    each = [[a(1, 11), r(2, 12)], [a(2, 12), r(1, 11)]]
    assert found(each, {1: [11], 2: [12]}) == {"circular_information": 2}
    each = [[a(1, 11), a(2, 14)], [a(2, 12), a(1, 13)]]
    counts = found(each, {1: [11, 13], 2: [12, 14]})
    assert counts == {"g0": 2}


def test_incompatible_orders_lost_and_resurrected_appends() -> None:
    each = [[a(1, 11)], [a(1, 12)], [r(1, 12, 11)]]
    assert found(each, {1: [11, 12]}) == {"incompatible_orders": 1}
    assert found([[a(1, 11)], [a(1, 12)]], {1: [12]}) == {"lost": 1}
    assert found([[a(1, 11)]], {1: [11]}, outcomes={0: FAILED}) == {"resurrected": 1}


def test_an_unknown_outcome_is_never_lost_and_counts_where_it_is_there() -> None:
    each = [[r(1), a(1, 11)], [r(1), a(1, 12)]]
    assert found(each, {1: [11]}, outcomes={1: UNKNOWN}) == {}
    judged = check(each, {1: [11]}, {1: UNKNOWN})
    assert (judged.judged, judged.unknown) == (1, 1)


def test_nodes_that_differ_or_cannot_be_read() -> None:
    made = histories.transactions([[a(1, 11)], [a(2, 12)]])
    full, part = contents({1: [11], 2: [12]}), contents({2: [12]})
    nodes = [ListNode(full), ListNode(part, takes_writes=False)]
    assert append.check(made, GROUPS, nodes).counts["diverged"] == 1
    nodes = [ListNode(full), ListNode(None, takes_writes=False)]
    assert append.check(made, GROUPS, nodes).counts["diverged"] is None
    unread = append.check(made, GROUPS, [ListNode(None), ListNode(full, takes_writes=False)])
    assert unread.why and set(unread.counts.values()) == {None}
    assert unread.violations is None


def test_what_the_level_permits_is_no_violation() -> None:
    from dataclasses import replace

    judged = check([[r(1), a(2, 12)], [r(2), a(1, 11)]], {1: [11], 2: [12]})
    assert judged.violations == 2
    assert replace(judged, permitted=("write_skew",)).violations == 0
    assert replace(judged, permitted=("lost_update",)).violations == 2


# -- agreement with brute force -------------------------------------------------------------------


def uncommitted(rng: random.Random) -> tuple[list[list[Step]], dict[int, list[int]]]:
    """Transactions whose steps are interleaved, on lists without any isolation."""
    made: list[list[Step]] = [[] for _ in range(rng.randint(2, 5))]
    final: dict[int, list[int]] = {}
    for number in range(rng.randint(2, 10)):
        transaction, key = rng.choice(made), rng.randint(1, 3)
        if rng.random() < 0.5:
            transaction.append(r(key, *final.get(key, [])))
        else:
            final.setdefault(key, []).append(100 + number)
            transaction.append(a(key, 100 + number))
    return [each for each in made if each], final


def snapshots(rng: random.Random) -> tuple[list[list[Step]], dict[int, list[int]]]:
    """Transactions that read what was committed by some moment, and append at their end."""
    final: dict[int, list[int]] = {}
    past: list[dict[int, list[int]]] = [{}]
    made = []
    for number in range(rng.randint(2, 6)):
        moment = past[-1 - min(rng.randint(0, 2), len(past) - 1)]
        steps: list[Step] = []
        for _ in range(rng.randint(0, 2)):
            key = rng.randint(1, 3)
            again = rng.choice(past[-3:]) if rng.random() < 0.2 else moment
            steps.append(r(key, *again.get(key, [])))
        for step in range(rng.randint(0, 2)):
            key, element = rng.randint(1, 3), 100 + 10 * number + step
            steps.append(a(key, element))
            final.setdefault(key, []).append(element)
        past.append({key: list(each) for key, each in final.items()})
        if steps:
            made.append(steps)
    return made, final


def test_reads_of_what_a_failover_lost_afterwards_are_no_incompatible_order() -> None:
    """The last append was acknowledged and read, and is absent from the final list."""
    each = [[a(1, 11)], [a(1, 12)], [r(1, 11, 12)], [r(1, 11)]]
    judged = check(each, {1: [11]})
    counts = {name: count for name, count in judged.counts.items() if count}
    assert counts == {"lost": 1, "lost_reads": 1}
    assert judged.violations == 1  # the loss, once
    assert "acknowledged and is lost" in judged.examples["lost_reads"]
    # Elements in another order are another matter.
    assert found([[a(1, 11)], [a(1, 12)], [r(1, 12, 11)]], {1: [11, 12]}) == {
        "incompatible_orders": 1
    }


def test_only_accesses_of_the_groups_that_are_judged_must_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(append, "RECORDS_MAX", 2)
    made = histories.transactions([[a(1, 11)], [r(1, 11)], [r(1, 11)]])
    assert made.count(GROUPS, at_once=2) == 3
    assert made.count([1], at_once=2) == 0
    nodes = [ListNode(contents({1: [11]}))]
    assert "more than the 2 that fit" in append.check(made, GROUPS, nodes).why
    assert not append.check(made, [1], nodes).why


@pytest.mark.parametrize("generate", [uncommitted, snapshots])
def test_something_is_found_exactly_if_no_serial_order_explains_all(generate: object) -> None:
    verdicts, histories_tried = {True: 0, False: 0}, examples(300)
    for seed in range(histories_tried):
        each, final = generate(random.Random(seed))  # type: ignore[operator]
        expected = serializable(each, final)
        verdicts[expected] += 1
        assert (check(each, final).violations == 0) is expected, (seed, each, final)
    assert min(verdicts.values()) > histories_tried / 10, verdicts


@pytest.mark.parametrize("generate", [uncommitted, snapshots])
def test_cycles_are_counted_as_their_definitions_say(generate: object) -> None:
    total: dict[str, int] = {}
    for seed in range(examples(300)):
        each, final = generate(random.Random(seed))  # type: ignore[operator]
        counts = check(each, final).counts
        expected = defined(each, final)
        assert {name: counts[name] for name in expected} == expected, (seed, each, final)
        for name, number in expected.items():
            total[name] = total.get(name, 0) + number
    assert all(total.values()) or generate is snapshots, total


def defined(each: Sequence[Transaction], final: Mapping[int, Sequence[int]]) -> dict[str, int]:
    """Counts by definition."""
    every = {edge for edge in dependencies(each, final) if edge[1] != edge[2]}
    size = len(each)
    writes = closures(size, [edge[1:3] for edge in every if edge[0] == "ww"])
    seen = closures(size, [edge[1:3] for edge in every if edge[0] != "rw"])
    whole = closures(size, [edge[1:3] for edge in every])
    updates = _updates(each)
    unseen = [edge for edge in every if edge[0] == "rw"]
    single = [edge for edge in unseen if seen[edge[2]][edge[1]]]
    dirty = sum(writes[one][one] for one in range(size))
    return {
        "g0": dirty,
        "circular_information": sum(seen[one][one] for one in range(size)) - dirty,
        "read_skew": sum((edge[1], edge[3]) not in updates for edge in single),
        "write_skew": sum(whole[e[2]][e[1]] for e in unseen) - len(single),
    }


def _updates(each: Sequence[Transaction]) -> set[tuple[int, int]]:
    """(transaction, list) of those that read a version and appended, as another one did."""
    versions: dict[tuple[int, int], set[int]] = {}
    for number, steps in enumerate(each):
        for place, (kind, key, what) in enumerate(steps):
            before = any(k == WRITE and one == key for k, one, _ in steps[:place])
            after = any(k == WRITE and one == key for k, one, _ in steps[place:])
            if kind == READ and after and not before:
                assert isinstance(what, tuple)
                versions.setdefault((key, len(what)), set()).add(number)
    return {(one, key) for (key, _), who in versions.items() if len(who) > 1 for one in who}
