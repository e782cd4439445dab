"""`tpcc`: the order entry of TPC Benchmark C: nine tables, five transactions.

Source: `engine/workloads/src/tpcc/settings.rs`; a contract test tries each option on the engine.
The consistency conditions are those of clause 3.3.2 of the specification, revision 5.11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from dbdyno.experiment.workloads.base import (
    FLAG,
    INTEGER,
    TEXT,
    WORD,
    Check,
    Contradiction,
    NoFiles,
    Option,
    Options,
    model_of,
)
from dbdyno.kinds.kind import SQL, TRANSACTIONS

FAITHFUL, SYSBENCH = "faithful", "sysbench"
# Bytes on disk, about: of an item, of its stock in a warehouse, of what belongs to a customer (the
# row itself, an order, ten order lines, a payment, indexes), and of a district and a warehouse.
ITEM_BYTES = 100
STOCK_BYTES = 380
CUSTOMER_BYTES = 1_900
DISTRICTS = 10

TPCC: tuple[Option, ...] = (
    Option(
        "mode",
        WORD,
        "rules of the specification, or of the published scripts for sysbench",
        FAITHFUL,
        words=(FAITHFUL, SYSBENCH),
        data=True,
    ),
    Option("warehouses", INTEGER, "warehouses, of about 80 MB each", 1, 1, 100_000, data=True),
    Option(
        "customers",
        INTEGER,
        "customers of a district, and orders loaded; fewer than 3000 are not TPC-C's scale",
        3_000,
        30,
        3_000,
        data=True,
    ),
    Option(
        "items",
        INTEGER,
        "items, and stocks of a warehouse; fewer than 100000 are not TPC-C's scale",
        100_000,
        100,
        100_000,
        data=True,
    ),
    Option(
        "home",
        WORD,
        "a transaction's warehouse: drawn each time, or fixed for the session",
        "drawn",
        words=("drawn", "session"),
    ),
    Option("paced", FLAG, "keying and think times of the specification, about 21 s", False),
    Option("table_options", TEXT, "appended to CREATE TABLE", "", data=True),
)

FULL = {option.name: option.default for option in TPCC}


class Tpcc(NoFiles):
    """See the module."""

    name = "tpcc"
    needs = (SQL, TRANSACTIONS)
    model = model_of("TpccOptions", "TPC-C's order entry.", TPCC)
    options = TPCC
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def meaning(self, options: Options) -> dict[str, Any]:
        return self.effective(options)

    def changes_data(self, options: Options) -> bool:
        return True

    def data_bytes(self, data: Options) -> int:
        warehouse = data["items"] * STOCK_BYTES + DISTRICTS * data["customers"] * CUSTOMER_BYTES
        return int(data["items"] * ITEM_BYTES + data["warehouses"] * warehouse)

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        full = self.effective(options)
        if full["mode"] == SYSBENCH and full["paced"]:
            yield Contradiction(
                ("paced",),
                "the scripts for sysbench have no keying and think times",
                f"remove `paced`, or use `mode: {FAITHFUL}`",
            )

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        full = self.effective(options)
        cut = {
            "warehouses": min(full["warehouses"], tables_max),
            "customers": min(full["customers"], max(30, rows_max // 20)),
            "items": min(full["items"], max(100, rows_max)),
        }
        return {**options, **cut}

    def sent(self, options: Options) -> dict[str, Any]:
        return dict(options)

    def checks(self, options: Options) -> tuple[Check, ...]:
        """The conditions that hold between transactions whatever was run, in both modes."""
        full = self.effective(options)
        values = {**table_names(full["mode"]), "delivered": full["customers"] * 7 // 10}
        return tuple(Check(name, sql.format(**values)) for name, sql in CONDITIONS)

    def remarks(self, options: Options) -> tuple[str, ...]:
        full = self.effective(options)
        found = []
        if full["mode"] == SYSBENCH:
            found.append("TPC-C by the rules of the scripts for sysbench, not of its specification")
        if full["customers"] < FULL["customers"] or full["items"] < FULL["items"]:
            found.append("fewer customers or items than TPC-C's: its data, made smaller")
        return tuple(found)


def table_names(mode: str) -> dict[str, str]:
    """The tables that conditions name, as they are called in this mode."""
    names = ("warehouse", "district", "customer", "history", "orders", "new_order", "order_line")
    if mode == FAITHFUL:
        return {name: name for name in names}
    return {name: f"{name}1" for name in names} | {"new_order": "new_orders1"}


# The lines of each order; and what a customer has got so far, next to each customer. No group is
# made of groups: MariaDB may work out the inner ones again for each customer, for minutes.
LINES = (
    "(SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found, COUNT(ol_delivery_d) AS delivered"
    " FROM {order_line} GROUP BY ol_w_id, ol_d_id, ol_o_id) l"
)
CUSTOMERS = (
    "SELECT c_w_id, c_d_id, c_id FROM {customer} LEFT JOIN"
    " (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS bought FROM {orders} JOIN {order_line}"
    " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
    " WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) o"
    " ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
)
# SQL that returns what breaks a condition. Amounts are compared within half a cent: SQLite adds
# them up in floating point.
CONDITIONS: tuple[tuple[str, str], ...] = (
    (
        "consistency condition 1: w_ytd = sum(d_ytd)",
        "SELECT w_id FROM {warehouse} JOIN"
        " (SELECT d_w_id, SUM(d_ytd) AS total FROM {district} GROUP BY d_w_id) d ON d_w_id = w_id"
        " WHERE ABS(w_ytd - total) > 0.005",
    ),
    (
        "consistency condition 2: d_next_o_id - 1 = max(o_id) = max(no_o_id)",
        "SELECT d_w_id, d_id FROM {district} LEFT JOIN"
        " (SELECT o_w_id, o_d_id, MAX(o_id) AS newest FROM {orders} GROUP BY o_w_id, o_d_id) o"
        " ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN"
        " (SELECT no_w_id, no_d_id, MAX(no_o_id) AS waiting FROM {new_order}"
        " GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id"
        " WHERE newest IS NULL OR newest <> d_next_o_id - 1 OR waiting <> d_next_o_id - 1",
    ),
    (
        "consistency condition 3: max(no_o_id) - min(no_o_id) + 1 = rows of new_order",
        "SELECT no_w_id, no_d_id FROM {new_order} GROUP BY no_w_id, no_d_id"
        " HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    (
        "consistency condition 4: sum(o_ol_cnt) = rows of order_line",
        "SELECT o_w_id, o_d_id FROM"
        " (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS wanted FROM {orders}"
        " GROUP BY o_w_id, o_d_id) o LEFT JOIN"
        " (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM {order_line}"
        " GROUP BY ol_w_id, ol_d_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id"
        " WHERE found IS NULL OR wanted <> found",
    ),
    (
        "consistency condition 5: o_carrier_id is NULL where a row of new_order is",
        "SELECT o_w_id, o_d_id, o_id FROM {orders} LEFT JOIN {new_order}"
        " ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id"
        " WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL) LIMIT 10",
    ),
    (
        "consistency condition 6: o_ol_cnt = rows of order_line of the order",
        "SELECT o_w_id, o_d_id, o_id FROM {orders} LEFT JOIN " + LINES + ""
        " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
        " WHERE found IS NULL OR o_ol_cnt <> found LIMIT 10",
    ),
    (
        "consistency condition 7: ol_delivery_d is NULL where o_carrier_id is",
        "SELECT ol_w_id, ol_d_id, ol_o_id FROM " + LINES + " LEFT JOIN {orders}"
        " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
        " WHERE o_id IS NULL"
        " OR delivered <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE found END LIMIT 10",
    ),
    (
        "consistency condition 8: w_ytd = sum(h_amount)",
        "SELECT w_id FROM {warehouse} LEFT JOIN"
        " (SELECT h_w_id, SUM(h_amount) AS paid FROM {history} GROUP BY h_w_id) h ON h_w_id = w_id"
        " WHERE paid IS NULL OR ABS(w_ytd - paid) > 0.005",
    ),
    (
        "consistency condition 9: d_ytd = sum(h_amount)",
        "SELECT d_w_id, d_id FROM {district} LEFT JOIN"
        " (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM {history}"
        " GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id"
        " WHERE paid IS NULL OR ABS(d_ytd - paid) > 0.005",
    ),
    (
        "consistency condition 10: c_balance = sum(ol_amount) of what is delivered - sum(h_amount)",
        CUSTOMERS + " LEFT JOIN"
        " (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM {history}"
        " GROUP BY h_c_w_id, h_c_d_id, h_c_id) h"
        " ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id"
        " WHERE ABS(c_balance - COALESCE(bought, 0) + COALESCE(paid, 0)) > 0.005 LIMIT 10",
    ),
    (
        # The specification says 2100: what is delivered as long as nothing has run.
        "consistency condition 11: rows of orders - rows of new_order = delivered orders",
        "SELECT c_w_id, c_d_id FROM"
        " (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS since FROM {customer}"
        " GROUP BY c_w_id, c_d_id) c LEFT JOIN"
        " (SELECT o_w_id, o_d_id, COUNT(*) AS placed FROM {orders} GROUP BY o_w_id, o_d_id) o"
        " ON o_w_id = c_w_id AND o_d_id = c_d_id LEFT JOIN"
        " (SELECT no_w_id, no_d_id, COUNT(*) AS waiting FROM {new_order}"
        " GROUP BY no_w_id, no_d_id) n ON no_w_id = c_w_id AND no_d_id = c_d_id"
        " WHERE COALESCE(placed, 0) - COALESCE(waiting, 0) <> since + {delivered}",
    ),
    (
        "consistency condition 12: c_balance + c_ytd_payment = sum(ol_amount) of what is delivered",
        CUSTOMERS + " WHERE ABS(c_balance + c_ytd_payment - COALESCE(bought, 0)) > 0.005 LIMIT 10",
    ),
)

WORKLOAD = Tpcc()
