"""Logs: our digest against pt-query-digest, against itself on one core, and against `gzip -dc`.

Logs come from `make_log` (engine/digest/examples), a pure function of its arguments. Its usual
events have the asked-for size; 5 % of them are longer than 4 KB, which brings the mean up. Rates of
one core are MB a CPU second; of more, a second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import cast

from pairs import alternate
from servers import server
from sides import TIMEOUT_S, run

from dbdyno.execute.engine import job
from dbdyno.execute.engine.request import DATABASE
from dbdyno.systems.mysql.managed import MysqlServer

ROOT = Path(__file__).parents[1]
SEED = 7
HEADER_BYTES = 190  # of an event that `make_log` writes, about
MB = 1_000_000
PEER_BYTES = 20 * MB  # of a log that pt-query-digest reads; it needs a quarter of a second for 1 MB
MEMORY_BYTES = 10_000 * MB
BINLOG_ROWS = 1_000_000
ROWS_A_TRANSACTION = 1_000
CPUS = sorted(os.sched_getaffinity(0))

Row = str
Options = argparse.Namespace


def make_log() -> list[str]:
    """The generator, built if it is not there."""
    name = "make_log"
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "dyno-digest", "--example", name],
        cwd=ROOT,
        check=True,
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return [str(target / "release" / "examples" / name)]


@contextlib.contextmanager
def log(options: Options, event_bytes: int, classes: int = 1000) -> Iterator[Path]:
    """A log of `options.log_mb` MB whose usual events have so many bytes."""
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as directory:
        path = Path(directory) / "slow.log"
        numbers = (options.log_mb * MB, classes, event_bytes - HEADER_BYTES, SEED)
        with path.open("wb") as out:
            subprocess.run([*make_log(), *map(str, numbers)], stdout=out, check=True)
        yield path


def mean_bytes(path: Path) -> float:
    """What an event takes in the mean."""
    done = run([job.find(), "digest", path])
    one = json.loads(done.stdout.splitlines()[-1])["document"]["inputs"][0]
    assert one["bytes_not_understood"] == 0, one
    return one["bytes"] / one["events"]


def digest_mb_s(path: Path) -> float:
    """MB of log a CPU second of one thread, start to exit."""
    done = run([job.find(), "digest", "--threads", "1", path])
    return path.stat().st_size / MB / done.cpu_s


def peer_mb_s(path: Path) -> float:
    """The same of pt-query-digest, over the first events of the log."""
    with tempfile.NamedTemporaryFile() as short:
        with path.open("rb") as whole:
            short.write(whole.read(PEER_BYTES))
        short.flush()
        done = run(["pt-query-digest", "--no-version-check", short.name])
        return PEER_BYTES / MB / done.cpu_s


def one_core_mb_s(path: Path) -> float:
    """MB of log a second of one thread on one CPU, start to exit."""
    return at_once_mb_s(path, [1], [CPUS[0]])


def two_cores_mb_s(path: Path) -> float:
    """The same of two threads, on any CPUs."""
    return at_once_mb_s(path, [2], [None])


def two_processes_mb_s(path: Path) -> float:
    """The same of two processes of one thread each, which share nothing but the machine."""
    return at_once_mb_s(path, [1, 1], CPUS[:2])


def at_once_mb_s(path: Path, threads: list[int], cpus: Sequence[int | None]) -> float:
    """MB a second of all processes together: so many threads each, on these CPUs (none: any)."""
    begun = time.monotonic()
    with ThreadPoolExecutor(len(threads)) as pool:
        done = pool.map(
            lambda number, cpu: run(
                [job.find(), "digest", "--threads", str(number), path], cpu=cpu
            ),
            threads,
            cpus,
        )
        count = len(list(done))
    return count * path.stat().st_size / MB / (time.monotonic() - begun)


def digest_core(options: Options) -> list[Row]:
    """One core against pt-query-digest."""
    if not shutil.which("pt-query-digest"):
        sys.exit("pt-query-digest is not installed: apt-get install percona-toolkit")
    rows = []
    for event_bytes, bar in ((250, ">= 100x"), (2000, ">= 50x")):
        with log(options, event_bytes) as path:
            mean = mean_bytes(path)
            pairs = alternate(
                f"digest {event_bytes} B",
                partial(digest_mb_s, path),
                partial(peer_mb_s, path),
                min(options.pairs, 5),
            )
        rows.append(
            f"| slow log, one core, usual events of {event_bytes} B (mean {mean:.0f} B), against "
            f"pt-query-digest on its first {PEER_BYTES // MB} MB | {pairs.row('MB/s')} | {bar} |"
        )
    return rows


def digest_cores(options: Options) -> list[Row]:
    """Two cores against one, and what this machine gives to two processes at most."""
    ways = (
        ("two cores against one", two_cores_mb_s, ">= 1.7x"),
        (
            "two processes of one core at once against one: what sharing the machine leaves",
            two_processes_mb_s,
            "-",
        ),
    )
    with log(options, 250) as path:
        return [
            f"| slow log, {name} | "
            + alternate(
                f"digest, {name}",
                partial(ours, path),
                lambda: one_core_mb_s(path),
                options.pairs,
            ).row("MB/s")
            + f" | {bar} |"
            for name, ours, bar in ways
        ]


def digest_gzip(options: Options) -> list[Row]:
    """A packed log against unpacking alone."""
    with log(options, 250) as path:
        subprocess.run(["gzip", "-1", path], check=True)
        packed = path.with_suffix(".log.gz")
        unpacked_mb = options.log_mb

        def rate(argv: list[str | Path]) -> Callable[[], float]:
            def once() -> float:
                begun = time.monotonic()
                with Path(os.devnull).open("wb") as nowhere:
                    subprocess.run(argv, stdout=nowhere, check=True, timeout=TIMEOUT_S)
                return unpacked_mb / (time.monotonic() - begun)

            return once

        pairs = alternate(
            "digest, gzip",
            rate([job.find(), "digest", packed]),
            rate(["gzip", "-dc", packed]),
            options.pairs,
        )
    return [
        f"| slow log packed by gzip, against `gzip -dc` alone | {pairs.row('MB/s')} | >= 0.7x |"
    ]


def digest_memory(_: Options) -> list[Row]:
    """Peak memory over 10 GB and a million classes, from a pipe."""
    # Short statements and long ones are classes of their own: somewhat more of them than asked for.
    numbers = (MEMORY_BYTES, 790_000, 250 - HEADER_BYTES, SEED)
    with subprocess.Popen([*make_log(), *map(str, numbers)], stdout=subprocess.PIPE) as made:
        reading = subprocess.Popen(
            [job.find(), "digest", "-"], stdin=made.stdout, stdout=subprocess.PIPE, text=True
        )
        assert made.stdout is not None and reading.stdout is not None
        made.stdout.close()
        killer = threading.Timer(TIMEOUT_S, reading.kill)
        killer.start()
        last = ""
        for line in reading.stdout:
            last = line
        _pid, status, usage = os.wait4(reading.pid, 0)
        killer.cancel()
    reading.returncode = os.waitstatus_to_exitcode(status)
    if reading.returncode != 0:
        sys.exit(f"dyno-engine digest failed ({reading.returncode}): {last[-500:]}")
    document = json.loads(last)["document"]
    gigabytes = document["inputs"][0]["bytes"] / 1e9
    return [
        f"| peak memory, {gigabytes:.1f} GB, {document['classes_total']:,} classes | "
        f"{usage.ru_maxrss * 1024 / MB:.0f} MB | - | - | < 500 MB |"
    ]


def digest_binlog(options: Options) -> list[Row]:
    """A row-format binary log, one core; figures of one side."""
    config = {"log_bin": "binlog", "binlog_format": "ROW", "max_binlog_size": "1G", "server_id": 1}
    with server("mariadb", **config) as bench:
        mariadb = cast("MysqlServer", bench.server)
        table = f"{DATABASE}.t"
        mariadb.rows(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b VARCHAR(100), c DATETIME)"
        )
        for first in range(0, BINLOG_ROWS, ROWS_A_TRANSACTION):
            of = f"BETWEEN {first + 1} AND {first + ROWS_A_TRANSACTION}"
            mariadb.rows(
                f"INSERT INTO {table} SELECT seq, seq % 997, REPEAT('x', seq % 100), NOW()"
                f" FROM {DATABASE}.seq_1_to_{BINLOG_ROWS} WHERE seq {of}"
            )
            mariadb.rows(f"UPDATE {table} SET a = a + 1 WHERE id {of}")
        ((base,),) = mariadb.rows("SELECT @@log_bin_basename")
        path = Path(f"{base}.000001")
        rates = [digest_mb_s(path) for _ in range(options.pairs)]
        size = path.stat().st_size / MB
    return [
        f"| binary log of MariaDB in row format ({size:.0f} MB), one core | "
        f"{statistics.median(rates):.0f} MB/s ({min(rates):.0f}-{max(rates):.0f}) | - | - | "
        ">= 300 MB/s |"
    ]
