"""Linearizability of registers: known cases, and agreement with a search over all orders."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dbdyno.audit.histories import findings, log, register
from dbdyno.audit.histories.findings import Findings
from dbdyno.errors import DynoError
from effort import examples
from fixtures import histories
from fixtures.brute_force import READ, SWAP, WRITE, Operation, linearizable, stale
from fixtures.histories import ACKNOWLEDGED, FAILED

GROUPS = [0]


def check(*operations: Operation) -> Findings:
    return register.check(histories.registers({7: operations}), GROUPS)


def read(value: int, start: int, end: int) -> Operation:
    return Operation(READ, value, start, end)


def write(value: int, start: int, end: int, is_certain: bool = True) -> Operation:
    return Operation(WRITE, value, start, end, is_certain=is_certain)


def swap(expected: int, value: int, start: int, end: int) -> Operation:
    return Operation(SWAP, value, start, end, expected)


def test_a_read_may_find_either_value_while_a_write_is_under_way() -> None:
    found = check(read(0, 1, 3), write(5, 2, 8), read(5, 4, 5), read(5, 9, 10))
    assert found.counts == dict.fromkeys(register.COUNTS, 0)
    assert (found.judged, found.violations) == (4, 0)


def test_a_stale_read_has_an_age_and_an_example() -> None:
    found = check(write(5, 10, 20), read(0, 1_500_000_020, 1_500_000_030))
    assert found.counts["stale_reads"] == found.counts["not_linearizable"] == 1
    assert found.stale_read_max_s == pytest.approx(1.5)
    assert found.examples["stale_reads"] == (
        "register 7: session 1, transaction 7 read from 1.500000 s to 1.500000 s the value of the"
        " load, although session 0, transaction 7 had replaced it by 0.000000 s: 1.500000 s too old"
    )
    assert found.counts["own_write_misses"] == 0, "it was another session's"


def test_a_session_that_misses_its_own_write() -> None:
    made = histories.registers({7: [write(5, 10, 20), read(0, 30, 40)]})
    made.records["session"] = 3
    found = register.check(made, GROUPS)
    assert found.counts["own_write_misses"] == 1


def test_time_does_not_run_backwards_between_readers() -> None:
    # No read is stale by an acknowledged write, but the second reader goes back.
    found = check(write(5, 1, 100), read(5, 10, 20), read(0, 30, 40))
    assert (found.counts["stale_reads"], found.counts["not_linearizable"]) == (0, 1)


def test_an_unknown_write_may_take_effect_late_or_never() -> None:
    for later in (read(5, 50, 60), read(0, 50, 60)):
        assert check(write(5, 1, 2, is_certain=False), later).violations == 0
    found = check(write(5, 1, 2, is_certain=False), read(5, 10, 20), read(0, 30, 40))
    assert (found.violations, found.unknown) == (1, 1)


def test_a_value_that_was_rolled_back_or_never_written_was_read() -> None:
    made = histories.registers({7: [write(5, 1, 2), read(5, 3, 4), read(6, 3, 4)]})
    made.records["outcome"][0] = FAILED
    found = register.check(made, GROUPS)
    assert (found.counts["dirty_reads"], found.counts["unwritten_reads"]) == (1, 1)
    assert "which was rolled back" in found.examples["dirty_reads"]
    assert found.counts["not_linearizable"] == 1, "registers are counted"


def test_a_value_of_another_register_is_not_its_own() -> None:
    made = histories.registers({1: [write(5, 1, 2)], 2: [read(5, 3, 4)]})
    assert register.check(made, GROUPS).counts["unwritten_reads"] == 1


def test_of_two_compare_and_sets_of_one_value_one_lost_an_update() -> None:
    found = check(swap(0, 5, 1, 10), swap(0, 6, 1, 10), read(5, 20, 21))
    assert (found.counts["lost_update"], found.violations) == (1, 1)
    assert check(swap(0, 5, 1, 10), swap(5, 6, 1, 10), read(6, 20, 21)).violations == 0
    # Another write cannot come between the value that was expected and the one that replaced it.
    assert check(swap(0, 5, 30, 40), write(6, 10, 20)).violations == 1


def test_a_missed_compare_and_set_convicts_nobody() -> None:
    made = histories.registers({7: [swap(3, 5, 1, 2), read(0, 3, 4)]})
    made.records["verb"][0] = log.MISS
    assert register.check(made, GROUPS).violations == 0


def test_other_groups_are_left_out_and_keys_are_judged_in_parts() -> None:
    made = histories.registers({key: [write(5 + key, 1, 2), read(0, 3, 4)] for key in range(9)})
    whole = register.check(made, GROUPS)
    assert whole.counts["not_linearizable"] == 9
    assert register.check(made, [1]).judged == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register, "PART_RECORDS", 4)
        assert register.check(made, GROUPS) == whole


# -- agreement with a search over all orders ------------------------------------------------------


def random_history(rng: random.Random, with_swaps: bool) -> list[Operation]:
    """A history that really happened, and then perhaps one read or instant changed."""
    state, made, values = 0, list[Operation](), [0]
    for number in range(rng.randint(1, 8)):
        point = number * rng.randint(1, 3) + rng.randint(0, 2)
        start, end = point - rng.randint(0, 4), point + rng.randint(0, 4)
        kind = rng.choice([READ, WRITE, SWAP] if with_swaps else [READ, WRITE])
        if kind == READ:
            made.append(Operation(READ, state, start, end))
            continue
        value = 100 + number
        is_certain = rng.random() > 0.2
        made.append(Operation(kind, value, start, end, state if kind == SWAP else 0, is_certain))
        values.append(value)
        if is_certain or rng.random() < 0.5:
            state = value
    return [_changed(rng, one, values) for one in made]


def _changed(rng: random.Random, one: Operation, values: Sequence[int]) -> Operation:
    if rng.random() > 0.15:
        return one
    if one.kind == READ:
        return replace(one, value=rng.choice(values))
    if one.kind == SWAP:
        return replace(one, expected=rng.choice([v for v in values if v != one.value]))
    return replace(one, start=one.start - 3, end=one.end - 1)


TRIED = examples(500)


def cases(with_swaps: bool) -> Iterator[tuple[int, list[Operation]]]:
    for seed in range(TRIED):
        yield seed, random_history(random.Random(seed), with_swaps)


@pytest.mark.parametrize("with_swaps", [False, True])
def test_verdicts_are_those_of_a_search_over_all_orders(with_swaps: bool) -> None:
    verdicts = {True: 0, False: 0}
    for seed, operations in cases(with_swaps):
        expected = linearizable(operations)
        verdicts[expected] += 1
        assert (check(*operations).violations == 0) is expected, (seed, operations)
    assert min(verdicts.values()) > TRIED / 10, verdicts


def test_stale_reads_are_those_of_the_definition_and_never_linearizable() -> None:
    some = 0
    for seed, operations in cases(with_swaps=False):
        found, expected = check(*operations), stale(operations)
        assert found.counts["stale_reads"] == len(expected), (seed, operations)
        oldest = max(expected.values(), default=0.0)
        assert found.stale_read_max_s == pytest.approx(oldest / 1e9), (seed, operations)
        assert not expected or found.violations == 1
        some += len(expected)
    assert some > TRIED / 30


def test_a_long_history_of_many_keys_is_judged() -> None:
    # A register that works: operations of a key follow each other.
    count, keys = 200_000, 500
    records = np.zeros(count, log.RECORD)
    order = np.arange(count)
    records["key"], records["n"] = order % keys, order
    records["outcome"], records["of"] = ACKNOWLEDGED, 1
    is_write = (order // keys) % 3 == 0
    records["verb"] = np.where(is_write, log.WRITE, log.READ)
    records["value"] = np.where(is_write, 1 + order, 0)
    last = np.where(is_write, order, -1).reshape(-1, keys)
    records["seen"] = np.where(is_write, 0, 1 + np.maximum.accumulate(last).reshape(-1))
    records["start_ns"], records["end_ns"] = 10 * order, 10 * order + 9
    found = register.check(log.History(records, 0), GROUPS)
    assert (found.judged, found.violations) == (count, 0)
    records["seen"][-1 - keys] = 0  # the last round writes
    found = register.check(log.History(records, 0), GROUPS)
    assert (found.counts["stale_reads"], found.counts["not_linearizable"]) == (1, 1)


# -- the log --------------------------------------------------------------------------------------


def test_the_log_comes_back_and_damage_is_said(tmp_path: Path) -> None:
    made = histories.registers({7: [write(5, 1, 2), read(5, 3, 4)]})
    histories.write(tmp_path, made)
    again = log.read(tmp_path)
    assert again.measure_ns == made.measure_ns
    assert np.array_equal(again.records, made.records)
    assert register.check(again, GROUPS) == register.check(made, GROUPS)
    path = tmp_path / log.LOG
    for damaged in (b"", b"x" * 64, path.read_bytes()[:64] + bytes(64)):
        path.write_bytes(damaged)
        with pytest.raises(DynoError, match="is no history"):
            log.read(tmp_path)


def test_values_say_who_wrote_them() -> None:
    # Attempt 2 at transaction 5 of session 9 of the second group.
    value = (5 + 1) << 27 | 2 << 21 | 3 << 18 | 1 << 13 | 9
    assert log.writer(value) == "session 9 of group 2, transaction 5, attempt 2"
    assert log.writer(0) == "the load"


def test_metrics_are_sums_over_targets() -> None:
    one = check(write(5, 10, 20), read(0, 1_000_000_020, 1_000_000_030))
    made = findings.metrics([one, check(read(0, 1, 2))])
    assert made["audit.judged"] == 3
    assert made["audit.not_linearizable"] == made["audit.violations"] == 1
    assert made["audit.stale_read_max_s"] == pytest.approx(1.0)
    assert findings.metrics([replace(one, why="data was reused")]) == {}
