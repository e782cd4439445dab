"""Pipelining against `redis-benchmark -P`: GET of strings, on the same private server."""

from __future__ import annotations

import shutil
from argparse import Namespace
from functools import partial
from typing import Any

from pairs import Pairs, alternate
from servers import server
from sides import Finished, ours, plan, run

from dbdyno.systems.redis.managed import RedisServer

RECORDS = 10_000
SESSIONS = 16
PIPELINE = 16
FIELD_BYTES = 3  # redis-benchmark's default
REQUESTS_PER_S = 200_000  # of redis-benchmark, for each second of ours
# An account without a password: redis-benchmark takes one by its command line only.
USER = ("bench", "none")


def pipeline_redis(options: Namespace) -> list[str]:
    """Generator CPU and operations a second, pipelines of 16 GETs."""
    if not shutil.which("redis-benchmark"):
        raise SystemExit("redis-benchmark is not installed: apt-get install redis-tools")
    with server("redis") as bench:
        assert isinstance(bench.server, RedisServer)
        bench.server.ask("ACL", "SETUSER", USER[0], "on", "nopass", "~*", "+@all")
        port = bench.engine_target["address"]["tcp"]["port"]
        request = _request(bench.engine_target, options.seconds)
        ours({**request, "job": "load"})
        number = options.seconds * REQUESTS_PER_S
        _redis_benchmark(port, "set", RECORDS * 20)
        rates: dict[str, list[float]] = {"ours": [], "theirs": []}
        cpu = alternate(
            "pipeline",
            partial(_ours, request, rates["ours"]),
            partial(_theirs, port, number, rates["theirs"]),
            options.pairs,
        )
    rate = Pairs(tuple(rates["ours"]), tuple(rates["theirs"]))
    return [
        f"| generator CPU an operation, {_WHAT} | {cpu.row('us')} | <= 1x |",
        f"| operations a second, {_WHAT} | {rate.row('/s')} | >= 1x |",
    ]


_WHAT = (
    f"GET, private Redis over TCP, {SESSIONS} sessions, `pipeline: {PIPELINE}`, against"
    f" `redis-benchmark -P {PIPELINE}`"
)


def _request(target: dict[str, Any], seconds: float) -> dict[str, Any]:
    made = plan(target, SESSIONS, seconds, "c")
    options = {
        "preset": "c",
        "records": RECORDS,
        "fields": 1,
        "field_bytes": FIELD_BYTES,
        "distribution": "uniform",
        "pipeline": PIPELINE,
    }
    return {**made, "groups": [{**made["groups"][0], "workload": "kv", "options": options}]}


def _ours(request: dict[str, Any], rates: list[float]) -> float:
    done, end = ours(request)
    operations = end["groups"]["bench"]["operations"]
    rates.append(operations / end["measured_s"])
    return done.cpu_s * 1e6 / operations


def _theirs(port: int, number: int, rates: list[float]) -> float:
    done = _redis_benchmark(port, "get", number)
    rates.append(float(done.stdout.splitlines()[-1].split(",")[1].strip('"')))
    return done.cpu_s * 1e6 / number


def _redis_benchmark(port: int, test: str, number: int) -> Finished:
    argv = ["redis-benchmark", "-h", "127.0.0.1", "-p", port, "--user", USER[0], "-a", USER[1]]
    argv += ["-c", SESSIONS, "-P", PIPELINE, "-n", number, "-r", RECORDS, "-t", test, "--csv"]
    return run([str(each) for each in argv])
