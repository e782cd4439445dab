"""The metrics that dbdyno knows: name, short form, unit, direction and synonyms; open families."""

from __future__ import annotations

from dataclasses import dataclass

HIGHER = "higher"
LOWER = "lower"
NEITHER = ""

ANY, OPEN, SEARCH, BLOCKS, FAULTED, AUDIT = "", "open", "search", "blocks", "faulted", "audit"
PIPELINED, ROUTED, RESTORED = "pipelined", "routed", "restored"


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
    # Groups that have it: ANY, OPEN (`rate` or `find`), SEARCH (`find`), BLOCKS, PIPELINED
    # (`pipeline`), those of a cell with faults (FAULTED), with a `restore` among them (RESTORED),
    # with `audit` (AUDIT), or with a router that is examined (ROUTED).
    loop: str = ANY


def _service(quantile: str, about: str, *aliases: str) -> Metric:
    return Metric(
        f"service_ms_{quantile}",
        f"{quantile} ms",
        "ms",
        LOWER,
        about,
        (
            *(quantile, f"{quantile}_ms", f"{quantile} ms"),
            *(f"latency_{quantile}", f"latency_{quantile}_ms", *aliases),
        ),
    )


def _response(quantile: str, about: str, *aliases: str) -> Metric:
    return Metric(
        f"response_ms_{quantile}",
        f"response {quantile} ms",
        "ms",
        LOWER,
        about,
        (f"response_{quantile}", f"response_{quantile} ms", *aliases),
        loop=OPEN,
    )


METRICS: tuple[Metric, ...] = (
    Metric(
        *("transactions_per_s", "tps", "1/s", HIGHER, "committed transactions a second"),
        ("tps", "throughput"),
    ),
    Metric(
        "operations_per_s", "qps", "1/s", HIGHER, "statements of committed transactions", ("qps",)
    ),
    _service("p50", "half of the transactions took at most this", "median"),
    _service("p95", "95 % of the transactions took at most this"),
    _service("p99", "99 % of the transactions took at most this"),
    _service("p999", "99.9 % of the transactions took at most this", "p99.9", "p99.9 ms"),
    _service("mean", "arithmetic mean of the transactions' service times"),
    Metric(
        "write_ms_mean",
        "writes mean ms",
        "ms",
        LOWER,
        "arithmetic mean of the service times of its statements that change data (workload `mix`)",
        ("write_mean",),
    ),
    _response("p50", "half of the arrivals were answered within this of being due"),
    _response("p95", "95 % of the arrivals were answered within this of being due"),
    _response("p99", "99 % of the arrivals were answered within this of being due"),
    _response("p999", "99.9 % were answered within this of being due", "response_p99.9"),
    _response("mean", "arithmetic mean of the times from due time to the answer"),
    Metric("due_per_s", "due/s", "1/s", NEITHER, "arrivals that were due", ("due",), loop=OPEN),
    Metric(
        "backlog_max",
        "backlog max",
        "",
        LOWER,
        "most arrivals that were due and not begun, sampled ten times a second",
        ("backlog",),
        loop=OPEN,
    ),
    Metric(
        "backlog_end",
        "backlog end",
        "",
        LOWER,
        "arrivals due and not begun when the measured time ended",
        loop=OPEN,
    ),
    Metric(
        "drain_s",
        "drain s",
        "s",
        LOWER,
        "how long that backlog took to be worked off, at most `drain`",
        ("drain",),
        loop=OPEN,
    ),
    Metric(
        "unfinished_growth",
        "unfinished growth",
        "",
        LOWER,
        "by how many arrivals those due and not finished grew, from the least of the first fifth of"
        " the measured time to the least of the last; says whether the rate was sustained",
        loop=OPEN,
    ),
    Metric(
        "failed_share",
        "failed",
        "",
        LOWER,
        "share of the arrivals that were given up: refused without a retry left, at their deadline,"
        " or with a lost connection",
        loop=OPEN,
    ),
    Metric("left", "left", "", LOWER, "arrivals not finished when the drain was over", loop=OPEN),
    Metric(
        "dispatch_lag_us_p99",
        "dispatch lag us",
        "us",
        LOWER,
        "how late the generator itself began arrivals that found a free session",
        ("dispatch_lag",),
        loop=OPEN,
    ),
    Metric(
        "rate_max_per_s",
        "max rate/s",
        "1/s",
        HIGHER,
        "committed transactions a second at the highest rate that meets the conditions of `find`",
        ("rate_max", "max_rate"),
        loop=SEARCH,
    ),
    Metric("probes", "probes", "", NEITHER, "runs that a search took", loop=SEARCH),
    Metric(
        "mib_per_s",
        "MiB/s",
        "1/s",
        HIGHER,
        "MiB a second that committed transactions of blocks moved (workload `io`)",
        loop=BLOCKS,
    ),
    Metric(
        "operations_per_write",
        "op/write",
        "",
        NEITHER,
        "mean number of operations that sessions sent in one write (`pipeline` above 1)",
        loop=PIPELINED,
    ),
    Metric("rows_per_s", "rows/s", "1/s", HIGHER, "rows returned by the server", ("rows",)),
    Metric("errors_per_s", "err/s", "1/s", LOWER, "failed attempts, retried or not", ("errors",)),
    Metric(
        "refused_commits_per_s",
        "commits refused/s",
        "1/s",
        LOWER,
        "failed attempts whose COMMIT was refused: in a Galera cluster those that failed"
        " certification, or had lost a row before they asked; none of single statements, which"
        " commit themselves",
        ("refused_commits",),
    ),
    Metric("retries_per_s", "retries/s", "1/s", LOWER, "attempts repeated", ("retries",)),
    Metric("failed_per_s", "failed/s", "1/s", LOWER, "transactions given up", ("failed",)),
    Metric(
        "transactions_spread",
        "tps spread",
        "",
        LOWER,
        "standard deviation of one-second throughput over its mean; from 5 s on",
        ("tps_spread",),
    ),
    Metric(
        "transactions_per_s_p5",
        "tps p5",
        "1/s",
        HIGHER,
        "throughput of the slowest 20th of the seconds; from 20 s on",
        ("tps_p5",),
    ),
    Metric(
        "transactions_per_s_min",
        "tps min",
        "1/s",
        HIGHER,
        "throughput of the slowest second; from 5 s on",
        ("tps_min",),
    ),
    Metric(
        "outage_s",
        "outage s",
        "s",
        LOWER,
        "longest time without a commit, to within 0.1 s; the least is one in each 100 ms",
        ("outage",),
    ),
    Metric(
        "failover_s",
        "failover s",
        "s",
        LOWER,
        "longest time from the begin of a fault to the first commit after the outage that it caused"
        " (0.3 s or more without a commit, begun within a second), to within 0.1 s; absent where"
        " there was none",
        ("failover",),
        loop=FAULTED,
    ),
    Metric(
        "promotion_s",
        "promotion s",
        "s",
        LOWER,
        "longest time from the begin of a fault until another node had taken over, as"
        " `roles.ndjson` says; absent where none did",
        ("promotion",),
        loop=FAULTED,
    ),
    Metric(
        "quorum_lost_s",
        "quorum lost s",
        "s",
        LOWER,
        "longest time that a node of a Galera cluster or of a group was without a quorum, to within"
        " 0.25 s, as `roles.ndjson` says; absent where none was",
        ("quorum_lost",),
        loop=FAULTED,
    ),
    Metric(
        "transactions_per_s_before",
        "tps before",
        "1/s",
        HIGHER,
        "throughput until the first fault; absent if that came within the first second",
        ("tps_before",),
        loop=FAULTED,
    ),
    Metric(
        "brownout_s",
        "brown-out s",
        "s",
        LOWER,
        "whole seconds after the first fault with less than 80 % of the median second before it,"
        " the outage included; absent if the fault came within the first second",
        ("brownout",),
        loop=FAULTED,
    ),
    Metric(
        "sql_s",
        "sql s",
        "s",
        LOWER,
        "longest time that the statement of a fault `sql` took, or the program of a fault `alter`;"
        " absent where none ended",
        per_group=False,
        loop=FAULTED,
    ),
    Metric(
        "stalled_share",
        "stalled",
        "",
        LOWER,
        "share of the time in stalls: half a second or more of far fewer commits than usual; not"
        " where commits are so few that a full stop of a second could be chance",
        ("stalled",),
        per_group=False,
    ),
    Metric(
        "stalls_per_min",
        "stalls/min",
        "1/min",
        LOWER,
        "stalls a minute, of all groups together; where `stalled_share` is",
        ("stalls",),
        per_group=False,
    ),
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

_ALSO = {"lost": ("rpo",)}  # what was lost of acknowledged transactions is a recovery point

METRICS += tuple(
    Metric(f"audit.{name}", name, "", direction, about, _ALSO.get(name, ()), False, AUDIT)
    for name, direction, about in (
        ("acknowledged", NEITHER, "transactions that write whose COMMIT the server confirmed"),
        ("judged", NEITHER, "operations (append, bank: transactions) whose history was checked"),
        (
            "violations",
            LOWER,
            "what was found in a history that isolation level, topology and routes do not permit;"
            " register: keys that are not linearizable, or, where stale reads are permitted, other"
            " reads and updates that nothing permits",
        ),
        ("lost", LOWER, "transactions that were acknowledged, and are absent after the trial"),
        ("resurrected", LOWER, "attempts that failed for their client, and are there"),
        ("duplicated", LOWER, "transactions of which more than one attempt is there"),
        (
            "diverged",
            LOWER,
            "attempts (lists, accounts) that are not the same on all nodes of the same data",
        ),
        ("unknown", LOWER, "attempts whose COMMIT was sent and not answered; never called lost"),
        ("not_linearizable", LOWER, "registers whose history no single copy could have"),
        ("stale_reads", LOWER, "reads of a value that had been replaced before they began"),
        ("stale_read_max_s", LOWER, "longest time for which a value that was read had been old, s"),
        ("own_write_misses", LOWER, "stale reads of what the reading session had replaced itself"),
        ("dirty_reads", LOWER, "reads of values that were rolled back (G1a)"),
        ("unwritten_reads", LOWER, "reads of values that no session wrote"),
        ("g0", LOWER, "write orders that contradict each other (dirty writes)"),
        ("intermediate_reads", LOWER, "reads of what a transaction wrote before its end (G1b)"),
        ("circular_information", LOWER, "transactions that have read each other (G1c)"),
        ("lost_update", LOWER, "transactions that wrote what another had changed since they read"),
        ("read_skew", LOWER, "reads of two states of the data in a transaction (G-single)"),
        (
            "write_skew",
            LOWER,
            "reads in cycles of transactions that each read before the next one wrote (G2-item)",
        ),
        ("incompatible_orders", LOWER, "reads of a list that is no beginning of the final one"),
        (
            "lost_reads",
            LOWER,
            "reads of acknowledged appends that are absent after the trial; what lost them is"
            " counted in `audit.lost`",
        ),
        ("wrong_sums", LOWER, "reads of all accounts that found another sum"),
        ("negative", LOWER, "reads of all accounts that found a negative balance"),
    )
)

METRICS += tuple(
    Metric(name, short, unit, direction, about, aliases, per_group=False, loop=RESTORED)
    for name, short, unit, direction, about, aliases in (
        (
            *("rto_s", "RTO s", "s", LOWER),
            "recovery time of a `restore`: from the loss of the server until clients may come back",
            ("rto",),
        ),
        (
            *("rpo_s", "RPO s", "s", LOWER),
            "from the first acknowledged commit that is lost to the loss of the server, with"
            " `audit: commits`; 0 where none is lost. Their number is `audit.lost`",
            (),
        ),
        ("backup_s", "backup s", "s", LOWER, "time that a `backup` in mid-load took", ()),
        (
            *("backup_age_s", "backup age s", "s", NEITHER),
            "age of the data of the backup when the server was lost",
            (),
        ),
        ("backup_bytes", "backup bytes", "", LOWER, "size of the backup", ()),
    )
)

METRICS += tuple(
    Metric(f"routing.{name}", short, unit, direction, about, per_group=False, loop=ROUTED)
    for name, short, unit, direction, about in (
        (
            *("statements", "statements", "", NEITHER),
            "statements that were sent through the router to see which node runs them",
        ),
        (
            *("misrouted", "misrouted", "", LOWER),
            "of these, the ones that ran at a standby and must not: writes, locks, and reads in a"
            " transaction that has written",
        ),
        (
            *("wrong_results", "wrong results", "", LOWER),
            "of these, the ones with another result than a session of the server itself has: what"
            " the session had set, prepared, created or locked was absent",
        ),
        (
            *("unseen", "unseen", "", LOWER),
            "of these, the ones that no node has logged; where one must run at the primary,"
            " `routing.misrouted` is absent unless others were misrouted",
        ),
        (
            *("stale_reads", "stale reads", "", LOWER),
            "reads without a change that the same session had committed before, of 20",
        ),
        (
            *("stale_ms_max", "stale ms", "ms", LOWER),
            "the longest time after a commit at which such a read still began; 0: there was none",
        ),
    )
)

STEP_FAMILY = "step_s"  # of a drill, by its steps: `step_s.restore.replay`
_COMMITS, _REGISTER, _APPEND, _BANK = "commits", "register", "append", "bank"
_HISTORIES = (_REGISTER, _APPEND, _BANK)
# Which audits measure a metric; the others only that of commits.
_AUDITS = {
    **dict.fromkeys(("judged", "violations"), _HISTORIES),
    **dict.fromkeys(
        ("not_linearizable", "stale_reads", "stale_read_max_s", "own_write_misses"), (_REGISTER,)
    ),
    "unwritten_reads": (_REGISTER,),
    "dirty_reads": (_REGISTER, _APPEND),
    "lost_update": (_REGISTER, _APPEND),
    **dict.fromkeys(("g0", "intermediate_reads", "circular_information"), (_APPEND,)),
    **dict.fromkeys(("read_skew", "write_skew", "incompatible_orders"), (_APPEND,)),
    "lost_reads": (_APPEND,),
    **dict.fromkeys(("wrong_sums", "negative"), (_BANK,)),
    "unknown": (_COMMITS, *_HISTORIES),
    "lost": (_COMMITS, _APPEND),
    "resurrected": (_COMMITS, _APPEND),
    "diverged": (_COMMITS, _APPEND, _BANK),
}


def audits_with(metric: str) -> tuple[str, ...]:
    """The audits that measure a metric of the family `audit`."""
    return _AUDITS.get(metric.removeprefix("audit."), (_COMMITS,))


TOOL_FAMILY = "tool"  # what another tool reported under its own name, in imported runs
KIND_FAMILY = "kind"  # of a group, by kind of transaction: `kind.new_order.per_min`
CLASS_FAMILY = "class"  # of a group, by statement class: `class.find_user.service_ms_mean`
MACHINE_FAMILIES = (
    *("cpu", "memory", "disk", "network", "paging", "load", "pressure"),
    *("generator", STEP_FAMILY, TOOL_FAMILY, KIND_FAMILY, CLASS_FAMILY),
)
TARGET_FAMILIES = ("status", "server", "state", "files", "sessions", "host", "replica_lag_s")
FAMILIES = (*TARGET_FAMILIES, *MACHINE_FAMILIES)
