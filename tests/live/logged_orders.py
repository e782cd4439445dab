"""A shop whose tables have what generators trip over: keys that are UUIDs, ENUMs, foreign keys,
keys that the server makes, unique columns, JSON documents. And an application for them."""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

import pymysql
from logged_shop import PASSWORD, Shop

CUSTOMERS, PRODUCTS, ORDERS = 600, 300, 1500
STATUS = ("new", "paid", "packed", "shipped", "returned")
STATUS_WEIGHTS = (20, 40, 25, 10, 5)
SCHEMA = """
CREATE TABLE shop.customers (
  id CHAR(36) PRIMARY KEY, email VARCHAR(60) NOT NULL UNIQUE, name VARCHAR(20) NOT NULL,
  tier ENUM('basic', 'silver', 'gold') NOT NULL DEFAULT 'basic', joined DATETIME NOT NULL);
CREATE TABLE shop.products (
  id INT PRIMARY KEY, sku CHAR(9) NOT NULL UNIQUE, stock INT NOT NULL, attributes JSON NOT NULL);
CREATE TABLE shop.orders (
  id INT AUTO_INCREMENT PRIMARY KEY, customer_id CHAR(36) NOT NULL,
  status ENUM('new', 'paid', 'packed', 'shipped', 'returned') NOT NULL, placed DATETIME NOT NULL,
  INDEX (customer_id), FOREIGN KEY (customer_id) REFERENCES customers (id));
CREATE TABLE shop.order_items (
  id BIGINT AUTO_INCREMENT PRIMARY KEY, order_id INT NOT NULL, line INT NOT NULL,
  product_id INT NOT NULL, quantity INT NOT NULL, UNIQUE (order_id, line),
  FOREIGN KEY (order_id) REFERENCES orders (id), FOREIGN KEY (product_id) REFERENCES products (id));
CREATE TABLE shop.events (
  order_id INT NOT NULL, at DATETIME(3) NOT NULL, kind ENUM('made', 'changed') NOT NULL,
  PRIMARY KEY (order_id, kind), FOREIGN KEY (order_id) REFERENCES orders (id));
"""


def fill(server: Shop) -> None:
    """Makes the tables, with rows whose keys are far apart."""
    for statement in SCHEMA.strip().split(";\n"):
        server.own(statement.rstrip(";\n"))
    drawn = random.Random(7)
    ids = [str(uuid.UUID(int=drawn.getrandbits(128), version=4)) for _ in range(CUSTOMERS)]
    rows = (
        f"('{id_}', 'someone-{n}@example.com', 'Name{n}', 'basic', '2024-01-01')"
        for n, id_ in enumerate(ids)
    )
    server.own(f"INSERT INTO shop.customers VALUES {', '.join(rows)}")
    products = (
        (7 * n + 3, f"SKU-{n:05}", 10**6, json.dumps({"color": "red", "size": n % 9}))
        for n in range(PRODUCTS)
    )
    server.own(f"INSERT INTO shop.products VALUES {', '.join(map(str, products))}")
    orders = (
        f"({n}, '{drawn.choice(ids)}', 'shipped', '2024-02-01')" for n in range(1, ORDERS + 1)
    )
    server.own(f"INSERT INTO shop.orders VALUES {', '.join(orders)}")


class Application:
    """A session of the application. Hot customers and products come up as 1 / rank^0.9."""

    def __init__(self, server: Shop, seed: int) -> None:
        self._drawn = random.Random(seed)
        self._connection = pymysql.connect(
            host="127.0.0.1",
            port=server.server.port,
            user="app",
            password=PASSWORD,
            database="shop",
            autocommit=True,
        )
        self._cursor = self._connection.cursor()
        self._customers = [row[0] for row in server.own("SELECT id FROM shop.customers")]
        self._products = [row[0] for row in server.own("SELECT id FROM shop.products")]
        random.Random(5).shuffle(self._customers)

    def work(self, rounds: int) -> None:
        """Reads, orders, changes, and new customers."""
        for n in range(rounds):
            kind = self._drawn.random()
            if kind < 0.45:
                self._look()
            elif kind < 0.75:
                self._order()
            elif kind < 0.95:
                self._change()
            else:
                self._join(n)

    def close(self) -> None:
        self._connection.close()

    def _send(self, sql: str, *values: Any) -> None:
        self._cursor.execute(sql, values or None)

    def _hot(self, keys: list[Any]) -> Any:
        weights = [(rank + 1) ** -0.9 for rank in range(len(keys))]
        return self._drawn.choices(keys, weights)[0]

    def _look(self) -> None:
        customer = self._hot(self._customers)
        self._send("SELECT name, tier FROM customers WHERE id = %s", customer)
        if self._drawn.random() < 0.3:
            self._send(
                "SELECT o.id, o.placed FROM orders o JOIN customers c ON o.customer_id = c.id"
                " WHERE email = %s AND status = %s ORDER BY o.id LIMIT 5",
                f"someone-{self._drawn.randrange(CUSTOMERS)}@example.com",
                self._drawn.choices(STATUS, STATUS_WEIGHTS)[0],
            )
        self._send(
            "SELECT stock, JSON_VALUE(attributes, '$.color') FROM products WHERE id = %s",
            self._hot(self._products),
        )

    def _order(self) -> None:
        self._send("BEGIN")
        self._send(
            "INSERT INTO orders (customer_id, status, placed) VALUES (%s, %s, %s)",
            self._hot(self._customers),
            "new",
            "2024-03-01 10:00:00",
        )
        order = self._cursor.lastrowid
        products = [self._hot(self._products) for _ in range(self._drawn.randint(1, 4))]
        for line, product in enumerate(sorted(products), start=1):  # in one order: no deadlocks
            self._send("UPDATE products SET stock = stock - 1 WHERE id = %s", product)
            self._send(
                "INSERT INTO order_items (order_id, line, product_id, quantity)"
                " VALUES (%s, %s, %s, %s)",
                *(order, line, product, self._drawn.randint(1, 5)),
            )
        self._send(
            "INSERT INTO events (order_id, at, kind) VALUES (%s, %s, %s)",
            *(order, "2024-03-01 10:00:00.123", "made"),
        )
        self._send("COMMIT")

    def _change(self) -> None:
        self._send(
            "UPDATE orders SET status = %s WHERE id = %s",
            self._drawn.choices(STATUS, STATUS_WEIGHTS)[0],
            self._drawn.randint(1, ORDERS),
        )

    def _join(self, n: int) -> None:
        self._send(
            "INSERT INTO customers (id, email, name, tier, joined) VALUES (%s, %s, %s, %s, %s)",
            str(uuid.UUID(int=self._drawn.getrandbits(128), version=4)),
            f"new-{self._drawn.getrandbits(40)}@example.com",
            f"Name{n}",
            self._drawn.choices(("basic", "silver", "gold"), (80, 15, 5))[0],
            "2024-03-01 10:00:00",
        )
