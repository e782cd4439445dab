"""Scripts: `dyno sysbench` beside sysbench, both running the same Lua files, sysbench's own."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pairs import alternate
from servers import server
from sides import OURS, THEIRS, null_options, null_server, sysbench, sysbench_statements

Row = str
Options = argparse.Namespace

THEIR_SCRIPTS = Path("/usr/share/sysbench")
SESSIONS = 64
MANY = 4096
VERY_MANY = 10_000
ROWS = 100_000


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
