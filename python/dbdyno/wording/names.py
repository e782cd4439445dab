"""What a metric is called, in which unit, and which way is better.

Canonical names (`readers.transactions_per_s`) are what claims and `result.json` use; here they get
the words of a DBA and of a chart. An unlisted name still gets a readable label: nothing that was
measured is hidden because nobody described it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbdyno.plan.types import Plan
from dbdyno.wording import sampled


@dataclass(frozen=True)
class Metric:
    """A metric as shown. `better` is +1 where more is better, -1 where less is, 0 where neither."""

    name: str  # canonical, with its group
    group: str  # "" when the run has one group, or the metric belongs to none
    short: str  # tps, p95, server CPU/op: a table's column
    label: str  # "Transactions committed": a chart's title
    unit: str  # "transactions/s", "ms", "µs"
    better: int

    @property
    def heading(self) -> str:
        """Label with the group in front, if there are several."""
        return (
            f"{self.group}: {self.label[0].lower()}{self.label[1:]}" if self.group else self.label
        )

    @property
    def column(self) -> str:
        """Short form with the group in front, if there are several."""
        return f"{self.group} {self.short}" if self.group else self.short


# base name -> (short, label, unit, better)
KNOWN: Mapping[str, tuple[str, str, str, int]] = {
    "transactions_per_s": ("tps", "Transactions committed", "transactions/s", 1),
    "operations_per_s": ("qps", "Operations of committed transactions", "operations/s", 1),
    "due_per_s": ("due/s", "Arrivals due", "transactions/s", 0),
    "rate_max_per_s": ("max rate/s", "Highest rate that met the conditions", "transactions/s", 1),
    "response_ms_mean": ("response mean ms", "Mean response time", "ms", -1),
    "response_ms_p50": ("response p50 ms", "Median response time", "ms", -1),
    "response_ms_p95": ("response p95 ms", "95th percentile response time", "ms", -1),
    "response_ms_p99": ("response p99 ms", "99th percentile response time", "ms", -1),
    "response_ms_p999": ("response p99.9 ms", "99.9th percentile response time", "ms", -1),
    "service_ms_mean": ("mean ms", "Mean latency", "ms", -1),
    "service_ms_p50": ("p50 ms", "Median latency", "ms", -1),
    "service_ms_p95": ("p95 ms", "95th percentile latency", "ms", -1),
    "service_ms_p99": ("p99 ms", "99th percentile latency", "ms", -1),
    "service_ms_p999": ("p99.9 ms", "99.9th percentile latency", "ms", -1),
    "backlog_max": ("backlog max", "Largest backlog", "arrivals", -1),
    "backlog_end": ("backlog end", "Backlog at the end", "arrivals", -1),
    "left": ("left", "Arrivals left after the drain", "arrivals", -1),
    "drain_s": ("drain s", "Time to work off the backlog", "s", -1),
    "dispatch_lag_us_p99": (
        "dispatch lag µs",
        "Lateness of the generator, 99th percentile",
        "µs",
        -1,
    ),
    "mib_per_s": ("MiB/s", "Bandwidth of committed blocks", "MiB/s", 1),
    "operations_per_write": ("op/write", "Operations sent in one write", "operations", 0),
    "rows_per_s": ("rows/s", "Rows returned", "rows/s", 1),
    "failed_per_s": ("failed/s", "Transactions given up", "transactions/s", -1),
    "failed_share": ("failed", "Share of arrivals given up", "", -1),
    "unfinished_growth": ("unfinished growth", "Growth of unfinished arrivals", "arrivals", -1),
    "probes": ("probes", "Probes of the search", "runs", 0),
    "errors_per_s": ("errors/s", "Failed attempts", "errors/s", -1),
    "refused_commits_per_s": ("commits refused/s", "Commits refused", "errors/s", -1),
    "retries_per_s": ("retries/s", "Transactions begun again", "retries/s", -1),
    "cost_per_billion_transactions": ("cost/1e9 tx", "Cost of a billion transactions", "", -1),
    "cost_per_billion_operations": ("cost/1e9 op", "Cost of a billion operations", "", -1),
    "transactions_spread": (
        "tps spread",
        "Spread of one-second throughput, over its mean",
        "",
        -1,
    ),
    "transactions_per_s_p5": ("tps p5", "Slowest 20th of the seconds", "transactions/s", 1),
    "transactions_per_s_min": ("tps min", "Slowest second", "transactions/s", 1),
    "outage_s": ("outage s", "Longest time without a commit", "s", -1),
    "failover_s": ("failover s", "Time from a fault to the first commit after it", "s", -1),
    "promotion_s": ("promotion s", "Time from a fault until another node took over", "s", -1),
    "quorum_lost_s": ("quorum lost s", "Longest time of a node without a quorum", "s", -1),
    "transactions_per_s_before": (
        "tps before",
        "Throughput before the first fault",
        "transactions/s",
        1,
    ),
    "brownout_s": ("brown-out s", "Time below 80 % of the throughput before", "s", -1),
    "sql_s": ("statement s", "Time that a statement or a program of a fault took", "s", -1),
    "stalled_share": ("stalled", "Share of the time in stalls", "", -1),
    "stalls_per_min": ("stalls/min", "Stalls a minute", "stalls/min", -1),
    "audit.acknowledged": ("acknowledged", "Transactions acknowledged", "transactions", 0),
    "audit.lost": ("lost", "Acknowledged transactions lost", "transactions", -1),
    "audit.resurrected": ("resurrected", "Failed attempts present", "attempts", -1),
    "audit.duplicated": ("duplicated", "Transactions present more than once", "transactions", -1),
    "audit.diverged": ("diverged", "Attempts on some nodes only", "attempts", -1),
    "audit.unknown": ("unknown", "Attempts with an unknown outcome", "attempts", -1),
    "rto_s": ("RTO s", "Recovery time of a restored server", "s", -1),
    "rpo_s": ("RPO s", "Time whose commits are lost", "s", -1),
    "backup_s": ("backup s", "Time of a backup", "s", -1),
    "backup_age_s": ("backup age s", "Age of the backup when the server was lost", "s", 0),
    "backup_bytes": ("backup bytes", "Size of the backup", "bytes", -1),
    "routing.statements": ("statements", "Statements sent to the router", "statements", 0),
    "routing.misrouted": ("misrouted", "Statements at a wrong node", "statements", -1),
    "routing.wrong_results": ("wrong results", "Statements with a wrong result", "statements", -1),
    "routing.unseen": ("unseen", "Statements that no node logged", "statements", -1),
    "routing.stale_reads": ("stale reads", "Reads without the session's own change", "reads", -1),
    "routing.stale_ms_max": ("stale ms", "Longest time without its own change", "ms", -1),
    "audit.judged": ("judged", "Operations judged", "operations", 0),
    "audit.violations": ("violations", "Anomalies that are not permitted", "", -1),
    "audit.not_linearizable": ("not linearizable", "Registers not linearizable", "registers", -1),
    "audit.stale_reads": ("stale reads", "Stale reads", "reads", -1),
    "audit.stale_read_max_s": ("staleness s", "Greatest age of a stale read", "s", -1),
    "audit.own_write_misses": ("own writes missed", "Own writes missed", "reads", -1),
    "audit.dirty_reads": ("dirty reads", "Reads of what was rolled back", "reads", -1),
    "audit.unwritten_reads": ("unwritten reads", "Reads of unwritten values", "reads", -1),
    "audit.g0": ("G0", "Contradicting write orders", "writes", -1),
    "audit.intermediate_reads": ("intermediate reads", "Intermediate reads", "reads", -1),
    "audit.circular_information": ("G1c", "Transactions that read each other", "transactions", -1),
    "audit.lost_update": ("lost updates", "Lost updates", "transactions", -1),
    "audit.read_skew": ("read skew", "Reads with skew", "reads", -1),
    "audit.write_skew": ("write skew", "Reads in write skew", "reads", -1),
    "audit.incompatible_orders": ("incompatible orders", "Incompatible orders", "reads", -1),
    "audit.lost_reads": ("lost reads", "Reads of what was lost", "reads", -1),
    "audit.wrong_sums": ("wrong sums", "Reads of a wrong sum", "reads", -1),
    "audit.negative": ("negative", "Reads of a negative balance", "reads", -1),
    "server_cpu_us_per_op": ("server CPU µs/op", "Server CPU per operation", "µs", -1),
    "generator_cpu_us_per_op": ("generator CPU µs/op", "Generator CPU per operation", "µs", -1),
    "tool.new_orders_per_min": ("NOPM", "New orders", "new orders/min", 1),
    "tool.bytes_per_s": ("bytes/s", "Bandwidth", "bytes/s", 1),
}

# Columns of the table of cells, in this order, where measured.
TABLE = (
    "transactions_per_s",
    "operations_per_s",
    "due_per_s",
    "rate_max_per_s",
    "response_ms_p50",
    "response_ms_p95",
    "response_ms_p99",
    "service_ms_p50",
    "service_ms_p95",
    "service_ms_p99",
    "cost_per_billion_transactions",
    "cost_per_billion_operations",
    "backlog_max",
    "errors_per_s",
    "server_cpu_us_per_op",
    "generator_cpu_us_per_op",
    "tool.new_orders_per_min",
    "tool.bytes_per_s",
)


# Known, but not charted: redundant metrics, or those that matter only with a warning.
UNCHARTED = frozenset(
    {
        "due_per_s",
        "backlog_end",
        "left",
        "drain_s",
        "dispatch_lag_us_p99",
        "probes",
        "rows_per_s",
        "failed_per_s",
        "refused_commits_per_s",
        "failed_share",
        "unfinished_growth",
        "transactions_per_s_min",
        "stalls_per_min",
        # Of these, sections tell.
        *(name for name in KNOWN if name.startswith(("audit.", "routing."))),
    }
)


def base_name(name: str, groups: Iterable[str]) -> tuple[str, str]:
    """Splits a canonical name into its group (or "") and the rest."""
    head, dot, rest = name.partition(".")
    if dot and head in groups and rest in KNOWN:
        return head, rest
    return "", name


def describe(name: str, groups: Iterable[str] = ()) -> Metric:
    """The words for a canonical metric name."""
    group, base = base_name(name, groups)
    if base in KNOWN:
        return Metric(name, group, *KNOWN[base])
    label = sampled.label(base)
    return Metric(name, "", label, label, sampled.unit(base), 0)


def groups_of(plan: Plan) -> tuple[str, ...]:
    """Names of the groups, in the order of the first cell that has each."""
    seen: dict[str, None] = {}
    for cell in plan.cells:
        for group in cell.groups:
            seen[group.name] = None
    return tuple(seen)


def order(names: Iterable[str], groups: Iterable[str], first: str = "") -> list[str]:
    """Canonical order: the headline, then group metrics as in KNOWN, then the rest by name."""
    rank = {base: i for i, base in enumerate(KNOWN)}
    group_rank = {group: i for i, group in enumerate(groups)}

    def key(name: str) -> tuple[int, int, int, str]:
        group, base = base_name(name, group_rank)
        known = rank.get(base, len(rank))
        return (name != first, known, group_rank.get(group, 0), name)

    return sorted(set(names), key=key)
