"""How many rows of each table are read of a server, or kept of a file."""

from __future__ import annotations

MOST = {
    "user_tables": 5_000,
    "user_columns": 50_000,
    "user_indexes": 20_000,
    "user_foreign_keys": 10_000,
    "statements": 500,
}
STATEMENTS = ("statements", "statements_total")
