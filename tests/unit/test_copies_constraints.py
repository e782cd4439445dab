"""Composite foreign keys, checks and views of copies: what is kept, how, and what is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbdyno.copies.schema import mysql, views
from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import (
    Check,
    Column,
    DomainCheck,
    ForeignKey,
    Index,
    Schema,
    Table,
    View,
)
from dbdyno.copies.statistics.values import ColumnStatistics, Lengths, Piece, TableStatistics
from dbdyno.copies.synthesis import parents
from dbdyno.copies.synthesis.domains import of_column, with_labels
from dbdyno.copies.synthesis.tables import Synthesis, synthesised

LENGTHS = Lengths(least=4, mean=6, most=8)


def column(name: str, **more: Any) -> Column:
    return Column(name=name, **{"type": "int", "family": of.WHOLE, "is_nullable": False, **more})


def table(
    name: str,
    columns: Sequence[str | Column],
    primary: Sequence[str],
    *foreign: tuple[Sequence[str], str, Sequence[str]],
    checks: Sequence[Check] = (),
) -> Table:
    made = [column(each) if isinstance(each, str) else each for each in columns]
    return Table(
        name=name,
        columns={each.name: each for each in made},
        indexes=[Index(name="PRIMARY", columns=primary, is_unique=True, is_primary=True)],
        foreign=[
            ForeignKey(name=f"{name}_{to}", columns=own, table=to, references=keys, sql="")
            for own, to, keys in foreign
        ],
        rows=0,
        create=f"CREATE TABLE {name} (\n  a int\n) ENGINE=InnoDB",
        checks=checks,
    )


def numbers(count: int, rows: int, **more: Any) -> ColumnStatistics:
    return ColumnStatistics(pieces=[Piece(1, count, rows, count)], **more)


def statistics(rows: int, **counts: int) -> TableStatistics:
    return TableStatistics(
        rows=rows, columns={name: numbers(count, rows) for name, count in counts.items()}
    )


def shop(**more: Table) -> tuple[Schema, dict[str, TableStatistics]]:
    """Warehouses, districts of these, customers of these, their orders, lines of these, and orders
    that are new."""
    tables = [
        table("line", ["w", "d", "o", "n"], ["w", "d", "o", "n"],
              (["w", "d", "o"], "orders", ["w", "d", "o"])),
        table("fresh", ["w", "d", "o"], ["w", "d", "o"],
              (["w", "d", "o"], "orders", ["w", "d", "o"])),
        table("orders", ["w", "d", "o", "c"], ["w", "d", "o"],
              (["w", "d", "c"], "customer", ["w", "d", "c"]), (["w"], "warehouse", ["w"])),
        table("customer", ["w", "d", "c"], ["w", "d", "c"],
              (["w", "d"], "district", ["w", "d"]), (["w"], "warehouse", ["w"])),
        table("district", ["w", "d"], ["w", "d"], (["w"], "warehouse", ["w"])),
        table("warehouse", ["w"], ["w"]),
    ]  # fmt: skip
    found = {
        "warehouse": statistics(2, w=2),
        "district": statistics(20, w=2, d=10),
        "customer": statistics(200, w=2, d=10, c=10),
        "orders": replace(
            statistics(400, w=2, d=10, o=40, c=10),
            tuples={"orders_customer": [Piece(1, 10, 200, 10), Piece(11, 110, 200, 100)]},
        ),
        "line": replace(
            statistics(1200, w=2, d=10, o=40, n=3),
            tuples={"line_orders": [Piece(1, 400, 1200, 400)]},
        ),
        "fresh": statistics(100, w=2, d=10, o=40),
    }
    return Schema(tables={each.name: each for each in tables} | more), found


def inserts(made: Synthesis) -> dict[str, str]:
    """By the table that is filled."""
    return {one.fill[0].split("`")[1]: one.fill[0] for one in made.staged}


def test_rows_of_composite_keys_are_those_of_the_tables_they_refer_to() -> None:
    schema, found = shop()
    made = synthesised(schema, found)
    assert made.broken == set() and made.omitted == []
    assert made.rows == {name: each.rows for name, each in found.items()}
    assert [*inserts(made)] == ["customer", "orders", "line", "fresh"]  # each after its parent
    assert inserts(made)["customer"] == (
        "INSERT INTO `customer` (`w`, `d`, `c`) SELECT COALESCE(p0.`w`, s.`w`), COALESCE(p0.`d`,"
        " s.`d`), 1 + ROW_NUMBER() OVER (PARTITION BY COALESCE(p0.`w`, s.`w`), COALESCE(p0.`d`,"
        " s.`d`) ORDER BY s.dyno_row) - 1 FROM `dyno_made_1` s LEFT JOIN (SELECT ROW_NUMBER() OVER"
        " (ORDER BY `w`, `d`) AS dyno_number, `w`, `d` FROM `district` o) p0 ON p0.dyno_number ="
        " s.dyno_parent_0 ORDER BY s.dyno_row"
    )
    columns = {one.name: one.columns for one in made.staged}
    assert columns["dyno_made_1"]["dyno_row"] == {"type": "bigint", "sequence": 1}
    # Frequent customers lie anywhere: the number leads to a row by a step.
    customers = columns["dyno_made_2"]["dyno_parent_0"]
    assert customers["histogram"] == [[1, 10, 200.0], [11, 110, 200.0]]
    assert "1 + MOD((s.dyno_parent_0 - 1) * 123, 200)" in inserts(made)["orders"]
    # Lines are as many for each order as they were; each new order is another one.
    assert columns["dyno_made_3"]["dyno_parent_0"]["spread"] == 0
    assert columns["dyno_made_4"]["dyno_parent_0"]["histogram"] == [[1, 400, 1.0, 100]]
    assert made.tables["dyno_made_4"]["existing"] is True


def test_a_key_that_cannot_be_kept_is_named_with_the_reason() -> None:
    staff = table("staff", ["w", "id", "boss"], ["w", "boss"],
                  (["w", "boss"], "staff", ["w", "id"]))  # fmt: skip
    many = table("many", ["w", "d"], ["w", "d"], (["w", "d"], "district", ["w", "d"]))
    schema, found = shop(staff=staff, many=many)
    found["staff"], found["many"] = statistics(20, w=2, id=10, boss=10), statistics(21, w=21, d=10)
    made = synthesised(schema, found)
    assert made.broken == {("staff", "staff_staff"), ("many", "many_district")}
    said = "foreign key `staff_staff` of `staff`: it refers to no unique columns of `staff`"
    assert said in made.omitted
    assert "foreign key `many_district` of `many`: `district` has too few rows" in made.omitted
    assert made.rows["staff"] == 20 and made.rows["many"] == 21


def test_rows_refer_to_earlier_ones_of_their_own_table() -> None:
    boss = column("boss", is_nullable=True)
    staff = table("staff", ["w", "id", boss], ["w", "id"], (["w", "boss"], "staff", ["w", "id"]))
    schema, found = shop(staff=staff)
    often = [Piece(1, 2, 40, 2), Piece(3, 10, 40, 8)]
    found["staff"] = replace(statistics(100, w=2, id=50, boss=5), tuples={"staff_staff": often})
    made = synthesised(schema, found)
    assert made.broken == set() and made.omitted == []
    assert inserts(made)["staff"] == (
        "INSERT INTO `staff` (`w`, `id`, `boss`) WITH dyno_drawn AS (SELECT s.`w` AS `w`, s.`id` AS"
        " `id`, s.`boss` AS `boss`, s.dyno_row, s.dyno_parent_0 FROM `dyno_made_5` s), dyno_rows AS"
        " (SELECT d.*, ROW_NUMBER() OVER (PARTITION BY d.`w` ORDER BY d.dyno_row) AS dyno_number_0"
        " FROM dyno_drawn d) SELECT s.`w`, s.`id`, p0.`id` FROM dyno_rows s LEFT JOIN dyno_rows p0"
        " ON p0.`w` = s.`w` AND p0.dyno_number_0 = 1 + MOD(s.dyno_parent_0 - 1,"
        " NULLIF(s.dyno_number_0 - 1, 0)) ORDER BY s.dyno_row"
    )
    # Each of the two warehouses has half of those that are referred to.
    numbers_ = made.staged[-1].columns["dyno_parent_0"]
    assert numbers_["histogram"] == [[1, 1, 40.0], [2, 5, 40.0]] and "spread" not in numbers_
    # Where each row must refer to one, the first refers to itself.
    must = replace(staff, columns={**staff.columns, "boss": column("boss")})
    made = synthesised(replace(schema, tables={**schema.tables, "staff": must}), found)
    assert "COALESCE(1 + MOD(s.dyno_parent_0 - 1, NULLIF(" in inserts(made)["staff"]
    assert "COALESCE(p0.`id`, s.`boss`)" in inserts(made)["staff"]


@pytest.mark.parametrize(
    ("columns", "references", "why"),
    [
        (["w", "id"], ["id", "w"], "`w` belongs to a unique key"),
        (["w", "other"], ["w", "id"], "its columns have the values that another foreign key needs"),
        (["w", "id"], ["w", "id"], "each row refers to itself"),
    ],
)
def test_rows_that_cannot_refer_to_each_other_are_named(
    columns: list[str], references: list[str], why: str
) -> None:
    staff = table("staff", ["w", "id", "other"], ["w", "id"],
                  (columns, "staff", references), (["other"], "warehouse", ["w"]))  # fmt: skip
    schema, found = shop(staff=staff)
    found["staff"] = statistics(20, w=2, id=10, other=2)
    made = synthesised(schema, found)
    assert ("staff", "staff_staff") in made.broken
    assert f"foreign key `staff_staff` of `staff`: {why}" in made.omitted


def test_what_a_row_of_the_own_table_has_meets_its_checks() -> None:
    boss = column("boss", is_nullable=True)
    low = Check(name="low", expression="`boss` <= 50", sql="CHECK (`boss` <= 50)")
    given = Check(name="given", expression="`boss` is not null", sql="")
    staff = table("staff", ["w", "id", boss], ["w", "id"], (["w", "boss"], "staff", ["w", "id"]),
                  checks=[low, given])  # fmt: skip
    schema, found = shop(staff=staff)
    found["staff"] = statistics(100, w=2, id=50, boss=90)
    made = synthesised(schema, found)
    assert [one.name for one in made.checks["staff"]] == ["low"]


def test_tables_that_refer_to_each_other_are_made_without_one_of_the_keys() -> None:
    a = table("a", ["x", "y"], ["x", "y"], (["x", "y"], "b", ["x", "y"]))
    b = table("b", ["x", "y", "z"], ["x", "y"], (["x", "z"], "a", ["x", "y"]))
    order, circular = parents.ordered(Schema(tables={"a": a, "b": b}))
    assert [each.name for each in order] == ["b", "a"]
    assert circular == {("b", "b_a")}


def test_a_second_key_on_the_same_columns_needs_rows_that_keep_it() -> None:
    """One follows from the first key's table; the other does not."""
    schema, found = shop()
    order = replace(schema.tables["orders"], foreign=[
        *schema.tables["orders"].foreign,
        ForeignKey(name="follows", columns=["w", "d"], table="district", references=["w", "d"],
                   sql=""),
        ForeignKey(name="other", columns=["d", "o"], table="district", references=["w", "d"],
                   sql=""),
    ])  # fmt: skip
    made = synthesised(replace(schema, tables={**schema.tables, "orders": order}), found)
    assert made.broken == {("orders", "other")}


def test_keys_that_share_a_column_are_of_rows_that_fit_each_other() -> None:
    """Orders and prices of one warehouse: as tables of several tenants have them."""
    price = table("price", ["w", "item"], ["w", "item"], (["w"], "warehouse", ["w"]))
    sold = table("sold", ["id", "w", "d", "o", "item"], ["id"],
                 (["w", "d", "o"], "orders", ["w", "d", "o"]),
                 (["w", "item"], "price", ["w", "item"]))  # fmt: skip
    schema, found = shop(price=price, sold=sold)
    found["price"] = statistics(20, w=2, item=10)
    found["sold"] = statistics(500, id=500, w=2, d=10, o=40, item=10)
    made = synthesised(schema, found)
    assert made.broken == set()
    sql = inserts(made)["sold"]
    exists = "EXISTS (SELECT 1 FROM `price` q WHERE q.`w` = o.`w`)"
    assert f"MOD(s.dyno_parent_0 - 1, (SELECT COUNT(*) FROM `orders` o WHERE {exists}))" in sql
    assert "c1 ON c1.`w` = COALESCE(p0.`w`, s.`w`)" in sql
    assert "p1.dyno_number = 1 + MOD(s.dyno_parent_1 - 1, c1.dyno_count)" in sql
    # A row that may refer to no price needs none.
    item = column("item", is_nullable=True)
    loose = replace(sold, columns={**sold.columns, "item": item})
    sql = inserts(synthesised(replace(schema, tables={**schema.tables, "sold": loose}), found))[
        "sold"
    ]
    assert "EXISTS" not in sql and "p1.`item`" in sql


CHECKS = (
    Check(name="few", expression="`n` <= 3", sql="CONSTRAINT `few` CHECK (`n` <= 3)"),
    Check(name="odd", expression="`n` % 2 = 1", sql="CONSTRAINT `odd` CHECK (`n` % 2 = 1)"),
    Check(name="words", expression="`word` in ('a','b')", sql="CHECK (`word` in ('a','b'))"),
)


def test_checks_that_made_up_rows_meet_are_kept_and_the_others_named() -> None:
    word = column("word", type="varchar(9)", family=of.TEXT, length=9)
    checked = table("t", ["id", "n", word], ["id"], checks=CHECKS)
    schema = with_labels(Schema(tables={"t": checked}))
    assert schema.tables["t"].columns["word"].labels == ("a", "b")
    found = TableStatistics(
        rows=9,
        columns={
            "id": numbers(9, 9),
            "n": numbers(3, 9),
            "word": ColumnStatistics(labels=[6.0, 3.0], lengths=LENGTHS),
        },
    )
    made = synthesised(schema, {"t": found})
    assert [one.name for one in made.checks["t"]] == ["few", "words"]
    assert made.omitted == ["check `odd` of `t`: made-up rows need not pass it"]
    assert made.tables["t"]["columns"]["word"]["labels"] == ["a", "b"]
    assert schema.tables["t"].created(made.checks["t"]) == (
        "CREATE TABLE t (\n  a int,\n  CONSTRAINT `few` CHECK (`n` <= 3),\n"
        "  CHECK (`word` in ('a','b'))\n) ENGINE=InnoDB"
    )
    # Without rows there is nothing that could break a check.
    assert len(synthesised(schema, {}).checks["t"]) == 3


def test_checks_of_a_domain_are_kept_if_all_columns_of_it_meet_them() -> None:
    price = column("price", type="money_of")
    checks = [
        DomainCheck(name=name, type="money_of", expression=what, sql="")
        for name, what in (("low", "(VALUE > 0)"), ("high", "(VALUE < 9)"))
    ]
    schema = Schema(
        tables={"t": table("t", ["id", price], ["id"])}, domain_checks=checks, folds_names=True
    )
    made = synthesised(schema, {"t": statistics(9, id=9, price=9)})
    assert [one.name for one in made.domain_checks] == ["low"]
    assert made.omitted == ["check `high` of domain `money_of`: made-up rows need not pass it"]


@pytest.mark.parametrize(
    ("of_type", "made", "low", "high"),
    [
        ({}, {"histogram": [[1, 5, 1, 2], [9, 12, 1]]}, "1", "12"),
        ({}, {"histogram": [[1, 4, 1]], "keys": [10, 40, 4]}, "10", "40"),
        ({"type": "decimal(9,2)", "family": of.DECIMAL}, {"histogram": [[0.5, 9.75, 1]]},
         "0.5", "9.75"),
        ({"type": "date", "family": of.DAY}, {"histogram": [["2001-01-01", "2002-01-01", 1]]},
         "2001-01-01 00:00:00", "2002-01-01 00:00:00"),
        ({"type": "float", "family": of.FLOAT}, {"histogram": [[0.1, 0.2, 1]]}, "None", "None"),
    ],
)  # fmt: skip
def test_a_column_has_what_its_generator_makes(
    of_type: dict[str, Any], made: dict[str, Any], low: str, high: str
) -> None:
    found = of_column(column("x", **of_type), made)
    assert (str(found.low), str(found.high), found.has_null) == (low, high, False)
    assert of_column(column("x", **of_type), made | {"nulls": 0.1}).has_null


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  CONSTRAINT `c` CHECK ((`a` > 0))",
         ("c", "(`a` > 0)", "CONSTRAINT `c` CHECK ((`a` > 0))")),
        ("  `a` int(11) DEFAULT NULL CHECK (`a` > 0)", ("a", "`a` > 0", "CHECK (`a` > 0)")),
        ("  `doc` longtext CHECK (json_valid(`doc`))", None),
        ("  KEY `a` (`a`)", None),
    ],
)  # fmt: skip
def test_checks_of_mysql_are_read_from_create_table(line: str, expected: Any) -> None:
    found = mysql._check(line)
    assert (found and (found.name, found.expression, found.sql)) == expected


def view(name: str, select: str, lacks: str = "") -> View:
    return View(name=name, select=select, create=[f"CREATE VIEW {name} AS {select}"], lacks=lacks)


def test_views_that_statements_refer_to_are_made_after_those_that_they_read() -> None:
    known = [
        view("top", "SELECT w FROM middle JOIN warehouse USING (w)"),
        view("middle", "SELECT w FROM district"),
        view("calls", "SELECT f(w) FROM warehouse", "it calls `f`"),
        view("far", "SELECT 1 FROM elsewhere.t"),
        view("over", "SELECT w FROM calls"),
        view("unused", "SELECT w FROM warehouse"),
    ]
    schema = replace(shop()[0], views={one.name: one for one in known})
    found = views.referred(
        schema,
        ["SELECT * FROM top WHERE w = :w", "SELECT 1 FROM far, over", "HANDLER calls OPEN"],
        schema.language,
    )
    assert [one.name for one in found.wanted] == ["middle", "top"]
    assert found.omitted == [
        "view `calls`: it calls `f`",
        "view `far`: it reads `elsewhere.t`, which is not copied",
        "view `over`: it reads `calls`, which is not copied: it calls `f`",
        "views `unused`: no statement of the workload refers to them",
    ]
