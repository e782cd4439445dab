"""Names of metrics: one canonical name each, the DBA's short form, unit and direction.

Names are alike in results, claims and charts. A group's metrics carry its name as a prefix when an
experiment has several groups (`readers.transactions_per_s`). The short form of a latency (`p95`)
means what a user waits for: response time in an open loop, service time in a closed one. What
samplers and servers report is open-ended and accepted by its family (`status.Handler_read_next`,
`cpu.user`); families of a server carry the target's name when a cell has several targets
(`db.status.Threads_running`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbdyno import kinds
from dbdyno.errors import DynoError, Where
from dbdyno.experiment.claims.known_metrics import (
    ANY,
    AUDIT,
    BLOCKS,
    CLASS_FAMILY,
    COST,
    FAULTED,
    HIGHER,
    KIND_FAMILY,
    LOWER,
    MACHINE_FAMILIES,
    METRICS,
    NEITHER,
    OPEN,
    PIPELINED,
    RESTORED,
    ROUTED,
    SEARCH,
    STEP_FAMILY,
    TARGET_FAMILIES,
    TOOL_FAMILY,
    Metric,
    audits_with,
)
from dbdyno.experiment.claims.types import EQUAL, compare
from dbdyno.experiment.file.names import did_you_mean

_SERVICE, _RESPONSE = "service_ms_", "response_ms_"
_STALLS = frozenset({"stalled_share", "stalls_per_min"})
_FAILURES = frozenset({"errors_per_s", "refused_commits_per_s", "retries_per_s", "failed_per_s"})
_INTERMITTENT = _STALLS | _FAILURES
_NO_OUTCOME = {"audit.acknowledged", "due_per_s", "dispatch_lag_us_p99", "generator_cpu_us_per_op"}
_NO_OUTCOME |= {"audit.judged", "routing.statements"}
_AMONG = {
    **dict.fromkeys(("audit.lost", "audit.duplicated", "audit.diverged"), "audit.acknowledged"),
    **dict.fromkeys(("routing.misrouted", "routing.wrong_results"), "routing.statements"),
}
_KIND = re.compile(rf"(?:^|\.)({KIND_FAMILY}|{CLASS_FAMILY})\.[^.]+\.(per_min|service_ms_\w+)$")
_PERCENTILE = re.compile(r"(?:[^.]+\.)?(?:service|response)_ms_p(\d+)")

_NODE = re.compile(r"^node\d+\.")
# Counters that are summed up over the nodes of a topology.
_SUMMED = frozenset(f"nodes.status.{name}" for kind in kinds.KINDS.values() for name in kind.summed)
_BY_NAME = {spelling: metric for metric in METRICS for spelling in (metric.name, *metric.aliases)}


@dataclass(frozen=True)
class Scope:
    """What metric names may start with: the groups, and the targets if a cell has several."""

    groups: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    # Groups with a `rate` or `find`, and of these with a `find`, in some cell. None: not known, as
    # of a plan, whose claims have been checked.
    open_loops: tuple[str, ...] | None = None
    closed_loops: tuple[str, ...] = ()  # groups without either in some cell
    searches: tuple[str, ...] | None = None
    blocks: tuple[str, ...] | None = None  # groups whose transactions are blocks
    pipelined: tuple[str, ...] | None = None  # groups with a `pipeline` in some cell
    faulted: tuple[str, ...] | None = None  # groups of cells with faults
    audited: tuple[str, ...] | None = None  # groups of cells with `audit`
    restored: tuple[str, ...] | None = None  # groups of cells with a `restore`
    routed: tuple[str, ...] | None = None  # groups of cells with a router that is examined
    audits: tuple[str, ...] | None = None  # the audits of the cells

    def has(self, metric: Metric, group: str) -> bool:
        """Whether a group has a metric, as far as is known."""
        of = {
            OPEN: self.open_loops,
            SEARCH: self.searches,
            BLOCKS: self.blocks,
            PIPELINED: self.pipelined,
            FAULTED: self.faulted,
            AUDIT: self.audited,
            RESTORED: self.restored,
            ROUTED: self.routed,
        }
        having = of.get(metric.loop)
        return (having is None or group in having) and self._is_audited(metric)

    def _is_audited(self, metric: Metric) -> bool:
        if metric.loop != AUDIT or self.audits is None:
            return True
        return not set(self.audits).isdisjoint(audits_with(metric.name))

    def names(self) -> Iterator[str]:
        """Canonical names and the patterns of the families, for messages."""
        for metric in METRICS:
            if metric.per_group and len(self.groups) > 1:
                having = (group for group in self.groups if self.has(metric, group))
                yield from (f"{group}.{metric.name}" for group in having)
            elif (not metric.per_group and metric.loop == ANY) or any(
                self.has(metric, group) for group in self.groups
            ):
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
    prefix, and for what the group's kind of loop does not have, such as response times of a closed
    one.
    """
    head, dot, rest = name.partition(".")
    if name not in _BY_NAME and dot and head in scope.groups:
        return _of_group(head, rest, name, scope, where)
    if name in _BY_NAME:
        return _unprefixed(_BY_NAME[name], name, scope, where)
    if dot and head in scope.targets and _is_of_target(rest):
        return name if len(scope.targets) > 1 else rest
    if _is_family(name, MACHINE_FAMILIES):
        return name
    if _is_of_target(name):
        if len(scope.targets) > 1:
            raise _error(
                f"`{name}` does not name its target",
                where,
                "several targets run at once",
                f"write {_choices(f'{target}.{name}' for target in scope.targets)}",
            )
        return name
    raise _unknown(name, scope, where)


def rises_with_load(name: str) -> bool:
    """Whether a group's metric grows as it is driven harder: times, counts of what went wrong."""
    return name.startswith(("response_ms_", "service_ms_", "backlog_")) or name in (
        *_FAILURES,
        "failed_share",
        "unfinished_growth",
        "left",
        "drain_s",
    )


def is_outcome(name: str) -> bool:
    """Whether a canonical name is a result of the workload: how much, how fast, what failed. What
    was offered and what the generator itself took are none, nor what samplers read."""
    known = info(name)
    return (known in METRICS and known.name not in _NO_OUTCOME) or _KIND.search(name) is not None


def needs_operations(name: str) -> bool:
    """Whether a canonical name is there only with enough operations behind it: a percentile, or
    stalls, which few commits do not show. Trials without it are slow ones."""
    return _PERCENTILE.fullmatch(name) is not None or name in _STALLS


def why_absent(name: str) -> str:
    """Why a trial has no value of a metric that others of its cell have, if the system is the
    reason and the other trials therefore flatter it. Empty: missing at random."""
    if name.rpartition(".")[2] == "rate_max_per_s":
        return "its search gave no answer"
    return "too few operations for it" if needs_operations(name) else ""


def grain(name: str) -> float:
    """How far a value of a metric may be off by rounding, as a share of it: percentiles are ends
    of a histogram's buckets, which are less than 1 % wide."""
    return 0.01 if _PERCENTILE.fullmatch(name) else 0.0


def is_ratio_scaled(name: str) -> bool:
    """Whether "twice as much" is the natural distance between two values of a canonical name: its
    mean over blocks is then the geometric one. Times, throughputs and costs are; counts of what
    went wrong, shares and what samplers read may well be zero."""
    known = info(name)
    work = known.unit in ("1/s", "1/min") and known.direction != LOWER
    return work or known.unit in ("ms", "us") or is_cost(known.name)


def is_intermittent(name: str) -> bool:
    """Whether a trial without any of it is usual: stalls, errors."""
    return info(name).name in _INTERMITTENT


def is_slope(name: str) -> bool:
    """Whether it is the slope of a level over a trial, which may well fall, or be exactly zero."""
    return name.endswith("_per_h")


def ceiling(name: str) -> float | None:
    """What a value of a metric cannot exceed; None if nothing."""
    return 1.0 if name == "stalled_share" else None


def is_count(name: str) -> bool:
    """Whether it counts, in each trial, what must not happen and was searched for: by an audit, or
    by the examination of a router. Zero is what is hoped for."""
    known = info(name)
    is_whole = not known.unit and not known.name.endswith("_s")
    return known.loop in (AUDIT, ROUTED) and known.direction == LOWER and is_whole


def asks_any(name: str, operator: str, threshold: float) -> bool:
    """Whether a claim on one number sets a count a limit, or says that there is some."""
    if not is_count(name) or operator == EQUAL:
        return False
    none, one = (compare(value, operator, threshold) for value in (0.0, 1.0))
    return none != one if is_some(operator) else none


def is_some(operator: str) -> bool:
    """Whether such a claim says that there is some."""
    return operator in (">", ">=")


def counted_among(name: str) -> str:
    """The metric whose transactions or statements a count (`is_count`) is a part of; empty where
    nothing says how many could have been counted."""
    return _AMONG.get(info(name).name, "")


def values_needed(name: str) -> int:
    """From how many values a metric is made at least: a quantile q from 10 / (1 - q)."""
    percentile = _PERCENTILE.fullmatch(name)
    if percentile is None:
        return 1
    digits = percentile[1]  # 999 of p999, which is 0.999
    return round(10 / (1 - int(digits) / 10 ** len(digits)))


def is_cost(name: str) -> bool:
    """Whether a canonical name is a cost, which only an experiment with `prices` has."""
    return name.startswith(COST)


def info(name: str) -> Metric:
    """What is known about a canonical name, prefixed or not; of an open-ended one, what is safe."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    _, dot, rest = name.partition(".")
    if dot and rest in _BY_NAME:
        return _BY_NAME[rest]
    if name.startswith(f"{STEP_FAMILY}."):
        return Metric(name, name, "s", LOWER, "time of one step of a drill", per_group=False)
    kind = _KIND.search(name)
    if kind is not None:
        unit, better = ("1/min", HIGHER) if kind[2] == "per_min" else ("ms", LOWER)
        of = "kind of transactions" if kind[1] == KIND_FAMILY else "class of statements"
        return Metric(name, name, unit, better, f"of one {of}")
    return Metric(name, name, "", NEITHER, "sampled during the load", per_group=False)


def short(name: str) -> str:
    """The heading of a canonical name in tables: `readers.transactions_per_s` -> `readers tps`."""
    known = info(name)
    prefix, dot, rest = name.partition(".")
    if dot and rest == known.name:
        return f"{prefix} {known.short}"
    return known.short


def _of_group(group: str, rest: str, name: str, scope: Scope, where: Where | None) -> str:
    metric = _meant(_BY_NAME.get(rest), rest, group, scope, where)
    if metric is None and _is_family(rest, (TOOL_FAMILY, KIND_FAMILY, CLASS_FAMILY)):
        return name if len(scope.groups) > 1 else rest
    if metric is None:
        raise _unknown(name, scope, where)
    _refuse_other_loop(metric, (group,), name, scope, where)
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
            f"`{name}` does not name its group",
            where,
            "the experiment has several groups",
            f"write {_choices(f'{group}.{name}' for group in scope.groups)}",
        )
    if len(scope.groups) == 1:
        metric = _meant(metric, name, scope.groups[0], scope, where) or metric
    _refuse_other_loop(metric, scope.groups, name, scope, where)
    return metric.name


def _meant(
    metric: Metric | None, spelling: str, group: str, scope: Scope, where: Where | None
) -> Metric | None:
    """What a spelling means in a group: `p95` of an open loop is its response time."""
    if metric is None or spelling == metric.name or not metric.name.startswith(_SERVICE):
        return metric
    if group not in (scope.open_loops or ()):
        return metric
    response = metric.name.replace(_SERVICE, _RESPONSE, 1)
    if group in scope.closed_loops:
        raise _error(
            f"`{spelling}` is not one thing: `{group}` is an open loop in some cells and a closed"
            " one in others",
            where,
            f"of an open loop it means `{response}`, from when a transaction was due; a closed loop"
            f" has `{metric.name}` only, from when it was sent",
            f"write `{metric.name}`, which all cells have, or `{response}` of cells with a rate",
        )
    return _BY_NAME[response]


def _not_audited(scope: Scope) -> str:
    if scope.audits:
        return f"`audit: {scope.audits[0]}` does not look for it"
    return "commits are not audited"


def _refuse_other_loop(
    metric: Metric, groups: tuple[str, ...], name: str, scope: Scope, where: Where | None
) -> None:
    """Refuses a metric that none of `groups` has, for the kind of loop that they are."""
    if not groups or any(scope.has(metric, group) for group in groups):
        return
    if metric.loop == SEARCH:
        raise _error(
            f"`{name}` is not measured: no rate is searched for",
            where,
            "only a group with `find` has a highest rate",
            "add `find: {rate: max, while: response_ms_p99 < 20}` to the group",
        )
    if metric.loop == FAULTED:
        raise _error(
            f"`{name}` is not measured: the experiment has no faults",
            where,
            "it counts from the begin of a fault",
            "add `faults: [{at: 10s, do: kill}]`, or claim `outage_s`",
        )
    if metric.loop == RESTORED:
        raise _error(
            f"`{name}` is not measured: no server is restored",
            where,
            "",
            "add `faults: [{at: 2s, do: backup}, {at: 6s, do: restore}]`",
        )
    if metric.loop == AUDIT:
        raise _error(
            f"`{name}` is not measured: {_not_audited(scope)}",
            where,
            "",
            f"add `audit: {audits_with(metric.name)[0]}` to the experiment",
        )
    if metric.loop == ROUTED:
        raise _error(
            f"`{name}` is not measured: no router is examined",
            where,
            "",
            "add `router: {kind: pgpool, conformance: true}` to a target's `topology`",
        )
    if metric.loop == BLOCKS:
        raise _error(
            f"`{name}` is not measured: no blocks are moved",
            where,
            "only transactions of the workload `io` have a size",
            "claim `transactions_per_s`, or use `kind: io`",
        )
    if metric.loop == PIPELINED:
        raise _error(
            f"`{name}` is not measured: operations are sent one by one",
            where,
            "only sessions with a `pipeline` send several in one write",
            "add `pipeline: 16` to a group of `kv`",
        )
    service = metric.name.replace("response_", "service_", 1)
    instead = "" if service == metric.name else f", or claim `{service}`"
    raise _error(
        f"`{name}` is not measured: these sessions are a closed loop"
        + (", which has service times only" if instead else ""),
        where,
        "response time and backlog count from when a transaction was due, which only an open loop"
        " knows",
        f"make it an open loop with `rate: 1000/s`{instead}",
    )


def _is_family(name: str, families: tuple[str, ...]) -> bool:
    head, _, rest = name.partition(".")
    return head in families and bool(rest)


def _is_of_target(name: str) -> bool:
    """Whether it is a server's: `status.NAME`, of a node of a topology `node2.status.NAME`, of all
    of them `nodes.status.NAME`."""
    return name in _SUMMED or _is_family(_NODE.sub("", name), TARGET_FAMILIES)


def _choices(names: Iterable[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def _unknown(name: str, scope: Scope, where: Where | None) -> DynoError:
    names = list(scope.names())
    spellings = [*names, *(_BY_NAME if len(scope.groups) <= 1 else ())]
    if len(scope.groups) > 1:
        spellings += [f"{g}.{s}" for g in scope.groups for s in _BY_NAME if _BY_NAME[s].per_group]
    guess = did_you_mean(name, spellings).partition("known: ")[0]
    return _error(
        f"no metric is called `{name}`",
        where,
        "",
        f"{guess}known: {', '.join(names)} (short forms: tps, qps, p50, p95, p99, p999, mean; the"
        " latter are response time of an open loop, service time of a closed one)",
    )


def _error(what: str, where: Where | None, cause: str, fix: str) -> DynoError:
    return DynoError(what, where=where, cause=cause, fix=fix)
