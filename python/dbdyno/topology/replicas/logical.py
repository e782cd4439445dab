"""A primary of PostgreSQL and its subscribers, by logical replication.

The primary publishes all tables of the load's database. Each replica starts on a copy of the loaded
data, as a standby does, and subscribes from there on: nothing is copied. One that is replaced
starts empty, with the schema by pg_dump and all rows by the initial copy of its subscription.

As in production, nothing replicates DDL (what dbdyno makes in mid-run it makes on all nodes, see
`define`) or sequences, and nothing resolves a conflict: the apply worker ends and tries again, for
ever.

Sources: PostgreSQL's manual, chapter "Logical Replication", CREATE SUBSCRIPTION (`copy_data`,
`synchronous_commit`), pg_stat_subscription, pg_last_committed_xact, pg_logical_emit_message; of the
names by which workers are known to the primary `src/backend/replication/logical/tablesync.c`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA, REPLICAS, Node
from dbdyno.systems.backups.base import Site, Step
from dbdyno.systems.backups.postgres import sessions
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.process.managed import NodeOptions
from dbdyno.topology import planned
from dbdyno.topology.base import LOOK_TIMEOUT_S, Members, Wiring, refuse, with_word
from dbdyno.topology.replicas import postgres

PUBLICATION = "dbdyno"
OWN = ("synchronous_standby_names", "track_commit_timestamp")
WANTED = {"wal_level": "logical"}
# A subscriber commits by itself, and waits for no other. Of what it has applied it knows when that
# was committed at the primary.
OF_SUBSCRIBERS = {"synchronous_standby_names": "", "track_commit_timestamp": "on"}
NOTE = (
    "each node starts on a copy of the loaded data; replicas subscribe to all tables of the load's"
    " database, and apply changes of rows: no DDL, no sequences"
)
COPY_TIMEOUT_S = 3600.0
# An idle worker has applied all that it has received; the log goes on without commits, too.
_LAG = (
    "SELECT s.pid IS NOT NULL,"
    " coalesce(s.received_lsn >= '{position}' AND a.wait_event = 'LogicalApplyMain', false),"
    " extract(epoch FROM clock_timestamp()"
    ' - (SELECT "timestamp" FROM pg_last_committed_xact()))::float8'
    " FROM pg_stat_subscription s LEFT JOIN pg_stat_activity a ON a.pid = s.pid"
    " WHERE s.subname = '{name}' AND s.relid IS NULL ORDER BY s.received_lsn NULLS LAST LIMIT 1"
)
_WITHOUT_IDENTITY = (
    "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND c.relpersistence = 'p'"
    " AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
    " AND (c.relreplident = 'n' OR (c.relreplident IN ('d', 'i') AND NOT EXISTS (SELECT FROM"
    " pg_index i WHERE i.indrelid = c.oid AND CASE c.relreplident WHEN 'd' THEN i.indisprimary"
    " ELSE i.indisreplident END))) ORDER BY 1"
)


class PostgresSubscribers(Wiring):
    """See the module."""

    topology = REPLICAS
    kind = "postgres"
    logical = True

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        topology = target.topology
        assert topology is not None
        refuse(target, OWN)
        wanted, note, waits = dict(WANTED), NOTE, topology.wait_for_replicas
        if waits:
            postgres.check_commits(target, resolved)
            # By name: workers that copy a table connect too, and have received nothing else.
            names = ", ".join(f"node_{number}" for number in range(2, topology.nodes + 1))
            wanted["synchronous_standby_names"] = f"ANY {waits} ({names})"
            note += postgres.WAITING_NOTE
        return with_word(target, resolved, wanted, note)

    def prepare(self, members: Members, node: Node, directory: Path) -> None:
        if node != members.leader:
            postgres.write_password(members, directory)

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        return NodeOptions() if node == members.leader else NodeOptions(dict(OF_SUBSCRIBERS))

    def wire(self, members: Members, node: Node) -> None:
        if node == members.leader:
            # Its subscribers, which it may wait for otherwise, come later.
            local = "SET synchronous_commit = local"
            publish = f"CREATE PUBLICATION {PUBLICATION} FOR ALL TABLES"
            members.primary.run(members.database, [local, publish])
        else:
            _subscribe(members, node, copies=False)

    def lacking(self, members: Members) -> str:
        rows = members.primary.rows(
            "SELECT application_name, sync_state FROM pg_stat_replication WHERE state = 'streaming'"
        )
        streaming = {str(name): str(sync) for name, sync in rows}
        said = []
        for node in members.followers:
            sync = streaming.get(postgres.slot_name(members, node))
            if sync is None:
                said.append(f"{node.name} does not receive changes")
            elif _copying(members, node):
                said.append(f"{node.name} has not all tables yet")
            elif members.waits and sync != "quorum":
                said.append(f"{node.name} does not confirm commits")
        return "; ".join(said)

    def role(self, server: Any) -> str:
        sql = r"SELECT EXISTS (SELECT FROM pg_subscription WHERE subname ~ '^node_\d+$')"
        [[subscribes]] = server.look(sql, LOOK_TIMEOUT_S)
        return REPLICA if subscribes else PRIMARY

    def lag_s(self, members: Members, node: Node) -> float:
        """The age of the last commit that the replica has applied; 0 once it has applied all that
        the primary has written. May raise what the client library does."""
        [[position]] = members.primary.rows("SELECT pg_current_wal_flush_lsn()::text")
        name = postgres.slot_name(members, node)
        found = members.server(node).rows(_LAG.format(position=position, name=name))
        runs, level, age_s = found[0] if found else (False, False, None)
        if not runs:
            raise DynoError(
                f"{node.name} applies nothing: its apply worker does not run",
                cause="a change that does not fit its tables or rows, at which the worker ends and"
                " tries again (counted in pg_stat_subscription_stats), or a subscription that was"
                " disabled or dropped",
                fix=f"see the log of {node.name}",
            )
        return 0.0 if level or age_s is None else max(0.0, float(age_s))

    def define(self, members: Members, statements: Sequence[str]) -> None:
        """At the replicas first: a row never comes before its table. Nothing is under way for a
        table that is dropped, and a new one is empty: there is nothing to copy."""
        for node in members.followers:
            _catch_up(members, node)
        for node in members.followers:
            members.server(node).run(members.database, statements)
        members.primary.run(members.database, statements)
        for node in members.followers:
            name = postgres.slot_name(members, node)
            refresh = f"ALTER SUBSCRIPTION {name} REFRESH PUBLICATION WITH (copy_data = false)"
            members.server(node).run(members.database, [refresh])

    def remarks(self, members: Members) -> Sequence[str]:
        rows = members.primary.run(members.database, [_WITHOUT_IDENTITY])
        if not rows or not members.followers:
            return ()
        names = [str(name) for (name,) in rows]
        return (
            f"target `{members.target.name}`: the primary refuses UPDATE and DELETE (55000) on"
            f" {', '.join(names)}, without a replica identity. They need a primary key, or"
            f" `ALTER TABLE {names[0]} REPLICA IDENTITY FULL` in `setup: {{after: ...}}`",
        )

    def seed_again(
        self, members: Members, node: Node, step: Step, check: Callable[[], None]
    ) -> str:
        database = members.database
        source = Site(members.primary, database, step, check)
        target = Site(members.server(node), database, step, check)
        with step("forget"):
            _drop_slot(members, node)
        with step("initialise"):
            target.given.initialise()
            postgres.write_password(members, target.given.directory)
        with step("start"):
            target.server.start_again()
        with step("schema"):
            target.server.create_schema(database)
            _copy_schema(source, target)
        with step("copy"):
            _subscribe(members, node, copies=True)

            def copied() -> bool:
                check()
                return not _copying(members, node)

            planned.until(copied, f"{node.name} has not copied all tables", COPY_TIMEOUT_S)
        with step("catch_up"):
            _catch_up(members, node)
        return f"it got its tables by pg_dump and their rows from {members.leader.name}"


def _subscribe(members: Members, node: Node, *, copies: bool) -> None:
    """Has a node subscribe to the primary, by a slot of the subscription's name, which it is known
    by there: an application_name would be that of workers that copy a table, too."""
    server = members.server(node)
    database = members.database.replace("\\", "\\\\").replace("'", "\\'")
    source = f"{postgres.source(members, server.directory)} dbname='{database}'"
    quoted = source.replace("'", "''")
    # Commits that wait for it would else wait for its next flush; nothing is lost by `off`: what a
    # subscriber has not flushed it is sent again.
    commits = "local" if members.waits else "off"
    server.run(
        members.database,
        [
            f"CREATE SUBSCRIPTION {postgres.slot_name(members, node)} CONNECTION '{quoted}'"
            f" PUBLICATION {PUBLICATION}"
            f" WITH (copy_data = {str(copies).lower()}, synchronous_commit = {commits})"
        ],
    )


def _copying(members: Members, node: Node) -> bool:
    """Whether a subscriber does not have all tables from the primary yet."""
    sql = "SELECT EXISTS (SELECT FROM pg_subscription_rel WHERE srsubstate <> 'r')"
    [[copying]] = members.server(node).run(members.database, [sql])
    return bool(copying)


def _catch_up(members: Members, node: Node) -> None:
    """Returns once a subscriber has applied what the primary has committed by now. A message marks
    the place: the end of the log may be one that no record has reached."""
    [[position]] = members.primary.rows("SELECT pg_logical_emit_message(true, 'dbdyno', '')::text")
    name = postgres.slot_name(members, node)
    sql = (
        "SELECT EXISTS (SELECT FROM pg_stat_replication"
        f" WHERE application_name = '{name}' AND replay_lsn >= '{position}'::pg_lsn)"
    )
    planned.until(
        lambda: bool(members.primary.look(sql, LOOK_TIMEOUT_S)[0][0]),
        f"{node.name} has not applied what {members.leader.name} has committed",
    )


def _drop_slot(members: Members, node: Node) -> None:
    """Has the primary keep no log any more for a subscriber that is gone."""
    of_node = f"slot_name = '{postgres.slot_name(members, node)}'"
    planned.until(
        lambda: (
            not members.primary.rows(f"SELECT FROM pg_replication_slots WHERE {of_node} AND active")
        ),
        f"{node.name} still receives changes of {members.leader.name}",
    )
    members.primary.rows(
        f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE {of_node}"
    )


def _copy_schema(source: Site, target: Site) -> None:
    """Makes the tables of the load's database at another server, without their rows."""
    dump, restore = (
        target.program(name, package=sessions.PACKAGE) for name in ("pg_dump", "pg_restore")
    )
    file = target.new_directory("schema") / "dump"
    source.run(
        [
            *(dump, "--schema-only", "--no-publications", "--no-subscriptions"),
            *("--format=custom", f"--file={file}", source.database),
        ],
        sessions.environment(source),
        as_account=False,
    )
    target.run(
        [restore, f"--dbname={target.database}", "--exit-on-error", file],
        sessions.environment(target),
        as_account=False,
    )


WIRING = PostgresSubscribers()
