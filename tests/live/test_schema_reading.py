"""What a server says of its schema: on MariaDB and PostgreSQL, with names that want to be SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from logged_shop import PASSWORD, Shop, shop
from private_servers import CORE

from dbdyno.digest.servers import sources
from dbdyno.digest.workload.schema import reading
from dbdyno.digest.workload.schema.catalog import Catalog
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Credentials

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

STRANGE = "a'b\\"
TABLES = {
    "mariadb": (
        "CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, customer CHAR(36) NOT NULL,"
        " status ENUM('new', 'it''s paid') NOT NULL, doc JSON, made TIMESTAMP NOT NULL DEFAULT"
        " CURRENT_TIMESTAMP, half INT AS (id / 2), a INT, b INT, UNIQUE (a, b),"
        " FOREIGN KEY (customer) REFERENCES customers (id))"
    ),
    "postgres": (
        "CREATE TABLE orders (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer CHAR(36)"
        " NOT NULL REFERENCES customers (id), status state NOT NULL, doc JSONB, made TIMESTAMP"
        " NOT NULL DEFAULT now(), half INT GENERATED ALWAYS AS (a / 2) STORED, a INT, b INT,"
        " UNIQUE (a, b))"
    ),
}


@pytest.fixture(scope="module", params=CORE)
def server(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with shop(request.param, "SELECT, INSERT, UPDATE") as there:
        quote = '"' if request.param == "postgres" else "`"
        if request.param == "postgres":
            there.own("CREATE TYPE state AS ENUM ('new', 'it''s paid')")
        there.own(
            f"CREATE TABLE {there.name('customers')}"
            " (id CHAR(36) PRIMARY KEY, mail VARCHAR(40) UNIQUE, number INT UNIQUE)"
        )
        there.own(TABLES[request.param])
        there.own(f"CREATE TABLE {there.name(quote + STRANGE + quote)} (id INT PRIMARY KEY)")
        there.own(f"INSERT INTO {there.name('customers')} VALUES ('k', 'm', 70), ('l', 'n', 3)")
        there.give("customers", "orders")
        yield there


@pytest.fixture
def remote(server: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    made = sources.open_server(server.url, Credentials(env="APP_PASSWORD"), None)
    yield made
    made.stop()


def catalog(remote: Any) -> Catalog:
    return reading.read(remote, "shop", ["orders", STRANGE])


def test_columns_and_keys_are_those_of_the_tables(server: Shop, remote: Any) -> None:
    found = catalog(remote)
    orders = found.tables["orders"].columns
    assert orders["status"].choices == ("new", "it's paid")
    assert orders["customer"].references == ("customers", "id")
    assert orders["doc"].is_json and not orders["status"].is_json
    assert orders["id"].is_auto and orders["id"].is_unique
    assert not orders["a"].is_unique and not orders["half"].is_required
    required = {name for name, column in orders.items() if column.is_required}
    # MySQL and MariaDB take an ENUM's first value where none is given.
    assert required == {"customer"} | ({"status"} if server.kind == "postgres" else set())
    customers = found.tables["customers"].columns
    assert customers["mail"].is_unique and customers["mail"].length == 40
    assert found.tables["customers"].rows == 2 and customers["number"].greatest == 70
    assert found.root("orders", "CUSTOMER") == ("customers", "id")


def test_a_key_that_the_server_makes_has_its_sequence(server: Shop, remote: Any) -> None:
    sequence = catalog(remote).tables["orders"].columns["id"].sequence
    assert sequence == ("public.orders_id_seq" if server.kind == "postgres" else None)


def test_a_sequence_whose_name_could_be_sql_is_left_alone(server: Shop, remote: Any) -> None:
    if server.kind != "postgres":
        return  # it has no sequences here
    server.own("""CREATE SEQUENCE "a');x" """)
    server.own("""CREATE TABLE odd (id INT PRIMARY KEY DEFAULT nextval('"a'');x"'))""")
    server.give("odd")
    assert not catalog(remote).tables["odd"].columns["id"].is_auto


def test_a_schema_that_is_not_there_is_an_error(remote: Any) -> None:
    if remote.kind == "postgres":
        return  # it has schemas of other names than databases: the one in use is read
    with pytest.raises(DynoError) as refused:
        reading.read(remote, "nowhere'", [])
    assert "nowhere'" in refused.value.what and "GRANT" in refused.value.fix.upper()


def test_statements_that_the_server_refuses_are_told_without_running_them(
    server: Shop, remote: Any
) -> None:
    bad = "SELECT no_such FROM customers WHERE number = :id"
    torn = "SELECT number FROM customers WHERE number = :id ORDER BY :id FORM"
    statements = [
        "UPDATE customers SET number = number + 1 WHERE number = :id",
        "SELECT '\\'; DELETE FROM customers --'",
        bad,
        torn,
    ]
    schema = "public" if server.kind == "postgres" else "shop"
    said = remote.refusals(schema, [], statements)
    assert [one.sql for one in said] == [bad, torn]
    assert "no_such" in said[0].why
    assert said[0].at == (bad.index("no_such") if server.kind == "postgres" else None)
    assert said[1].at == torn.index("FORM")
    rows = server.own(f"SELECT number FROM {server.name('customers')} ORDER BY 1")
    assert [int(row[0]) for row in rows] == [3, 70]
