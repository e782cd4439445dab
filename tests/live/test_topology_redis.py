"""Redis under sentinels and as a cluster: real nodes work together, another one takes over under
load, and the audit counts what was lost as a recount does."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from ending import Watched, settled, trial
from running import Place, wait_for
from test_failover import changes, followed, ran
from test_topology_servers import working

from dbdyno.experiment.types import DOWN, PRIMARY, REPLICA, Failover, Topology
from dbdyno.topology.redis import shards

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

KEYS = 300
# Nodes that are silent for so long are dead: longer than a busy machine keeps one waiting.
SILENT_S = 5.0


def keys(server: Any) -> None:
    """Puts KEYS of them into a server."""
    server.ask_each([("SET", f"key:{number}", number) for number in range(KEYS)])
    server.settle("")


def sizes(servers: dict[str, Any]) -> dict[str, int]:
    return {name: server.ask("DBSIZE") for name, server in servers.items()}


def test_sentinels_promote_a_replica_and_the_old_primary_follows_it() -> None:
    form = Topology("sentinel", 3, failover=Failover(SILENT_S))
    with working("redis", form, fill=keys) as (cluster, servers):
        roles = {"db": PRIMARY, "db.2": REPLICA, "db.3": REPLICA}
        assert wait_for(lambda: cluster.roles() == roles)
        assert wait_for(lambda: cluster.healthy() and cluster.together())
        assert wait_for(lambda: sizes(servers) == dict.fromkeys(servers, KEYS))
        sentinels = [server.companions[0] for server in servers.values()]
        os.kill(servers["db"].pid, signal.SIGKILL)
        assert wait_for(lambda: cluster.announced() not in (None, "db"), 120)
        leader = cluster.announced()
        assert leader is not None
        assert wait_for(lambda: cluster.role(leader) == PRIMARY)
        servers[leader].ask("SET", "new", 1)
        # Sessions need not follow it yet, nor ever: a node that comes back does at once.
        assert wait_for(lambda: not servers["db"].process.alive())
        servers["db"].start_again()
        assert servers["db"].info("replication")["master_port"] == str(servers[leader].port)
        cluster.accept(leader)
        assert wait_for(cluster.together)
        assert cluster.roles()["db"] == REPLICA
        assert wait_for(lambda: servers["db"].ask("GET", "new") == "1")
        since = cluster.takes_writes_since()
        assert since is not None
        assert all(one.alive() for one in sentinels)
    assert not any(one.alive() for one in sentinels)


def test_a_cluster_divides_the_keys_and_a_replica_takes_over() -> None:
    config = {"cluster_node_timeout": round(SILENT_S * 1000)}
    form = Topology("cluster", 6, cluster_replicas=1)
    with working("redis", form, fill=keys, config=config) as (cluster, servers):
        roles = [PRIMARY] * 3 + [REPLICA] * 3
        assert wait_for(lambda: list(cluster.roles().values()) == roles)
        wanted = [0, 0, 0]
        for number in range(KEYS):
            wanted[min(2, shards.slot(f"key:{number}") * 3 // shards.SLOTS)] += 1
        assert wait_for(lambda: sum(sizes(servers).values()) == 2 * KEYS)
        primaries = list(sizes(servers).values())[:3]
        assert max(abs(a - b) for a, b in zip(primaries, wanted, strict=True)) <= 1
        names = [[node.name for node in store] for store in cluster.stores()]
        assert names == [["db", "db.4"], ["db.2", "db.5"], ["db.3", "db.6"]]
        os.kill(servers["db.2"].pid, signal.SIGKILL)
        assert wait_for(lambda: cluster.role("db.5") == PRIMARY, 120)
        assert cluster.role("db.2") == DOWN
        assert wait_for(lambda: not servers["db.2"].process.alive())
        servers["db.2"].start_again()
        assert wait_for(cluster.together)
        assert cluster.roles()["db.2"] == REPLICA


EXPERIMENT = """
experiment: failover
targets:
  db:
    kind: {kind}
    durability: os_crash_unsafe
    config: {{cluster_node_timeout: 3000, cluster_require_full_coverage: no}}
    topology: {topology}
workload:
  {{kind: kv, preset: a, records: 1000, sessions: 6, deadline: 2s, retries: 3}}
audit: commits
faults:
{faults}
blocks: 1
warmup: 300ms
duration: {duration}
interval: 100ms
"""
KILL = "  - {at: 2s, do: kill, node: primary}\n"
CUT = "  - {at: 1200ms, do: partition, node: primary, for: 8s}\n"


def elected(watched: Watched) -> bool:
    """Whether all is well since another node was elected."""
    changed = watched.changed("elected")
    return bool(changed) and watched.well(changed[-1])


def test_a_primary_that_is_cut_off_loses_what_it_acknowledges(there: Place) -> None:
    form = "{kind: sentinel, nodes: 3, failover: {after: 2s}}"
    record = ran(
        there, "redis", form, CUT, lambda seen: followed(seen) and settled(seen), EXPERIMENT
    )
    found = changes(record)
    assert found["elected"] == found["address"] in ("db.2", "db.3")
    assert "fenced" not in found
    audit = record["audit"]["db"]
    # Clients went on to write to it until the sentinels had agreed.
    assert audit["lost"] > 0, record["roles"]
    assert (audit["diverged"], audit["unlogged"]) == (0, 0), "the old primary follows by now"


def test_a_cluster_goes_on_without_a_killed_primary(there: Place) -> None:
    form = "{kind: cluster, nodes: 6}"
    record = ran(there, "redis", form, KILL.replace("primary", "db.2"), elected, EXPERIMENT)
    metrics = record["metrics"]
    assert changes(record)["elected"] == "db.5"
    assert metrics["promotion_s"] > 0
    # The other two thirds of the slots were served meanwhile, and those of the killed one failed.
    watched = trial(there.path / "r")
    [killed_s], [elected_s, *_] = watched.times("kill"), watched.changed("elected")
    assert watched.commits(killed_s, elected_s) > 0, record["roles"]
    assert metrics["errors_per_s"] > 0
    audit = record["audit"]["db"]
    assert audit["acknowledged"] > 0 and audit["diverged"] == 0
    assert {node["name"] for node in audit["nodes"]} == {"db", *(f"db.{n}" for n in range(2, 7))}
    plan = json.loads((there.path / "r/trials/b01-t001/plan.json").read_text())
    [group] = plan["groups"]
    assert len(group["also_targets"]) == 5
