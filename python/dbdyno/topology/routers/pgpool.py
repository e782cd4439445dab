"""pgpool-II in streaming replication mode: it parses each statement, sends reads to standbys and
all else to the primary, finds out by itself when a node is lost, and asks the others which of them
takes writes now. It promotes none: that is dbdyno's failover.

Which nodes get reads is not said by weights, which are those of nodes whatever they are by now: a
promoted node would keep its reads, and the one that was the primary would get none as a standby.
database_redirect_preference_list says it by role; without a standby, the primary gets them.

Sources: pgpool-II's documentation, chapters "Server Configuration" (all settings below), "Client
Authentication" (pool_hba.conf, pool_passwd, whose entries may be plain text marked by TEXT) and
SHOW POOL_NODES; `select_load_balancing_node` of 4.3 for what happens without a standby.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.experiment.types import PGPOOL, PRIMARY, Scalar
from dbdyno.hosts.base import Host
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology.routers.base import Ask, Front, Program, RouterKind, found, settings

FILE, HBA, PCP, USERS = "pgpool.conf", "pool_hba.conf", "pcp.conf", "pool_passwd"
PCP_PORT = "pcp"
DATABASE = "postgres"  # for its checks
CHECK_TIMEOUT_S = 5
UP = ("up", "waiting")  # of a node: `waiting` until the first session has used it
# Those of dbdyno's settings that only say how it balances and checks.
FREE = (
    *("load_balance_mode", "max_pool", "delay_threshold", "auto_failback"),
    *("auto_failback_interval", "health_check_timeout", "health_check_max_retries"),
    "database_redirect_preference_list",
)
WEIGHT = "backend_weight"
READS = {"database_redirect_preference_list": ".*:standby"}  # of all databases


class Pgpool(RouterKind):
    """See the module."""

    kind = PGPOOL
    title = "pgpool-II"
    package = "pgpool2"
    about = "streaming replication mode, load balancing on, all reads to what are standbys by then"
    stop_signal = signal.SIGINT  # "fast"; SIGTERM waits for its clients
    more_ports = (PCP_PORT,)

    def find(self, host: Host, account: str) -> Program:
        return found(self, host, account, "pgpool", r"version (\S+)")

    def files(self, front: Front) -> Mapping[str, str]:
        own = {**_own(front), **_nodes(front)}
        weights = [name for name in own if name.startswith(WEIGHT)]
        if not any(name.lower() in weights for name in front.router.config):
            own |= READS  # else the user's weights deal reads
        every = settings(self.title, own, front.router.config, (*FREE, *weights))
        return {
            FILE: "".join(f"{name} = {_text(value)}\n" for name, value in every.items()),
            HBA: f"host all all {LOOPBACK}/32 scram-sha-256\n",
            PCP: "",
            USERS: f"{front.user}:TEXT{front.password}\n",
        }

    def command(self, program: Program, front: Front) -> Sequence[str | Path]:
        directory = front.directory
        files = ("-f", directory / FILE, "-F", directory / PCP, "-a", directory / HBA)
        return [program.path, "-n", "-D", *files]

    def lacking(self, front: Front, ask: Ask) -> str:
        rows = ask("SHOW pool_nodes")
        said = [f"node {row['node_id']} is {row['status']}, {row['role']}" for row in rows]
        primary = [row for row in rows if row["role"] == PRIMARY and row["status"] in UP]
        leads = [str(row["port"]) for row in primary] == [str(front.leading.port)]
        return "" if leads else "; ".join(said)

    def unknown(self, front: Front, ask: Ask) -> Sequence[str]:
        """It starts with a warning; SHOW POOL_STATUS lists what it has."""
        known = {str(row["item"]) for row in ask("SHOW pool_status")}
        return [name for name in front.router.config if name not in known]


def _own(front: Front) -> dict[str, Scalar]:
    router, check_s = front.router, round(front.router.check_s)
    return {
        "backend_clustering_mode": "streaming_replication",
        "listen_addresses": LOOPBACK,
        "port": front.port,
        "unix_socket_directories": str(front.directory),
        "pcp_listen_addresses": "",
        "pcp_port": front.more_ports[PCP_PORT],
        "pcp_socket_dir": str(front.directory),
        "pid_file_name": str(front.directory / "pgpool.pid"),
        "logdir": str(front.directory),
        "log_destination": "stderr",
        "enable_pool_hba": True,
        "pool_passwd": USERS,
        "num_init_children": router.pool_size,
        "max_pool": 1,
        "load_balance_mode": True,
        "sr_check_period": check_s,
        "sr_check_user": front.user,
        "sr_check_database": DATABASE,
        "delay_threshold": 0,
        "health_check_period": check_s,
        "health_check_timeout": CHECK_TIMEOUT_S,
        "health_check_user": front.user,
        "health_check_database": DATABASE,
        "health_check_max_retries": 0,
        "auto_failback": True,
        "auto_failback_interval": check_s,
    }


def _nodes(front: Front) -> dict[str, Scalar]:
    """Its nodes. A standby calls itself in replication as the last setting says."""
    found: dict[str, Scalar] = {}
    for number, each in enumerate(front.backends):
        found[f"backend_hostname{number}"] = LOOPBACK
        found[f"backend_port{number}"] = each.port
        found[f"{WEIGHT}{number}"] = 1
        found[f"backend_flag{number}"] = "ALLOW_TO_FAILOVER"
        found[f"backend_application_name{number}"] = f"node_{each.number}"
    return found


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return str(value)
    escaped = ("" if value is None else value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


ROUTER = Pgpool()
