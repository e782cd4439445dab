"""A primary and replicas of MariaDB, by global transaction ids.

Sources: the MariaDB knowledge base on CHANGE MASTER TO, "Global Transaction ID" and
"Semisynchronous Replication".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdyno.experiment.types import REPLICAS, Node
from dbdyno.systems.backups.mysqlfamily import mariabackup
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.mysql.managed import USER
from dbdyno.systems.process.managed import NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology.base import (
    LOOK_TIMEOUT_S,
    Members,
    Position,
    Wiring,
    refuse,
    with_word,
)
from dbdyno.topology.replicas import mysqlfamily

WANTED = {**mysqlfamily.LOG, "log_slave_updates": "ON", "gtid_strict_mode": "ON"}
# As in MySQL, no session sees a commit before a replica has it. MariaDB's default: AFTER_COMMIT.
WAITING = {"rpl_semi_sync_master_wait_point": "AFTER_SYNC"}
SIDES = ("rpl_semi_sync_master_enabled", "rpl_semi_sync_slave_enabled")
NOTE = "each node starts on a copy of the loaded data; replicas follow by GTID and are read-only"
WAITING_NOTE = "; a commit waits until a replica has received it, or rpl_semi_sync_master_timeout"


class MariadbReplicas(Wiring):
    """See the module."""

    topology = REPLICAS
    kind = "mariadb"

    def __init__(self) -> None:
        self.succession = MariadbSuccession()

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        assert target.topology is not None
        refuse(target, mysqlfamily.OWN)
        waits = target.topology.wait_for_replicas
        wanted = {**WANTED, **mysqlfamily.durable_log(target), **(WAITING if waits else {})}
        note = NOTE + (WAITING_NOTE if waits else "")
        return with_word(target, mysqlfamily.logged(resolved), wanted, note)

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        sides = mysqlfamily.waiting(members, node, *SIDES)
        return NodeOptions({"server_id": str(members.number(node)), **sides})

    def wire(self, members: Members, node: Node) -> None:
        server = members.server(node)
        server.rows("RESET MASTER")  # the loaded data may come from a server with a log
        if node == members.nodes[0]:
            return
        server.rows("SET GLOBAL gtid_slave_pos = ''")
        _follow(members, server)

    def rewire(self, members: Members, node: Node) -> None:
        server = members.server(node)
        if server.replica_status():
            server.rows("SET GLOBAL read_only = ON")

    def lacking(self, members: Members) -> str:
        said = mysqlfamily.lacking(members)
        return said or mysqlfamily.confirming(members, "Rpl_semi_sync_master_clients")

    def role(self, server: Any) -> str:
        return mysqlfamily.role(server)


def _follow(members: Members, server: Any) -> None:
    """Has a server replicate from the present leader, from its own position on."""
    server.rows(
        f"CHANGE MASTER TO master_host = '{LOOPBACK}', master_port = {members.primary.port}, "
        f"master_user = '{USER}', master_password = '{members.password}', "
        f"master_connect_retry = {mysqlfamily.RETRY_S}, master_ssl = 0, "
        "master_ssl_verify_server_cert = 0, master_use_gtid = slave_pos"
    )
    server.rows("START SLAVE")
    server.rows("SET GLOBAL read_only = ON")


class MariadbSuccession(mysqlfamily.MysqlSuccession):
    """By global transaction ids: domain, server, number. The numbers of a domain grow."""

    sides = SIDES
    committed = "SELECT @@GLOBAL.gtid_binlog_pos"
    wait = "SELECT MASTER_GTID_WAIT('{}', {})"

    def position_of(self, members: Members, node: Node, backup: Path) -> None:
        members.server(node).rows(f"SET GLOBAL gtid_slave_pos = '{mariabackup.gtid(backup)}'")

    def position(self, server: Any) -> Position:
        [[applied]] = server.look("SELECT @@GLOBAL.gtid_slave_pos", LOOK_TIMEOUT_S)
        status = server.replica_status()
        received = str(status[0].get("Gtid_IO_Pos") or "") if status else ""
        done, had = _number(str(applied)), _number(received)
        return Position(max(done, had), done >= had, f"GTID {received or applied}")

    def promote(self, members: Members, node: Node) -> None:
        server = members.server(node)
        server.rows("STOP SLAVE")
        server.rows("RESET SLAVE ALL")
        if members.waits:
            mysqlfamily.switch_sides(server, *SIDES)
        server.rows("SET GLOBAL read_only = OFF")

    def follow(self, members: Members, node: Node) -> str:
        server = members.server(node)
        server.rows("STOP SLAVE")
        if node.name in members.deposed:
            # A primary's position is that of its own log.
            server.rows("SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_current_pos")
        _follow(members, server)
        return mysqlfamily.following(server, members.leader.name)


def _number(position: str) -> int:
    """The transactions up to a position, such as `0-1-270`; 0 if it is empty."""
    return sum(int(each.rpartition("-")[2]) for each in position.split(",") if each.strip())


WIRING = MariadbReplicas()
