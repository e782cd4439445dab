"""Scripts: `dyno sysbench` next to sysbench, both running the same Lua files, sysbench's own."""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pairs import alternate
from servers import Bench, server
from sides import (
    OURS,
    THEIRS,
    null_options,
    null_server,
    ours,
    plan,
    sysbench,
    sysbench_statements,
)

Row = str
Options = argparse.Namespace

THEIR_SCRIPTS = Path("/usr/share/sysbench")
SESSIONS = 64
MANY = 4096
VERY_MANY = 10_000
ROWS = 100_000
WAREHOUSES = 2
# What sysbench-tpcc's `prepare` sleeps between making tables and filling them, whatever the size.
TPCC_SLEEP_S = 30
TPCC_TABLES = {
    "item": 100_000,
    "warehouse": WAREHOUSES,
    "district": WAREHOUSES * 10,
    "stock": WAREHOUSES * 100_000,
    "customer": WAREHOUSES * 30_000,
    "history": WAREHOUSES * 30_000,
    "orders": WAREHOUSES * 30_000,
    "new_orders": WAREHOUSES * 9_000,
}


def _cpu_us(program: list[str], script: Path, settings: Mapping[str, object]) -> float:
    """Generator CPU a statement, microseconds: that of the whole process."""
    done = sysbench(str(script), settings, "run", program=program)
    return done.cpu_s * 1e6 / sysbench_statements(done.stdout)


def script_null(options: Options) -> list[Row]:
    """Generator CPU a statement of a script, null server."""
    script = THEIR_SCRIPTS / "oltp_point_select.lua"
    with null_server() as null:
        settings = {**null_options(null.port), "threads": SESSIONS, "time": options.seconds}
        pairs = alternate(
            "script null",
            partial(_cpu_us, OURS, script, settings),
            partial(_cpu_us, THEIRS, script, settings),
            options.pairs,
        )
    what = f"generator CPU a statement, its own {script.name}, null server, {SESSIONS} sessions"
    return [f"| {what} | {pairs.row('us')} | <= 0.65x |"]


def script_mariadb(options: Options) -> list[Row]:
    """Generator CPU a statement of scripts, saturated MariaDB."""
    rows = []
    with server("mariadb", max_connections=512) as bench:
        common = {
            **bench.sysbench_options(bench.engine_target["database"]),
            "tables": 1,
            "table-size": ROWS,
            "rand-type": "uniform",
            "threads": SESSIONS,
            "mysql-ignore-errors": "all",
        }
        sysbench("oltp_read_write", {**common, "threads": 1}, "prepare")
        settings = {**common, "time": options.seconds}
        for name, bar in (("oltp_point_select", "<= 0.85x"), ("oltp_read_write", "<= 0.9x")):
            script = THEIR_SCRIPTS / f"{name}.lua"
            pairs = alternate(
                f"script mariadb {name}",
                partial(_cpu_us, OURS, script, settings),
                partial(_cpu_us, THEIRS, script, settings),
                options.pairs,
            )
            what = f"its own {script.name}, saturated MariaDB over TCP, {SESSIONS} sessions"
            rows.append(f"| generator CPU a statement, {what} | {pairs.row('us')} | {bar} |")
    return rows


def script_empty(options: Options) -> list[Row]:
    """Events a second of an event that does nothing, one session."""
    settings = {"threads": 1, "time": options.seconds}

    def rate(program: list[str], script: str) -> float:
        done = sysbench(script, settings, "run", program=program)
        found = re.search(r"total number of events:\s+(\d+)", done.stdout)
        took = re.search(r"total time:\s+([0-9.]+)s", done.stdout)
        if not found or not took:
            raise SystemExit(f"no events: {done.stdout[-500:]}")
        return float(found[1]) / float(took[1])

    with tempfile.NamedTemporaryFile("w", prefix="dbdyno-", suffix=".lua") as script:
        script.write("function event() end\n")
        script.flush()
        pairs = alternate(
            "script empty",
            partial(rate, OURS, script.name),
            partial(rate, THEIRS, script.name),
            options.pairs,
        )
    return [f"| events a second of an empty script, one session | {pairs.row('/s')} | >= 1x |"]


def script_sessions(options: Options) -> list[Row]:
    """Resident memory of thousands of sessions of a script."""
    script = str(THEIR_SCRIPTS / "oltp_point_select.lua")

    def mib(program: list[str], sessions: int) -> float:
        with null_server() as null:
            settings = {**null_options(null.port), "threads": sessions, "time": options.seconds}
            done = sysbench(script, settings, "run", program=program)
        return done.rss_max_bytes / 2**20

    pairs = alternate(
        "script memory",
        partial(mib, OURS, MANY),
        partial(mib, THEIRS, MANY),
        min(3, options.pairs),
    )
    many = mib(OURS, VERY_MANY)
    return [
        f"| {MANY:,} sessions of a script: resident memory | {pairs.row('MiB')} | <= 0.25x |",
        f"| {VERY_MANY:,} sessions of a script: resident memory | {many:.0f} MiB | - | - | works |",
    ]


def script_tpcc(options: Options) -> list[Row]:
    """Loading TPC-C: dbdyno's loader next to sysbench-tpcc, whose sleep is subtracted."""
    if options.tpcc is None:
        print("  skipped: no --tpcc DIR with a copy of sysbench-tpcc", file=sys.stderr)
        return []
    directory = options.tpcc.resolve()
    if not (directory / "tpcc.lua").is_file():
        raise SystemExit(f"--tpcc: there is no tpcc.lua in {directory}")
    numbers = iter(range(1000))
    # A log that holds the whole load: otherwise both sides wait for checkpoints.
    with server("mariadb", innodb_log_file_size="1G") as bench:

        def tpcc(schema: str, command: str) -> str:
            settings = {
                **bench.sysbench_options(schema),
                "tables": 1,
                "scale": WAREHOUSES,
                "threads": WAREHOUSES,
            }
            env = {"LUA_PATH": f"{directory}/?.lua;;"}
            return sysbench(str(directory / "tpcc.lua"), settings, command, env=env).stdout

        def check(schema: str) -> None:
            _check_rows(bench, schema)
            said = tpcc(schema, "check")
            if "PASSED" not in said or "FAILED" in said:
                raise SystemExit(f"{schema} is not consistent: {said[-800:]}")
            bench.server.run(schema, [f"DROP DATABASE {schema}"])

        def we_load() -> float:
            schema = f"ours_{next(numbers)}"
            request = plan(bench.fresh_schema(schema), WAREHOUSES, 0, "read_write")
            workload = {"mode": "sysbench", "warehouses": WAREHOUSES}
            group = {**request["groups"][0], "workload": "tpcc", "options": workload}
            begun = time.monotonic()
            ours({**request, "job": "load", "groups": [group]})
            took = time.monotonic() - begun
            check(schema)
            return took

        def they_load() -> float:
            schema = f"theirs_{next(numbers)}"
            bench.fresh_schema(schema)
            begun = time.monotonic()
            tpcc(schema, "prepare")
            took = time.monotonic() - begun - TPCC_SLEEP_S
            check(schema)
            return took

        pairs = alternate("script tpcc", we_load, they_load, min(3, options.pairs))
    ratio = statistics.median(1 / r for r in pairs.ratios)
    return [
        f"| loading {WAREHOUSES} warehouses of TPC-C, mariadb, {WAREHOUSES} threads, against "
        f"sysbench-tpcc without its sleep of {TPCC_SLEEP_S} s: **{ratio:.2f}x faster** | "
        f"{pairs.row('s')} | >= 3x faster |"
    ]


def _check_rows(bench: Bench, schema: str) -> None:
    """Both sides load the same number of rows; an order's 5 to 15 lines are drawn."""

    def rows(table: str) -> int:
        return int(bench.server.run(schema, [f"SELECT COUNT(*) FROM {table}1"])[0][0])

    there = {table: rows(table) for table in TPCC_TABLES}
    lines = rows("order_line") / there["orders"]
    if there != TPCC_TABLES or not 9.9 < lines < 10.1:
        raise SystemExit(f"{schema} has other rows: {there}, {lines:.2f} lines an order")
