"""`oltp`'s statements written as a `mix`: what a user's own SQL costs the generator compared with
built-in workloads."""

from __future__ import annotations

from typing import Any

GROUPS_OF_DIGITS = "-".join(["#" * 11] * 10)
PAD = "-".join(["#" * 11] * 5)


def params(rows: int) -> dict[str, Any]:
    """Keys evenly, a new one for each statement, and texts in the shape of `oltp`'s columns."""
    return {
        "id": {"uniform": [1, rows], "per": "statement"},
        "gone": {"uniform": [1, rows]},
        "k": {"uniform": [1, rows]},
        "c": {"text": GROUPS_OF_DIGITS, "per": "statement"},
        "pad": {"text": PAD},
    }


def point_select(rows: int) -> dict[str, Any]:
    """One select by key, without a transaction around it."""
    sql = "SELECT c FROM sbtest1 WHERE id = :id"
    return {"params": params(rows), "statements": {"point_select": sql}}


def read_write(rows: int) -> dict[str, Any]:
    """The twenty statements of `oltp`'s transaction."""
    between = "FROM sbtest1 WHERE id BETWEEN :id AND :id + 99"
    steps: list[Any] = [
        {"sql": "SELECT c FROM sbtest1 WHERE id = :id", "repeat": 10, "name": "point_select"},
        f"SELECT c {between}",
        f"SELECT SUM(k) {between}",
        f"SELECT c {between} ORDER BY c",
        f"SELECT DISTINCT c {between} ORDER BY c",
        "UPDATE sbtest1 SET k = k + 1 WHERE id = :id",
        "UPDATE sbtest1 SET c = :c WHERE id = :id",
        "DELETE FROM sbtest1 WHERE id = :gone",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (:gone, :k, :c, :pad)",
    ]
    return {"params": params(rows), "transactions": {"read_write": {"steps": steps}}}


MIXES = {"point_select": point_select, "read_write": read_write}
