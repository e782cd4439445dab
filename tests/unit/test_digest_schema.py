"""Workloads of logs with what a server says of its schema: values that columns take, keys that are
there, keys that the server makes; and the report on statements that will fail."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from dbdyno.digest import document
from dbdyno.digest.workload import experiment, profile
from dbdyno.digest.workload.schema import findings
from dbdyno.digest.workload.schema.catalog import Catalog, Column, Table
from fixtures.shapes import Made, text, unit, whole

UUID = "********-****-****-****-************"
NEW = whole(1, 900, is_sequence=True)


def table(name: str, *columns: Column, rows: int = 500) -> Table:
    return Table(name=name, columns={one.name.lower(): one for one in columns}, rows=rows)


ORDERS = table(
    "orders",
    Column(name="id", type="int", is_unique=True, is_auto=True, greatest=5000),
    Column(name="customer_id", type="char", length=36, references=("customers", "id")),
    Column(name="status", type="enum", choices=("new", "paid", "packed", "shipped", "returned")),
    Column(name="note", type="varchar", length=10, is_required=True),
)
CUSTOMERS = table(
    "customers",
    Column(name="id", type="char", length=36, is_unique=True),
    Column(name="mail", type="varchar", length=40, is_unique=True),
    Column(name="settings", type="longtext", is_json=True),
    Column(name="number", type="int", is_unique=True, greatest=70_000),
)
LINES = table(
    "lines",
    Column(name="id", type="bigint", is_unique=True, is_auto=True),
    Column(name="order_id", type="int", references=("orders", "id")),
    rows=0,
)
EVENTS = table("events", Column(name="order_id", type="int", references=("orders", "id")))


def catalog(kind: str = "mariadb", *more: Table) -> Catalog:
    tables = (ORDERS, CUSTOMERS, LINES, EVENTS, *more)
    return Catalog(kind=kind, schema="shop", tables={one.name: one for one in tables})


def written(made: Made, of: Catalog | None = None) -> dict[str, Any]:
    typed = document.parse(made.document())
    catalogs = {"shop": of or catalog()}
    found = experiment.made(
        typed, profile.parse(made.shape()), accepts_censored=False, catalogs=catalogs
    )
    return dict(YAML(typ="safe").load(found.text)["groups"]["app"])


def one(template: str, *parameters: dict[str, Any], of: str) -> dict[str, Any]:
    """The only parameter of a workload of one statement, except for when it is drawn."""
    made = Made()
    made.units = [unit(1000, made.says(template, *parameters, table=f"shop.{of}"))]
    [param] = written(made)["params"].values()
    return {key: value for key, value in param.items() if key != "per"}


def test_an_enum_has_its_own_values_in_the_lengths_and_shares_of_the_log() -> None:
    seen = text(3, 8, 5, hot=[0.6])
    made = one("UPDATE orders SET status = :p1", seen, of="orders")
    assert sorted(made["values"]) == ["new", "packed", "paid", "returned", "shipped"]
    assert made["weights"] == [0.6, 0.1, 0.1, 0.1, 0.1]
    short = {**text(3, 4, 2, hot=[0.9, 0.1]), "text": {**text(3, 4, 2)["text"], "bytes_mean": 3.9}}
    assert one("SELECT id FROM orders WHERE status = :p1", short, of="orders") == {
        "values": ["paid", "new"],
        "weights": [0.9, 0.1],
    }
    always = text(8, 8, 1, pattern="@@@@@@@@")
    made = one("UPDATE orders SET status = :p1", always, of="orders")
    assert made == {"const": "returned"}


def test_a_foreign_key_and_what_looks_for_a_key_are_keys_that_are_there() -> None:
    key = text(36, 36, 300, pattern=UUID, is_hex=True, hot=[0.1, 0.05])
    made = one("INSERT INTO orders (customer_id) VALUES (:p1)", key, of="orders")
    assert made["column"] == "customers.id" and made["theta"] > 0.5
    # The hot keys are the same ones, whichever table is asked: as hot among all 500 rows.
    for template, of in (
        ("SELECT note FROM orders WHERE customer_id = :p1", "orders"),
        ("SELECT mail FROM customers WHERE id = :p1", "customers"),
    ):
        assert one(template, key, of=of) == made
    number = whole(1, 900, distinct=400)
    found = one("SELECT mail FROM customers WHERE number = :p1", number, of="customers")
    assert found == {"column": "customers.number"}


def test_unique_columns_get_values_that_no_row_has() -> None:
    few = text(9, 9, 30, pattern="@@-######")
    made = one("INSERT INTO customers (mail) VALUES (:p1)", few, of="customers")
    assert made == {"sequence": 1_000_000_500, "as_text": True}
    mails = text(20, 60, 300, alphabet="#@*")
    made = one("INSERT INTO customers (mail) VALUES (:p1)", mails, of="customers")
    assert made == {"text": "*" * 40}
    made = one(
        "INSERT INTO customers (number) VALUES (:p1)", whole(1, 900, distinct=800), of="customers"
    )
    assert made == {"sequence": 70_001}


def test_texts_are_no_longer_than_their_column_and_documents_are_documents() -> None:
    made = one("UPDATE orders SET note = :p1", text(12, 14, 900, alphabet="@"), of="orders")
    assert made == {"text": "@" * 10}
    seen = text(40, 60, 900, is_document=True)
    made = one("UPDATE customers SET settings = :p1", seen, of="customers")
    assert made["const"].startswith('{"made_up": "aaa') and len(made["const"]) == 50


def orders(*, lines: int) -> Made:
    """Orders with lines and an event, whose keys the server made."""
    made = Made()
    order = made.says("INSERT INTO orders (note) VALUES (:p1)", whole(1, 9), table="shop.orders")
    line = made.says("INSERT INTO `lines` (order_id) VALUES (:p1)", NEW, table="shop.lines")
    event = made.says("INSERT INTO events (order_id) VALUES (:p1)", NEW, table="shop.events")
    pay = made.says(
        "UPDATE orders SET note = :p1 WHERE id = :p2", whole(1, 9), NEW, table="shop.orders"
    )
    steps = [order, *[(line, lines)] * bool(lines), event, pay]
    made.units = [unit(1000, *steps, transaction=True)]
    return made


def steps(found: dict[str, Any]) -> list[str]:
    [transaction] = found["transactions"].values()
    return [one["sql"] for one in transaction["steps"]]


def test_the_key_that_the_server_made_is_handed_on() -> None:
    sent = steps(written(orders(lines=0)))
    assert sent[1] == "INSERT INTO events (order_id) VALUES (LAST_INSERT_ID())"
    assert sent[2].endswith("WHERE id = LAST_INSERT_ID()") and len(sent) == 3


def test_a_key_is_kept_where_another_one_is_made_before_it_is_used() -> None:
    sent = steps(written(orders(lines=3)))
    assert sent[1:4] == [
        "SET @new_orders = LAST_INSERT_ID()",
        "INSERT INTO `lines` (order_id) VALUES (@new_orders)",
        "INSERT INTO events (order_id) VALUES (@new_orders)",
    ]


def test_postgresql_hands_on_by_the_sequence() -> None:
    auto = Column(name="id", type="integer", is_unique=True, is_auto=True, sequence="orders_id_seq")
    columns = [auto, *[c for c in ORDERS.columns.values() if c.name != "id"]]
    sent = steps(written(orders(lines=3), catalog("postgres", table("orders", *columns))))
    assert sent[1] == "INSERT INTO `lines` (order_id) VALUES (currval('orders_id_seq'))"


def test_keys_of_other_rows_are_not_handed_on() -> None:
    made = orders(lines=0)
    for statement in made.statements:
        for parameter in statement["parameters"]:
            parameter["is_sequence"] = False
    assert "LAST_INSERT_ID" not in " ".join(steps(written(made)))


PATH = "SELECT JSON_VALUE(settings, :p1) FROM customers WHERE number = :p2"


@pytest.mark.parametrize(
    ("sample", "distinct", "expected"),
    [
        ("SELECT  JSON_VALUE(settings,\n '$.a[0].b') FROM customers WHERE number = 7", 1, True),
        ("SELECT JSON_VALUE(settings, '$.a') FROM customers WHERE number = 7", 2, False),
        ("SELECT JSON_VALUE(settings, '$.a') FROM customers", 1, False),
        ("SELECT JSON_VALUE(settings, '$.\\'a') FROM customers WHERE number = 7", 1, False),
        (None, 1, False),
    ],
)
def test_paths_are_kept_on_request_where_all_calls_have_the_same(
    sample: str | None, distinct: int, expected: bool
) -> None:
    made = Made()
    path = text(3, 9, distinct)
    asked = made.says(PATH, path, whole(1, 9), table="shop.customers")
    other = made.says("SELECT id FROM customers WHERE number = :p1", whole(1, 9), table="customers")
    made.units = [unit(1000, asked), unit(1000, other)]
    made.classes[0]["sample"] = {"input": 0, "offset": 0, "text": sample}
    sent = [each["sql"] for each in written(made)["statements"].values()]
    assert any("JSON_VALUE(settings, '$.a[0].b')" in sql for sql in sent) is expected
    assert len(sent) == 1 + expected


BAD = {
    "params": {
        "made": {"text": "####"},
        "state": {"values": ["paid", "aaaa"]},
        "key": {"uniform": [1, 9]},
        "next": {"sequence": 100},
        "gone": {"column": "customers.gone"},
    },
    "statements": {
        "a": {"sql": "SELECT 1 FROM customers c WHERE c.mail = :made"},
        "b": {"sql": "UPDATE orders SET status = :state WHERE id = :key"},
        "c": {"sql": "INSERT INTO orders (id, customer_id) VALUES (:next, :made)"},
        "d": {"sql": "INSERT INTO customers (mail) VALUES (:key)"},
        "e": {"sql": "SELECT 1 FROM customers WHERE id = :gone"},
        "never": {"sql": "INSERT INTO orders (id) VALUES (:key)", "weight": 0},
    },
}


def test_findings_name_what_will_fail_or_match_no_row() -> None:
    found = findings.by_schema("app", BAD, catalog())
    expected = {
        "statements.a": ["`made` is a made-up text", "match none"],
        "statements.b": ["makes 'aaaa', which `orders.status` does not take"],
        "statements.c": [
            "`orders.note` is NOT NULL",
            "keys up to 5,000",
            "a key of `customers.id`",
        ],
        "statements.d": ["`customers.mail` is unique"],
        "statements.e": ["`customers.gone`, which does not exist"],
    }
    for place, words in expected.items():
        said = " ".join(one for one in found if one.startswith(f"group `app`, {place}:"))
        assert all(word in said for word in words), (place, said)
    assert not any("never" in one for one in found)


def test_made_up_texts_that_are_looked_for_are_found_without_a_server() -> None:
    [said] = findings.alone("app", BAD)
    assert said.startswith("group `app`, statements.a: `made` is a made-up text")


def test_a_workload_made_with_a_schema_has_no_findings() -> None:
    made = orders(lines=3)
    key = text(36, 36, 300, pattern=UUID, is_hex=True)
    add = made.says(
        "INSERT INTO orders (customer_id, status, note) VALUES (:p1, :p2, :p3)",
        *(key, text(3, 8, 5), text(4, 14, 900)),
        table="shop.orders",
    )
    made.units.append(unit(500, add))
    assert findings.by_schema("app", written(made), catalog()) == []


def test_users_have_groups_of_their_own_with_their_shares_of_the_rate() -> None:
    def of(user: str, template: str, calls: int) -> experiment.Part:
        made = Made()
        made.units = [unit(calls, made.says(template, whole(1, 9), calls=calls))]
        return experiment.Part(user, document.parse(made.document()), profile.parse(made.shape()))

    reads, writes = "SELECT a FROM t WHERE id = :p1", "UPDATE t SET a = 1 WHERE id = :p1"
    both = Made()
    numbers = [both.says(sql, whole(1, 9), calls=n) for sql, n in ((reads, 900), (writes, 100))]
    both.units = [unit(900, numbers[0]), unit(100, numbers[1])]
    both.classes[0]["users"], both.classes[1]["users"] = {"web": 900}, {"job's": 100}
    typed = document.parse(both.document())
    assert experiment.users(typed) == ["web", "job's"]
    found = experiment.made(
        typed,
        profile.parse(both.shape()),
        accepts_censored=False,
        by_user=[of("web", reads, 900), of("job's", writes, 90)],
    )
    groups = YAML(typ="safe").load(found.text)["groups"]
    assert {name: len(group["statements"]) for name, group in groups.items()} == {
        "app_web": 1,
        "app_job_s": 1,
    }
    assert groups["app_web"]["rate"] == "15/s" and groups["app_job_s"]["rate"] == "1.5/s"
    [left] = found.coverage.gone
    assert left.calls == 10 and "of no user" in left.reason
