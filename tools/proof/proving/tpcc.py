"""TPC-C's tables with their primary keys alone, its main statements in the specification's
proportions, and the two secondary indexes of the usual schema.

Source: TPC Benchmark C 5.11, clauses 1.3 (tables), 2.4 to 2.8 (transactions), 5.2.3 (mix). Reduced:
fewer rows, five lines an order, and steps that follow from earlier answers draw values instead.
"""

from __future__ import annotations

EXPERT = (
    "CREATE INDEX a_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX a_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
)
WAREHOUSES, LINES = 2, 5
DISTRICTS = 10  # of a warehouse

# Keys of several columns are counted from the rows' numbers by SQL: (warehouse, district, one of
# `per_district`).
_KEY = (
    "1 + (n - MOD(n, {per_warehouse})) / {per_warehouse},"
    " 1 + (MOD(n, {per_warehouse}) - MOD(n, {per_district})) / {per_district},"
    " 1 + MOD(n, {per_district})"
)
_TPCC = """\
experiment: tpcc
targets:
  db:
    kind: {kind}
    durability: os_crash_unsafe
    memory: 128Mi
    setup:
      tables:
        warehouse:
          rows: {warehouses}
          columns:
            w_id: {{type: int, sequence: 1, key: primary}}
            w_tax: {{type: "decimal(4,4)", uniform: [0.0001, 0.2]}}
            w_ytd: {{type: "decimal(12,2)", const: 300000}}
        item:
          rows: {items}
          columns:
            i_id: {{type: int, sequence: 1, key: primary}}
            i_name: {{type: varchar(24), text: "@@@@@@@@@@@@@@@@@@"}}
            i_price: {{type: "decimal(5,2)", uniform: [1.00, 100.00]}}
        made_stock:
          rows: {stocks}
          columns:
            n: {{type: int, sequence: 0, key: primary}}
            quantity: {{type: int, uniform: [10, 100]}}
            data: {{type: varchar(50), text: "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"}}
        made_customers:
          rows: {keys}
          columns:
            n: {{type: int, sequence: 0, key: primary}}
            last: {{type: varchar(16), zipfian: [0, 999], theta: 0.3, as_text: true}}
            first: {{type: varchar(16), text: "@@@@@@@@@@@@"}}
            discount: {{type: "decimal(4,4)", uniform: [0.0001, 0.5]}}
            data: {{type: varchar(200), text: "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"}}
        made_orders:
          rows: {keys}
          columns:
            n: {{type: int, sequence: 0, key: primary}}
            customer: {{type: int, uniform: [1, {per_district}]}}
            carrier: {{type: int, uniform: [1, 10]}}
        made_lines:
          rows: {lines}
          columns:
            n: {{type: int, sequence: 0, key: primary}}
            item: {{type: int, uniform: [1, {items}]}}
            amount: {{type: "decimal(6,2)", uniform: [0.01, 9999.99]}}
      after:
        - CREATE TABLE district (d_w_id int, d_id int, d_tax decimal(4,4), d_ytd decimal(12,2), d_next_o_id int, PRIMARY KEY (d_w_id, d_id))
        - INSERT INTO district SELECT w_id, i_id, 0.1, 30000, 1 + {per_district} FROM warehouse, item WHERE i_id <= {districts}
        - CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int, s_order_cnt int, s_data varchar(50), PRIMARY KEY (s_w_id, s_i_id))
        - INSERT INTO stock SELECT 1 + (n - MOD(n, {items})) / {items}, 1 + MOD(n, {items}), quantity, 0, data FROM made_stock
        - CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_last varchar(16), c_first varchar(16), c_discount decimal(4,4), c_balance decimal(12,2), c_payment_cnt int, c_data varchar(200), PRIMARY KEY (c_w_id, c_d_id, c_id))
        - INSERT INTO customer SELECT {key}, last, first, discount, -10, 1, data FROM made_customers
        - CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_carrier_id int, o_ol_cnt int, o_entry_d date, PRIMARY KEY (o_w_id, o_d_id, o_id))
        - INSERT INTO orders SELECT {key}, customer, carrier, {lines_each}, '2024-01-01' FROM made_orders
        - CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_quantity int, ol_amount decimal(6,2), ol_delivery_d date, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))
        - INSERT INTO order_line SELECT {key}, number, item, 5, amount, '2024-01-01' FROM (SELECT (n - MOD(n, {lines_each})) / {lines_each} AS n, 1 + MOD(n, {lines_each}) AS number, item, amount FROM made_lines) numbered
        - CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id))
        - INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > {delivered}
        - CREATE TABLE history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date date, h_amount decimal(6,2), h_data varchar(24))
        - DROP TABLE made_stock
        - DROP TABLE made_customers
        - DROP TABLE made_orders
        - DROP TABLE made_lines
workload:
  kind: mix
  sessions: 2
  params:
    w: {{uniform: [1, {warehouses}]}}
    d: {{uniform: [1, {districts}]}}
    c: {{uniform: [1, {per_district}]}}
    last: {{zipfian: [0, 999], theta: 0.3, as_text: true}}
    amount: {{uniform: [1.00, 5000.00]}}
    order: {{sequence: 10000001}}
    known: {{uniform: [1, {per_district}]}}
    recent: {{uniform: [{recent}, {per_district}]}}
    threshold: {{uniform: [10, 20]}}
    carrier: {{uniform: [1, 10]}}
    item: {{uniform: [1, {items}], per: statement}}
    quantity: {{uniform: [1, 10], per: statement}}
    line: {{sequence: 1, per: repetition}}
  transactions:
    new_order:
      weight: 45
      steps:
        - {{name: buyer, sql: "SELECT c_discount, c_last, w_tax FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c"}}
        - {{name: next_order, sql: "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d"}}
        - {{name: add_order, sql: "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt, o_entry_d) VALUES (:w, :d, :order, :c, {lines_each}, '2024-05-05')"}}
        - {{name: add_new_order, sql: "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (:w, :d, :order)"}}
        - {{name: price, sql: "SELECT i_price, i_name FROM item WHERE i_id = :item", repeat: {lines_each}}}
        - {{name: take, sql: "UPDATE stock SET s_quantity = CASE WHEN s_quantity > 20 THEN s_quantity - :quantity ELSE s_quantity + 81 END, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :item", repeat: {lines_each}}}
        - {{name: add_line, sql: "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_quantity, ol_amount) VALUES (:w, :d, :order, :line, :item, :quantity, 10)", repeat: {lines_each}}}
    payment:
      weight: 43
      steps:
        - {{name: warehouse_paid, sql: "UPDATE warehouse SET w_ytd = w_ytd + :amount WHERE w_id = :w"}}
        - {{name: district_paid, sql: "UPDATE district SET d_ytd = d_ytd + :amount WHERE d_w_id = :w AND d_id = :d"}}
        - one_of:
            - {{name: payer_by_name, weight: 60, sql: "SELECT c_id, c_first, c_balance, c_data FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_last = :last ORDER BY c_first"}}
            - {{name: payer_by_id, weight: 40, sql: "SELECT c_first, c_last, c_balance, c_data FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c"}}
        - {{name: customer_paid, sql: "UPDATE customer SET c_balance = c_balance - :amount, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c"}}
        - {{name: add_history, sql: "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (:c, :d, :w, :d, :w, '2024-05-05', :amount, 'paid')"}}
    order_status:
      weight: 4
      steps:
        - one_of:
            - {{name: asker_by_name, weight: 60, sql: "SELECT c_id, c_first, c_balance FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_last = :last ORDER BY c_first"}}
            - {{name: asker_by_id, weight: 40, sql: "SELECT c_first, c_last, c_balance FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c"}}
        - {{name: newest_order, sql: "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = :w AND o_d_id = :d AND o_c_id = :c ORDER BY o_id DESC LIMIT 1"}}
        - {{name: order_lines, sql: "SELECT ol_i_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :known"}}
    delivery:
      weight: 4
      steps:
        - {{name: oldest, sql: "SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = :w AND no_d_id = :d"}}
        - {{name: no_longer_new, sql: "DELETE FROM new_order WHERE no_w_id = :w AND no_d_id = :d AND no_o_id = :known"}}
        - {{name: carried, sql: "UPDATE orders SET o_carrier_id = :carrier WHERE o_w_id = :w AND o_d_id = :d AND o_id = :known"}}
        - {{name: lines_delivered, sql: "UPDATE order_line SET ol_delivery_d = '2024-06-06' WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :known"}}
        - {{name: order_amount, sql: "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :known"}}
        - {{name: charged, sql: "UPDATE customer SET c_balance = c_balance + :amount WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c"}}
    stock_level:
      weight: 4
      steps:
        - {{name: next_known, sql: "SELECT d_next_o_id FROM district WHERE d_w_id = :w AND d_id = :d"}}
        - {{name: low_stock, sql: "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id >= :recent AND ol_o_id < :recent + 20 AND s_w_id = :w AND s_quantity < :threshold"}}
"""  # noqa: E501


def experiment(kind: str, quick: bool) -> str:
    """The workload with its data, of one kind of server."""
    per_district = 100 if quick else 1_500
    items = 200 if quick else 4_000
    keys = WAREHOUSES * DISTRICTS * per_district
    counted = {"per_district": per_district, "per_warehouse": DISTRICTS * per_district}
    return _TPCC.format(
        kind=kind,
        warehouses=WAREHOUSES,
        districts=DISTRICTS,
        items=items,
        stocks=WAREHOUSES * items,
        keys=keys,
        lines=keys * LINES,
        lines_each=LINES,
        delivered=per_district * 7 // 10,
        recent=per_district - 20,
        key=_KEY.format(**counted),
        **counted,
    )
