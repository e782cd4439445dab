"""Which indexes are proposed for a workload, and which are there already."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno import kinds
from dbdyno.sql.candidates import Candidate, candidates
from dbdyno.sql.schema import Column, Features, Index, Part, Schema, Table
from dbdyno.sql.statement import read

INNODB = Features(clustered=True, descending=True)
WITH_EXPRESSIONS = Features(clustered=True, descending=True, expressions=True)
HEAP = Features(include=True, partial=True, expressions=True, descending=True)
PRIMARY = Index(name="PRIMARY", parts=(Part("id"),), unique=True, primary=True)
ORDERS = {"id": "int", "customer": "int", "total": "int", "placed": "date", "note": "text",
          "gone": "date"}  # fmt: skip


def orders(features: Features, *indexes: Index) -> Schema:
    columns = {name: Column(name=name, type=kind) for name, kind in ORDERS.items()}
    customers = {name: Column(name=name, type="int") for name in ("id", "name", "country")}
    return Schema(
        tables=(
            Table(name="orders", schema="shop", columns=columns, indexes=(PRIMARY, *indexes)),
            Table(name="customers", schema="shop", columns=customers, indexes=(PRIMARY,)),
        ),
        features=features,
    )


def proposed(schema: Schema, *texts: str, dialect: str = kinds.MYSQL) -> list[Candidate]:
    classes = []
    for number, text in enumerate(texts):
        statement = read(text, dialect, schema)
        assert statement is not None
        classes.append((statement, float(len(texts) - number), f"class {number}"))
    return candidates(schema, classes)


def plain(found: list[Candidate], *, covering: bool = False) -> set[tuple[str, ...]]:
    return {
        tuple((part.column or part.expression) + "-" * part.descending for part in one.parts)
        for one in found
        if one.covering == covering and not one.predicate
    }


def index(*columns: str, **more: Any) -> Index:
    return Index(name="i", parts=tuple(map(Part, columns)), **more)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("SELECT * FROM orders WHERE total = ?", {("total",)}),
        ("SELECT * FROM orders WHERE placed > ? AND total = ?", {("total", "placed")}),
        ("SELECT * FROM orders WHERE placed > ? AND total > ?", {("placed",), ("total",)}),
        ("SELECT * FROM orders WHERE total = ? ORDER BY placed LIMIT ?", {("total", "placed")}),
        ("SELECT * FROM orders ORDER BY placed DESC, total DESC LIMIT ?", {("placed", "total")}),
        ("SELECT * FROM orders ORDER BY placed, total DESC LIMIT ?", {("placed", "total-")}),
        ("SELECT * FROM orders WHERE total = ? OR customer = ?", set()),
        ("SELECT * FROM orders WHERE note = ?", set()),  # a TEXT, which is indexed by a prefix only
        ("SELECT * FROM orders WHERE id = ?", set()),
        ("SELECT * FROM orders WHERE id = ? AND total = ?", set()),
        ("DELETE FROM orders WHERE total = ?", {("total",)}),
        ("SELECT * FROM orders WHERE total = ? AND customer IN (?, ?)", {("total", "customer")}),
    ],
)
def test_equality_comes_first_then_one_range_or_the_order(
    text: str, keys: set[tuple[str, ...]]
) -> None:
    assert plain(proposed(orders(INNODB), text)) == keys


def test_a_join_is_served_from_either_side() -> None:
    found = proposed(
        orders(INNODB),
        "SELECT o.* FROM orders o JOIN customers c ON c.id = o.customer WHERE c.country = ?"
        " AND o.total = ?",
    )
    assert plain(found) >= {("customer", "total"), ("total", "customer"), ("country",)}


def test_each_way_into_a_table_between_two_others_has_its_index() -> None:
    text = (
        "SELECT c.name, x.name FROM customers c JOIN orders o ON o.customer = c.id"
        " JOIN customers x ON x.id = o.total"
    )
    assert plain(proposed(orders(INNODB), text)) >= {("customer", "total"), ("total", "customer")}


def test_rows_that_a_unique_index_finds_get_no_other_index() -> None:
    text = "SELECT placed FROM orders o JOIN customers c ON c.id = o.customer AND c.country = ?"
    found = proposed(orders(INNODB), f"{text} WHERE o.id = ?")
    assert [one.table for one in found] == ["customers"]
    heap = proposed(orders(HEAP), f"{text} WHERE o.id = ?")
    assert all(one.covering for one in heap if one.columns[:1] == ("id",))


def test_among_columns_compared_alike_the_order_of_an_index_is_kept() -> None:
    text = "SELECT * FROM orders WHERE customer = ? AND total = ? AND placed > ?"
    there = index("total", "customer")
    assert plain(proposed(orders(INNODB, there), text)) == {("total", "customer", "placed")}


def test_a_column_that_rows_are_sorted_by_is_not_only_carried() -> None:
    ordered = "SELECT placed FROM orders WHERE total = ? ORDER BY placed"
    (wide,) = (one for one in proposed(orders(INNODB), ordered) if one.covering)
    assert wide.columns == ("total", "placed")
    assert wide.narrower is None
    more = "SELECT placed, gone FROM orders WHERE total = ? ORDER BY placed"
    (wide,) = (
        one for one in proposed(orders(INNODB), more) if one.columns == ("total", "placed", "gone")
    )
    assert wide.narrower is not None
    assert wide.narrower.columns == ("total", "placed")


def test_a_covering_index_holds_what_is_read() -> None:
    text = "SELECT placed FROM orders WHERE total = ?"
    assert plain(proposed(orders(INNODB), text), covering=True) == {("total", "placed")}
    (wide,) = (one for one in proposed(orders(INNODB), text) if one.covering)
    (carried,) = (one for one in proposed(orders(HEAP), text) if one.covering)
    for one in (wide, carried):  # without what is only carried
        assert one.narrower is not None
        assert (one.narrower.columns, one.narrower.include) == (("total",), ())
        assert not one.narrower.covering
        assert one.narrower.narrower is None
    assert (carried.columns, carried.include) == (("total",), ("placed",))
    assert (
        plain(proposed(orders(INNODB), "SELECT note FROM orders WHERE total = ?"), covering=True)
        == set()
    )
    # The primary key is in every index of InnoDB.
    assert (
        plain(proposed(orders(INNODB), "SELECT id FROM orders WHERE total = ?"), covering=True)
        == set()
    )


def test_expressions_are_indexed_where_the_engine_can() -> None:
    text = "SELECT * FROM orders WHERE MONTH(placed) = ?"
    assert proposed(orders(INNODB), text) == []
    assert plain(proposed(orders(WITH_EXPRESSIONS), text)) == {("MONTH(placed)",)}
    unknown = "SELECT * FROM orders WHERE DATE_FORMAT(placed, ?) = ?"
    assert proposed(orders(WITH_EXPRESSIONS), unknown) == []


def test_partial_indexes_are_for_conditions_without_values() -> None:
    text = "SELECT * FROM orders WHERE total = $1 AND gone IS NULL"
    found = proposed(orders(HEAP), text, dialect=kinds.POSTGRES)
    assert [(one.columns, one.predicate) for one in found if one.predicate] == [
        (("total",), "gone IS NULL")
    ]
    assert not any(one.predicate for one in proposed(orders(INNODB), text))


def test_indexes_that_are_there_are_not_proposed() -> None:
    text = "SELECT * FROM orders WHERE total = ? AND placed > ?"
    assert proposed(orders(INNODB, index("total", "placed", "customer")), text) == []
    assert plain(proposed(orders(INNODB, index("total")), text)) == {("total", "placed")}
    assert plain(proposed(orders(INNODB, index("total", "placed", usable=False)), text)) == {
        ("total", "placed")
    }
    assert plain(proposed(orders(INNODB, index("total", "placed", kind="hash")), text)) == {
        ("total", "placed")
    }
    # (customer) of InnoDB is (customer, id).
    of_both = "SELECT * FROM orders WHERE customer = ? ORDER BY id"
    assert plain(proposed(orders(INNODB, index("customer")), of_both)) == set()
    assert plain(proposed(orders(HEAP, index("customer")), of_both)) == {("customer", "id")}


def test_an_index_that_begins_another_serves_its_classes_too() -> None:
    found = proposed(
        orders(INNODB),
        "SELECT * FROM orders WHERE total = ? AND placed > ?",
        "SELECT * FROM orders WHERE total = ?",
    )
    assert [(one.columns, one.classes, one.weight) for one in found] == [
        (("total", "placed"), ("class 0", "class 1"), 3.0)
    ]


def test_columns_that_most_of_the_workload_compares_come_first() -> None:
    found = proposed(
        orders(INNODB),
        "SELECT * FROM orders WHERE placed = ? AND total = ?",
        "SELECT * FROM orders WHERE total = ?",
    )
    assert [one.columns for one in found] == [("total", "placed")]


def test_tables_that_are_not_known_have_no_candidates() -> None:
    assert proposed(orders(INNODB), "SELECT * FROM elsewhere WHERE a = ?") == []
