"""Statements taken apart: raw ones, and those of all digests."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno import kinds
from dbdyno.sql import parts
from dbdyno.sql.parts import ColumnUse, Join, Statement
from dbdyno.sql.schema import Column, Schema, Table
from dbdyno.sql.statement import read, without_literals
from effort import examples

MYSQL, POSTGRES = kinds.MYSQL, kinds.POSTGRES


def table(name: str, *columns: str, schema: str = "shop") -> Table:
    return Table(
        name=name, schema=schema, columns={one: Column(name=one, type="int") for one in columns}
    )


SHOP = Schema(tables=(table("orders", "id", "customer", "total"), table("customers", "id", "name")))


def known(text: str, dialect: str = MYSQL, schema: Schema | None = None) -> Statement:
    found = read(text, dialect, schema)
    assert found is not None, text
    return found


def names(columns: tuple[ColumnUse, ...]) -> list[str]:
    return [f"{one.table.alias}.{one.name}" for one in columns]


def conditions(statement: Statement) -> list[tuple[str, str, str]]:
    return [(one.column.name, one.operator, one.value) for one in statement.predicates]


# what each digest prints of `SELECT ... WHERE id = 1 AND n IN (1, 2) LIMIT 3, 4`
@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("select c from t where id = ? and n in(?+) limit ? offset ?", MYSQL),
        ("SELECT `c` FROM `t` WHERE `id` = ? AND `n` IN (...) LIMIT ?, ...", MYSQL),
        ("SELECT `c` FROM `t` WHERE `id` = ? AND `n` IN ( ... ) /* , ... */ LIMIT ?", MYSQL),
        ("SELECT c FROM t WHERE id = $1 AND n IN ($2, $3) LIMIT $4", POSTGRES),
        ("SELECT c FROM t WHERE id = $1 AND n IN ($2 /*, ... */) LIMIT $3", POSTGRES),
        ("SELECT c FROM t WHERE id = $1 AND n = ANY($2) LIMIT $3", POSTGRES),
    ],
)
def test_statements_of_digests_are_read(text: str, dialect: str) -> None:
    found = known(text, dialect)
    assert conditions(found) == [("id", "=", "parameter"), ("n", "in", "parameter")]
    assert names(found.selected) == ["t.c"] and found.has_limit and not found.partial


@pytest.mark.parametrize(
    ("condition", "seen"),
    [
        ("a = 1", ("a", "=", "number")),
        ("5 < a", ("a", "range", "number")),
        ("a <=> 'x'", ("a", "=", "string")),
        ("a BETWEEN 1 AND 2", ("a", "range", "number")),
        ("a LIKE 'x%'", ("a", "like prefix", "string")),
        ("a LIKE '%x'", ("a", "like wildcard", "string")),
        ("a LIKE ?", ("a", "like", "parameter")),
        ("a IS NULL", ("a", "is null", "expression")),
        ("a IS NOT NULL", ("a", "is not null", "expression")),
        ("a <> 1", ("a", "<>", "number")),
        ("a NOT IN (1, 2)", ("a", "<>", "expression")),
        ("a IN (1)", ("a", "=", "number")),
        ("a IN (1, 2)", ("a", "in", "number")),
        ("a IN (SELECT b FROM u)", ("a", "in", "subquery")),
        ("a = -1", ("a", "=", "number")),
        ("a > NOW() - INTERVAL 1 DAY", ("a", "range", "expression")),
    ],
)
def test_a_condition_is_of_a_column_an_operator_and_a_value(
    condition: str, seen: tuple[str, str, str]
) -> None:
    (found,) = conditions(known(f"SELECT 1 FROM t WHERE {condition}"))
    assert found == seen


@pytest.mark.parametrize(
    ("expression", "wrap", "function"),
    [
        ("MONTH(c)", parts.FUNCTION, "MONTH"),
        ("TO_DAYS(c)", parts.FUNCTION, "TO_DAYS"),
        ("IFNULL(c, 0)", parts.FUNCTION, "IFNULL"),
        ("date_format(c, '%Y-%m')", parts.FUNCTION, "DATE_FORMAT"),
        ("LOWER(TRIM(c))", parts.FUNCTION, "LOWER"),
        ("CAST(c AS CHAR)", parts.CAST, "CAST"),
        ("c + INTERVAL 1 DAY", parts.ARITHMETIC, ""),
        ("c * 2", parts.ARITHMETIC, ""),
        ("c COLLATE utf8mb4_bin", parts.CAST, ""),
    ],
)
def test_what_wraps_a_column_is_told_as_it_is_written(
    expression: str, wrap: str, function: str
) -> None:
    (found,) = known(f"SELECT 1 FROM t WHERE {expression} = ?").predicates
    assert (found.expression, found.wrap, found.function) == (expression, wrap, function)
    assert (found.column.name, found.text) == ("c", f"{expression} = ?")


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("YEAR ( `c` )", "YEAR(`c`)"),
        ("`date_format` ( `c` , ? )", "date_format(`c`, ?)"),
    ],
)
def test_spaces_of_performance_schema_are_taken_out(expression: str, written: str) -> None:
    (found,) = known(f"SELECT ? FROM `t` WHERE {expression} = ?").predicates
    assert found.expression == written


def test_expressions_of_postgresql() -> None:
    found = known(
        "SELECT 1 FROM t WHERE date_trunc($1, c) = $2 AND c::date = $3 AND date_part($4,c) = $5",
        POSTGRES,
    )
    seen = [(one.expression, one.wrap, one.function) for one in found.predicates]
    assert seen == [
        ("date_trunc(?, c)", parts.FUNCTION, "DATE_TRUNC"),
        ("c::date", parts.CAST, ""),
        ("date_part(?,c)", parts.FUNCTION, "DATE_PART"),
    ]


def test_below_or_and_not_nothing_must_hold() -> None:
    found = known("SELECT 1 FROM t WHERE a = 1 AND (b = 2 OR c = 3) AND NOT (d = 4 AND e = 5)")
    must = {one.column.name: one.must_hold for one in found.predicates}
    assert must == {"a": True, "b": False, "c": False, "d": False, "e": False}


def test_aliases_and_joins() -> None:
    found = known(
        "SELECT o.id, c.* FROM shop.orders AS o LEFT JOIN customers c ON c.id = o.customer"
        " WHERE c.name = 'x' ORDER BY o.total DESC, 1"
    )
    orders, customers = found.tables
    assert (orders.name, orders.schema, orders.alias, customers.alias) == (
        "orders",
        "shop",
        "o",
        "c",
    )
    assert found.joins == (Join(ColumnUse(customers, "id"), ColumnUse(orders, "customer")),)
    ordering = [(one.column and one.column.name, one.descending) for one in found.ordering]
    assert ordering == [("total", True), ("id", False)]
    assert found.stars == (customers,) and names(found.selected) == ["o.id"]


def test_a_bare_column_is_of_the_only_table_that_has_it() -> None:
    text = "SELECT name FROM orders JOIN customers ON customer = customers.id WHERE total > 1"
    assert known(text).partial == ("whose column `name` is", "whose column `customer` is",
                                   "whose column `total` is")  # fmt: skip
    found = known(text, schema=SHOP)
    assert not found.partial and names(found.selected) == ["customers.name"]
    assert conditions(found) == [("total", "range", "number")]
    assert len(found.joins) == 1
    assert known("SELECT id FROM orders, customers", schema=SHOP).partial == (
        "whose column `id` is",
    )


def test_columns_of_derived_tables_are_of_no_table() -> None:
    found = known(
        "WITH q AS (SELECT a FROM t WHERE b = 1) SELECT d.x, q.a FROM"
        " (SELECT x FROM u WHERE y = 2) d, q WHERE d.x = 3"
        " AND EXISTS (SELECT 1 FROM v WHERE v.k = d.x)"
    )
    assert {use.name for use in found.tables} == {"t", "u", "v"} and not found.partial
    assert {*conditions(found)} == {
        ("b", "=", "number"),
        ("y", "=", "number"),
        ("k", "=", "column"),
    }


def test_a_correlated_subquery_sees_the_tables_around_it() -> None:
    found = known("SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.id)")
    assert [(one.left.name, one.right.table.name) for one in found.joins] == [("k", "t")]


def test_grouping_follows_positions_and_aliases() -> None:
    found = known("SELECT YEAR(c) AS y, COUNT(*) AS n FROM t GROUP BY y ORDER BY n")
    assert [(one.column and one.column.name, one.expression) for one in found.grouping] == [
        ("c", "YEAR(c)")
    ]
    assert [(one.column, one.expression) for one in found.ordering] == [(None, "COUNT(*)")]


@pytest.mark.parametrize(
    ("text", "kind", "written", "all_of"),
    [
        ("INSERT INTO t (a, b) VALUES (?, ?)", "insert", ["t.a", "t.b"], []),
        ("insert into t values(?+)", "insert", [], ["t"]),
        ("REPLACE INTO t (a) VALUES (?)", "replace", ["t.a"], []),
        ("INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE b = b + 1", "insert",
         ["t.a", "t.b"], []),
        ("UPDATE t SET a = a + 1 WHERE b = 2", "update", ["t.a"], []),
        ("UPDATE t JOIN u ON t.x = u.x SET u.a = 1", "update", ["u.a"], []),
        ("DELETE FROM t WHERE a = 1", "delete", [], ["t"]),
        ("DELETE u FROM t JOIN u ON t.x = u.x", "delete", [], ["u"]),
    ],
)  # fmt: skip
def test_what_is_written(text: str, kind: str, written: list[str], all_of: list[str]) -> None:
    found = known(text)
    assert found.kind == kind and names(found.written) == written
    assert [use.alias for use in found.written_all] == all_of


def test_a_target_is_not_read_and_its_value_is() -> None:
    assert names(known("UPDATE t SET a = b + 1 WHERE c = 2").read) == ["t.b", "t.c"]


@pytest.mark.parametrize(
    "text", ["", "  ;", "call p(?)", "set names utf8", "select (", "SELECT 1; SELECT 2", "'"]
)
def test_what_is_no_statement_of_rows_is_not_taken_apart(text: str) -> None:
    found = read(text, MYSQL)
    assert found is None or found.kind == parts.OTHER
    assert without_literals(text, MYSQL) is None


def test_what_is_not_taken_apart_is_said() -> None:
    assert known("SELECT 1 FROM t WHERE (a, b) > (1, 2)").partial == (
        "rows are compared: `(a, b) > (1, 2)`",
    )
    assert known("SELECT 1 FROM t WHERE a REGEXP 'x'").partial == ("`a REGEXP 'x'`",)
    assert known("SELECT 1 FROM t NATURAL JOIN u").partial == ("NATURAL JOIN",)


@pytest.mark.parametrize("dialect", [MYSQL, POSTGRES])
def test_literals_are_left_out_and_their_kinds_are_not(dialect: str) -> None:
    text = (
        "/* needle */ SELECT 'needle' FROM t WHERE a = 4711 AND b = 'needle' AND c LIKE '%needle'"
        " AND d LIKE 'needle%' AND e IN (4711, 4.7e11) -- needle isn't here\n"
    )
    assert without_literals(text, dialect) == (
        "SELECT '' FROM t WHERE a = 0 AND b = '' AND c LIKE '%' AND d LIKE 'x%' AND e IN (0, 0)"
    )


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (
            "SELECT x'4e6565646c65', 0x4e65, b'01', N'needle', _utf8'needle', \"needle\" FROM t",
            MYSQL,
        ),
        (
            "SELECT E'needle\\n', $$needle$$, $q$needle$q$, B'01', X'4e', U&'needle' FROM t",
            POSTGRES,
        ),
        ("SELECT 'it''s needle', 'a\\'needle' FROM t # needle", MYSQL),
        ("REPLACE INTO t VALUES ('needle')", MYSQL),
        ("SELECT date '2019-01-01', interval '3 needle' FROM t", POSTGRES),
    ],
)
def test_every_form_of_a_literal_is_left_out(text: str, dialect: str) -> None:
    found = without_literals(text, dialect)
    assert found is None or ("needle" not in found and "4e" not in found and "2019" not in found)
    if "U&" not in text:
        assert found is not None and found.endswith(("FROM t", "('')"))


@pytest.mark.parametrize(
    "text",
    ["CREATE USER u IDENTIFIED BY 'needle'", "ALTER ROLE u PASSWORD 'needle'", "COPY t FROM 'x'"],
)
@pytest.mark.parametrize("dialect", [MYSQL, POSTGRES])
def test_statements_that_are_not_of_rows_are_not_kept(text: str, dialect: str) -> None:
    assert without_literals(text, dialect) is None


WORDS = (
    "select from where and or not in ( ) , . * = < > ? $1 'a' \"b\" `c` 1 t u a b join on using"
    " group order by limit union with as insert into values update set delete like between is null"
    " exists case when then end cast interval ... ?+ /* */ -- # :: || ; any array [ ]"
)
TEXTS = st.lists(st.sampled_from(WORDS.split()), max_size=40).map(" ".join)


@given(text=TEXTS | st.text(max_size=60), dialect=st.sampled_from([MYSQL, POSTGRES]))
@settings(max_examples=examples(300), deadline=None)
def test_reading_never_raises(text: str, dialect: str) -> None:
    read(text, dialect, SHOP)
    without_literals(text, dialect)


@pytest.mark.parametrize("nested", [50, 5000])
def test_deep_nesting_does_not_raise(nested: int) -> None:
    read(f"SELECT 1 FROM t WHERE {'(' * nested}a = 1{')' * nested}", MYSQL)
    read("SELECT 1 FROM t WHERE " + " AND ".join(["a = 1"] * nested), MYSQL)
