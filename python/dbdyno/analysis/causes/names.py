"""What kind of thing a sampled metric is, by its name."""

from __future__ import annotations

import re

# Levels among what servers count; all else of `status` is a change a second.
_LEVEL = re.compile(
    r"current|pending|size|length|pages_(data|dirty|free|misc|total|latched|old)|bytes_(data|dirty)"
    r"|_lsn|lsn_|_age$|_time_(avg|max)$|uptime|history|waiters?$|\.waiting$|percent|ratio|cached$|running"
    r"|connected|numbackends|(^|[._])open_|_blocks(_|$)|free_|memory|binlog_(file|snapshot)|max_used"
    r"|prepared_stmt_count|ssl_|acl_|last_query|page_size|_wait_time$",
    re.IGNORECASE,
)
_RATE = re.compile(r"_per_s$|_cores$")

# What says nothing about a cause: dbdyno's own queries, clocks, and the other side of something
# else.
_DULL = re.compile(
    r"com_show|uptime|ssl_|acl_|cpu\.idle$|sessions\.(running|connecting)|steal_percent|max_used"
    r"|_time_(avg|max)$|threads_(connected|cached|created)|connections$|com_set_option|master_thread"
    r"|background_log_sync|generator\.|last_query|feature_|performance_schema|queries$|questions$"
    r"|show_processlist|opened_files|bytes_(sent|received)$|max_trx|lsn_|binlog_snapshot|one_minute"
    r"|cached_bytes|anonymous|available_bytes|rss_bytes|processes$|page_size|query_time|memory_used",
    re.IGNORECASE,
)


def family(metric: str) -> str:
    """`db.host.cpu.user` -> `cpu`; a session state keeps `sessions` whatever it is called."""
    if ".sessions." in f".{metric}":
        return "sessions"
    if ".status." in f".{metric}":
        return "status"
    return metric.split(".")[-2] if "." in metric else metric


def is_rate(metric: str) -> bool:
    """Whether it is an amount per second, and so can be given per operation; else it is a level or
    a share."""
    if family(metric) == "status":
        return not _LEVEL.search(metric.partition("status.")[2])
    return bool(_RATE.search(metric))


def per_operation(metric: str) -> bool:
    """Whether sides with different throughput are compared by it per operation: what the server
    counts. A device is filled by what it does a second, useful or not."""
    return family(metric) == "status" and is_rate(metric)


def least(metric: str) -> float:
    """The smallest difference that can matter to throughput: a share of CPU, a request a second."""
    if family(metric) in ("cpu", "pressure") or metric.endswith((".util", ".busy")):
        return 0.05
    if metric.endswith("_bytes_per_s"):
        return 1e6
    if metric.endswith("_bytes"):
        return 16e6
    if metric.endswith("_await_ms"):
        return 1.0
    # Of packets a few are lost on any machine by chance.
    return {"disk": 20.0, "paging": 20.0, "network": 5.0}.get(family(metric), 0.0)


def is_dull(metric: str) -> bool:
    """Whether it can be no suspect."""
    return bool(_DULL.search(metric))
