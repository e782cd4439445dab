"""Several servers alike as one target: names, sums, values of columns."""

from __future__ import annotations

import datetime
import decimal
import os
from pathlib import Path
from typing import Any

import pytest

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.execute.engine import request
from dbdyno.execute.engine.frequencies import Held
from dbdyno.execute.servers import columns
from dbdyno.execute.servers.deployment import Deployment, MergedServers
from dbdyno.experiment.types import INSTANCE, PRIMARY, REPLICA, Node
from dbdyno.samplers.server.process import Process
from dbdyno.systems.base import TargetPlan


class Fake:
    """A server that counts."""

    def __init__(self, pid: int | None, count: float) -> None:
        self.pid = pid
        self.directory = Path("/nowhere")
        self._count = count

    def counters(self) -> dict[str, float]:
        return {"commits": self._count, f"only_{self._count:g}": 1.0}

    def gauges(self) -> frozenset[str]:
        return frozenset({"g"})

    def sessions_by_state(self) -> dict[str, int]:
        return {"idle": 1, "running": int(self._count)}


def together(*servers: Any) -> MergedServers:
    return MergedServers(servers)


def test_counters_and_sessions_are_sums() -> None:
    both = together(Fake(1, 2.0), Fake(None, 3.0))
    assert both.counters() == {"commits": 5.0, "only_2": 1.0, "only_3": 1.0}
    assert both.sessions_by_state() == {"idle": 2, "running": 5}
    assert (both.pid, both.gauges()) == ((1,), {"g"})
    assert together(Fake(None, 1.0)).pid is None


def test_the_engine_calls_instances_by_number_and_runs_session_statements_last() -> None:
    target = TargetPlan("db", "null", instances=3, session=("SET x = 1",))
    system = systems.load("null")
    deployment = Deployment(target, system, system.find(None), system.resolve(target))
    assert [(node.name, node.role) for node in target.nodes] == [
        ("db", INSTANCE),
        ("db.2", INSTANCE),
        ("db.3", INSTANCE),
    ]
    server = system.start(deployment.binaries, Path("/nowhere"), deployment.resolved, cpus=[])
    deployment.servers |= {node.name: server for node in target.nodes}
    found = deployment.engine_targets()
    assert list(found) == ["db", "db.2", "db.3"]
    assert all(each["session_sql"] == ["SET x = 1"] for each in found.values())
    assert isinstance(deployment.sampled, MergedServers)
    assert list(deployment.written) == list(found)
    assert deployment.replicas == {}


def test_replicas_are_nodes_that_only_readers_reach() -> None:
    urls = tuple(f"mysql://app@db{number}/shop" for number in (1, 2, 3))
    target = TargetPlan("db", "mysql", url=urls[0], read_urls=urls[1:])
    assert target.nodes == (
        Node("db", PRIMARY, urls[0]),
        Node("db.read1", REPLICA, urls[1]),
        Node("db.read2", REPLICA, urls[2]),
    )
    assert [node.name for node in target.nodes_for("write")] == ["db"]
    assert [node.name for node in target.nodes_for("read")] == ["db.read1", "db.read2"]
    system = systems.load("null")
    started = {node.name: Fake(None, 1.0) for node in target.nodes}
    deployment = Deployment(
        *(target, system, system.find(None), system.resolve(TargetPlan("db", "null"))),
        servers=started,  # type: ignore[arg-type]
    )
    assert deployment.written == {"db": started["db"]}
    assert deployment.replicas == {"read1": started["db.read1"], "read2": started["db.read2"]}
    assert deployment.sampled is deployment.server is started["db"]


def test_one_server_is_a_primary_and_has_no_replicas() -> None:
    target = TargetPlan("db", "mariadb")
    assert target.nodes == target.nodes_for("write") == (Node("db", PRIMARY),)
    assert target.nodes_for("read") == ()


def test_processes_of_several_servers_are_one_source() -> None:
    sampler = Process([os.getpid(), os.getppid()], "db")
    alone = Process(os.getpid())
    sampler.open()
    alone.open()
    assert sampler.source == "db.server"
    assert sampler.sample(1.0)["rss_bytes"] > alone.sample(1.0)["rss_bytes"] > 0


def test_values_become_what_json_has() -> None:
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    rows: list[list[Any]] = [
        [1],
        ["a"],
        [decimal.Decimal("1.50")],
        [datetime.date(2024, 1, 2)],
        [moment],
        [True],
    ]
    assert columns.plain(rows, "t.c") == [1, "a", "1.50", "2024-01-02", "2024-01-02 03:04:05", True]
    with pytest.raises(DynoError, match=r"t\.c holds values that cannot be parameters"):
        columns.plain([[b"\x00"]], "t.c")


def test_values_go_to_the_engine_only() -> None:
    params = {"who": {"column": "t.c", "nulls": 0.1}, "n": {"sequence": 1}}
    stored = {"groups": [{"name": "a", "options": {"params": params}}, {"name": "b"}]}
    given = request.with_values(stored, {"a": {"who": Held([1, 2])}})
    assert given["groups"][0]["options"]["params"] == {
        "who": {"nulls": 0.1, "values": [1, 2]},
        "n": {"sequence": 1},
    }
    assert stored["groups"][0]["options"]["params"]["who"] == params["who"]  # type: ignore[index]
    assert given["groups"][1] == {"name": "b"}
