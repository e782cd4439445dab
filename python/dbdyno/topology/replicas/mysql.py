"""A primary and replicas of MySQL, by global transaction ids.

Sources: MySQL's reference manual on CHANGE REPLICATION SOURCE TO, "Replication with Global
Transaction Identifiers", "Semisynchronous Replication" and `auto.cnf`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdyno.experiment.types import REPLICAS, Node
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
from dbdyno.wording.plurals import count

WANTED = {
    **mysqlfamily.LOG,
    "gtid_mode": "ON",
    "enforce_gtid_consistency": "ON",
    "log_replica_updates": "ON",
}
WAITS_FOR = "rpl_semi_sync_source_wait_for_replica_count"
SIDES = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_replica_enabled")
PLUGINS = "semisync_source.so;semisync_replica.so"
NOTE = "each node starts on a copy of the loaded data; replicas follow by GTID and are read-only"
WAITING_NOTE = "; a commit waits until replicas have received it, or rpl_semi_sync_source_timeout"
FORGET = "RESET BINARY LOGS AND GTIDS"


class MysqlReplicas(Wiring):
    """See the module."""

    topology = REPLICAS
    kind = "mysql"

    def __init__(self) -> None:
        self.succession = Gtids()

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        assert target.topology is not None
        refuse(target, mysqlfamily.OWN)
        waits = target.topology.wait_for_replicas
        wanted = {**WANTED, **mysqlfamily.durable_log(target)}
        if waits:
            wanted[WAITS_FOR] = str(waits)
        note = NOTE + (WAITING_NOTE if waits else "")
        return with_word(target, mysqlfamily.logged(resolved), wanted, note)

    def prepare(self, members: Members, node: Node, directory: Path) -> None:
        without_identity(directory)

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        settings = {"server_id": str(members.number(node)), "report_host": LOOPBACK}
        if sides := mysqlfamily.waiting(members, node, *SIDES):
            settings |= {**plugins(members, PLUGINS), **sides}
        return NodeOptions(settings)

    def wire(self, members: Members, node: Node) -> None:
        server = members.server(node)
        server.rows(FORGET)  # the loaded data may come from a server with a log
        if node == members.nodes[0]:
            return
        _follow(members, server)

    def rewire(self, members: Members, node: Node) -> None:
        server = members.server(node)
        if server.replica_status():
            server.rows("SET GLOBAL super_read_only = ON")

    def lacking(self, members: Members) -> str:
        said = mysqlfamily.lacking(members)
        return said or mysqlfamily.confirming(members, "Rpl_semi_sync_source_clients")

    def role(self, server: Any) -> str:
        return mysqlfamily.role(server)


def _follow(members: Members, server: Any) -> None:
    """Has a server replicate from the present leader what it has not."""
    server.rows(
        f"CHANGE REPLICATION SOURCE TO source_host = '{LOOPBACK}', "
        f"source_port = {members.primary.port}, source_user = '{USER}', "
        f"source_password = '{members.password}', get_source_public_key = 1, "
        f"source_connect_retry = {mysqlfamily.RETRY_S}, source_retry_count = 0, "
        "source_auto_position = 1"
    )
    server.rows("START REPLICA")
    server.rows("SET GLOBAL super_read_only = ON")


class Gtids(mysqlfamily.MysqlSuccession):
    """By sets of global transaction ids."""

    sides = SIDES
    committed = "SELECT @@GLOBAL.gtid_executed"
    wait = "SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', {})"

    def position_of(self, members: Members, node: Node, backup: Path) -> None:
        return  # a clone holds the set of its transactions

    def seeded(self, members: Members, node: Node, directory: Path) -> None:
        without_identity(directory)

    def position(self, server: Any) -> Position:
        server.look("SELECT 1", LOOK_TIMEOUT_S)  # the status has no such limit
        status = server.replica_status()
        received = str(status[0].get("Retrieved_Gtid_Set") or "") if status else ""
        missing = f"GTID_SUBTRACT('{_one_line(received)}', @@GLOBAL.gtid_executed)"
        [[applied, left]] = server.look(f"SELECT @@GLOBAL.gtid_executed, {missing}", LOOK_TIMEOUT_S)
        number = transactions(str(applied)) + transactions(str(left))
        return Position(number, not str(left).strip(), count(number, "transaction"))

    def promote(self, members: Members, node: Node) -> None:
        server = members.server(node)
        server.rows("STOP REPLICA")
        server.rows("RESET REPLICA ALL")
        if members.waits:
            mysqlfamily.switch_sides(server, *SIDES)
        server.rows("SET GLOBAL super_read_only = OFF")
        server.rows("SET GLOBAL read_only = OFF")

    def follow(self, members: Members, node: Node) -> str:
        server = members.server(node)
        server.rows("STOP REPLICA")
        errant = ""
        if node.name in members.deposed:
            [[theirs]] = members.primary.rows("SELECT @@GLOBAL.gtid_executed")
            sql = f"SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, '{_one_line(str(theirs))}')"
            [[only]] = server.rows(sql)
            if errants := transactions(str(only)):
                errant = f", with {count(errants, 'transaction')} that the new primary has not"
        _follow(members, server)
        return mysqlfamily.following(server, members.leader.name) + errant


def transactions(gtids: str) -> int:
    """The number of transactions in a set such as `3E11FA47-...:1-5:7,...:1-3`."""
    found = 0
    for one in filter(None, (each.strip() for each in gtids.split(","))):
        for interval in one.split(":")[1:]:
            first, _, last = interval.partition("-")
            if first.isdigit():  # else a tag
                found += int(last or first) - int(first) + 1
    return found


def _one_line(gtids: str) -> str:
    return gtids.replace("\n", "")


def without_identity(directory: Path) -> None:
    """Has a copied server draw an identity of its own."""
    (directory / "data" / "auto.cnf").unlink(missing_ok=True)


def plugins(members: Members, names: str) -> dict[str, str]:
    """The plugins that a topology needs, besides those that the user loads."""
    written = members.resolved.settings.get("plugin_load_add", "")
    return {"plugin_load_add": f"{written};{names}" if written else names}


WIRING = MysqlReplicas()
