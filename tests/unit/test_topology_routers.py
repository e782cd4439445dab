"""Routers: what may be written, the files that they read, where sessions go. Nothing starts but the
small server that answers health checks."""

from __future__ import annotations

import http.client
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.execute.faulting.strike import chosen
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment import load
from dbdyno.experiment.faults import ON_ROUTERS
from dbdyno.experiment.targets.routers import FORMS
from dbdyno.experiment.types import Node, Router
from dbdyno.faults import FAULTS
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored.json import from_json, to_json
from dbdyno.report.sections.setting.tested import versions
from dbdyno.systems.base import Binaries, Resolved
from dbdyno.topology import routers
from dbdyno.topology.routers import haproxy, pgbouncer, pgpool
from dbdyno.topology.routers.base import Backend, Front
from dbdyno.topology.routers.roles import RoleServer
from fixtures import synthetic

FILE = """\
experiment: routed
targets:
  db: {{kind: {kind}, topology: {{kind: {form}, nodes: 2, router: {router}}}{more}}}
groups:
  app: {{kind: oltp, target: db, rows: 1000, route: router{group}}}
"""


def loaded(
    router: str, kind: str = "postgres", more: str = "", group: str = "", rest: str = ""
) -> Any:
    form = "galera" if kind == "mariadb" else "replicas"
    text = FILE.format(kind=kind, form=form, router=router, more=more, group=group)
    return load(text + rest)


# ---- what is written


def test_every_router_that_may_be_written_can_be_started() -> None:
    assert {one.kind for one in routers.ROUTERS} == set(FORMS)
    assert len(routers.ROUTERS) == len(FORMS)
    for one in routers.ROUTERS:
        assert one.title and one.package and one.about
        assert routers.kind_of(Router(one.kind)) is one


@pytest.mark.parametrize(
    ("router", "kind", "expected"),
    [
        ("{kind: pgbouncer}", "postgres", Router("pgbouncer", "session", 20)),
        (
            "{kind: pgbouncer, pool_size: 5, config: {server_round_robin: true}}",
            "postgres",
            Router("pgbouncer", "session", 5, config={"server_round_robin": True}),
        ),
        ("{kind: pgpool, check: 2s}", "postgres", Router("pgpool", "", 64, 2.0)),
        (
            "{kind: haproxy, conformance: true}",
            "postgres",
            Router("haproxy", check_s=1.0, conformance=True),
        ),
        ("{kind: haproxy, check: 300ms}", "mariadb", Router("haproxy", check_s=0.3)),
    ],
)
def test_a_router_is_a_part_of_its_topology(router: str, kind: str, expected: Router) -> None:
    [target] = loaded(router, kind).cells[0].targets
    assert target.router == expected
    assert target.nodes_for("router") == (Node("db.router", "router"),)
    assert target.server_count == 2


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"router": "{kind: pgpool}", "kind": "mariadb"}, "pgpool does not speak to MariaDB"),
        ({"router": "{kind: mysqlrouter}", "kind": "mysql"}, "MySQL Router is not tested here"),
        ({"router": "{kind: mysqlrouter}"}, "MySQL Router is not tested here"),
        ({"router": "{kind: haproxy, pool_size: 3}"}, "`pool_size` means nothing to haproxy"),
        ({"router": "{kind: pgpool, check: 1500ms}"}, "checks its nodes at whole seconds"),
        ({"router": "{kind: pgbouncer, check: 1s}"}, "`check` means nothing to pgbouncer"),
        (
            {"router": "{kind: haproxy, conformance: true}", "kind": "mariadb"},
            "`conformance` examines routers of PostgreSQL only",
        ),
        (
            {"router": "{kind: pgbouncer, pool_size: 1, conformance: true}"},
            "the pool has room for 1",
        ),
        ({"router": "{kind: pgbouncer}", "more": ", transport: socket"}, "cannot be reached by"),
        ({"router": "{kind: pgpool}", "more": ", tls: require"}, "pgpool offers no TLS here"),
        ({"router": "{kind: pgpool}", "group": ", sessions: 65"}, "which has room for 64"),
        ({"router": "{kind: pgbouncer}", "group": ", sessions: 21"}, "which has room for 20"),
        (
            {"router": "{kind: pgbouncer, pool_mode: transaction}"},
            "statements cannot be prepared through `pool_mode: transaction`",
        ),
        (
            {
                "router": "{kind: pgbouncer, pool_mode: transaction}",
                "more": ", protocol: text, isolation: repeatable_read",
            },
            "`isolation` is lost in `pool_mode: transaction`",
        ),
        (
            {
                "router": "{kind: pgbouncer, pool_mode: transaction}",
                "more": ", protocol: text, session: ['SET jit = off']",
            },
            "`session` is lost in `pool_mode: transaction`",
        ),
        (
            {
                "router": "{kind: haproxy}",
                "rest": "faults: [{at: 1s, do: partition, from: clients}]\n",
            },
            "a router reaches these past it",
        ),
        ({"router": "null"}, "has no router"),
    ],
)
def test_what_is_lost_on_the_way_is_refused(arguments: dict[str, str], what: str) -> None:
    with pytest.raises(DynoError) as caught:
        loaded(**arguments)
    assert what in caught.value.what
    assert caught.value.where is not None


def test_transaction_pooling_has_room_for_any_number_of_sessions() -> None:
    text = "{kind: pgbouncer, pool_mode: transaction, pool_size: 2}"
    assert loaded(text, more=", protocol: text", group=", sessions: 500")
    kept = "{kind: pgbouncer, pool_mode: transaction, config: {max_prepared_statements: 10}}"
    assert loaded(kept)


def test_a_router_is_a_hard_factor_and_the_plan_keeps_it() -> None:
    rest = "factors: {db.topology.router.kind: [pgbouncer, pgpool]}\n"
    plan = make(loaded("{kind: pgbouncer}", rest=rest), Machine.read(), available=lambda _: None)
    assert plan.factors[0].hard
    assert [cell.targets[0].router.kind for cell in plan.cells if cell.targets[0].router] == [
        *("pgbouncer", "pgpool")
    ]
    assert from_json(to_json(plan)) == plan


def test_metrics_of_an_examination_need_one() -> None:
    claim = "claims: ['routing.misrouted < 1']\n"
    assert loaded("{kind: pgpool, conformance: true}", rest=claim)
    with pytest.raises(DynoError, match="no router is examined"):
        loaded("{kind: pgpool}", rest=claim)


def test_a_fault_may_be_of_the_router() -> None:
    for do in ON_ROUTERS:
        [fault] = (
            loaded("{kind: haproxy}", rest=f"faults: [{{at: 1s, do: {do}, node: router}}]\n")
            .cells[0]
            .faults
        )
        assert fault.nodes == ("router",)
        names = chosen(fault, {"db": "primary", "db.2": "replica"}, random.Random(1), "db.router")
        assert names == ["db.router"]
    assert set(ON_ROUTERS) < set(FAULTS)


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("do: sql, sql: SELECT 1", "`sql` cannot be of a router"),
        ("do: replace", "router"),
        ("do: partition", "`partition` cannot be of a router"),
        ("do: clock, by: 1h", "`clock` cannot be of a router"),
        ("do: nemesis, for: 2s, every: 1s", "`nemesis` cannot be of a router"),
    ],
)
def test_a_fault_that_no_router_can_have_is_refused_at_its_place(fault: str, what: str) -> None:
    with pytest.raises(DynoError) as caught:
        loaded("{kind: haproxy}", rest=f"faults: [{{at: 1s, {fault}, node: router}}]\n")
    assert what in str(caught.value)
    assert caught.value.where is not None and caught.value.where.line == 6


def test_a_fault_of_a_router_that_is_not_there_is_refused_at_its_place() -> None:
    text = "experiment: x\ntargets: {db: {kind: postgres}}\nworkload: {kind: oltp}\n"
    with pytest.raises(DynoError, match="target `db` has no router") as caught:
        load(text + "faults: [{at: 1s, do: kill, node: router}]\n")
    assert caught.value.where is not None and caught.value.where.line == 4


# ---- files


def front(kind: str, **more: Any) -> Front:
    backends = (Backend("db", 1, 5001, 6001), Backend("db.2", 2, 5002, 6002))
    made = Front(
        router=Router(kind, "transaction" if kind == "pgbouncer" else "", 7, 2.0),
        directory=Path("/tmp/r"),
        port=7000,
        user="dyno",
        password="secret",
        backends=backends,
        leader="db",
        more_ports={"pcp": 7001},
    )
    return replace(made, **more)


def test_pgbouncer_knows_the_primary_and_only_that() -> None:
    files = pgbouncer.ROUTER.files(front("pgbouncer"))
    assert set(files) == {"pgbouncer.ini", "userlist.txt"}
    lines = files["pgbouncer.ini"].splitlines()
    assert lines[:2] == ["[databases]", "* = host=127.0.0.1 port=5001"]
    assert {"pool_mode = transaction", "default_pool_size = 7", "listen_port = 7000"} < set(lines)
    assert "auth_file = /tmp/r/userlist.txt" in lines
    assert files["userlist.txt"] == '"dyno" "secret"\n'
    after = pgbouncer.ROUTER.files(front("pgbouncer", leader="db.2"))["pgbouncer.ini"]
    assert "* = host=127.0.0.1 port=5002\n" in after


def test_settings_of_the_user_come_last_and_none_of_dbdynos_is_lost() -> None:
    mine = Router("pgbouncer", "session", 7, config={"server_round_robin": True})
    text = pgbouncer.ROUTER.files(front("pgbouncer", router=mine))["pgbouncer.ini"]
    assert text.endswith("server_round_robin = 1\n")
    taken = Router("pgbouncer", "session", 7, config={"listen_addr": "*"})
    with pytest.raises(DynoError, match="`listen_addr` cannot be set in `config:` of the router"):
        pgbouncer.ROUTER.files(front("pgbouncer", router=taken))


def test_pgpool_reads_at_standbys() -> None:
    files = pgpool.ROUTER.files(front("pgpool"))
    assert set(files) == {"pgpool.conf", "pool_hba.conf", "pcp.conf", "pool_passwd"}
    lines = files["pgpool.conf"].splitlines()
    wanted = {
        "backend_port0 = 5001",
        "backend_weight0 = 1",
        "database_redirect_preference_list = '.*:standby'",
        "backend_port1 = 5002",
        "backend_weight1 = 1",
        "backend_application_name1 = 'node_2'",
        "backend_clustering_mode = 'streaming_replication'",
        "load_balance_mode = on",
        "num_init_children = 7",
        "health_check_period = 2",
    }
    assert wanted < set(lines)
    assert files["pool_passwd"] == "dyno:TEXTsecret\n"
    off = Router("pgpool", "", 7, 1.0, config={"load_balance_mode": False, "backend_weight0": 1})
    text = pgpool.ROUTER.files(front("pgpool", router=off))["pgpool.conf"]
    assert "load_balance_mode = off\n" in text and "backend_weight0 = 1\n" in text
    # Weights of the user's deal reads as he says.
    assert "redirect" not in text
    after = pgpool.ROUTER.files(front("pgpool", leader="db.2"))["pgpool.conf"]
    assert after == files["pgpool.conf"], "roles decide, whichever node has them"
    redirect = {"database_redirect_preference_list": "shop:primary"}
    mine = Router("pgpool", "", 7, 2.0, config=redirect)
    text = pgpool.ROUTER.files(front("pgpool", router=mine))["pgpool.conf"]
    assert text.count("database_redirect_preference_list") == 1 and "'shop:primary'" in text


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("0", 5001, "up", "primary"), ("1", 5002, "waiting", "standby")], ""),
        ([("0", 5001, "up", "standby"), ("1", 5002, "up", "standby")], "node 0 is up, standby"),
        ([("0", 5001, "down", "primary"), ("1", 5002, "up", "standby")], "node 0 is down"),
        ([("0", 5001, "up", "primary"), ("1", 5002, "down", "standby")], ""),
    ],
)
def test_pgpool_is_ready_once_it_knows_the_primary(rows: Any, expected: str) -> None:
    names = ("node_id", "port", "status", "role")

    def ask(sql: str) -> list[dict[str, object]]:
        assert sql == "SHOW pool_nodes"
        return [dict(zip(names, row, strict=True)) for row in rows]

    said = pgpool.ROUTER.lacking(front("pgpool"), ask)
    assert (expected in said) if expected else not said


def test_haproxy_asks_each_node_for_its_role() -> None:
    text = haproxy.ROUTER.files(front("haproxy"))["haproxy.cfg"]
    assert "    bind 127.0.0.1:7000\n" in text
    assert "inter 2000ms fall 2 rise 1 on-marked-down shutdown-sessions\n" in text
    assert "    server db 127.0.0.1:5001 check port 6001\n" in text
    assert "    server db.2 127.0.0.1:5002 check port 6002\n" in text
    members = haproxy.ROUTER.files(front("haproxy", members=True))["haproxy.cfg"]
    assert "check port 6001 on-marked-up shutdown-backup-sessions\n" in members
    assert "check port 6002 backup\n" in members


def test_states_of_haproxys_servers() -> None:
    text = (
        "# pxname,svname,status,\nprimary,FRONTEND,OPEN,\nprimary,db,UP,\nprimary,db.2,DOWN,\n"
        "primary,BACKEND,UP,\n\n"
    )
    assert haproxy.states(text) == {"db": "UP", "db.2": "DOWN"}


def test_a_missing_router_is_said_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbdyno.topology.routers.base.program", lambda *_: None)
    for one in routers.ROUTERS:
        with pytest.raises(DynoError, match=f"no {one.title} found") as caught:
            one.find(None, "")  # type: ignore[arg-type]
        assert f"apt-get install {one.package}" in caught.value.fix


def test_health_checks_get_what_the_node_is() -> None:
    writes = [True]
    server = RoleServer(lambda: writes[0])
    try:
        for expected in (200, 503):
            asked = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
            asked.request("OPTIONS", "/primary")
            assert asked.getresponse().status == expected
            asked.close()
            writes[0] = False
    finally:
        server.close()


class Fake:
    """A server, or a router, that is only named."""

    def __init__(self, name: str, port: int, pid: int) -> None:
        self.name = name
        self.port = port
        self.pid = pid
        self.directory = Path("/nowhere")
        self.runs = True
        self.led: list[str] = []

    def alive(self) -> bool:
        return self.runs

    def close(self) -> None:
        self.runs = False

    def lead(self, leader: str) -> None:
        self.led.append(leader)

    def engine_target(self, *_: object) -> dict[str, Any]:
        return {
            "address": {"tcp": {"host": "127.0.0.1", "port": self.port}},
            "options": {},
            "session_sql": [],
        }

    def counters(self) -> dict[str, float]:
        return {}

    def gauges(self) -> frozenset[str]:
        return frozenset()

    def sessions_by_state(self) -> dict[str, int]:
        return {}


def deployed() -> tuple[Any, Fake]:
    """A pair behind a router, and the router."""
    [target] = loaded("{kind: pgbouncer}").cells[0].targets
    made: Any = Deployment(target, systems.load("null"), Binaries(""), Resolved({}, (), ()))
    made.servers |= {"db": Fake("db", 5001, 1), "db.2": Fake("db.2", 5002, 2)}
    made.cluster = SimpleNamespace(
        leader="db",
        names=("db", "db.2"),
        healthy=lambda: True,
        arbitrator=None,
        close_arbitrator=lambda: None,
    )
    made.router = router = Fake("db.router", 7000, 3)
    return made, router


def test_sessions_reach_the_router_at_its_port() -> None:
    made, _ = deployed()
    assert made.reached_by("router") == ("db.router",)
    found = made.engine_targets()
    assert found["db.router"]["address"]["tcp"]["port"] == 7000
    assert found["db"]["address"]["tcp"]["port"] == 5001
    made.through = {"db.router": 8000}  # its network
    assert made.engine_targets()["db.router"]["address"]["tcp"]["port"] == 8000


def test_a_router_is_sampled_with_the_nodes_and_counts_as_alive() -> None:
    made, router = deployed()
    assert made.sampled.pid == (1, 2, 3)
    assert made.alive()
    router.close()
    assert not made.alive()


def test_a_router_hears_of_a_new_primary_and_ends_with_its_deployment() -> None:
    made, router = deployed()
    made.cluster.leader = "db.2"
    made.lead(None)
    assert router.led == ["db.2"]
    made.stop_router()
    assert not router.runs and made.router is None


def test_the_report_names_the_router() -> None:
    run, _ = synthetic.cache_run(Path("."))
    topology = {"kind": "replicas", "nodes": 2, "router": {"kind": "pgpool"}}
    record = run.kept[0].replace(
        targets={"db": {"kind": "postgres", "version": "15.1", "topology": topology}}
    )
    assert versions([record]) == ["postgres 15.1 (replicas, 2 nodes behind pgpool)"]
    word = routers.word(Router("pgbouncer", "session", 20), "PgBouncer 1.18.0")
    assert word.settings == {"pool_mode": "session", "pool_size": "20"}
