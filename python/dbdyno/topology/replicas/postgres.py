"""A primary and standbys of PostgreSQL, by streaming replication.

Sources: PostgreSQL's manual on "Log-Shipping Standby Servers", "Synchronous Replication",
synchronous_standby_names, replication slots, "Failover" and pg_rewind.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA, REPLICAS, Node
from dbdyno.systems import portable_options
from dbdyno.systems.backups.postgres import wal
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.postgres.managed import USER
from dbdyno.systems.process import logtail
from dbdyno.systems.process.account import account_for, private_file
from dbdyno.systems.process.guarded import run_guarded
from dbdyno.systems.process.managed import ENVIRONMENT, NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology import planned
from dbdyno.topology.base import (
    LOOK_TIMEOUT_S,
    Members,
    Position,
    Succession,
    Wiring,
    refuse,
    with_word,
)

OWN = ("primary_conninfo", "primary_slot_name", "synchronous_standby_names", "hot_standby")
WANTED = {"wal_level": "replica", "hot_standby": "on"}
# While loading, too: a standby cannot begin in a log without what it needs.
NOT_MINIMAL = ("wal_level", "max_wal_senders")
NOTE = "each node starts on a copy of the loaded data; standbys stream from a slot of their own"
PROMOTE_TIMEOUT_S = 60
REWIND_TIMEOUT_S = 120.0
FOLLOW_S = 15.0  # in which a standby begins to stream: it tries each 5 s
POLL_S = 0.05
WAITING_NOTE = "; a commit waits until so many standbys have written and synced it, for ever"


class PostgresReplicas(Wiring):
    """See the module."""

    topology = REPLICAS
    kind = "postgres"
    takes_writes = re.compile(
        r"^ *(?P<time>\S+ \S+) UTC .*database system is ready to accept connections", re.M
    )

    def __init__(self) -> None:
        self.succession = Standbys()

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        assert target.topology is not None
        refuse(target, OWN)
        _check_isolation(target)
        wanted, note, waits = dict(WANTED), NOTE, target.topology.wait_for_replicas
        if waits:
            check_commits(target, resolved)
            wanted["synchronous_standby_names"] = f"ANY {waits} (*)"
            note += WAITING_NOTE
        made = with_word(target, resolved, wanted, note)
        loading = {k: v for k, v in made.load_settings.items() if k not in NOT_MINIMAL}
        return replace(
            made,
            load_settings=loading,
            data_settings={**made.data_settings, "wal_level": WANTED["wal_level"]},
        )

    def prepare(self, members: Members, node: Node, directory: Path) -> None:
        if node == members.nodes[0]:
            return
        _as_standby(members, directory)
        members.primary.rows(
            f"SELECT pg_create_physical_replication_slot('{slot_name(members, node)}', true)"
        )

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        if node == members.leader:
            return NodeOptions()
        conninfo = _conninfo(members, node, directory)
        slot = slot_name(members, node)
        return NodeOptions({"primary_conninfo": conninfo, "primary_slot_name": slot})

    def lacking(self, members: Members) -> str:
        topology = members.target.topology
        assert topology is not None
        rows = members.primary.rows("SELECT state, sync_state FROM pg_stat_replication")
        wanted = topology.nodes - 1
        streaming = [sync for state, sync in rows if state == "streaming"]
        if len(streaming) < wanted:
            return f"{len(streaming)} of {wanted} standbys stream"
        confirming = [sync for sync in streaming if sync in ("quorum", "sync")]
        if topology.wait_for_replicas and len(confirming) < wanted:
            return f"{len(confirming)} of {wanted} standbys confirm commits"
        return ""

    def role(self, server: Any) -> str:
        [[recovering]] = server.look("SELECT pg_is_in_recovery()", LOOK_TIMEOUT_S)
        return REPLICA if recovering else PRIMARY


class Standbys(Succession):
    """By positions in the log (LSN). A standby that is promoted replays all that it has received,
    as the manual says of "Failover"; so `applied` is not waited for."""

    def position(self, server: Any) -> Position:
        [[number, lsn]] = server.look(
            "SELECT pg_wal_lsn_diff(lsn, '0/0')::bigint, lsn::text FROM (SELECT greatest("
            "pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) AS lsn) AS received",
            LOOK_TIMEOUT_S,
        )
        return Position(int(number), applied=True, text=f"LSN {lsn}")

    def prepare(self, members: Members, node: Node) -> None:
        server = members.server(node)
        there = {str(name) for (name,) in server.rows("SELECT slot_name FROM pg_replication_slots")}
        for other in members.nodes:
            slot = slot_name(members, other)
            if other != node and slot not in there:
                server.rows(f"SELECT pg_create_physical_replication_slot('{slot}', true)")

    def promote(self, members: Members, node: Node) -> None:
        server = members.server(node)
        [[recovering]] = server.look("SELECT pg_is_in_recovery()", LOOK_TIMEOUT_S)
        if not recovering:  # an earlier try had begun it, and was not answered
            return
        # The server gives up first: the control connection is not waited for that long.
        patience_s = PROMOTE_TIMEOUT_S + LOOK_TIMEOUT_S
        [[done]] = server.look(f"SELECT pg_promote(true, {PROMOTE_TIMEOUT_S})", patience_s)
        if not done:
            raise DynoError(
                f"{node.name} was not promoted within {PROMOTE_TIMEOUT_S} s",
                cause="it has much to replay, or the machine is very busy",
                fix="see its log; a smaller load leaves standbys closer behind",
            )

    def follow(self, members: Members, node: Node) -> str:
        server = members.server(node)
        if node.name not in members.deposed:  # one that has just started has it in its file
            conninfo = _conninfo(members, node, server.directory).replace("'", "''")
            server.rows(f"ALTER SYSTEM SET primary_conninfo = '{conninfo}'")
            server.rows("SELECT pg_reload_conf()")
        deadline = time.monotonic() + FOLLOW_S
        while time.monotonic() < deadline:
            rows = members.primary.rows(
                "SELECT state FROM pg_stat_replication"
                f" WHERE application_name = '{slot_name(members, node)}'"
            )
            if rows and rows[0][0] == "streaming":
                return f"follows {members.leader.name}"
            time.sleep(POLL_S)
        return f"does not follow {members.leader.name} yet"

    def prepare_return(self, members: Members, node: Node, directory: Path) -> None:
        data, account = directory / "data", account_for("postgres")
        (data / "postmaster.pid").unlink(missing_ok=True)
        _as_standby(members, directory, signal=False)
        # Before its first checkpoint the new primary's files are those of the old timeline, and
        # pg_rewind sees nothing to do (its manual, "Notes"; up to PostgreSQL 15).
        members.primary.rows("CHECKPOINT")
        source = _conninfo(members, node, directory) + " dbname=postgres"
        program = members.binaries.paths["server"].parent / "pg_rewind"
        command: list[str | Path] = [
            *(program, f"--target-pgdata={data}", f"--source-server={source}"),
            *(f"--config-file={directory / 'server.conf'}", "--no-sync"),
        ]
        done = run_guarded(
            members.binaries.host,
            account,
            command,
            ENVIRONMENT,
            REWIND_TIMEOUT_S,
            directory / "rewind.log",
            data,
        )
        if done.returncode != 0:
            raise DynoError(
                f"pg_rewind of {node.name} failed: {logtail.telling(done.stdout + done.stderr)}",
                cause="its log, or that of the new primary, does not reach back to where they part",
                fix="set `wal_keep_size` in `config:`",
            )
        # Settings of the new primary, or of an earlier failover.
        (data / "postgresql.auto.conf").unlink(missing_ok=True)
        _as_standby(members, directory)

    def return_sql(self) -> tuple[str, ...]:
        return ()  # a standby takes no writes

    # ---- planned work

    def close(self, members: Members) -> Callable[[], None]:
        """A fast shutdown: sessions end, and the server ends once its standbys have received
        everything, its last checkpoint too ("Shutting Down the Server")."""
        server = members.primary
        reopen: Callable[[], None] = server.start_again
        if not server.stop():
            reopen()
            raise DynoError(
                f"{members.leader.name} did not end cleanly, and leads again",
                cause="a standby that does not receive its log, or a slow disk",
                fix="see its log",
            )
        return reopen

    def drain(self, members: Members, node: Node) -> None:
        last = _last_checkpoint(members)
        server = members.server(node)
        planned.until(
            lambda: self.position(server).received > last,
            f"{node.name} has not received the last checkpoint of {members.leader.name}",
        )

    def retire(self, members: Members, node: Node) -> str:
        members.server(node).start_again()
        return f"follows {members.leader.name}"

    def seeded(self, members: Members, node: Node, directory: Path) -> None:
        (directory / "data" / "postgresql.auto.conf").unlink(missing_ok=True)
        _as_standby(members, directory)
        slot = slot_name(members, node)
        there = members.primary.rows("SELECT slot_name FROM pg_replication_slots")
        if slot not in {str(name) for (name,) in there}:
            members.primary.rows(f"SELECT pg_create_physical_replication_slot('{slot}', true)")

    def forget(self, members: Members, node: Node) -> None:
        slot = slot_name(members, node)
        planned.until(
            lambda: (
                not members.primary.rows(
                    f"SELECT FROM pg_replication_slots WHERE slot_name = '{slot}' AND active"
                )
            ),
            f"{node.name} still reads the log of {members.leader.name}",
        )
        members.primary.rows(f"SELECT pg_drop_replication_slot('{slot}')")

    def join(self, members: Members, node: Node, backup: Path) -> str:
        return self.follow(members, node)

    def catch_up(self, members: Members, node: Node) -> None:
        [[lsn]] = members.primary.rows("SELECT pg_current_wal_lsn()::text")
        server = members.server(node)
        sql = f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'::pg_lsn"
        planned.until(
            lambda: bool(server.look(sql, LOOK_TIMEOUT_S)[0][0]),
            f"{node.name} has not replayed what {members.leader.name} has committed",
        )


def _last_checkpoint(members: Members) -> int:
    """The place in the log of the checkpoint with which the primary has ended."""
    directory = members.primary.directory
    done = run_guarded(
        members.binaries.host,
        account_for("postgres"),
        [members.binaries.paths["server"].parent / "pg_controldata", directory / "data"],
        ENVIRONMENT,
        REWIND_TIMEOUT_S,
        directory / "controldata.log",
    )
    found = re.search(r"^Latest checkpoint location: +(\S+)", done.stdout, re.M)
    if done.returncode != 0 or found is None:
        raise DynoError(
            f"pg_controldata failed: {logtail.telling(done.stdout)}",
            cause="the program is missing, or of another version",
            fix="run `make servers`",
        )
    return wal.bytes_of(found[1])


def _conninfo(members: Members, node: Node, directory: Path) -> str:
    """How a standby reaches the present leader."""
    return f"{source(members, directory)} application_name={slot_name(members, node)}"


def source(members: Members, directory: Path) -> str:
    """How a node in a directory reaches the present leader, once `write_password` was called."""
    found = {
        "host": LOOPBACK,
        "port": str(members.primary.port),
        "user": USER,
        "passfile": str(_passwords(directory)),
        "sslmode": "disable",
    }
    return " ".join(f"{name}={value}" for name, value in found.items())


def write_password(members: Members, directory: Path) -> None:
    """Gives a directory the password of the nodes, for `source`."""
    text = f"*:*:*:{USER}:{members.password}\n"
    private_file(_passwords(directory), text, account_for("postgres"))


def _as_standby(members: Members, directory: Path, *, signal: bool = True) -> None:
    """Gives a directory what a standby needs: the password, and the `signal` to be one."""
    write_password(members, directory)
    if signal:
        private_file(directory / "data" / "standby.signal", "", account_for("postgres"))


def slot_name(members: Members, node: Node) -> str:
    """Of a node at its primary: the name of its slot, and what it calls itself there."""
    return f"node_{members.number(node)}"


def _passwords(directory: Path) -> Path:
    return directory / "pgpass"


def _check_isolation(target: TargetPlan) -> None:
    assert target.topology is not None
    if target.isolation == "serializable" and target.topology.nodes > 1:
        raise DynoError(
            f"{target.kind}: `isolation: serializable` is not possible on a standby",
            cause="PostgreSQL refuses serializable transactions in hot standby",
            fix="write `isolation: repeatable_read`",
        )


def check_commits(target: TargetPlan, resolved: Resolved) -> None:
    """DynoError where commits are acknowledged before they are even written here."""
    value = resolved.settings.get("synchronous_commit", "on")
    if value == "local" or portable_options.boolean(value) is False:
        word = "durability: none" if target.durability == "none" else "config"
        raise DynoError(
            f"{target.kind}: `synchronous_commit: {value}` acknowledges commits that no replica has"
            " received, and `wait_for_replicas` asks for that",
            cause=f"`{word}` sets it",
            fix="remove `wait_for_replicas`, or use another `durability`",
        )


WIRING = PostgresReplicas()
