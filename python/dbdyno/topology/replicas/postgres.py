"""A primary and standbys of PostgreSQL, by streaming replication.

Sources: PostgreSQL's manual on "Log-Shipping Standby Servers", "Synchronous Replication",
synchronous_standby_names and replication slots.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA, REPLICAS, Node
from dbdyno.systems import portable_options
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.postgres.managed import USER
from dbdyno.systems.process.account import account_for, private_file
from dbdyno.systems.process.managed import NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology.base import LOOK_TIMEOUT_S, Members, Wiring, refuse, with_word

OWN = ("primary_conninfo", "primary_slot_name", "synchronous_standby_names", "hot_standby")
WANTED = {"wal_level": "replica", "hot_standby": "on"}
# While loading, too: a standby cannot begin in a log without what it needs.
NOT_MINIMAL = ("wal_level", "max_wal_senders")
NOTE = "each node starts on a copy of the loaded data; standbys stream from a slot of their own"
WAITING_NOTE = "; a commit waits until so many standbys have written and synced it, for ever"


class PostgresReplicas(Wiring):
    """See the module."""

    topology = REPLICAS
    kind = "postgres"

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        assert target.topology is not None
        refuse(target, OWN)
        _check_isolation(target)
        wanted, note, waits = dict(WANTED), NOTE, target.topology.wait_for_replicas
        if waits:
            _check_commits(target, resolved)
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
        account = account_for("postgres")
        private_file(directory / "data" / "standby.signal", "", account)
        private_file(_passwords(directory), f"*:*:*:{USER}:{members.password}\n", account)
        members.primary.rows(
            f"SELECT pg_create_physical_replication_slot('{_slot(members, node)}', true)"
        )

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        if node == members.nodes[0]:
            return NodeOptions()
        slot = _slot(members, node)
        source = {
            "host": LOOPBACK,
            "port": str(members.primary.port),
            "user": USER,
            "passfile": str(_passwords(directory)),
            "application_name": slot,
            "sslmode": "disable",
        }
        conninfo = " ".join(f"{name}={value}" for name, value in source.items())
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


def _slot(members: Members, node: Node) -> str:
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


def _check_commits(target: TargetPlan, resolved: Resolved) -> None:
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
