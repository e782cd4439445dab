"""What replicas of MariaDB and of MySQL have in common: logs, read-only, threads that run."""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pymysql

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA, Node
from dbdyno.systems.base import Resolved, TargetPlan, Word
from dbdyno.topology import planned
from dbdyno.topology.base import LOOK_TIMEOUT_S, Members, Succession

OWN = (
    *("server_id", "log_bin", "skip_log_bin", "disable_log_bin", "log_slave_updates"),
    *("log_replica_updates", "read_only", "super_read_only"),
    *("rpl_semi_sync_master_enabled", "rpl_semi_sync_slave_enabled"),
    *("rpl_semi_sync_source_enabled", "rpl_semi_sync_replica_enabled"),
)
LOG = {"log_bin": "binlog"}
NO_LOG = "skip_log_bin"
RETRY_S = 1  # between two tries to reach the primary
FOLLOW_S = 5.0  # in which a replica reaches its primary, or says why it cannot
POLL_S = 0.05
CLOSE_S = 10  # in which all commits that are under way end
END_S = 5.0  # in which sessions end that were killed
_RUNNING = (
    *("Slave_IO_Running", "Slave_SQL_Running"),
    *("Replica_IO_Running", "Replica_SQL_Running"),
)
_ERRORS = ("Last_IO_Error", "Last_SQL_Error")


def durable_log(target: TargetPlan) -> Mapping[str, str]:
    """What `durability` means for the binary log."""
    if target.durability is None or "sync_binlog" in target.config:
        return {}
    return {"sync_binlog": "1" if target.durability == "full" else "0"}


def logged(resolved: Resolved) -> Resolved:
    """Without what switches the binary log off, except while loading."""
    words = tuple(word for word in resolved.words if not _switches_off(word))
    settings = {k: v for k, v in resolved.settings.items() if k != NO_LOG}
    return Resolved(
        settings=settings,
        session_sql=resolved.session_sql,
        words=words,
        read_only=resolved.read_only,
        load_settings={**resolved.load_settings, NO_LOG: "ON"},
        data_settings=resolved.data_settings,
    )


def _switches_off(word: Word) -> bool:
    return set(word.settings) == {NO_LOG}


def lacking(members: Members) -> str:
    """The state of each replica that does not follow."""
    said = []
    for node in members.followers:
        status = members.server(node).replica_status()
        if not status or not _runs(status[0]):
            why = _why(status)
            said.append(f"{node.name} does not follow" + (f": {why}" if why else ""))
    return "; ".join(said)


def _runs(status: Mapping[str, Any]) -> bool:
    return all(status[name] == "Yes" for name in _RUNNING if name in status)


def _why(status: Iterable[Mapping[str, Any]]) -> str:
    return "; ".join(str(row[name]) for row in status for name in _ERRORS if row.get(name))


def waiting(members: Members, node: Node, source: str, replica: str) -> dict[str, str]:
    """Which side of semi-synchronous replication a node is on. A replica that were on both would
    wait for replicas of its own at each commit that it applies."""
    topology = members.target.topology
    if topology is None or not topology.wait_for_replicas:
        return {}
    return {source if node == members.leader else replica: "ON"}


class MysqlSuccession(Succession):
    """What MariaDB and MySQL have in common."""

    def prepare(self, members: Members, node: Node) -> None:
        return  # it logs what it applies

    def prepare_return(self, members: Members, node: Node, directory: Path) -> None:
        return  # what only it has stays: it shows

    def return_sql(self) -> tuple[str, ...]:
        return ("SET GLOBAL read_only = ON",)

    # ---- planned work

    sides: tuple[str, str]  # settings of semi-synchronous replication: source, replica
    committed: str  # a query: what the leader has committed
    wait: str  # one for a replica, with places for that and for seconds: 0 once it is applied

    @abstractmethod
    def position_of(self, members: Members, node: Node, backup: Path) -> None:
        """Tells a node that was started on a backup where in the leader's log that ends."""

    def close(self, members: Members) -> Callable[[], None]:
        """A global read lock: no commit ends any more. It does not need a server that obeys
        `read_only`, which accounts with all privileges do not."""
        connection = members.primary.connection(CLOSE_S + LOOK_TIMEOUT_S)
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION lock_wait_timeout = {CLOSE_S}")
                cursor.execute("FLUSH TABLES WITH READ LOCK")
        except BaseException:
            connection.close()
            raise
        members.closing = connection

        def reopen() -> None:
            members.closing = None
            connection.close()

        return reopen

    def drain(self, members: Members, node: Node) -> None:
        self.catch_up(members, node)

    def retire(self, members: Members, node: Node) -> str:
        """Its sessions are ended before the lock is: one that waits to commit would do so on a
        server that does not lead any more."""
        connection, members.closing = members.closing, None
        with contextlib.closing(connection), connection.cursor() as cursor:
            deadline = time.monotonic() + END_S
            while sessions := _of_clients(cursor):
                if time.monotonic() > deadline:
                    raise DynoError(f"{len(sessions)} sessions of {node.name} do not end")
                for session in sessions:
                    with contextlib.suppress(pymysql.MySQLError):  # it has ended just now
                        cursor.execute(f"KILL {session}")
                time.sleep(POLL_S)
            cursor.execute("SET GLOBAL read_only = ON")
            cursor.execute("UNLOCK TABLES")
        if members.waits:
            source, replica = self.sides
            switch_sides(members.server(node), replica, source)
        return self.follow(members, node)

    def seeded(self, members: Members, node: Node, directory: Path) -> None:
        return

    def forget(self, members: Members, node: Node) -> None:
        return  # logs are kept for nobody

    def join(self, members: Members, node: Node, backup: Path) -> str:
        self.position_of(members, node, backup)
        return self.follow(members, node)

    def catch_up(self, members: Members, node: Node) -> None:
        [[position]] = members.primary.rows(self.committed)
        seconds = round(planned.CATCH_UP_S)
        sql = self.wait.format(str(position).replace("\n", ""), seconds)
        [[outcome]] = members.server(node).look(sql, seconds + LOOK_TIMEOUT_S)
        if outcome is None or int(outcome) != 0:
            raise DynoError(
                f"{node.name} has not applied what {members.leader.name} has committed within"
                f" {seconds} s",
                cause="it is far behind, or its applier has stopped",
                fix="see the servers' logs; a smaller load leaves replicas closer behind",
            )


def _of_clients(cursor: Any) -> list[int]:
    """Sessions with a schema: those of the load. dbdyno's own and those of replicas have none."""
    cursor.execute("SHOW PROCESSLIST")
    return [int(row[0]) for row in cursor.fetchall() if row[3] is not None]


def following(server: Any, leader: str) -> str:
    """Whether a replica follows its new primary within FOLLOW_S, or its errors."""
    deadline = time.monotonic() + FOLLOW_S
    while True:
        status = server.replica_status()
        if status and _runs(status[0]):
            return f"follows {leader}"
        why = _why(status)
        if why or time.monotonic() > deadline:
            return f"does not follow {leader}: {why or 'it is not connected yet'}"
        time.sleep(POLL_S)


def switch_sides(server: Any, source: str, replica: str) -> None:
    """Has a promoted replica wait for replicas of its own."""
    server.rows(f"SET GLOBAL {replica} = OFF")
    server.rows(f"SET GLOBAL {source} = ON")


def role(server: Any) -> str:
    """A replica is read-only until it is promoted."""
    [[read_only]] = server.look("SELECT @@GLOBAL.read_only", LOOK_TIMEOUT_S)
    return REPLICA if int(read_only) else PRIMARY


def confirming(members: Members, counter: str) -> str:
    """Why commits are not waited for by as many replicas as asked; empty if they are."""
    topology = members.target.topology
    assert topology is not None
    if not topology.wait_for_replicas:
        return ""
    rows = members.primary.rows(f"SHOW GLOBAL STATUS LIKE '{counter}'")
    found = int(rows[0][1]) if rows else 0
    wanted = topology.nodes - 1
    return "" if found >= wanted else f"{found} of {wanted} replicas confirm commits"
