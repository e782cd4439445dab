"""Names of metrics: one canonical name each, the DBA's short form, unit and direction.

Names are alike in results, claims and charts. A group's metrics carry its name as a prefix when an
experiment has several groups (`readers.transactions_per_s`). What samplers and servers report is
open-ended and accepted by its family (`status.Handler_read_next`, `cpu.user`); families of a server
carry the target's name when a cell has several targets (`db.status.Threads_running`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbdyno.errors import DynoError, Where
from dbdyno.spec.names import did_you_mean

HIGHER = "higher"
LOWER = "lower"
NEITHER = ""


@dataclass(frozen=True)
class Metric:
    """What is known about a metric. `direction` says which way is better, or "" if neither is."""

    name: str
    short: str  # what a DBA calls it; heads columns of tables
    unit: str  # "1/s", "ms", "us", ""
    direction: str
    about: str
    aliases: tuple[str, ...] = ()
    per_group: bool = True


def _service(quantile: str, about: str, *aliases: str) -> Metric:
    return Metric(
        f"service_ms_{quantile}",
        f"{quantile} ms",
        "ms",
        LOWER,
        about,
        (quantile, f"{quantile}_ms", f"{quantile} ms", *aliases),
    )


METRICS: tuple[Metric, ...] = (
    Metric("transactions_per_s", "tps", "1/s", HIGHER, "committed transactions a second", ("tps",)),
    Metric(
        "operations_per_s", "qps", "1/s", HIGHER, "statements of committed transactions", ("qps",)
    ),
    _service("p50", "half of the transactions took at most this", "median"),
    _service("p95", "95 % of the transactions took at most this"),
    _service("p99", "99 % of the transactions took at most this"),
    _service("p999", "99.9 % of the transactions took at most this", "p99.9", "p99.9 ms"),
    _service("mean", "arithmetic mean of the transactions' service times"),
    Metric("rows_per_s", "rows/s", "1/s", HIGHER, "rows returned by the server", ("rows",)),
    Metric("errors_per_s", "err/s", "1/s", LOWER, "failed attempts, retried or not", ("errors",)),
    Metric("retries_per_s", "retries/s", "1/s", LOWER, "attempts repeated", ("retries",)),
    Metric("failed_per_s", "failed/s", "1/s", LOWER, "transactions given up", ("failed",)),
    Metric(
        "generator_cpu_us_per_op",
        "generator us/op",
        "us",
        LOWER,
        "CPU time of the load generator an operation",
        per_group=False,
    ),
    Metric(
        "server_cpu_us_per_op",
        "server us/op",
        "us",
        LOWER,
        "CPU time of the servers an operation",
        per_group=False,
    ),
)

COST = "cost_per_billion_"
METRICS += tuple(
    Metric(
        f"{COST}{what}",
        f"cost/1e9 {short}",
        "",
        LOWER,
        f"price of a billion committed {what} of all groups, in the currency of `prices`",
        per_group=False,
    )
    for what, short in (("operations", "op"), ("transactions", "tx"))
)

MACHINE_FAMILIES = ("cpu", "memory", "disk", "generator")
TARGET_FAMILIES = ("status", "server", "sessions")
FAMILIES = (*TARGET_FAMILIES, *MACHINE_FAMILIES)

_BY_NAME = {spelling: metric for metric in METRICS for spelling in (metric.name, *metric.aliases)}


@dataclass(frozen=True)
class Scope:
    """What metric names may start with: the groups, and the targets if a cell has several."""

    groups: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def names(self) -> Iterator[str]:
        """Canonical names and the patterns of the families, for messages."""
        for metric in METRICS:
            if metric.per_group and len(self.groups) > 1:
                yield from (f"{group}.{metric.name}" for group in self.groups)
            else:
                yield metric.name
        for family in TARGET_FAMILIES:
            if len(self.targets) > 1:
                yield from (f"{target}.{family}.NAME" for target in self.targets)
            else:
                yield f"{family}.NAME"
        yield from (f"{family}.NAME" for family in MACHINE_FAMILIES)


def canonical(name: str, scope: Scope, where: Where | None = None) -> str:
    """The canonical name of `name` as a user may write it: short forms, `p95 ms`, prefixes.

    Raises DynoError, with the right names, for an unknown metric, an unknown group, a missing
    prefix, and for response times, which only an open loop has.
    """
    head, dot, rest = name.partition(".")
    if name not in _BY_NAME and dot and head in scope.groups:
        return _of_group(head, rest, name, scope, where)
    if name in _BY_NAME:
        return _unprefixed(_BY_NAME[name], name, scope, where)
    if dot and head in scope.targets and _is_family(rest, TARGET_FAMILIES):
        return name if len(scope.targets) > 1 else rest
    if _is_family(name, MACHINE_FAMILIES):
        return name
    if _is_family(name, TARGET_FAMILIES):
        if len(scope.targets) > 1:
            raise _error(
                f"`{name}` does not say of which target",
                where,
                "several targets run at once",
                f"write {_choices(f'{target}.{name}' for target in scope.targets)}",
            )
        return name
    _refuse_response(name, where)
    raise _unknown(name, scope, where)


def is_cost(name: str) -> bool:
    """Whether a canonical name is a cost, which only an experiment with `prices` has."""
    return name.startswith(COST)


def info(name: str) -> Metric:
    """What is known of a canonical name, prefixed or not; of an open-ended one, what is safe."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    _, dot, rest = name.partition(".")
    if dot and rest in _BY_NAME:
        return _BY_NAME[rest]
    return Metric(name, name, "", NEITHER, "sampled beside the load", per_group=False)


def short(name: str) -> str:
    """The heading of a canonical name in tables: `readers.transactions_per_s` -> `readers tps`."""
    known = info(name)
    prefix, dot, rest = name.partition(".")
    if dot and rest == known.name:
        return f"{prefix} {known.short}"
    return known.short


def _of_group(group: str, rest: str, name: str, scope: Scope, where: Where | None) -> str:
    metric = _BY_NAME.get(rest)
    if metric is None:
        _refuse_response(rest, where)
        raise _unknown(name, scope, where)
    if not metric.per_group:
        raise _error(
            f"`{metric.name}` is measured for all groups together",
            where,
            "",
            f"write `{metric.name}` without a group",
        )
    return f"{group}.{metric.name}" if len(scope.groups) > 1 else metric.name


def _unprefixed(metric: Metric, name: str, scope: Scope, where: Where | None) -> str:
    if metric.per_group and len(scope.groups) > 1:
        raise _error(
            f"`{name}` does not say of which group",
            where,
            "the experiment has several groups",
            f"write {_choices(f'{group}.{name}' for group in scope.groups)}",
        )
    return metric.name


def _refuse_response(name: str, where: Where | None) -> None:
    if not name.startswith("response_"):
        return
    raise _error(
        f"`{name}` is not measured: these sessions are a closed loop, which has service times only",
        where,
        "response time counts from when a request was due, which only an open loop knows "
        "(arrivals on a schedule, not in this version)",
        f"claim `{name.replace('response_', 'service_', 1)}`",
    )


def _is_family(name: str, families: tuple[str, ...]) -> bool:
    head, _, rest = name.partition(".")
    return head in families and bool(rest)


def _choices(names: Iterable[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def _unknown(name: str, scope: Scope, where: Where | None) -> DynoError:
    names = list(scope.names())
    spellings = [*names, *(_BY_NAME if len(scope.groups) <= 1 else ())]
    if len(scope.groups) > 1:
        spellings += [f"{g}.{s}" for g in scope.groups for s in _BY_NAME if _BY_NAME[s].per_group]
    guess = did_you_mean(name, spellings).partition("known: ")[0]
    return _error(
        f"there is no metric `{name}`",
        where,
        "",
        f"{guess}known: {', '.join(names)} (short forms: tps, qps, p50, p95, p99, p999, mean)",
    )


def _error(what: str, where: Where | None, cause: str, fix: str) -> DynoError:
    return DynoError(what, where=where, cause=cause, fix=fix)
