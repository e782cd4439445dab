"""How many load threads: the chosen one against the other layouts and sysbench, all in turns."""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pairs import Pairs
from scripts import THEIR_SCRIPTS, WAREHOUSES
from servers import Bench, server
from sides import OURS, THEIRS, ours, plan, sysbench

from dbdyno.plan import load_threads

Row = str
Options = argparse.Namespace
SESSIONS = (4, 16, 64, 256)
ROWS = 100_000
BAR = 0.98
Side = Callable[[], float]


def layout_oltp(options: Options) -> list[Row]:
    """Transactions a second of `oltp` by load threads, on CPUs shared with MariaDB."""
    rows = []
    with server("mariadb", max_connections=512, innodb_log_file_size="1G") as bench:
        target = bench.engine_target
        ours({**plan(target, 2, 0, "read_write", ROWS), "job": "load"})
        for preset in ("point_select", "read_write"):
            common = {
                **bench.sysbench_options(target["database"]),
                "tables": 1,
                "table-size": ROWS,
                "rand-type": "uniform",
                "mysql-ignore-errors": "all",
            }
            script = str(THEIR_SCRIPTS / f"oltp_{preset}.lua")
            for sessions in SESSIONS:
                native = plan(target, sessions, options.seconds, preset, ROWS)
                settings = {**common, "threads": sessions, "time": options.seconds}
                rows += _compare(preset, sessions, native, (script, settings, {}), options)
    return rows


def layout_tpcc(options: Options) -> list[Row]:
    """Transactions a second of TPC-C by load threads; the drop-in with sysbench-tpcc's scripts."""
    rows = []
    with server("mariadb", max_connections=512, innodb_log_file_size="1G") as bench:
        target = bench.fresh_schema("tpcc")
        for sessions in SESSIONS:
            native = plan(target, sessions, options.seconds, "read_write")
            workload = {"mode": "sysbench", "warehouses": WAREHOUSES}
            group = {**native["groups"][0], "workload": "tpcc", "options": workload}
            native["groups"] = [group]
            if sessions == SESSIONS[0]:
                loading = [{**group, "sessions": WAREHOUSES}]
                ours({**native, "job": "load", "groups": loading})
            theirs = _scripts(bench, sessions, options)
            rows += _compare("TPC-C", sessions, native, theirs, options)
    return rows


Script = tuple[str, Mapping[str, object], Mapping[str, str]]


def _scripts(bench: Bench, sessions: int, options: Options) -> Script | None:
    if options.tpcc is None:
        print("  native alone: no --tpcc DIR with a copy of sysbench-tpcc", file=sys.stderr)
        return None
    directory = options.tpcc.resolve()
    settings = {
        **bench.sysbench_options("tpcc"),
        "tables": 1,
        "scale": WAREHOUSES,
        "threads": sessions,
        "time": options.seconds,
    }
    return str(directory / "tpcc.lua"), settings, {"LUA_PATH": f"{directory}/?.lua;;"}


def _compare(
    what: str, sessions: int, native: dict[str, Any], script: Script | None, options: Options
) -> list[Row]:
    """Rows of the native side and of the drop-in: against the best layout and against sysbench."""
    cpus = len(os.sched_getaffinity(0))
    numbers = load_threads.candidates(cpus, sessions)
    bound: dict[str, list[bool]] = {}
    sides: dict[str, Side] = {}
    for n in numbers:
        flags = bound.setdefault(f"native {n}", [])
        sides[f"native {n}"] = partial(_native, {**native, "workers": n}, flags)
    if script is not None:
        dropped = {f"drop-in {n}": partial(_drop_in, script, n) for n in (0, *numbers)}
        sides |= {**dropped, "sysbench": partial(_rate, script, THEIRS)}
    probed = load_threads.best(cpus, sessions, _probe(native, numbers)).threads
    found = _rounds(f"{what} {sessions}", sides, options.pairs)
    rows = _rows(f"{what}, {sessions} sessions, native", f"native {probed}", "native", found, bound)
    if script is not None:
        rows += _rows(f"{what}, {sessions} sessions, drop-in", "drop-in 0", "drop-in", found, {})
    return rows


def _probe(native: dict[str, Any], numbers: Sequence[int]) -> dict[int, list[float]]:
    """What the probe before a run's first trial sees."""
    times = {"warmup_s": load_threads.SETTLE_S, "duration_s": load_threads.ROUND_S}
    rates: dict[int, list[float]] = {n: [] for n in numbers}
    for n in load_threads.turns(numbers):
        rates[n].append(_native({**native, **times, "workers": n}, []))
    return rates


def _rounds(name: str, sides: Mapping[str, Side], count: int) -> dict[str, list[float]]:
    """All sides in turns, forth and back."""
    found: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(count):
        names = list(sides) if number % 2 == 0 else list(reversed(list(sides)))
        for side in names:
            found[side].append(sides[side]())
        seen = ", ".join(f"{side} {rates[-1]:.4g}" for side, rates in found.items())
        print(f"  {name}: round {number + 1}/{count}: {seen}", file=sys.stderr)
    return found


def _rows(
    what: str,
    chosen: str,
    kind: str,
    found: Mapping[str, list[float]],
    bound: Mapping[str, list[bool]],
) -> list[Row]:
    layouts = {side: rates for side, rates in found.items() if side.startswith(f"{kind} ")}
    best = max(layouts, key=lambda side: statistics.median(layouts[side]))
    flags = bound.get(chosen, [])
    flagged = f"; flagged in {sum(flags)} of {len(flags)} runs" if flags else ""
    rows = []
    for against in (best, *(["sysbench"] if "sysbench" in found else [])):
        pairs = Pairs(tuple(found[chosen]), tuple(found[against]))
        rows.append(
            f"| throughput, {what}: {chosen} against {against}{flagged} | {pairs.row('/s')} |"
            f" >= {BAR}x or flagged |"
        )
    return rows


def _native(request: Mapping[str, Any], bound: list[bool]) -> float:
    _, end = ours(request)
    bound.append(end["generator"]["generator_bound"])
    return float(end["groups"]["bench"]["transactions"] / end["measured_s"])


def _drop_in(script: Script, threads: int) -> float:
    path, settings, env = script
    return _rate((path, {**settings, "load-threads": threads}, env), OURS)


def _rate(script: Script, program: Sequence[str]) -> float:
    path, settings, env = script
    text = sysbench(path, settings, "run", program=program, env=env).stdout
    found = re.search(r"transactions:\s+\d+\s+\(([0-9.]+) per sec", text)
    if not found:
        raise SystemExit(f"no transactions: {text[-500:]}")
    return float(found[1])
