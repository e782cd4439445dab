"""A schema with skew, correlation, references of every kind, and texts that no copy may have."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

NEEDLE = "needle"
CUSTOMERS, ORDERS, STAFF = 2000, 12_000, 300
STATUS = ("new", "paid", "sent", "returned", "lost")
_START = datetime(2024, 1, 1)

TABLES = {
    "mysql": (
        "CREATE TABLE staff (id INT PRIMARY KEY, boss INT, name VARCHAR(40) NOT NULL"
        " COMMENT 'needle of a comment', KEY (boss),"
        " CONSTRAINT staff_boss FOREIGN KEY (boss) REFERENCES staff (id))",
        "CREATE TABLE customers (id INT AUTO_INCREMENT PRIMARY KEY, mail VARCHAR(60) NOT NULL,"
        " country VARCHAR(20) COLLATE utf8mb4_bin NOT NULL, city VARCHAR(20) NOT NULL, age INT,"
        " note TEXT, UNIQUE KEY mail (mail), KEY place (country, city), KEY age (age))"
        " AUTO_INCREMENT=5000 COMMENT='needle of a table'",
        "CREATE TABLE `order` (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL,"
        " seller INT, state ENUM('new', 'paid', 'sent', 'returned', 'lost') NOT NULL,"
        " made DATETIME NOT NULL, due DATE NOT NULL, total DECIMAL(10, 2) NOT NULL,"
        " twice DECIMAL(12, 2) AS (total * 2), doc JSON, KEY made (made), KEY state (state, total),"
        " KEY customer (customer, made), KEY total (total), CONSTRAINT order_customer FOREIGN KEY"
        " (customer) REFERENCES customers (id), CONSTRAINT order_seller FOREIGN KEY (seller)"
        " REFERENCES staff (id))",
        "CREATE TABLE `lines` (`order` BIGINT NOT NULL, line INT NOT NULL, amount INT NOT NULL,"
        " PRIMARY KEY (`order`, line), CONSTRAINT lines_order FOREIGN KEY (`order`) REFERENCES"
        " `order` (id))",
        "CREATE VIEW seen AS SELECT id FROM customers",
    ),
    "postgres": (
        "CREATE TYPE state AS ENUM ('new', 'paid', 'sent', 'returned', 'lost')",
        "CREATE DOMAIN money_of AS numeric(10, 2) CHECK (value > -1)",
        "CREATE TABLE staff (id int PRIMARY KEY, boss int CONSTRAINT staff_boss REFERENCES staff,"
        " name varchar(40) NOT NULL)",
        "COMMENT ON TABLE staff IS 'needle of a table'",
        "CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, mail varchar(60)"
        ' NOT NULL UNIQUE, country varchar(20) COLLATE "C" NOT NULL, city varchar(20) NOT NULL,'
        " age int, note text)",
        "CREATE INDEX place ON customers (country, city)",
        "CREATE INDEX age ON customers (age) WHERE age > 20",
        "CREATE STATISTICS places (ndistinct, dependencies) ON country, city FROM customers",
        'CREATE TABLE "order" (id bigserial PRIMARY KEY, customer int NOT NULL CONSTRAINT'
        " order_customer REFERENCES customers, seller int CONSTRAINT order_seller REFERENCES"
        " staff, state state NOT NULL, made timestamp NOT NULL, due date NOT NULL, total money_of"
        " NOT NULL, twice numeric GENERATED ALWAYS AS (total * 2) STORED, doc jsonb)",
        'CREATE INDEX made ON "order" (made)',
        'CREATE INDEX state_total ON "order" (state, total)',
        'CREATE INDEX customer ON "order" (customer, made)',
        'CREATE INDEX total ON "order" (total)',
        'CREATE TABLE lines ("order" bigint NOT NULL CONSTRAINT lines_order REFERENCES "order",'
        ' line int NOT NULL, amount int NOT NULL, PRIMARY KEY ("order", line))',
        "CREATE VIEW seen AS SELECT id FROM customers",
    ),
}


def skewed(rng: random.Random, count: int) -> int:
    """A number below `count`, the low ones most often."""
    return int(count * rng.random() ** 3)


def rows() -> Iterator[tuple[str, Sequence[str], list[Sequence[Any]]]]:
    """Of each table: its name, the columns that are given, the rows."""
    rng = random.Random(5)
    staff = [(1, None, f"{NEEDLE} 1"), (2, 1, f"{NEEDLE} 2")]
    staff += [(n, n - 1 if n % 3 else None, f"{NEEDLE} {n}") for n in range(3, STAFF + 1)]
    yield "staff", ("id", "boss", "name"), staff
    customers = []
    for n in range(1, CUSTOMERS + 1):
        country = skewed(rng, 20)
        city = f"{NEEDLE}-{country}-{skewed(rng, 6)}"
        age = None if rng.random() < 0.2 else 18 + skewed(rng, 60)
        note = f"{NEEDLE} of\n\\{n}'\t" * (n % 4)
        customers.append((n, f"{NEEDLE}{n}@example.com", f"{NEEDLE}-{country}", city, age, note))
    yield "customers", ("id", "mail", "country", "city", "age", "note"), customers
    orders, lines = [], []
    for n in range(1, ORDERS + 1):
        made = _START + timedelta(minutes=40 * n + rng.randrange(20_000))
        state = STATUS[min(int(rng.expovariate(1.2)), 4)]
        total = round(rng.lognormvariate(4, 1), 2)
        seller = rng.randrange(1, STAFF + 1) if n % 5 else None
        row = (3 * n, 1 + skewed(rng, CUSTOMERS), seller, state, str(made), str(made.date()), total)
        orders.append((*row, '{"needle": 1}'))
        lines += [(3 * n, line, rng.randrange(1, 100)) for line in range(1, 1 + n % 4)]
    names = ("id", "customer", "seller", "state", "made", "due", "total", "doc")
    yield "order", names, orders
    yield "lines", ("order", "line", "amount"), lines


def fill(kind: str, run: Callable[[Sequence[str]], Any]) -> None:
    """Makes and fills the tables. `run`: statements, in the schema."""
    is_postgres = kind == "postgres"
    quote = '"' if is_postgres else "`"
    run(TABLES["postgres" if is_postgres else "mysql"])
    for table, names, found in rows():
        listed = ", ".join(f"{quote}{name}{quote}" for name in names)
        over = " OVERRIDING SYSTEM VALUE" if is_postgres else ""
        for at in range(0, len(found), 2000):
            values = ", ".join(_row(row, is_postgres) for row in found[at : at + 2000])
            run([f"INSERT INTO {quote}{table}{quote} ({listed}){over} VALUES {values}"])
    run(["UPDATE staff SET boss = 2 WHERE id = 1"])  # a cycle
    if is_postgres:
        run(["ANALYZE"])
    else:
        run([f"ANALYZE TABLE {', '.join(f'`{table}`' for table, _, _ in rows())}"])


def _row(row: Sequence[Any], is_postgres: bool) -> str:
    return "(" + ", ".join(_value(each, is_postgres) for each in row) + ")"


def _value(value: Any, is_postgres: bool) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return str(value)
    text = str(value).replace("'", "''")
    return "'" + (text if is_postgres else text.replace("\\", "\\\\")) + "'"
