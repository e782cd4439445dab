"""A group of MySQL whose members are all primaries: what may be written, what is refused or said,
which settings and roles its nodes have. Nothing starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest

from dbdyno import topology
from dbdyno.analysis.between_runs.comparability import fingerprint
from dbdyno.errors import DynoError
from dbdyno.execute.servers.audits import nodes
from dbdyno.execute.servers.audits.commits import Commits
from dbdyno.execute.servers.audits.permits import permits
from dbdyno.experiment import load
from dbdyno.experiment.claims.metrics import Scope, canonical
from dbdyno.experiment.types import (
    DOWN,
    MEMBER,
    PRIMARY,
    REPLICA,
    Failover,
    Node,
    Target,
    Topology,
)
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import check_settings, make
from dbdyno.plan.outlook import primaries
from dbdyno.plan.stored.json import from_json, to_json
from dbdyno.plan.types import GroupPlan
from dbdyno.store.metrics.of_nodes import summed
from dbdyno.systems.base import Resolved
from dbdyno.systems.mysql.control import MysqlControl, is_gauge
from dbdyno.topology.base import Members

FILE = """\
experiment: together
question: Do they work together?
targets:
  db: {target}
groups:
  app: {{kind: oltp, target: db, rows: 1000{group}}}
"""
ALL = "{kind: mysql, topology: {kind: group, primaries: all}}"
COMMITTED = "{kind: mysql, isolation: read_committed, topology: {kind: group, primaries: all}}"
MACHINE = Machine.read()
VIEW = "replication_group_member_stats"
ROLLED_BACK = f"{VIEW}.count_transactions_local_rollback"


def loaded(target: str, group: str = "", more: str = "") -> Any:
    return load(FILE.format(target=target, group=group) + more)


def resolved(nodes: int = 3, **target: Any) -> Resolved:
    form = Topology("group", nodes, multi_primary=True)
    return topology.resolve(Target("db", "mysql", topology=form, **target))


# ---- what is written


def test_all_nodes_of_a_group_can_take_writes() -> None:
    target = loaded(ALL).cells[0].targets[0]
    assert target.topology == Topology("group", 3, multi_primary=True)
    assert target.nodes == (Node("db", MEMBER), Node("db.2", MEMBER), Node("db.3", MEMBER))
    one = loaded(ALL.replace("all", "one")).cells[0].targets[0]
    assert one == loaded("{kind: mysql, topology: {kind: group}}").cells[0].targets[0]
    assert one.nodes[1] == Node("db.2", REPLICA)


@pytest.mark.parametrize(
    ("route", "names"),
    [
        ("", ["db"]),
        ("primary", ["db"]),
        ("replicas", ["db.2", "db.3"]),
        ("any", ["db", "db.2", "db.3"]),
        ("db.3", ["db.3"]),
    ],
)
def test_sessions_that_write_go_to_any_of_them(route: str, names: list[str]) -> None:
    cell = loaded(ALL, f", route: {route}" if route else "").cells[0]
    assert [node.name for node in cell.targets[0].nodes_for(cell.groups[0].access)] == names


def test_how_many_are_primaries_is_a_hard_factor_and_is_kept() -> None:
    spec = loaded(ALL, more="factors: {db.topology.primaries: [one, all]}\n")
    plan = make(spec, MACHINE, available=lambda target: None)
    assert plan.factors[0].hard
    assert from_json(to_json(plan)) == plan
    one, every = (cell.targets[0] for cell in plan.cells)
    assert (one.topology and one.topology.multi_primary) is False
    assert (every.topology and every.topology.multi_primary) is True


def test_runs_compare_by_it_and_older_ones_stay_as_they_were() -> None:
    prints = [
        fingerprint(make(loaded(target), MACHINE, available=lambda target: None))
        for target in (ALL, ALL.replace("all", "one"), ALL.replace(", primaries: all", ""))
    ]
    assert prints[0] != prints[1] == prints[2]


@pytest.mark.parametrize(
    ("target", "group", "more", "what", "place"),
    [
        (
            "{kind: mariadb, topology: {kind: galera, primaries: all}}",
            "",
            "",
            "`primaries` means nothing to `galera`",
            "all}}",
        ),
        (
            "{kind: mysql, topology: {kind: replicas, primaries: one}}",
            "",
            "",
            "`primaries` means nothing to `replicas`",
            "one}}",
        ),
        (
            "{kind: mysql, isolation: serializable, topology: {kind: group, primaries: all}}",
            "",
            "",
            "refuses changes at isolation serializable",
            "serializable",
        ),
        (
            "{kind: mysql, topology: {kind: group, primaries: all},"
            " session: [SET TRANSACTION ISOLATION LEVEL SERIALIZABLE]}",
            "",
            "",
            "refuses changes at isolation serializable",
            "[SET",
        ),
        (
            ALL,
            "",
            "setup: {after: [CREATE TABLE a (b INT REFERENCES c (d) ON DELETE CASCADE)]}\n",
            "foreign keys that cascade",
            "after",
        ),
        (
            "{kind: mysql, topology: {kind: group, nodes: 2, primaries: all, failover: {}}}",
            "",
            "",
            "no failover is possible with `nodes: 2`",
            "failover",
        ),
        (
            ALL,
            "",
            "faults: [{at: 1s, do: kill, node: primary}]\n",
            "none of the 3 nodes of `db` is the primary",
            "primary",
        ),
        (
            ALL,
            "",
            "faults: [{at: 1s, do: switchover}]\n",
            "there is no switchover on target `db`",
            "switchover",
        ),
        (
            ALL,
            "",
            "faults: [{at: 1s, do: replace, node: db.2}]\n",
            "`replace` is not possible on target `db`",
            "replace",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(
    target: str, group: str, more: str, what: str, place: str
) -> None:
    with pytest.raises(DynoError) as found:
        loaded(target, group, more)
    error = found.value
    assert what in error.what
    assert error.fix
    assert error.where is not None
    text = FILE.format(target=target, group=group) + more
    line = text.splitlines()[error.where.line - 1]
    assert line[error.where.column - 1 :].startswith(place)


def test_one_primary_has_none_of_these_limits() -> None:
    for target in (
        "{kind: mysql, isolation: serializable, topology: {kind: group}}",
        "{kind: mysql, isolation: serializable, topology: {kind: group, primaries: one}}",
    ):
        assert primaries.notes(loaded(target).cells) == []
    reading = ALL.replace("{kind: mysql", "{kind: mysql, isolation: serializable")
    assert loaded(reading, ", preset: point_select, route: any").cells


def test_a_file_with_a_cascade_is_found_and_a_comment_on_one_is_none(tmp_path: Path) -> None:
    sql, experiment = tmp_path / "schema.sql", tmp_path / "experiment.yaml"
    experiment.write_text(FILE.format(target=ALL, group="") + "setup: {sql: [schema.sql]}\n")
    sql.write_text(
        "-- no ON DELETE CASCADE here\n# nor ON DELETE CASCADE\nCREATE TABLE a (id INT PRIMARY"
        " KEY, note TEXT DEFAULT ('ON DELETE CASCADE')) /* ON UPDATE SET NULL */;\n"
    )
    assert load(experiment).cells
    sql.write_text("ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES c (d) ON\n  UPDATE set NULL;\n")
    with pytest.raises(DynoError, match="foreign keys that cascade"):
        load(experiment)


def test_sessions_follow_another_member_after_a_time_of_ours() -> None:
    for written, after_s in (("{}", 1.0), ("{after: 300ms}", 0.3)):
        target = ALL.replace("primaries: all", f"primaries: all, failover: {written}")
        form = loaded(target, more="faults: [{at: 1s, do: kill, node: primary}]\n")
        found = form.cells[0].targets[0].topology
        assert found is not None and found.failover == Failover(after_s)


# ---- what is said


def test_gap_locks_are_told_of_where_several_members_are_written_to() -> None:
    [said] = primaries.notes(loaded(ALL, ", route: any").cells)
    assert "3 members" in said and "gap locks" in said and "read_committed" in said
    assert primaries.notes(loaded(ALL).cells) == []  # at one of them
    assert primaries.notes(loaded(ALL, ", route: any, preset: point_select").cells) == []
    assert primaries.notes(loaded(COMMITTED, ", route: any").cells) == []
    galera = "{kind: mariadb, topology: {kind: galera}}"
    assert primaries.notes(loaded(galera, ", route: any").cells) == []
    plan = make(loaded(ALL, ", route: any"), MACHINE, available=lambda target: None)
    assert said in plan.notes


@pytest.mark.parametrize(
    ("group", "fault", "elsewhere"),
    [
        (", route: any", "do: sql, node: db, sql: ALTER TABLE t ADD c INT", "db.2, db.3"),
        (", route: db.2", "do: sql, node: db, sql: 'SELECT 1; DROP TABLE t'", "db.2"),
        (", route: db", "do: sql, node: any, sql: ALTER TABLE t ADD c INT", "db"),
        (", route: any", "do: alter, node: db.2, table: t, change: ADD c INT", "db, db.3"),
        (", route: db", "do: sql, node: db, sql: ALTER TABLE t ADD c INT", None),
        (", route: any", "do: sql, node: db, sql: 'UPDATE t SET c = 1'", None),
        (", route: any, preset: point_select", "do: sql, node: db, sql: DROP TABLE t", None),
    ],
)
def test_a_change_of_a_table_with_writers_elsewhere_is_told_of(
    group: str, fault: str, elsewhere: str | None
) -> None:
    found = primaries.notes(loaded(COMMITTED, group, f"faults: [{{at: 1s, {fault}}}]\n").cells)
    assert [f"write at {elsewhere}:" in said for said in found] == [True] * bool(elsewhere)


# ---- settings and roles


def test_settings_of_a_group_with_several_primaries() -> None:
    found = resolved()
    assert found.node_settings["group_replication_single_primary_mode"] == "OFF"
    assert found.node_settings["group_replication_enforce_update_everywhere_checks"] == "ON"
    assert "group_replication_auto_increment_increment" not in found.node_settings
    assert not set(found.node_settings) & set(found.settings)  # of the server that is loaded
    [word] = [word for word in found.words if word.word.startswith("topology")]
    assert "each is a primary" in word.note and word.settings == found.node_settings
    single = topology.resolve(Target("db", "mysql", topology=Topology("group", 3)))
    assert single.data_settings == found.data_settings  # they start on the same data
    assert "group_replication_single_primary_mode" not in single.node_settings


def test_numbers_that_nine_members_generate_differ() -> None:
    name = "group_replication_auto_increment_increment"
    assert resolved(9).node_settings[name] == "9"
    assert resolved(9, config={name: 20}).node_settings[name] == "20"


@pytest.mark.parametrize("name", ["single-primary-mode", "enforce_update_everywhere_checks"])
def test_the_mode_is_not_set_past_the_topology(name: str) -> None:
    target = ALL.replace("topology", f"config: {{group_replication_{name}: 1}}, topology")
    with pytest.raises(DynoError) as found:
        check_settings(loaded(target))
    assert "cannot be set in `config:`" in found.value.what
    assert "primaries: all" in found.value.fix


@pytest.mark.parametrize(
    ("rows", "role"),
    [
        ([(1, "ONLINE", "PRIMARY", 0), (0, "ONLINE", "PRIMARY", 0)], MEMBER),
        ([(1, "ONLINE", "PRIMARY", 1), (0, "ONLINE", "SECONDARY", 1)], PRIMARY),
        ([(0, "ONLINE", "PRIMARY", 1), (1, "ONLINE", "SECONDARY", 1)], REPLICA),
        ([(1, "RECOVERING", "PRIMARY", 0), (0, "ONLINE", "PRIMARY", 0)], DOWN),
        (
            [(1, "ONLINE", "PRIMARY", 0), (0, "UNREACHABLE", "PRIMARY", 0), (0, "ONLINE", "", 0)],
            MEMBER,
        ),
        ([(1, "ONLINE", "PRIMARY", 0), (0, "UNREACHABLE", "PRIMARY", 0)], DOWN),
        ([(1, "OFFLINE", "", 0)], DOWN),
        ([], DOWN),
    ],
)
def test_a_member_that_takes_writes_is_one_of_several(
    rows: Sequence[tuple[object, ...]], role: str
) -> None:
    wiring = topology.of(Target("db", "mysql", topology=Topology("group", 3)))
    assert wiring is not None
    assert wiring.role(SimpleNamespace(look=lambda sql, timeout_s: rows)) == role


def test_no_log_says_since_when_one_of_several_primaries_leads() -> None:
    asked: list[int] = []

    def log_tail(lines: int) -> str:
        asked.append(lines)
        return "2026-11-28T10:00:00.5Z 0 [Note] This server is working as primary member.\n"

    found = []
    for multi_primary in (False, True):
        form = Topology("group", 3, multi_primary=multi_primary)
        target = Target("db", "mysql", topology=form)
        server: Any = SimpleNamespace(log_tail=log_tail)
        wiring = topology.of(target)
        assert wiring is not None
        cluster = topology.Cluster(
            wiring,
            SimpleNamespace(),  # type: ignore[arg-type]
            target,
            SimpleNamespace(),  # type: ignore[arg-type]
            Resolved({}, (), ()),
            {"db": server},
        )
        found.append(cluster.takes_writes_since())
        assert cluster.all_write == multi_primary
    assert found[0] is not None and found[1] is None
    assert Members(target, SimpleNamespace(), Resolved({}, (), ()), {}).leader.name == "db"  # type: ignore[arg-type]


# ---- audits


def test_reads_at_other_members_may_be_old() -> None:
    form = Topology("group", 3, multi_primary=True)
    group = GroupPlan("app", "register", "db", 4, 60.0, 3, {}, route="any")
    made = permits(Target("db", "mysql", topology=form), [group], "register", "")
    assert made.anomalies == ("not_linearizable", "stale_reads")
    assert "what others committed" in made.grounds[0]


def test_a_load_begins_once_each_member_has_the_table_of_identities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nodes, "POLL_S", 0.0)
    asked: list[str] = []

    class Late:
        """A member that has the table at the third question."""

        def __init__(self, name: str, questions: int) -> None:
            self.name = name
            self.questions = questions

        def run(self, database: str, statements: Sequence[str]) -> Any:
            if len(statements) > 1:
                return []
            asked.append(self.name)
            self.questions -= 1
            if self.questions > 0:
                raise DynoError("there is no such table")
            return [[0]]

    members = (Node("db", MEMBER), Node("db.2", MEMBER))
    target = SimpleNamespace(kind="mysql", nodes=members, name="db")
    deployment = SimpleNamespace(
        define=lambda name, statements: None,
        target=target,
        cluster=None,
        database="dbdyno",
        servers={"db": Late("db", 0), "db.2": Late("db.2", 3)},
    )
    monkeypatch.setattr(nodes, "_runs", lambda deployment, node: True)
    cell: Any = SimpleNamespace(
        audit="commits", groups=(GroupPlan("app", "oltp", "db", 4, 60.0, 3, {}),)
    )
    pool: Any = SimpleNamespace(deployments={"db": deployment})
    Commits(pool, cell, lambda: None).prepare()
    assert asked == ["db", "db.2"] * 3


# ---- conflicts


class Control(MysqlControl):
    """A server that answers from a script."""

    place = "nowhere"

    def __init__(self, status: Sequence[tuple[str, str]], stats: object) -> None:
        super().__init__("mysql")
        self.status, self.stats = status, stats
        self.asked: list[str] = []

    def rows(self, sql: str, database: str | None = None) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        if sql == "SHOW GLOBAL STATUS":
            return list(self.status)
        if VIEW not in sql:
            return []
        if isinstance(self.stats, Exception):
            raise self.stats
        return [self.stats]  # type: ignore[list-item]

    def _connect(self, database: str | None, timeout_s: int) -> Any:
        raise AssertionError

    def unanswered(self, error: Exception) -> DynoError:
        raise AssertionError

    def _client_options(self) -> Any:
        raise AssertionError


PLUGIN = [("Uptime", "5"), ("Gr_control_messages_sent_count", "1")]


def test_a_member_of_a_group_counts_what_it_certified() -> None:
    found = Control(PLUGIN, (4, 90, 0, 30, 3, 60, 1)).counters()
    assert found[f"{VIEW}.count_conflicts_detected"] == 4.0
    assert found[f"{VIEW}.count_transactions_checked"] == 90.0
    assert found[ROLLED_BACK] == 3.0
    gauges = {name for name in found if is_gauge(name)}
    assert gauges == {
        "Uptime",
        f"{VIEW}.count_transactions_in_queue",
        f"{VIEW}.count_transactions_remote_in_applier_queue",
    }


def test_no_other_server_is_asked_for_that_and_without_a_grant_none_twice() -> None:
    alone = Control([("Uptime", "5")], (0,) * 7)
    assert alone.counters() == {"Uptime": 5.0}
    assert not any(VIEW in sql for sql in alone.asked)
    denied = pymysql.err.OperationalError(1142, "SELECT command denied")
    member = Control(PLUGIN, denied)
    for _ in range(2):
        assert not any(name.startswith(VIEW) for name in member.counters())
    assert sum(VIEW in sql for sql in member.asked) == 1
    with pytest.raises(pymysql.err.OperationalError):
        Control(PLUGIN, pymysql.err.OperationalError(2013, "lost")).counters()


def test_conflicts_of_all_members_are_added_up_and_claims_may_ask_for_them() -> None:
    name = f"status.{ROLLED_BACK}"
    target = Target("db", "mysql", topology=Topology("group", 2, multi_primary=True))
    metrics = {f"node1.{name}": 1.5, f"node2.{name}": 2.0}
    assert summed(metrics, [target]) == {f"nodes.{name}": 3.5}
    assert canonical(f"nodes.{name}", Scope(("app",), ("db",))) == f"nodes.{name}"
