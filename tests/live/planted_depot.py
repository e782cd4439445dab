"""A schema with foreign keys of several columns, checks, and views on each other."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

WAREHOUSES, DISTRICTS, CUSTOMERS, ORDERS = 3, 5, 12, 900  # customers: of a district
NOTES, ITEMS = 60, 8
STAFF, REPORTS, AREAS, POSTS = 60, 30, 25, 200  # of a warehouse: people, those of the first boss
TIERS = ("gold", "silver", "none")

TABLES = (
    "CREATE TABLE warehouse (w INT PRIMARY KEY, name VARCHAR(20) NOT NULL)",
    "CREATE TABLE district (w INT NOT NULL, d INT NOT NULL, tax DECIMAL(4, 3) NOT NULL, PRIMARY KEY"
    " (w, d), CONSTRAINT district_warehouse FOREIGN KEY (w) REFERENCES warehouse (w), CONSTRAINT"
    " low_tax CHECK (tax >= 0 AND tax <= 0.5))",
    "CREATE TABLE customer (w INT NOT NULL, d INT NOT NULL, c INT NOT NULL, tier VARCHAR(10) NOT"
    " NULL, since DATE NOT NULL, until DATE, PRIMARY KEY (w, d, c), CONSTRAINT customer_district"
    " FOREIGN KEY (w, d) REFERENCES district (w, d), CONSTRAINT known_tier CHECK (tier IN ('gold',"
    " 'silver', 'none')), CONSTRAINT recent CHECK (since >= '2000-01-01'), CONSTRAINT in_order"
    " CHECK (until IS NULL OR until > since))",
    "CREATE TABLE orders (w INT NOT NULL, d INT NOT NULL, o INT NOT NULL, c INT NOT NULL, PRIMARY"
    " KEY (w, d, o), CONSTRAINT orders_customer FOREIGN KEY (w, d, c) REFERENCES customer"
    " (w, d, c))",
    "CREATE TABLE price (w INT NOT NULL, item INT NOT NULL, PRIMARY KEY (w, item), CONSTRAINT"
    " price_warehouse FOREIGN KEY (w) REFERENCES warehouse (w))",
    "CREATE TABLE sold (w INT NOT NULL, d INT NOT NULL, o INT NOT NULL, n INT NOT NULL, item INT"
    " NOT NULL, amount INT NOT NULL, PRIMARY KEY (w, d, o, n), CONSTRAINT sold_orders FOREIGN KEY"
    " (w, d, o) REFERENCES orders (w, d, o), CONSTRAINT sold_price FOREIGN KEY (w, item)"
    " REFERENCES price (w, item), CONSTRAINT positive CHECK (amount > 0))",
    "CREATE TABLE fresh (w INT NOT NULL, d INT NOT NULL, o INT NOT NULL, PRIMARY KEY (w, d, o),"
    " CONSTRAINT fresh_orders FOREIGN KEY (w, d, o) REFERENCES orders (w, d, o))",
    "CREATE TABLE note (id INT PRIMARY KEY, w INT, d INT, CONSTRAINT note_district FOREIGN KEY"
    " (w, d) REFERENCES district (w, d))",
    "CREATE TABLE staff (w INT NOT NULL, id INT NOT NULL, boss INT, PRIMARY KEY (w, id), CONSTRAINT"
    " staff_boss FOREIGN KEY (w, boss) REFERENCES staff (w, id), CONSTRAINT staff_warehouse FOREIGN"
    " KEY (w) REFERENCES warehouse (w))",
    "CREATE TABLE area (w INT NOT NULL, id INT NOT NULL, inside INT NOT NULL, PRIMARY KEY (w, id),"
    " CONSTRAINT area_inside FOREIGN KEY (w, inside) REFERENCES area (w, id))",
    "CREATE TABLE post (topic INT NOT NULL, n INT NOT NULL, re_topic INT, re_n INT, PRIMARY KEY"
    " (topic, n), CONSTRAINT post_re FOREIGN KEY (re_topic, re_n) REFERENCES post (topic, n))",
    "CREATE VIEW open_orders AS SELECT orders.w, orders.d, orders.o, orders.c FROM orders JOIN"
    " fresh ON fresh.w = orders.w AND fresh.d = orders.d AND fresh.o = orders.o",
    "CREATE VIEW busy AS SELECT w, d, COUNT(*) AS many FROM open_orders GROUP BY w, d",
    "CREATE VIEW idle AS SELECT w FROM warehouse",
)
FUNCTION = {
    "mysql": "CREATE FUNCTION twice (x INT) RETURNS INT DETERMINISTIC NO SQL RETURN 2 * x",
    "postgres": "CREATE FUNCTION twice (x INT) RETURNS INT LANGUAGE sql AS 'SELECT 2 * x'",
}
CALLING = "CREATE VIEW doubled AS SELECT twice(w) AS t FROM warehouse"


def rows() -> dict[str, list[Sequence[Any]]]:
    """By table."""
    rng = random.Random(3)
    places = [(w, d) for w in range(1, WAREHOUSES + 1) for d in range(1, DISTRICTS + 1)]
    people = [(w, d, c) for w, d in places for c in range(1, CUSTOMERS + 1)]
    orders, lines = [], []
    numbers: dict[tuple[int, int], int] = {}
    for _ in range(ORDERS):
        w, d, c = people[int(len(people) * rng.random() ** 3)]  # some order often
        o = numbers[w, d] = numbers.get((w, d), 0) + 1
        orders.append((w, d, o, c))
        sold = [(n, rng.randrange(1, ITEMS + 1)) for n in range(1, 2 + o % 4)]
        lines += [(w, d, o, n, item, rng.randrange(1, 10)) for n, item in sold]
    return {
        "warehouse": [(w, f"house {w}") for w in range(1, WAREHOUSES + 1)],
        "district": [(w, d, round(rng.random() / 2, 3)) for w, d in places],
        "customer": [
            (*one, rng.choice(TIERS), f"{year}-05-01", f"{year + 1}-01-01" if year % 3 else None)
            for one in people
            if (year := rng.randrange(2010, 2024))
        ],
        "orders": orders,
        "price": [(w, item) for w in range(1, WAREHOUSES + 1) for item in range(1, ITEMS + 1)],
        "sold": lines,
        "fresh": [one[:3] for one in orders[::4]],
        "note": [
            (n, *(rng.choice(places) if n % 3 else (None, None))) for n in range(1, NOTES + 1)
        ],
        "staff": [
            (w, n, None if n == 1 else 1 if n <= REPORTS + 1 else 2 + n % 5)
            for w in range(1, WAREHOUSES + 1)
            for n in range(1, STAFF + 1)
        ],
        "area": [
            (w, n, max(1, n // 4)) for w in range(1, WAREHOUSES + 1) for n in range(1, AREAS + 1)
        ],
        "post": [
            (n % 4, n, *((None, None) if n % 3 == 0 else ((n // 2) % 4, n // 2)))
            for n in range(POSTS)
        ],
    }  # fmt: skip


def fill(kind: str, run: Callable[..., Any]) -> None:
    """Makes and fills the tables. `run`: statements, in the schema."""
    run([*TABLES, FUNCTION["postgres" if kind == "postgres" else "mysql"], CALLING])
    for table, found in rows().items():
        run([f"INSERT INTO {table} VALUES {', '.join(_row(row) for row in found)}"])
    tables = ", ".join(rows())
    run(["ANALYZE" if kind == "postgres" else f"ANALYZE TABLE {tables}"])


def _row(row: Sequence[Any]) -> str:
    return "(" + ", ".join("NULL" if each is None else repr(each) for each in row) + ")"
