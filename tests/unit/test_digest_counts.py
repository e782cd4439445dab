"""Statements that a server counts become a workload: their values are drawn from columns, or the
statement is left out for a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbdyno import kinds
from dbdyno.digest.document import Document, parse
from dbdyno.digest.servers.counted import Counted as Row
from dbdyno.digest.servers.identity import Identity
from dbdyno.digest.servers.literals import without_literals
from dbdyno.digest.servers.watch import GONE
from dbdyno.digest.workload import carried, experiment, profile
from dbdyno.digest.workload.counts import drawing, ranges, shape, template
from dbdyno.digest.workload.counts.columns import Ends
from dbdyno.digest.workload.counts.counted import Statement
from dbdyno.digest.workload.schema.catalog import Catalog, Column, Table
from dbdyno.digest.workload.values.parameters import Parameters
from dbdyno.experiment import load
from dbdyno.experiment.workloads import mix

DAY_S = 86_400
ROWS = 10_000
NEW = ROWS + 1 + drawing.GAP  # the application goes on inserting until the copy is made
JANUARY = 1_546_300_800.0  # 2019


def columns(*made: Column) -> dict[str, Column]:
    return {one.name: one for one in made}


CATALOG = Catalog(
    kind="mysql",
    schema="shop",
    tables={
        "users": Table(
            name="users",
            rows=500,
            columns=columns(
                Column(name="id", type="int", is_unique=True, is_auto=True, greatest=500),
                Column(name="mail", type="varchar", length=60, is_unique=True),
                Column(name="photo", type="blob"),
                Column(name="nothing", type="int"),
            ),
        ),
        "orders": Table(
            name="orders",
            rows=ROWS,
            columns=columns(
                Column(name="id", type="int", is_unique=True, greatest=ROWS),
                Column(name="user_id", type="int", references=("users", "id")),
                Column(name="created", type="date"),
                Column(name="total", type="decimal"),
                Column(name="state", type="enum", choices=("new", "paid")),
            ),
        ),
        "places": Table(
            name="places",
            rows=10,
            columns=columns(Column(name="a", type="int"), Column(name="b", type="int")),
        ),
    },
)


class Columns:
    """Of a server without a server."""

    rows = {"users": 500.0, "orders": float(ROWS), "places": 10.0}  # noqa: RUF012
    keys = {"places": [frozenset({"a", "b"})]}  # noqa: RUF012

    def ends(self, table: str, column: Column) -> Ends | None:
        return {
            "id": Ends(1, ROWS),
            "created": Ends(JANUARY, JANUARY + 999 * DAY_S),
            "total": Ends(0.5, 100.0, 2),
        }.get(column.name)

    def is_filled(self, table: str, column: str) -> bool:
        return column != "nothing"


SCHEMA = shape.Schema(kinds.MYSQL, CATALOG, Columns())  # type: ignore[arg-type]
POSTGRES = shape.Schema(kinds.POSTGRES, CATALOG, Columns())  # type: ignore[arg-type]


def shaped(
    text: str, *tables: str, schema: shape.Schema = SCHEMA, count: int = 100, **more: Any
) -> profile.Statement:
    identity = Identity("1" * 32, text.lower(), tables=tables or ("orders",))
    one = Statement(text=text, identity=identity, database="shop", count=count, time_s=1.0, **more)
    (made,) = shape.shape([one], {"shop": schema}, 60.0).statements
    return made


def given(text: str, *tables: str, **more: Any) -> list[Any]:
    made = shaped(text, *tables, **more)
    assert made.refused is None, made.refused
    return [one.given for one in made.parameters]


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        (
            "SELECT COUNT ( * ) FROM `orders` WHERE `id` = ?",
            "SELECT COUNT( * ) FROM `orders` WHERE `id` = :p1",
        ),
        (
            "INSERT INTO `users` ( `id` , `mail` ) VALUES (...)",
            "INSERT INTO `users` ( `id` , `mail` ) VALUES(:p1, :p2)",
        ),
        (
            "INSERT INTO `places` VALUES (...) ON DUPLICATE KEY UPDATE `b` = ?",
            "INSERT INTO `places` VALUES(:p1, :p2) ON DUPLICATE KEY UPDATE `b` = :p3",
        ),
        (
            "INSERT INTO `orders` ( `id` , `created` , `total` , `state` )"
            " VALUES ( ? , NOW ( ) , ?, ... )",
            "INSERT INTO `orders` ( `id` , `created` , `total` , `state` )"
            " VALUES( :p1 , NOW( ) , :p2, :p3 )",
        ),
    ],
)
def test_a_text_of_a_server_becomes_a_statement(text: str, sql: str) -> None:
    widths = {"users": 4, "orders": 5, "places": 2}
    made = template.made(text, kinds.MYSQL, lambda name: widths.get(name, 0))
    assert (made.refused, made.sql) == (None, sql)


def test_a_table_whose_name_is_a_keyword_is_spelled_as_it_is() -> None:
    text = "SELECT USER . ID , COUNT(*) FROM USER , `user_role` WHERE USER . ID = :p1"
    made = template.named(text, {"user": "user", "count": "count"})
    assert made == (
        "SELECT `user` . ID , COUNT(*) FROM `user` , `user_role` WHERE `user` . ID = :p1"
    )


@pytest.mark.parametrize(
    ("text", "language", "why"),
    [
        ("SELECT `a` , `b` FROM `orders` WHERE ...", kinds.MYSQL, template.CUT),
        ("SELECT `id` FROM `orders` LIMIT ?, ...", kinds.MYSQL, template.OFFSET),
        ("SELECT `concat` ( ?, ... ) FROM `orders`", kinds.MYSQL, template.COUNTLESS),
        ("INSERT INTO `unknown` VALUES (...)", kinds.MYSQL, template.COUNTLESS),
        ("SELECT id FROM orders WHERE id = $1 OR user_id = $1", kinds.POSTGRES, template.TWICE),
        ("SELECT id FROM orders ORDER BY ?", kinds.POSTGRES, template.SYNTAX),
    ],
)
def test_a_text_that_lacks_something_is_refused(text: str, language: str, why: str) -> None:
    assert template.made(text, language, lambda _: 0).refused == why


def test_the_mark_of_a_squashed_list_stays_and_is_a_list() -> None:
    """PostgreSQL 18; a comment is none."""
    text = without_literals("SELECT id FROM orders WHERE id IN ($1 /*, ... */) /* of a user */")
    assert text == "SELECT id FROM orders WHERE id IN ($1 /*, ... */)"
    made = template.made(text, kinds.POSTGRES, lambda _: 0)
    assert made.sql == "SELECT id FROM orders WHERE id IN (:p1)"
    assert [(one.of, one.element) for one in made.lists] == [(template.IN, ":p1")]


def test_keys_are_those_of_the_data() -> None:
    assert given("SELECT `total` FROM `orders` WHERE `id` = ?") == [{"column": "orders.id"}]
    text = "SELECT o.total FROM orders o JOIN users u ON u.id = o.user_id WHERE u.mail = $1"
    assert given(text, "orders", "users", schema=POSTGRES) == [{"column": "users.mail"}]


BY_USER = "SELECT `id` FROM `orders` WHERE `user_id` = ?"


def test_frequent_values_are_drawn_as_often_as_calls_met_their_rows() -> None:
    """Orders are 10,000, of 500 users."""
    assert given(BY_USER, sent=40.0) == [{"column": "orders.user_id", "meets": 0.004}]
    # As many as each user has on average, or fewer: some of them may have none.
    for sent in (20.0, 3.0, 0.0):
        assert given(BY_USER, sent=sent) == [{"column": "users.id"}]
    both = "SELECT id FROM orders WHERE user_id IN ($1, $2)"
    assert (
        given(both, sent=80.0, schema=POSTGRES)
        == [{"column": "orders.user_id", "meets": 0.004}] * 2
    )
    total = "DELETE FROM `orders` WHERE `total` = ?"
    assert given(total, changed=2.5) == [{"column": "orders.total", "meets": 0.00025}]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (BY_USER, {}),  # as of a server that counts none
        (BY_USER + " AND `id` > 7 LIMIT 5", {"sent": 40.0}),  # other conditions met them, too
        ("SELECT COUNT ( * ) FROM `orders` WHERE `user_id` = ?", {"sent": 1.0}),
        ("SELECT `id` FROM `orders` WHERE `user_id` <> ?", {"sent": 9000.0}),
    ],
)
def test_without_such_counts_values_are_as_frequent_as_in_rows(
    text: str, rows: dict[str, float]
) -> None:
    assert given(text, **rows) == [{"column": "orders.user_id", "by_rows": True}]


def test_new_rows_have_new_keys_and_values_of_the_data() -> None:
    made = given(
        "INSERT INTO `orders` ( `id` , `user_id` , `total` , `state` ) VALUES (...)", changed=1.0
    )
    assert made == [
        {"sequence": NEW},
        {"column": "orders.user_id", "by_rows": True},
        {"column": "orders.total", "by_rows": True},
        {"values": ["new", "paid"]},
    ]


def test_what_is_written_where_no_row_has_a_value_is_made_up() -> None:
    text = "UPDATE `users` SET `nothing` = ? WHERE `id` = ?"
    assert given(text, "users") == [{"const": 1}, {"column": "users.id"}]


def test_several_rows_are_as_many_as_were_inserted() -> None:
    text = "INSERT INTO `orders` ( `id` , `total` ) VALUES (...) /* , ... */"
    made = shaped(text, changed=25.0)
    assert [(one.element, one.lengths.values) for one in made.lists] == [("(:p1, :p2)", (25.0,))]


def test_a_list_of_unique_keys_is_as_long_as_the_rows_that_it_brought() -> None:
    text = "SELECT `total` FROM `orders` WHERE `id` IN (...)"
    (one,) = shaped(text, sent=3.0).lists
    assert one.lengths.values == (3.0,)
    assert shaped(text.replace("`id`", "`user_id`"), sent=3.0).refused == shape.LENGTHS


@pytest.mark.parametrize(
    ("text", "rows", "low", "width"),
    [
        ("SELECT `total` FROM `orders` WHERE `id` BETWEEN ? AND ?", {"sent": 100.0},
         {"uniform": [1, ROWS - 99]}, 99.0),
        ("SELECT `total` FROM `orders` WHERE `id` >= ? AND `id` < ?", {"sent": 100.0},
         {"uniform": [1, ROWS - 100]}, 100.0),
        ("SELECT SUM ( `total` ) FROM `orders` WHERE `id` BETWEEN ? AND ?",
         {"sent": 1.0, "examined": 100.0, "scans": 0.0}, {"uniform": [1, ROWS - 99]}, 99.0),
        # 310 of 10,000 rows, of 1,000 days, are those of 31 days.
        ("SELECT `id` FROM `orders` WHERE `created` >= ? AND `created` < ?", {"sent": 310.0},
         {"dates": ["2019-01-01", "2021-08-26"]}, 31.0 * DAY_S),
        ("DELETE FROM `orders` WHERE `total` BETWEEN ? AND ?", {"changed": 1000.0},
         {"uniform": [0.5, 90.06], "decimals": 2}, 9.94),
    ],
)  # fmt: skip
def test_a_range_is_as_wide_as_its_rows(
    text: str, rows: dict[str, float], low: dict[str, Any], width: float
) -> None:
    made = shaped(text, **rows)
    assert made.refused is None
    assert made.parameters[0].given == low
    (found,) = made.ranges
    assert (found.low, found.high) == (1, 2)
    assert found.widths.values == pytest.approx((width,))


def test_an_open_range_begins_where_its_rows_do() -> None:
    assert given("SELECT `total` FROM `orders` WHERE `id` > ?", sent=100.0) == [
        {"uniform": [ROWS - 100, ROWS - 100]}
    ]
    text = "SELECT `total` FROM `orders` WHERE `id` > ? ORDER BY `id` LIMIT ?"
    assert given(text, sent=19.4) == [{"column": "orders.id"}, {"const": 20}]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("MONTH ( `created` ) = ?", {"uniform": [1, 12]}),
        ("YEAR ( `created` ) = ?", {"uniform": [2019, 2021]}),
        ("DATE ( `created` ) = ?", {"dates": ["2019-01-01", "2021-09-26"]}),
        ("EXTRACT ( YEAR FROM `created` ) = ?", {"uniform": [2019, 2021]}),
    ],
)
def test_a_function_of_a_column_has_its_own_values(text: str, made: dict[str, Any]) -> None:
    assert given(f"SELECT COUNT ( * ) FROM `orders` WHERE {text}") == [made]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT `id` FROM `orders` WHERE `state` LIKE ?", drawing.PATTERNS),
        ("SELECT `id` FROM `orders` WHERE `total` * ? > ?", drawing.NO_COLUMN),
        ("SELECT `id` FROM `orders` WHERE `soundex` ( `id` ) = ?", drawing.NO_COLUMN),
        ("SELECT `id` FROM `orders` WHERE `user_id` = ? AND `created` > ?", drawing.WIDTHS),
        ("SELECT SUM ( `id` ) FROM `orders` WHERE `created` > ?", drawing.WIDTHS),
        ("SELECT `id` FROM `orders` LIMIT ?", drawing.LIMITS),
        ("SELECT `id` FROM `orders` ORDER BY ?", template.SYNTAX),
        ("SELECT `id` FROM `orders` WHERE `id` = @`x`", shape.UNKNOWN),
        ("CALL `restock` ( ? )", shape.CALLS),
    ],
)
def test_what_the_counts_do_not_tell_is_left_out(text: str, why: str) -> None:
    assert shaped(text).refused == why


def test_columns_without_values_and_tables_elsewhere_are_left_out() -> None:
    assert shaped("SELECT `id` FROM `users` WHERE `photo` = ?", "users").refused == drawing.NO_TYPE
    text = "SELECT `id` FROM `users` WHERE `nothing` = ?"
    assert shaped(text, "users").refused == drawing.NO_VALUES
    text = "SELECT * FROM `performance_schema` . `threads`"
    assert shaped(text, "performance_schema.threads").refused == shape.ELSEWHERE
    text = "INSERT INTO `places` ( `a` , `b` ) VALUES (...)"
    assert shaped(text, "places", changed=1.0).refused == shape.KEYS
    assert shaped(text.replace("INSERT", "INSERT IGNORE"), "places", changed=1.0).refused is None


def class_(number: int, fingerprint: str, count: int, time_s: float) -> dict[str, Any]:
    return {
        "rank": number,
        "id": str(number) * 32,
        "fingerprint": fingerprint,
        "tables": ["orders"],
        "databases": {"shop": count},
        "count": count,
        "weighted_count": float(count),
        "query_time": {"count": count, "sum": time_s, "mean": time_s / count},
    }


def document_of(classes: list[dict[str, Any]]) -> Document:
    count = sum(one["count"] for one in classes)
    time_s = sum(one["query_time"]["sum"] for one in classes)
    total = {"count": count, "sum": time_s, "mean": time_s / count}
    return parse(
        {
            "schema_version": 1,
            "inputs": [{"path": "db1", "format": "performance_schema", "server": "MariaDB 11"}],
            "overall": {"count": count, "weighted_count": float(count), "query_time": total},
            "classes_total": len(classes),
            "classes": classes,
            "timeline": {
                "begin_unix_s": 0.0, "bucket_s": 5.0, "count": [count, 0],
                "time_s": [0.6 * time_s, 0.4 * time_s],
            },
        }
    )  # fmt: skip


def test_the_experiment_accounts_for_every_call() -> None:
    texts = {
        "1": ("SELECT `total` FROM `orders` WHERE `id` BETWEEN ? AND ?", 900, 6.0),
        "2": ("SELECT `id` FROM `orders` WHERE `state` LIKE ?", 80, 3.0),
    }
    classes = [class_(int(n), text.lower(), *more) for n, (text, *more) in texts.items()]
    classes.append(class_(3, GONE, 20, 1.0))
    document = document_of(classes)
    counted = [
        Statement(
            text=text,
            identity=Identity(n * 32, text.lower(), tables=("orders",)),
            database="shop", count=count, time_s=time_s, sent=100.0,
        )
        for n, (text, count, time_s) in texts.items()
    ]  # fmt: skip
    shaped_ = shape.shape(counted, {"shop": SCHEMA}, 10.0)
    made = experiment.made(
        document, shaped_, accepts_censored=True, catalogs={"shop": CATALOG}, paced=False
    )
    covered = made.coverage
    assert (covered.calls_share, covered.time_share) == pytest.approx((0.9, 0.6))
    gone = {one.reason: (one.calls, one.time_s) for one in covered.gone}
    assert gone == {
        drawing.PATTERNS: (80, pytest.approx(3.0)),
        "statements whose text the server does not tell": (20, pytest.approx(1.0)),
    }
    (group,) = load(made.text, file=Path("counts.yaml")).cells[0].groups
    (statement,) = (one for _, _, one in mix.sent(group.options))
    assert str(statement["sql"]).endswith("BETWEEN :orders_id AND :orders_id_upto")
    params = group.options["params"]
    assert params["orders_id_upto"]["sum"] == ["orders_id", "orders_id_width"]
    assert params["orders_id_width"]["const"] == 99
    assert (group.arrivals, group.sessions) == (None, 2)


def test_statements_with_new_keys_of_one_column_share_a_sequence() -> None:
    texts = (
        "INSERT INTO `orders` ( `id` , `total` ) VALUES (...)",
        "INSERT INTO `orders` VALUES (...)",
    )
    counted = [
        Statement(text=text, identity=Identity(f"{n:032x}", text, tables=("orders",)),
                  database="shop", count=5, time_s=1.0, changed=1.0)
        for n, text in enumerate(texts)
    ]  # fmt: skip
    shaped_ = shape.shape(counted, {"shop": SCHEMA}, 10.0)
    classes = [
        class_(n, text.lower(), 5, 1.0) | {"id": f"{n:032x}"} for n, text in enumerate(texts)
    ]
    chosen = carried.choose(document_of(classes), shaped_, {"shop": CATALOG})
    params = Parameters(chosen, "shop")
    for unit in chosen.units["shop"]:
        params.of_unit(unit)
    made = [one for one, _ in params.made.values() if "sequence" in one]
    assert made == [{"sequence": NEW, "per": "statement"}]


def test_rows_that_lie_apart_are_evenly_between_the_ends() -> None:
    reach = ranges.Reach(50.0, 100.0, Ends(0, 999), "whole")
    assert reach.width == 500
    assert ranges.open_end(reach, "<") == {"uniform": [500, 500]}
    assert ranges.open_end(reach, ">=") == {"uniform": [500, 500]}


def test_statements_of_users_are_one() -> None:
    from dbdyno.digest.servers.chosen import make
    from dbdyno.digest.servers.watch import Sampled, Watched
    from dbdyno.digest.workload.counts import counted

    seen = Watched(0.0)
    for user in ("a", "b"):
        seen.rows["7", "shop", user] = Row("7", "shop", user, 4, 1.0, measures={"rows": 8.0})
    seen.rows["8", "shop", "a"] = Row("8", "shop", "a", 1, 1.0)
    seen.texts |= {"7": "select 1 from t", "8": GONE}
    known = {"select 1 from t": Identity("1", "select ? from t")}
    choice = make(group_by=None, order_by=None, limit="all", db="shop", user=None)
    (one,) = counted.statements(Sampled(seen, [], {}, known), choice)
    assert (one.count, one.sent, one.changed, one.examined) == (8, 2.0, 2.0, None)
