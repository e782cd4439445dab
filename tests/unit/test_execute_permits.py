"""What a set-up permits: by the level of isolation, and by the nodes that sessions use."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno.execute.servers.audits.permits import Permits, permits, setting
from dbdyno.experiment.types import Failover, Router, Topology
from dbdyno.kinds.kind import SKEWS
from dbdyno.plan.types import GroupPlan
from dbdyno.systems.base import TargetPlan

STALE = ("not_linearizable", "stale_reads")
SERVERS = {"galera": "mariadb", "group": "mysql", "sentinel": "redis", "cluster": "redis"}


def group(audit: str, route: str) -> GroupPlan:
    return GroupPlan("app", audit, "db", 4, 60.0, 3, {}, route=route)


def found(
    topology: str, *routes: str, audit: str = "register", level: str = "", **more: Any
) -> Permits:
    """Of groups with these routes on a topology; `more`: of the topology, `config`, `session`."""
    kind = more.pop("kind", SERVERS.get(topology, "postgres"))
    own = {name: more.pop(name) for name in ("config", "session") if name in more}
    form = Topology(topology, **more) if topology else None
    target = TargetPlan("db", kind, topology=form, **own)
    return permits(target, [group(audit, route) for route in routes], audit, level)


def test_one_server_permits_what_its_level_does() -> None:
    assert found("", "primary") == Permits(())
    assert found("", "primary", audit="append", level="repeatable_read").anomalies == (
        "write_skew",
    )
    assert found("", "primary", audit="append", level="serializable") == Permits(())


@pytest.mark.parametrize("topology", ["replicas", "galera", "group", "sentinel", "cluster"])
def test_sessions_of_the_primary_alone_have_no_more(topology: str) -> None:
    assert found(topology, "primary", "primary") == Permits(())
    assert found(topology, "write", failover=Failover(1.0)) == Permits(())


@pytest.mark.parametrize("topology", ["replicas", "group", "sentinel"])
def test_reads_at_replicas_may_be_old(topology: str) -> None:
    for routes in (("primary", "replicas"), ("any",), ("primary", "db.2"), ("replicas",)):
        made = found(topology, *routes)
        assert made.anomalies == STALE
        assert "after its acknowledgement" in made.grounds[0]


def test_sessions_of_one_replica_alone_see_one_copy() -> None:
    assert found("replicas", "db.2") == Permits(())


def test_primaries_of_a_cluster_have_different_data() -> None:
    assert found("cluster", "primary", nodes=6, cluster_replicas=1) == Permits(())
    both = found("cluster", "primary", "replicas", nodes=6, cluster_replicas=1)
    assert both.anomalies == STALE


def test_waiting_for_replicas_is_not_waiting_for_what_they_show() -> None:
    made = found("replicas", "primary", "replicas", wait_for_replicas=2)
    assert made.anomalies == STALE
    assert "received" in made.grounds[0]
    applied = {"config": {"synchronous_commit": "remote_apply"}}
    every = found("replicas", "primary", "replicas", wait_for_replicas=2, **applied)
    assert every.anomalies == ("not_linearizable",)  # seen before it is acknowledged
    assert found("replicas", "any", wait_for_replicas=1, **applied).anomalies == STALE


@pytest.mark.parametrize(
    ("more", "anomalies"),
    [
        ({}, STALE),
        ({"config": {"wsrep_sync_wait": 1}}, ()),
        ({"config": {"wsrep-sync-wait": 7}}, ()),
        ({"config": {"wsrep_sync_wait": 6}}, STALE),  # of writes alone
        ({"config": {"wsrep_causal_reads": "ON"}}, ()),
        ({"session": ("SET SESSION wsrep_sync_wait = 3",)}, ()),
        ({"config": {"wsrep_sync_wait": 1}, "session": ("SET wsrep_sync_wait=0",)}, STALE),
    ],
)
def test_galera_without_causal_reads_permits_old_ones(
    more: dict[str, Any], anomalies: tuple[str, ...]
) -> None:
    made = found("galera", "any", **more)
    assert made.anomalies == anomalies
    assert bool(made.grounds) == bool(anomalies)
    assert found("galera", "primary", **more) == Permits(())


@pytest.mark.parametrize(
    ("consistency", "anomalies"),
    [
        ("EVENTUAL", STALE),
        ("BEFORE_ON_PRIMARY_FAILOVER", STALE),
        ("BEFORE", ()),
        ("AFTER", ("not_linearizable",)),
        ("BEFORE_AND_AFTER", ()),
    ],
)
def test_a_group_reads_as_its_consistency_says(
    consistency: str, anomalies: tuple[str, ...]
) -> None:
    config = {"group_replication_consistency": consistency}
    assert found("group", "primary", "replicas", config=config).anomalies == anomalies


def test_serializable_holds_at_one_node_of_galera_only() -> None:
    for audit in ("append", "bank"):
        made = found("galera", "any", audit=audit, level="serializable")
        assert made.anomalies == SKEWS
        assert "certifies what transactions write" in made.grounds[0]
        assert found("galera", "primary", audit=audit, level="serializable") == Permits(())
        waiting = {"config": {"wsrep_sync_wait": 1}}
        assert found("galera", "any", audit=audit, level="serializable", **waiting) == made
    # On one server it permits as much, so that there is nothing to explain.
    assert found("galera", "any", audit="append", level="repeatable_read") == Permits(SKEWS)


def test_old_but_consistent_snapshots_are_no_anomaly_of_isolation() -> None:
    made = found("replicas", "primary", "replicas", audit="append", level="repeatable_read")
    assert made == Permits(("write_skew",))


def test_a_router_that_deals_reads_permits_more_than_one_that_passes_connections_on() -> None:
    pgpool, haproxy = Router("pgpool"), Router("haproxy")
    dealt = found("replicas", "router", router=pgpool)
    assert dealt.anomalies == (*STALE, "own_write_misses")
    assert found("replicas", "router", router=haproxy) == Permits(())
    reads = found("replicas", "router", audit="append", level="repeatable_read", router=pgpool)
    assert set(reads.anomalies) == set(SKEWS)
    assert found(
        "replicas", "router", audit="append", level="repeatable_read", router=haproxy
    ) == Permits(("write_skew",))


def test_the_last_word_on_a_setting_counts() -> None:
    statements = ("SET a TO 'x'", "SET SESSION b := 3", "SET a = Y")
    target = TargetPlan("db", "postgres", config={"c-d": "On"}, session=statements)
    assert [setting(target, name) for name in ("a", "b", "c_d", "e")] == ["y", "3", "on", ""]
