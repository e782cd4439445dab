"""What Redis takes to load its data, compared with the model `redis-restart`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.proof.redis import server
from tools.proof.redis.server import Redis
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno import models
from dbdyno.models import calculate, given

MIB = 1 << 20
BYTES = 64 * MIB  # of values, in the smaller of the two
QUICK_BYTES = MIB
VALUES = (10, 100, 1000)
LINEAR = 0.25  # how far twice the data may be from twice the time
STARTS = 3
METHODS: Mapping[str, Mapping[str, str]] = {
    "rdb": {},
    "aof": {"appendonly": "yes", "aof-use-rdb-preamble": "no", "auto-aof-rewrite-percentage": "0"},
}


@dataclass(frozen=True)
class Loaded:
    """One data set: memory in bytes, processor time of loading it in s."""

    value: int
    method: str
    memory: float
    cpu_s: float

    @property
    def per_gb_s(self) -> float:
        """For 2^30 bytes of memory."""
        return self.cpu_s / self.memory * 2**30


def measure(effort: Effort) -> Outcome:
    """Each size of values and method, with some data and with twice as much."""
    if lacking := server.missing():
        return Outcome(measured=f"{lacking} is not installed", met=None)
    whole = QUICK_BYTES if effort.quick else BYTES
    pairs = []
    for value in VALUES:
        for method in METHODS:
            keys = max(1000, whole // (value + 60))
            pairs.append(tuple(_load(value, method, n) for n in (keys, 2 * keys)))
            effort.say(
                f"    {method}, values of {value} bytes: {pairs[-1][1].per_gb_s:.1f} s a GiB"
            )
    growth = [more.cpu_s / less.cpu_s for less, more in pairs]
    by_memory = [more.memory / less.memory for less, more in pairs]
    away = max(abs(g / m - 1) for g, m in zip(growth, by_memory, strict=True))
    return Outcome(
        measured=f"twice the data takes twice the time within {away * 100:.0f} %",
        met=None if effort.quick else away <= LINEAR,
        tables=(_table(pairs),),
        notes=(
            "Processor time is the server's own count from its start until it answers, the least of"
            f" {STARTS} starts: waiting for a busy machine is not in it.",
            "The model has one number for a dump and a factor for a log of commands; both are of"
            " the data and the processor, so measure your own and give `per_gb` and `aof_factor`.",
        ),
    )


def _load(value: int, method: str, keys: int) -> Loaded:
    with Redis(METHODS[method]) as redis:
        redis.write(range(keys), value)
        spent = []
        for _ in range(STARTS):
            redis.restart()
            used = [redis.info(f"used_cpu_{kind}_main_thread") for kind in ("user", "sys")]
            spent.append(sum(used))
        if int(redis.ask("DBSIZE")) != keys:
            raise RuntimeError("keys were lost")
        return Loaded(value, method, redis.info("used_memory"), min(spent))


def _table(pairs: list[tuple[Loaded, ...]]) -> Table:
    rows = []
    for less, more in pairs:
        rows.append((
            f"{more.value} bytes",
            more.method,
            f"{more.memory / MIB:,.0f} MiB",
            f"{more.cpu_s:.2f} s",
            f"{more.cpu_s / less.cpu_s:.2f} / {more.memory / less.memory:.2f}",
            f"{more.per_gb_s:.1f} s",
            f"{_computed(more.method):.1f} s",
        ))  # fmt: skip
    head = ("values", "method", "memory", "loaded in", "time / memory, against half",
            "a GiB", "model")  # fmt: skip
    return Table("Loading, in processor time", head, tuple(rows))


def _computed(method: str) -> float:
    """A GiB by the model's defaults; a log of commands alone, as is measured."""
    model = models.load("redis-restart")
    asked = given.take(model, {"memory": "1Gi", "method": method, "preamble": "no"}, {})
    found = calculate.answer(model, asked).values["load"]
    assert isinstance(found, float)
    return found


ROW = Row(
    name="redis",
    claim="Redis loads in proportion to its memory",
    how=(
        "The model `redis-restart` takes a time for each GiB. A Redis of our own is filled with"
        " small, middling and large values, with some data and with twice as much, shut down and"
        " started again: from a dump, and from a log of commands."
    ),
    bar="twice the memory takes twice the processor time, within 25 %",
    measure=measure,
    timed=True,
)
