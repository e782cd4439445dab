"""A shop without secondary indexes, and the indexes that a DBA would try."""

from __future__ import annotations

INDEXES = {
    "customer": "CREATE INDEX a_customer ON orders (customer_id, created)",
    "mail": "CREATE INDEX a_mail ON customers (mail)",
    "lines": "CREATE INDEX a_lines ON order_lines (order_id)",
    "status": "CREATE INDEX a_status ON orders (status, created)",
    "created": "CREATE INDEX a_created ON orders (created)",
}
_SHOP = """\
experiment: shop
targets:
  db:
    kind: {kind}
    durability: os_crash_unsafe
    memory: 128Mi
    setup:
      tables:
        customers:
          rows: {customers}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            mail: {{type: varchar(40), text: "@@@@@@@@####-@@@@"}}
        orders:
          rows: {orders}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            customer_id: {{type: int, uniform: [1, {customers}]}}
            created: {{type: date, dates: [2020-01-01, 2024-12-31]}}
            status: {{type: int, uniform: [0, 49]}}
            total: {{type: int, uniform: [1, 1000]}}
            note: {{type: char(60), text: "**********-**********"}}
        order_lines:
          rows: {lines}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            order_id: {{type: int, uniform: [1, {orders}]}}
            product_id: {{type: int, uniform: [1, 500]}}
            amount: {{type: int, uniform: [1, 9]}}
workload:
  kind: mix
  sessions: 2
  params:
    customer: {{uniform: [1, {customers}]}}
    mail: {{column: customers.mail}}
    order: {{uniform: [1, {orders}]}}
    product: {{uniform: [1, 500]}}
    amount: {{uniform: [1, 9]}}
    day: {{dates: [2024-01-01, 2024-11-30]}}
    new_order: {{sequence: 10000001}}
    new_line: {{sequence: 10000001}}
  statements:
    by_customer:
      sql: "SELECT id, created, total FROM orders WHERE customer_id = :customer ORDER BY created DESC LIMIT 10"
      weight: 10
    by_mail: {{sql: "SELECT id FROM customers WHERE mail = :mail", weight: 6}}
    lines: {{sql: "SELECT product_id, amount FROM order_lines WHERE order_id = :order", weight: 8}}
    bought:
      sql: "SELECT SUM(l.amount) FROM orders o JOIN order_lines l ON l.order_id = o.id WHERE o.customer_id = :customer"
      weight: 2
    open: {{sql: "SELECT COUNT(*) FROM orders WHERE status = 0 AND created >= :day", weight: 1}}
    paid: {{sql: "UPDATE orders SET status = 1 WHERE id = :order", weight: 4}}
  transactions:
    order:
      weight: 6
      steps:
        - name: add_order
          sql: "INSERT INTO orders (id, customer_id, created, status, total, note) VALUES (:new_order, :customer, :day, 0, :product, 'new')"
        - name: add_line
          sql: "INSERT INTO order_lines (id, order_id, product_id, amount) VALUES (:new_line, :new_order, :product, :amount)"
"""  # noqa: E501


def experiment(kind: str, quick: bool) -> str:
    """The workload with its data, of one kind of server."""
    orders = 2_000 if quick else 40_000
    return _SHOP.format(kind=kind, customers=orders // 4, orders=orders, lines=orders * 2)
