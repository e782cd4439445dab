"""What is asked of replication: its status, without the texts of errors, which hold statements;
and, of replicas that are read together with their source, the GTIDs with which binary logs begin.

`SHOW BINLOG EVENTS ... LIMIT` reads the first events of a file: MySQL's Previous_gtids and
MariaDB's Gtid_list. No other event is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dbdyno.facts.servers.query import Query

KEPT = (
    *("source_host", "source_port", "source_server_uuid", "source_server_id", "auto_position"),
    *("replica_io_running", "replica_sql_running", "seconds_behind_source", "last_io_errno"),
    *("last_sql_errno", "channel_name", "connection_name", "using_gtid", "source_ssl_allowed"),
)
QUERIES = (
    Query("replicas", "SHOW REPLICA STATUS", ("mysql >=8.0.22",)),
    Query("replicas", "SHOW SLAVE STATUS", ("mysql <8.0.22",)),
    Query("replicas", "SHOW ALL SLAVES STATUS", ("mariadb",)),
)
LATE = {"mysql": ("gtid_executed",), "mariadb": ("gtid_binlog_state", "gtid_slave_pos")}
LOGS, HEADER = "SHOW BINARY LOGS", "SHOW BINLOG EVENTS IN '{}' LIMIT 4"
LOGS_MAX = 100  # the last ones
_HEADS = ("Previous_gtids", "Gtid_list")


def kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the status by today's names, without its texts."""
    renamed = {
        name.replace("master", "source").replace("slave", "replica"): value
        for name, value in row.items()
    }
    if "source_uuid" in renamed:
        renamed["source_server_uuid"] = renamed["source_uuid"]
    return {name: renamed[name] for name in KEPT if name in renamed}


def headers(rows: Callable[[str], Any], records: Callable[[str], Any]) -> Iterator[dict[str, str]]:
    """`log_name`, and `before`: what was executed before its first transaction."""
    for log in [str(row[0]) for row in rows(LOGS)][-LOGS_MAX:]:
        for event in records(HEADER.format(log)):
            if event["Event_type"] in _HEADS:
                yield {"log_name": log, "before": " ".join(str(event["Info"]).split())}
