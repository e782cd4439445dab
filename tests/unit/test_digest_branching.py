"""Transactions whose steps vary become one with branches, and nothing of the log is lost by it."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from ruamel.yaml import YAML

from dbdyno.digest import document
from dbdyno.digest.workload import carried, coverage, experiment, profile
from dbdyno.digest.workload.branching import alignment, coupling, likeness
from dbdyno.digest.workload.branching.slots import Branched
from dbdyno.digest.workload.profile import Unit
from dbdyno.experiment import load
from fixtures.shapes import Made, unit, whole

TABLES, TRANSACTIONS = 8, 1500
KEY = whole(1, 10_000)


@functools.cache
def chosen(made: Made) -> carried.Chosen:
    return carried.choose(document.parse(made.document()), profile.parse(made.shape()))


@functools.cache
def experiment_of(made: Made) -> experiment.Workload:
    typed = document.parse(made.document())
    return experiment.made(typed, profile.parse(made.shape()), accepts_censored=False)


def covered(made: Made) -> coverage.Coverage:
    return experiment_of(made).coverage


def written(made: Made) -> dict[str, Any]:
    """The experiment, once `dyno run` takes it."""
    text = experiment_of(made).text
    assert load(text).cells
    return YAML(typ="safe").load(text)


def counted(made: Made, units: Counter[tuple[tuple[int, int], ...]]) -> None:
    """Sets the units, and what comes of them, as the engine says them."""
    made.units = [unit(n, *steps, transaction=True) for steps, n in units.items()]
    calls: Counter[int] = Counter()
    for steps, n in units.items():
        for statement, repeat in steps:
            calls[statement] += n * repeat
    for number, one in enumerate(made.statements):
        one["count"] = calls[number]
    for one in made.classes:
        one["count"] = next(s["count"] for s in made.statements if s["id"] == one["id"])


def oltp(tables: int = TABLES, *, is_mixed: bool = False) -> Made:
    """What sysbench's oltp_read_write sends: a table drawn for each function of it, ten reads of it
    in a row (`is_mixed`: each of its own), and a row that is deleted and inserted again."""
    made = Made()

    def says(template: str, *values: dict[str, Any]) -> list[int]:
        return [
            made.says(template.format(n), *values, table=f"shop.sbtest{n}")
            for n in range(1, tables + 1)
        ]

    point = says("SELECT c FROM sbtest{} WHERE id=:p1", KEY)
    sums = says("SELECT SUM(k) FROM sbtest{} WHERE id BETWEEN :p1 AND :p2", KEY, KEY)
    update = says("UPDATE sbtest{} SET k=k+1 WHERE id=:p1", KEY)
    delete = says("DELETE FROM sbtest{} WHERE id=:p1", KEY)
    insert = says("INSERT INTO sbtest{} (id, k) VALUES (:p1, :p2)", KEY, KEY)
    made.ties = [
        {"statement": new, "place": 1, "earlier": old, "earlier_place": 1}
        for new, old in zip(insert, delete, strict=True)
    ]
    drawn = random.Random(7)
    units: Counter[tuple[tuple[int, int], ...]] = Counter()
    for _ in range(TRANSACTIONS):
        table = drawn.randrange(tables)
        steps = [(drawn.choice(sums), 1), (drawn.choice(update), 1)]
        steps += [(delete[table], 1), (insert[table], 1)]
        reads: list[tuple[int, int]] = [(drawn.choice(point), 10)]
        if is_mixed:
            reads = []
            for statement in drawn.choices(point, k=10):
                if reads and reads[-1][0] == statement:
                    reads[-1] = (statement, reads[-1][1] + 1)
                else:
                    reads.append((statement, 1))
        units[*reads, *steps] += 1
    counted(made, units)
    return made


def sent(unit_: Unit) -> dict[int, float]:
    """Calls of each statement that units like this one send, on average over the log."""
    found: dict[int, float] = {}
    if not isinstance(unit_, Branched):
        for number, calls in unit_.calls():
            found[number] = found.get(number, 0.0) + calls
        return found
    for slot in unit_.slots:
        total = sum(branch.weight for branch in slot.branches)
        for branch in slot.branches:
            if branch.statement is not None:
                mean = unit_.count * slot.repeat * branch.repeat * branch.weight / total
                found[branch.statement] = found.get(branch.statement, 0.0) + mean
    return found


def assert_calls_come_back(made: Made, within: float = 1e-6) -> None:
    """Each statement is sent as often as the log has it."""
    found: dict[int, float] = {}
    for one in chosen(made).units["shop"]:
        for number, calls in sent(one).items():
            found[number] = found.get(number, 0.0) + calls
    for number, statement in enumerate(made.statements):
        assert abs(found[number] - statement["count"]) <= within * statement["count"], number


def steps_of(made: Made) -> list[Mapping[str, Any]]:
    [transaction] = written(made)["groups"]["app"]["transactions"].values()
    return list(transaction["steps"])


def test_steps_that_draw_their_tables_become_branches() -> None:
    made = oltp()
    assert len(made.units) > TRANSACTIONS / 2
    found = covered(made)
    assert found.calls_share == 1.0 and not found.gone
    assert_calls_come_back(made)
    read, sums, update, delete, insert = steps_of(made)
    assert [len(step["one_of"]) for step in (read, sums, update, delete, insert)] == [TABLES] * 5
    assert {branch["repeat"] for branch in read["one_of"]} == {10}
    assert {branch["name"] for branch in read["one_of"]} == {"select_sbtest"}
    # The row that is deleted is the one that is inserted, into the same table; others go their way.
    assert delete["choice"] == insert["choice"] and "choice" not in {*read, *sums, *update}
    for old, new in zip(delete["one_of"], insert["one_of"], strict=True):
        table = old["sql"].split()[2]
        assert f"INTO {table} " in new["sql"] and old["weight"] == new["weight"]
        assert old["sql"].rpartition(":")[2] in new["sql"].replace(",", " ").split(":")[1]


def test_calls_that_each_draw_their_table_do_so_again() -> None:
    made = oltp(is_mixed=True)
    assert covered(made).calls_share == 1.0
    assert_calls_come_back(made)
    first = steps_of(made)[0]
    assert first["repeat"] == 10 and len(first["one_of"]) == TABLES


@pytest.mark.long
def test_hundreds_of_tables_fit_since_their_statements_have_one_name() -> None:
    made = oltp(tables=150)
    assert covered(made).calls_share == 1.0
    names = {branch["name"] for step in steps_of(made) for branch in step["one_of"]}
    assert len(names) == 5


def test_few_transactions_stay_as_they_are() -> None:
    made = oltp(tables=1)
    [one] = chosen(made).units["shop"]
    assert not isinstance(one, Branched) and one.count == TRANSACTIONS


def shop() -> Made:
    """Orders of some lines, each of one of several tables of products, some with a coupon or a
    message, some cancelled, in any order: no two alike."""
    made = Made()
    tables = ("books", "music", "games", "garden", "tools")
    find = [
        made.says(f"SELECT price FROM {t} WHERE id = :p1", KEY, table=f"shop.{t}") for t in tables
    ]
    take = [
        made.says(f"UPDATE {t} SET stock = stock - 1 WHERE id = :p1", KEY, table=f"shop.{t}")
        for t in tables
    ]
    order = made.says("INSERT INTO orders (customer) VALUES (:p1)", KEY, table="shop.orders")
    line = made.says("INSERT INTO lines (item) VALUES (:p1)", KEY, table="shop.lines")
    more = [
        made.says(f"SELECT x FROM {t} WHERE customer = :p1", KEY, table=f"shop.{t}")
        for t in ("coupons", "addresses", "cards", "notes")
    ]
    drawn = random.Random(3)
    units: Counter[tuple[tuple[int, int], ...]] = Counter()
    for _ in range(TRANSACTIONS):
        steps = [one for one in more if drawn.random() < 0.5]
        drawn.shuffle(steps)
        steps.append(order)
        for _ in range(drawn.randint(1, 6)):
            product = drawn.randrange(len(tables))
            steps += [find[product], take[product], line]
        units[tuple((step, 1) for step in steps)] += 1
    counted(made, units)
    return made


@pytest.mark.long
def test_transactions_of_any_steps_are_put_together() -> None:
    made = shop()
    assert len(made.units) > TRANSACTIONS / 2
    found = covered(made)
    assert found.calls_share >= 0.999, found.gone
    assert_calls_come_back(made)
    # What goes with what: a product that is found is taken from the same table.
    coupled = 0
    for one in chosen(made).units["shop"]:
        if isinstance(one, Branched):
            coupled += sum(slot.choice is not None for slot in one.slots)
    assert coupled > 0
    assert written(made)["groups"]["app"]["transactions"]


def test_what_is_sampled_is_not_taken_for_evidence() -> None:
    # Each transaction represents sixteen: thirty that differ say nothing about what goes together.
    columns = {0: [*range(30)], 1: [*range(30)]}
    assert coupling.clusters(columns, [1] * 30) == []
    assert coupling.clusters(columns, [16] * 30) == [[0, 1]]
    drawn = random.Random(1)
    apart = {n: [drawn.randrange(8) for _ in range(500)] for n in (0, 1)}
    assert coupling.clusters(apart, [1] * 500) == []
    assert coupling.clusters({**apart, 2: apart[0]}, [1] * 500) == [[0, 2]]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("SELECT a FROM t1 WHERE b = :p1", "SELECT a FROM t12 WHERE b = :p1", True),
        ("SELECT a FROM `eu` WHERE b = :p1", "SELECT a FROM us WHERE b = :p1", True),
        ("SELECT eu.a FROM eu", "SELECT us.a FROM us", True),
        ("SELECT a FROM eu", "SELECT b FROM us", False),
        ("SELECT a FROM t1 WHERE b = :p1", "DELETE FROM t1 WHERE b = :p1", False),
    ],
)
def test_statements_are_of_one_kind_that_differ_in_their_tables(
    one: str, other: str, is_same: bool
) -> None:
    made = Made()
    for template, table in ((one, "shop.eu"), (other, "shop.us")):
        made.says(template, KEY, table=table)
    kinds = likeness.kinds(chosen(made).statements, chosen(made).classes)
    assert (kinds[0] == kinds[1]) == is_same


def test_every_transaction_keeps_its_steps_in_their_order_when_put_together() -> None:
    drawn = random.Random(5)
    units = [
        Unit(
            count=1,
            is_transaction=True,
            is_rolled_back=False,
            steps=tuple(
                profile.Step(statement=drawn.randrange(12), repeat=1)
                for _ in range(drawn.randint(1, 9))
            ),
        )
        for _ in range(500)
    ]
    groups = likeness.groups(units, str)
    kept, left = alignment.together(groups, room=40)
    assert not left and sum(len(group.rows) for group in kept) == len(units)
    assert sum(len({*group.kinds}) for group in kept) <= 40
    for group in kept:
        order = {number: at for at, (number, _) in enumerate(group.columns)}
        for one, row in group.rows:
            cells = sorted(row.items(), key=lambda cell: order[cell[0]])
            assert tuple(step for _, run in cells for step in run) == one.steps
