"""Links between real nodes that are cut: who goes on, who refuses, and that all agree after it."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ending import LONG, Watched, ended, planned, settled, trials
from private_servers import binaries
from running import Place, complete_trials, wait_for
from test_topology_servers import seen, working

from dbdyno import installed
from dbdyno.errors import DynoError
from dbdyno.execute.servers.network.between import Between
from dbdyno.execute.servers.network.links import Links
from dbdyno.experiment.types import DOWN, MEMBER, PRIMARY, Network, Topology
from dbdyno.experiment.values.faults import (
    Fault,
    Line,
)
from dbdyno.faults import FAULTS
from dbdyno.faults.base import Node
from dbdyno.hosts import LOCAL
from dbdyno.systems.process.scratch import Scratch

pytestmark = pytest.mark.live

QUICK = ";".join(
    (
        *("evs.keepalive_period=PT0.3S", "evs.inactive_check_period=PT0.3S"),
        # Not sooner: nodes that get no CPU for a while would take each other for dead.
        *("evs.suspect_timeout=PT3S", "evs.inactive_timeout=PT8S", "evs.install_timeout=PT8S"),
    )
)


@contextmanager
def linked(network: Network | None = None) -> Iterator[tuple[Links, Between]]:
    """A network between nodes of `db`."""
    remarks: list[str] = []
    links = Links(LOCAL, installed.find(), (), remarks.append)
    try:
        with Scratch() as scratch:
            place = scratch.path / "network"
            yield links, Between(links, LOCAL, installed.find(), place, "db", network)
    finally:
        links.close()


def cut(*nodes: str, **more: Any) -> Fault:
    return Fault(0.0, "partition", nodes, "db", peers=("nodes",), **more)


@contextmanager
def struck(fault: Fault, links: Links, servers: dict[str, Any]) -> Iterator[None]:
    """A fault while it is in force."""
    kind = FAULTS[fault.do]
    nodes = [
        Node(name, servers[name], "shop", links.paths, tuple(set(servers) - {name}))
        for name in fault.nodes
    ]
    for node in nodes:
        kind.begin(node, fault)
    try:
        yield
    finally:
        for node in nodes:
            kind.undo(node, fault, "")


def write(server: Any, number: int) -> None:
    server.run("shop", [f"INSERT INTO t VALUES ({number}, 7)"])


def is_of_a_majority(server: Any) -> bool:
    """Whether a node of Galera says so."""
    [[_, status]] = server.rows("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_status'")
    return str(status) == "Primary"


def test_a_minority_of_galera_refuses_and_comes_back() -> None:
    config = {"wsrep_provider_options": QUICK}
    with (
        linked() as (links, between),
        working(
            "mariadb", Topology("galera", 3), between, memory_bytes=32 << 20, config=config
        ) as (cluster, servers),
    ):
        with struck(cut("db.3"), links, servers):
            # One that is only late with its answer has no role, but a status.
            assert wait_for(lambda: not is_of_a_majority(servers["db.3"]), 120)
            assert cluster.roles()["db.3"] == DOWN
            with pytest.raises(DynoError, match="WSREP has not yet prepared"):
                write(servers["db.3"], 1)
            assert wait_for(lambda: cluster.roles()["db"] == MEMBER, 120)
            write(servers["db"], 2)
            assert seen(servers["db.2"], 2)
        assert wait_for(cluster.together, 120)
        assert seen(servers["db.3"], 2)
        write(servers["db.3"], 3)
        assert seen(servers["db"], 3)
        # Children of a server are led, too: rsync of the donor, once a node has lost its position.
        servers["db.3"].kill()
        servers["db.3"].start_again()
        assert wait_for(cluster.together, 120)
        assert links.relay is not None
        donors = [links.relay.state(f"{donor}>db.3 sst") for donor in ("db", "db.2")]
        assert sum(donor.accepted for donor in donors) > 0


def test_a_group_elects_a_primary_without_the_one_that_is_cut_off() -> None:
    config = {
        "group_replication_member_expel_timeout": 0,
        "group_replication_unreachable_majority_timeout": 3,
    }
    with (
        linked() as (links, between),
        working("mysql", Topology("group", 3), between, memory_bytes=32 << 20, config=config) as (
            cluster,
            servers,
        ),
    ):
        with struck(cut("db"), links, servers):

            def elected() -> str | None:
                roles = cluster.roles()
                others = [n for n, role in roles.items() if n != "db" and role == PRIMARY]
                return others[0] if others and roles["db"] == DOWN else None

            found: list[str | None] = []
            assert wait_for(lambda: found.append(elected()) or found[-1], 120)
            primary = found[-1]
            assert primary is not None
            write(servers[primary], 1)
        assert wait_for(cluster.together, 120)
        assert wait_for(lambda: cluster.roles()[primary] == PRIMARY)
        assert seen(servers["db"], 1)
        check_quorum(cluster, servers)


def check_quorum(cluster: Any, servers: dict[str, Any]) -> None:
    """A member of a group loses its quorum with both others, which nobody expels, and regains it
    with them."""
    for server in servers.values():
        server.rows("SET GLOBAL group_replication_member_expel_timeout = 3600")
        server.rows("SET GLOBAL group_replication_unreachable_majority_timeout = 0")
    assert has_quorum(cluster, "db")
    others = [servers[name] for name in ("db.2", "db.3")]
    try:
        for other in others:
            other.pause()
        assert wait_for(lambda: has_quorum(cluster, "db") is False, 120)
        assert cluster.quorum("db").said == "2 of 3 members are UNREACHABLE"
    finally:
        for other in others:
            other.resume()
    assert wait_for(lambda: has_quorum(cluster, "db"), 120)


def has_quorum(cluster: Any, name: str) -> bool | None:
    """What a node says; None if it does not answer."""
    found = cluster.quorum(name)
    return None if found is None else bool(found.has)


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "postgres"])
def test_a_replica_that_was_cut_off_catches_up(kind: str) -> None:
    with (
        linked() as (links, between),
        working(kind, Topology("replicas", 3), between, memory_bytes=32 << 20) as (_, servers),
    ):
        write(servers["db"], 1)
        assert seen(servers["db.2"], 1)
        with struck(cut("db.2"), links, servers):
            write(servers["db"], 2)
            assert seen(servers["db.3"], 2)
            rows = servers["db.2"].run("shop", ["SELECT v FROM t WHERE id = 2"])
            assert not list(rows)
        assert seen(servers["db.2"], 2)


def test_a_restarted_replica_is_still_behind_the_relay() -> None:
    with (
        linked() as (links, between),
        working("mariadb", Topology("replicas", 2), between, memory_bytes=32 << 20) as (_, servers),
    ):
        servers["db.2"].kill()
        with struck(cut("db"), links, servers):
            servers["db.2"].start_again()
            write(servers["db"], 1)
            time.sleep(0.5)
            assert not list(servers["db.2"].run("shop", ["SELECT v FROM t WHERE id = 1"]))
        assert seen(servers["db.2"], 1)


def test_nodes_have_the_delay_between_them_that_was_measured() -> None:
    far = Network(0.05)
    with (
        linked(far) as (links, between),
        working("postgres", Topology("replicas", 2, 1), between, memory_bytes=32 << 20) as (
            _,
            servers,
        ),
    ):
        assert between.measured is not None
        assert between.measured.round_trip_s >= 0.1
        begun = time.monotonic()
        write(servers["db"], 1)
        assert time.monotonic() - begun >= 0.1  # it waits for the standby, a round trip away
        near = Fault(0.0, "link", ("db",), "db", peers=("nodes",), line=Line(delay_s=0.2))
        with struck(near, links, servers):
            begun = time.monotonic()
            write(servers["db"], 2)
            assert time.monotonic() - begun >= 0.4


EXPERIMENT = """
experiment: cut
targets:
  db: {{kind: {kind}, durability: none, memory: 32Mi{more}}}
workload: {{kind: oltp, preset: {preset}, tables: 1, rows: 300, sessions: 2, deadline: 1s}}
{rest}blocks: 1
warmup: 200ms
duration: {duration}
interval: 100ms
"""


def experiment(
    rest: str,
    kind: str = "mariadb",
    more: str = "",
    duration: str = LONG,
    preset: str = "write_only",
) -> str:
    binaries(kind)
    return EXPERIMENT.format(kind=kind, more=more, rest=rest, duration=duration, preset=preset)


def records(there: Place) -> list[dict[str, Any]]:
    return [json.loads(text) for text in complete_trials(there.path / "r").values()]


def ran(
    there: Place, text: str, enough: Callable[[Watched], object] = settled
) -> list[dict[str, Any]]:
    """The records of a run that left nothing behind; its loads have ended once they saw enough."""
    path = there.experiment(text)
    with ended(there.path / "r", enough):
        done = there.dyno("run", path, "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stderr
    assert there.until_clean() == []
    found = records(there)
    for record in found:
        assert record["status"] == "complete", record["void_reason"]
    return found


def check_outage(there: Place, record: dict[str, Any]) -> None:
    """Nothing was committed for half of the time at least that the only fault lasted; the other
    half is for an engine that got no CPU, and counted late."""
    (fault,) = record["faults"]
    watched = trials(there.path / "r")[record["id"]]
    (undoing_s,) = watched.times(fault["do"], "undo", "")
    least_s = (undoing_s - fault["in_force_s"]) / 2 - watched.lateness_s
    assert record["metrics"]["outage_s"] >= least_s


def test_clients_are_cut_off_both_ways_and_one_way(there: Place) -> None:
    text = experiment(
        "factors:\n"
        "  fault:\n"
        "    none:\n"
        "    both: {faults: [{at: 1s, do: partition, from: clients, for: 1s}]}\n"
        "    out: {faults: [{at: 1s, do: partition, from: clients, one_way: out, for: 1s}]}\n"
        "    far: {faults: [{at: 1s, do: link, from: clients, delay: 500ms, loss: 1%, for: 2s}]}\n"
        "audit: commits\n"
    )
    found = ran(there, text)
    assert len([one for one in found if one.get("faults")]) == 3 == len(found) - 1
    for record in found:
        if record.get("faults"):
            check_outage(there, record)
        audit = record["audit"]["db"]
        assert (audit["lost"], audit["duplicated"], audit["diverged"]) == (0, 0, 0)
    assert "through a relay" in (there.path / "r/run.log").read_text()


def test_a_node_of_galera_is_cut_off_under_load_and_nothing_is_lost(there: Place) -> None:
    quick = f"config: {{wsrep_provider_options: '{QUICK}'}}"
    text = experiment(
        "faults: [{at: 1s, do: partition, node: db.3, for: 6s}]\naudit: commits\n",
        more=", topology: {kind: galera, nodes: 3}, " + quick,
    ).replace("workload: {", "groups:\n  load: {target: db, route: any, ")
    (record,) = ran(there, text)
    assert record["metrics"]["errors_per_s"] > 0  # of the minority
    audit = record["audit"]["db"]
    assert (audit["lost"], audit["resurrected"], audit["diverged"]) == (0, 0, 0)
    assert len({node["rows"] for node in audit["nodes"]}) == 1
    (fault,) = record["faults"]
    assert fault["links"] == "db.3 <> db, db.2"


def test_commits_wait_for_a_standby_that_is_cut_off(there: Place) -> None:
    text = (
        experiment(
            "faults: [{at: 1s, do: partition, node: replica, for: 1500ms}]\naudit: commits\n",
            "postgres",
            ", topology: {kind: replicas, nodes: 2, wait_for_replicas: 1}",
        )
        .replace("durability: none, ", "")
        .replace("deadline: 1s", "deadline: 30s")
    )
    (record,) = ran(there, text)
    check_outage(there, record)
    audit = record["audit"]["db"]
    assert (audit["lost"], audit["diverged"]) == (0, 0)
    assert len({node["rows"] for node in audit["nodes"]}) == 1


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill-9"])
def test_nothing_is_left_of_a_partition_and_the_run_goes_on(
    there: Place, ending: signal.Signals
) -> None:
    text = experiment(
        "faults: [{at: 200ms, do: partition, node: replica, for: 1s}]\n",
        more=", topology: {kind: replicas, nodes: 2}",
        duration="2s",
    )
    there.experiment(text)
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    log = there.path / "r/trials/b01-t001/faults.ndjson"
    assert wait_for(lambda: log.exists() and '"ok"' in log.read_text(), 180)
    dyno.send_signal(ending)
    if ending == signal.SIGINT:
        time.sleep(0.3)  # two at once would be one, which waits for the trial
        dyno.send_signal(ending)
    output, _ = dyno.communicate(timeout=120)
    assert "Traceback" not in output
    assert there.until_clean() == []
    resumed = there.dyno("run", "--resume", "r")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    (record,) = records(there)
    assert (record["status"], len(record["faults"])) == ("complete", 1)
    assert there.until_clean() == []


def test_a_nemesis_cuts_and_slows_links(there: Place) -> None:
    text = experiment(
        "factors:\n  fault:\n    none:\n    drawn: {faults: [{at: 200ms, do: nemesis, for: 4s,"
        " every: 300ms, hold: 500ms, from: all, of: [partition, link], delay: 20ms}]}\n"
        "audit: commits\n",
        more=", topology: {kind: replicas, nodes: 2}",
    )

    def few(watched: Watched) -> bool:
        undone = [one for one in watched.faults if (one["step"], one["outcome"]) == ("undo", "ok")]
        # The moments of all that are drawn have come by then.
        is_over = watched.measured[-1]["t_s"] > 5 and len(undone) >= 2
        return watched.well() and (is_over or not planned(watched))

    found = ran(there, text, few)
    drawn, quiet = sorted(found, key=lambda one: "faults" not in one or not one["faults"])
    assert drawn["faults"] and not quiet.get("faults")
    assert all("undone_s" in one and one["links"] for one in drawn["faults"])
    assert "network" in drawn["targets"]["db"]
    assert "network" not in quiet["targets"]["db"]
    for record in (drawn, quiet):
        audit = record["audit"]["db"]
        assert (audit["lost"], audit["diverged"]) == (0, 0)


def test_a_cut_of_a_server_that_is_alone_is_refused_with_its_place(there: Place) -> None:
    path = there.experiment(experiment("faults: [{at: 1s, do: partition}]\n"))
    done = there.dyno("run", path, "--check")
    assert done.returncode == 2
    assert "experiment.yaml:6:10" in done.stderr
    assert "from: clients" in done.stderr
