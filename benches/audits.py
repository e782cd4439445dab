"""What an audit of commits costs a writing load: throughput with it over throughput without."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from pairs import alternate
from servers import server
from sides import ours, plan

from dbdyno.audit import identities
from dbdyno.execute.engine.request import DATABASE

SESSIONS = 16
ROWS = 100_000
FLUSHED = {  # the log; without waiting for it the CPU is the limit
    "flushed at each commit": 1,
    "flushed once a second": 0,
}


def audit_mariadb(options: argparse.Namespace) -> list[str]:
    """Transactions a second of write_only with an audit and without, MariaDB."""
    rows = []
    for words, value in FLUSHED.items():
        with server("mariadb") as bench:
            setting = f"SET GLOBAL innodb_flush_log_at_trx_commit = {value}"
            bench.server.run(DATABASE, [setting])
            target = bench.engine_target
            ours({**plan(target, 2, 0, "write_only", ROWS), "job": "load"})
            request = plan(target, SESSIONS, options.seconds, "write_only", ROWS)

            def per_s(audit: bool, request: dict[str, Any] = request, bench: Any = bench) -> float:
                group = {**request["groups"][0], "audit": audit}
                bench.server.run(DATABASE, identities.CREATE)
                _, end = ours({**request, "groups": [group]})
                return end["groups"]["bench"]["transactions"] / end["measured_s"]

            pairs = alternate(
                f"audit mariadb, {words}",
                partial(per_s, True),
                partial(per_s, False),
                options.pairs,
            )
        rows.append(
            f"| write_only of MariaDB with an audit of commits against without, log {words}, "
            f"{SESSIONS} sessions | {pairs.row('/s')} | >= 0.9x |"
        )
    return rows
