"""Open loops: whether a rate is kept, how late arrivals are sent, whether a server's freeze shows.

Nothing here is a race: each side runs at a rate that it holds, and what counts is how far it is
from what was asked for. A server that is frozen for a known time has response times that
arithmetic predicts.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Any

from servers import Bench, server
from sides import null_options, null_server, null_target, ours, plan, run, sysbench

from dbdyno import systems

Row = str
Options = argparse.Namespace

NULL_RATE_PER_S = 20_000
SERVER_RATE_PER_S = 2_000
SESSIONS = 16
# The frozen server: one second in ten.
PERIOD_S, FREEZE_S, FREEZE_AT_S = 10.0, 1.0, 4.0


def _ours_at(
    target: Mapping[str, Any], rate_per_s: float, seconds: float, rows: int = 10_000
) -> tuple[float, dict[str, Any]]:
    """The error of the achieved rate, in percent, and the open loop's balance. The generator has a
    CPU to itself, as experiments arrange it if there are enough."""
    _, end = ours(
        plan(target, SESSIONS, seconds, "point_select", rows, rate_per_s=rate_per_s, cpus=[0])
    )
    group = end["groups"]["bench"]
    achieved_per_s = group["transactions"] / end["measured_s"]
    return 100 * abs(achieved_per_s / rate_per_s - 1), group["open"]


def _ours_row(figures: list[tuple[float, dict[str, Any]]]) -> str:
    error = statistics.median(error for error, _ in figures)
    lags = [balance["dispatch_lag"] or {} for _, balance in figures]
    p50, p99 = (statistics.median(lag.get(q) or 0 for lag in lags) for q in ("p50_ns", "p99_ns"))
    late = f"sent {p50 / 1e3:.1f} us late (median), {p99 / 1e3:.0f} us (p99)"
    return f"rate off by {error:.3f} %, {late}"


def _sysbench_error(settings: Mapping[str, object], rate_per_s: float) -> float:
    """How far sysbench is from the rate, in percent."""
    done = sysbench("oltp_point_select", settings, "run", 0)
    found = re.search(r"transactions:\s+\d+\s+\(([0-9.]+) per sec", done.stdout)
    if not found:
        raise SystemExit(f"sysbench printed no rate: {done.stdout[-500:]}")
    return 100 * abs(float(found[1]) / rate_per_s - 1)


def open_null(options: Options) -> list[Row]:
    """20,000 arrivals a second against the null server."""
    our_side, their_side = [], []
    for _ in range(options.pairs):
        with null_server(cpu=1) as null:
            our_side.append(_ours_at(null_target(null.port), NULL_RATE_PER_S, options.seconds))
        with null_server(cpu=1) as null:
            settings = {
                **null_options(null.port),
                "threads": SESSIONS,
                "time": options.seconds,
                "rate": NULL_RATE_PER_S,
            }
            their_side.append(_sysbench_error(settings, NULL_RATE_PER_S))
    theirs = f"rate off by {statistics.median(their_side):.3f} %"
    return [
        f"| open loop, {NULL_RATE_PER_S:,}/s, null server, {SESSIONS} sessions, medians of "
        f"{options.pairs} | {_ours_row(our_side)} | `--rate`: {theirs} | - | "
        "<= 0.1 %, p99 < 100 us |"
    ]


def open_postgres(options: Options) -> list[Row]:
    """A rate that a managed PostgreSQL sustains, next to `pgbench -R` and `sysbench --rate`."""
    our_side, pgbench_side, sysbench_side = [], [], []
    rows = 10_000
    with server("postgres") as bench:
        target = bench.engine_target
        ours({**plan(target, 1, 0, "read_only", rows), "job": "load"})
        settings = {
            **bench.sysbench_options(target["database"]),
            "tables": 1,
            "table-size": rows,
            "rand-type": "uniform",
            "threads": SESSIONS,
            "time": options.seconds,
            "rate": SERVER_RATE_PER_S,
        }
        for _ in range(options.pairs):
            our_side.append(_ours_at(target, SERVER_RATE_PER_S, options.seconds, rows))
            pgbench_side.append(_pgbench(bench, rows, options.seconds))
            sysbench_side.append(_sysbench_error(settings, SERVER_RATE_PER_S))
    off, lag_ms, lag_max_ms = (
        statistics.median(column) for column in zip(*pgbench_side, strict=True)
    )
    theirs = (
        f"`pgbench -R`: rate off by {off:.3f} %, sent {lag_ms * 1e3:.0f} us late (mean), "
        f"{lag_max_ms * 1e3:.0f} us (max); `sysbench --rate`: rate off by "
        f"{statistics.median(sysbench_side):.3f} %"
    )
    return [
        f"| open loop, {SERVER_RATE_PER_S:,}/s, PostgreSQL, {SESSIONS} sessions, medians of "
        f"{options.pairs} | {_ours_row(our_side)} | {theirs} | - | <= 0.1 % |"
    ]


def _pgbench(bench: Bench, rows: int, seconds: int) -> tuple[float, float, float]:
    """How far pgbench is from the rate in percent, its mean and its largest lag in ms."""
    program = systems.load("postgres").find(None).paths["server"].with_name("pgbench")
    target = bench.engine_target
    tcp = target["address"]["tcp"]
    with tempfile.NamedTemporaryFile("w", prefix="dbdyno-", suffix=".sql") as script:
        script.write(f"\\set id random(1, {rows})\nSELECT c FROM sbtest1 WHERE id = :id;\n")
        script.flush()
        argv = [program, "-n", "-M", "prepared", "-f", script.name]
        argv += ["-c", SESSIONS, "-j", 1, "-T", seconds, "-R", SERVER_RATE_PER_S]
        argv += ["-h", tcp["host"], "-p", tcp["port"], "-U", target["user"], target["database"]]
        environment = {**os.environ, "PGPASSWORD": target["password"]}
        text = run([str(part) for part in argv], cpu=0, env=environment).stdout
    rate = re.search(r"^tps = ([0-9.]+)", text, re.M)
    lag = re.search(r"rate limit schedule lag: avg ([0-9.]+) \(max ([0-9.]+)\) ms", text)
    if not rate or not lag:
        raise SystemExit(f"pgbench printed no rate: {text[-500:]}")
    return 100 * abs(float(rate[1]) / SERVER_RATE_PER_S - 1), float(lag[1]), float(lag[2])


def frozen_server(_: Options) -> list[Row]:
    """The null server stopped (SIGSTOP) for one second in ten: response times as predicted?"""
    rate_per_s, periods = 1_000, 2
    stops: list[float] = []
    with null_server(cpu=1) as null:
        ended = threading.Event()
        freezer = threading.Thread(target=_freeze, args=(null.pid, periods, stops, ended))
        # A session for each arrival of the frozen second: the server's queue is the only one.
        request = plan(
            null_target(null.port),
            2 * rate_per_s,
            periods * PERIOD_S,
            "point_select",
            rate_per_s=rate_per_s,
            cpus=[0],
        )
        freezer.start()
        try:
            end = ours(request)[1]
        finally:
            ended.set()
            freezer.join()
    group = end["groups"]["bench"]
    response = group["open"]["response"]
    cells = []
    for name, q in (("p95", 0.95), ("p99", 0.99)):
        measured_s = response[f"{name}_ns"] / 1e9
        predicted_s = predicted(q, stops, periods * PERIOD_S)
        cells.append(f"{name} {measured_s:.3f} s (predicted {predicted_s:.3f} s)")
    return [
        f"| response under open loop, {rate_per_s:,}/s, server frozen for one second in ten | "
        f"{', '.join(cells)} | - | - | as predicted |"
    ]


def predicted(q: float, stops: list[float], length_s: float) -> float:
    """Quantile `q` of response times when a server that otherwise answers at once was stopped for
    `stops` seconds within `length_s`, under evenly spaced arrivals: those of a stop of length s
    wait evenly between 0 and s. `stops` must be about alike."""
    stopped_s = statistics.fmean(stops)
    share = sum(stops) / length_s
    return stopped_s * max(0.0, 1 - (1 - q) / share)


def _freeze(pid: int, periods: int, stops: list[float], ended: threading.Event) -> None:
    for period in range(periods):
        if ended.wait(FREEZE_AT_S if period == 0 else PERIOD_S - FREEZE_S):
            return
        os.kill(pid, signal.SIGSTOP)
        begun = time.monotonic()
        ended.wait(FREEZE_S)
        os.kill(pid, signal.SIGCONT)
        stops.append(time.monotonic() - begun)
