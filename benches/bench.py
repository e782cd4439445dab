"""`make bench`: our engine against sysbench 1.0.20 (also pgbench, redis-benchmark and others).

Prints Markdown tables: medians of both sides, the median of the pairwise ratios, and their spread.
`--only WORD` runs the parts whose name contains it, `--pairs N` sets the number of pairs,
`--tpcc DIR` (or SYSBENCH_TPCC) says where a copy of sysbench-tpcc is, `--write` puts the tables
into docs/benchmarks.md between its bench markers (`<!-- bench -->`, with `--only` `<!-- bench WORD
-->`).
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from digest import digest_binlog, digest_core, digest_cores, digest_gzip, digest_memory
from layouts import layout_oltp, layout_tpcc
from mixes import MIXES
from open_loop import frozen_server, open_null, open_postgres
from pairs import alternate
from pipelines import pipeline_redis
from scripts import script_empty, script_mariadb, script_null, script_sessions, script_tpcc
from servers import server
from sides import (
    null_options,
    null_server,
    null_target,
    ours,
    plan,
    run,
    sysbench,
    sysbench_statements,
)
from starts import starting
from tablespaces import tablespace

from dbdyno.execute.engine import job

ROOT = Path(__file__).parents[1]
HEADER = "| what | dbdyno | sysbench 1.0.20 | ratio, median (range) | bar |\n|---|---|---|---|---|"

Row = str
Options = argparse.Namespace


def cpu_null(options: Options) -> list[Row]:
    """Generator CPU a statement, null server."""
    rows = []
    for sessions, bar in ((16, "<= 0.55x"), (64, "<= 0.5x")):
        with null_server() as null:
            target = null_target(null.port)
            settings = {
                **null_options(null.port),
                "threads": sessions,
                "time": options.seconds,
            }
            pairs = alternate(
                f"cpu null {sessions}",
                partial(our_cpu_us, target, sessions, options.seconds, "point_select"),
                partial(their_cpu_us, settings, "oltp_point_select"),
                options.pairs,
            )
        rows.append(
            f"| generator CPU a statement, point select, null server, {sessions} sessions | "
            f"{pairs.row('us')} | {bar} |"
        )
    return rows


def our_cpu_us(
    target: dict, sessions: int, seconds: float, preset: str, rows: int = 10000, workers: int = 1
) -> float:
    done, end = ours(plan(target, sessions, seconds, preset, rows, workers=workers))
    return done.cpu_s * 1e6 / end["groups"]["bench"]["operations"]


def their_cpu_us(settings: dict, script: str) -> float:
    done = sysbench(script, settings, "run")
    return done.cpu_s * 1e6 / sysbench_statements(done.stdout)


def mix_null(options: Options) -> list[Row]:
    """What `mix` costs the generator for `oltp`'s statements (the right column), null server."""
    rows = []
    for preset, mix in MIXES.items():
        with null_server() as null:
            target = null_target(null.port)
            request = plan(target, 16, options.seconds, preset)
            group = {**request["groups"][0], "workload": "mix", "options": mix(10000)}

            def mix_cpu_us(request: dict = request, group: dict = group) -> float:
                done, end = ours({**request, "groups": [group]})
                return done.cpu_s * 1e6 / end["groups"]["bench"]["operations"]

            pairs = alternate(
                f"mix {preset}",
                mix_cpu_us,
                partial(our_cpu_us, target, 16, options.seconds, preset),
                options.pairs,
            )
        rows.append(
            f"| generator CPU a statement, null server, 16 sessions, {preset} written as `mix` "
            f"against `oltp` of dbdyno | {pairs.row('us')} | <= 1.15x |"
        )
    return rows


def rate_null(options: Options) -> list[Row]:
    """Highest rate of one generator core, the null server on the other."""
    rows = []
    for sessions, bar in ((16, ">= 1.6x"), (64, ">= 1.9x")):
        busy: dict[str, list[float]] = {"ours": [], "theirs": []}

        def our_rate(sessions: int = sessions, busy: dict = busy) -> float:
            with null_server(cpu=1) as null:
                _, end = ours(
                    plan(null_target(null.port), sessions, options.seconds, "point_select"), 0
                )
            busy["ours"].append(null.busy)
            return end["groups"]["bench"]["operations"] / end["measured_s"]

        def their_rate(sessions: int = sessions, busy: dict = busy) -> float:
            with null_server(cpu=1) as null:
                settings = {**null_options(null.port), "threads": sessions, "time": options.seconds}
                done = sysbench("oltp_point_select", settings, "run", 0)
            busy["theirs"].append(null.busy)
            return sysbench_statements(done.stdout) / options.seconds

        pairs = alternate(f"rate null {sessions}", our_rate, their_rate, options.pairs)
        ours_busy, theirs_busy = (statistics.median(busy[side]) for side in ("ours", "theirs"))
        # A full null server holds back its client: the faster side.
        valid = "" if ours_busy < 0.9 else "; it is our limit, so the ratio is a lower bound"
        rows.append(
            f"| highest rate of one generator core, {sessions} sessions (null server busy "
            f"{ours_busy:.0%} / {theirs_busy:.0%}{valid}) | {pairs.row('/s')} | {bar} |"
        )
    return rows


def cpu_mariadb(options: Options) -> list[Row]:
    """Generator CPU a statement against a saturated MariaDB over TCP."""
    rows, count = [], 100_000
    with server("mariadb", max_connections=512) as bench:
        target = bench.engine_target
        load = {**plan(target, 2, 0, "read_write", count), "job": "load"}
        ours(load)
        common = {
            **bench.sysbench_options(target["database"]),
            "tables": 1,
            "table-size": count,
            "rand-type": "uniform",
            "threads": 64,
            "time": options.seconds,
            "mysql-ignore-errors": "all",
        }
        for preset, script, bar in (
            ("point_select", "oltp_point_select", "<= 0.75x"),
            ("read_write", "oltp_read_write", "<= 0.8x"),
        ):
            pairs = alternate(
                f"cpu mariadb {preset}",
                partial(our_cpu_us, target, 64, options.seconds, preset, count, workers=0),
                partial(their_cpu_us, common, script),
                options.pairs,
            )
            rows.append(
                f"| generator CPU a statement, saturated MariaDB over TCP, 64 sessions, {preset} | "
                f"{pairs.row('us')} | {bar} |"
            )
    return rows


def recording(_: Options) -> list[Row]:
    """What recording one operation costs."""
    done = run([job.find(), "bench-record"])
    whole = done.stdout.strip().splitlines()[-1].partition("reads ")[2].strip()
    return [
        f"| recording one operation, its two clock reads included | {whole} | - | - | see left |"
    ]


def many_sessions(options: Options) -> list[Row]:
    """5,000 and 10,000 sessions from one process."""
    rows = []
    for sessions, bar in ((5_000, "< 300 MB"), (10_000, "works")):
        with null_server() as null:
            done, end = ours(
                plan(null_target(null.port), sessions, options.seconds, "point_select")
            )
        group = end["groups"]["bench"]
        rate = group["operations"] / end["measured_s"]
        mib = done.rss_max_bytes / 2**20
        errors = sum(group["errors"].values())
        rows.append(
            f"| {sessions:,} sessions from one process: resident memory | "
            f"{mib:.0f} MiB at {rate:,.0f}/s, {errors} errors | - | - | {bar} |"
        )
    return rows


def loading(options: Options) -> list[Row]:
    """Loading the same tables with the same number of threads."""
    rows = []
    for kind in ("mariadb", "postgres"):
        for tables, count in ((1, options.rows), (4, options.rows // 4)):
            rows.append(_loading(kind, tables, count, options))
    return rows


# A log that holds the whole load, for both sides: with the small default both wait for checkpoints
# most of the time, and the disk is compared with itself.
ROOMY_LOG = {"mariadb": {"innodb_log_file_size": "1G"}, "postgres": {"max_wal_size": "4GB"}}


def _loading(kind: str, tables: int, count: int, options: Options) -> Row:
    with server(kind, **ROOMY_LOG[kind]) as bench:
        numbers = iter(range(1000))

        def we_load() -> float:
            target = bench.fresh_schema(f"ours_{next(numbers)}")
            request = {**plan(target, tables, 0, "read_write", count, tables=tables), "job": "load"}
            begun = time.monotonic()
            ours(request)
            return time.monotonic() - begun

        def they_load() -> float:
            name = f"theirs_{next(numbers)}"
            bench.fresh_schema(name)
            settings = {
                **bench.sysbench_options(name),
                "tables": tables,
                "table-size": count,
                "threads": tables,
                "rand-type": "uniform",
            }
            begun = time.monotonic()
            sysbench("oltp_read_write", settings, "prepare")
            return time.monotonic() - begun

        pairs = alternate(f"load {kind} {tables} x {count}", we_load, they_load, options.pairs)
    ratio = statistics.median(1 / r for r in pairs.ratios)
    log = ", ".join(f"{name}={value}" for name, value in ROOMY_LOG[kind].items())
    return (
        f"| loading {tables} x {count:,} rows, {kind} ({log}), {tables} thread(s): "
        f"**{ratio:.2f}x faster** | "
        f"{pairs.row('s')} | >= 1.5x faster |"
    )


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "cpu-null": cpu_null,
    "mix-null": mix_null,
    "rate-null": rate_null,
    "cpu-mariadb": cpu_mariadb,
    "recording": recording,
    "starts": starting,
    "sessions": many_sessions,
    "open-null": open_null,
    "open-postgres": open_postgres,
    "open-frozen": frozen_server,
    "loading": loading,
    "script-null": script_null,
    "script-mariadb": script_mariadb,
    "script-empty": script_empty,
    "script-sessions": script_sessions,
    "script-tpcc": script_tpcc,
    "layout-oltp": layout_oltp,
    "layout-tpcc": layout_tpcc,
    "digest-core": digest_core,
    "digest-two": digest_cores,
    "digest-gzip": digest_gzip,
    "digest-memory": digest_memory,
    "digest-binlog": digest_binlog,
    "tablespace": tablespace,
    "pipeline": pipeline_redis,
}


def machine() -> str:
    """One line about where this was measured."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    cores = len(re.findall(r"^processor", Path("/proc/cpuinfo").read_text(), re.M))
    return (
        f"Measured {time.strftime('%Y-%m-%d')} on {cores} cores of {model[1] if model else '?'}, "
        f"Linux {platform.release().split('-')[0]}, by `make bench`"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts whose name contains this")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--log-mb", type=int, default=1000, help="size of the logs to digest")
    parser.add_argument("--tablespace-mb", type=int, default=1000, help="size of the data file")
    parser.add_argument(
        "--tpcc",
        type=Path,
        default=os.environ.get("SYSBENCH_TPCC"),
        help="a copy of https://github.com/Percona-Lab/sysbench-tpcc",
    )
    parser.add_argument("--write", action="store_true", help="put them into docs/benchmarks.md")
    options = parser.parse_args()
    if not shutil.which("sysbench"):
        sys.exit("sysbench is not installed: apt-get install sysbench")
    version = subprocess.run(["sysbench", "--version"], capture_output=True, text=True, check=True)
    rows: list[Row] = []
    for name, part in PARTS.items():
        if options.only in name:
            print(f"{name}: {part.__doc__}", file=sys.stderr)
            rows += part(options)
    against = "" if options.only else f", against {version.stdout.strip()}"
    header = HEADER.replace("sysbench 1.0.20", "peer") if options.only else HEADER
    table = "\n".join([f"{machine()}{against}.", "", header, *rows])
    print(table)
    if options.write:
        write(table, f"bench {options.only}".strip())


def write(table: str, name: str) -> None:
    """Puts a table between the markers of its name."""
    page = ROOT / "docs" / "benchmarks.md"
    marked = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(\n<!-- /bench -->)", re.S)
    text, count = marked.subn(lambda m: m[1] + table + m[2], page.read_text())
    if not count:
        sys.exit(f"docs/benchmarks.md has no place for it: <!-- {name} -->")
    page.write_text(text)


if __name__ == "__main__":
    main()
