"""Faults and topologies that meet the wrong machine: servers that do not die or do not come back,
no quorum, no rights, ports that are taken. Nothing starts.

Nodes that are not there: `test_experiment_faults`, `test_link_faults`; too little memory:
`test_plan_memory`; Ctrl-C: `tests/live/test_faults.py`, `test_faults_links.py`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import plans
import pytest
from test_topology_take_over import Wiring, three

from dbdyno.errors import DynoError
from dbdyno.execute.faulting.trial_faults import TrialFaults
from dbdyno.execute.timeline import TrialVoid
from dbdyno.experiment.types import PRIMARY, Target, Topology
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import FAULTS
from dbdyno.faults.base import Direct, Node
from dbdyno.faults.drills.base import Steps
from dbdyno.faults.limit import Limit
from dbdyno.systems.base import Binaries, Resolved
from dbdyno.systems.process import starting
from dbdyno.systems.process.managed import Managed, NodeOptions
from dbdyno.systems.process.starting import PortTaken
from dbdyno.topology import base, galera, planned
from dbdyno.topology.base import Members
from dbdyno.topology.cluster import Cluster

cluster = sys.modules[Cluster.__module__]  # a function of the package has its name


class Mortal:
    """A managed server that dies of SIGKILL unless it is `stuck`, and does not come back."""

    pid = 77

    def __init__(self, *, stuck: bool = False) -> None:
        self.stuck, self.is_alive = stuck, True
        self.was_killed = False

    @property
    def process(self) -> Mortal:
        return SimpleNamespace(alive=lambda: self.is_alive, kill=self._die)  # type: ignore[return-value]

    def _die(self, timeout_s: float) -> bool:
        self.is_alive = self.stuck
        return not self.stuck

    def kill(self) -> None:
        Managed.kill(self)  # type: ignore[arg-type]

    def start_again(self) -> None:
        raise DynoError("it ended at its start with status 1", cause="a damaged page")


Managed.register(Mortal)


def striking(server: Any, fault: Fault, path: Path) -> TrialFaults:
    """The faults of a trial with one server, whose clock has begun."""
    plan = plans.plan()
    run = SimpleNamespace(trial_dir=lambda name: path, path=path)
    context: Any = SimpleNamespace(control=SimpleNamespace(stop_now=False), run=run)
    deployment: Any = SimpleNamespace(
        roles=lambda: {"db": PRIMARY},
        target=SimpleNamespace(router_name="db.router", arbitrator=None, linked=()),
        arbitrator=None,
        servers={"db": server},
        database="",
        volumes={},
        clocks={},
        cluster=None,
        named=None,
        is_fenced=lambda name: False,
    )
    cell = replace(plan.cells[0], faults=(fault,))
    faults = TrialFaults(context, cell, plan.trials[0], {"db": deployment}, Direct())
    faults.start(time.time())
    return faults


def outcomes(path: Path) -> list[tuple[str, str]]:
    lines = map(json.loads, (path / "faults.ndjson").read_text().splitlines())
    return [(line["step"], line["outcome"]) for line in lines if line["outcome"]]


def test_a_server_that_does_not_die_voids_the_trial_and_says_where_to_look(
    tmp_path: Path,
) -> None:
    server = Mortal(stuck=True)
    with pytest.raises(DynoError) as caught:
        server.kill()
    assert "(process 77) did not die within 10 s of SIGKILL" in caught.value.what
    assert "state D" in caught.value.cause and "/proc/77/stack" in caught.value.fix
    faults = striking(server, Fault(0.0, "kill", ("db",), "db"), tmp_path)
    with pytest.raises(TrialVoid, match=r"`kill` of `db` at 0 s did not happen: .* did not die"):
        faults._in_turn(0)
    assert outcomes(tmp_path) == [("begin", "failed")]
    assert faults.heal() == (), "nothing is in force"


def test_a_server_that_does_not_come_back_at_its_moment_voids_the_trial(tmp_path: Path) -> None:
    faults = striking(Mortal(), Fault(0.0, "kill", ("db",), "db", for_s=0.0), tmp_path)
    with pytest.raises(TrialVoid, match=r"was not undone: it ended at its start.*damaged page"):
        faults._in_turn(0)
    assert outcomes(tmp_path) == [("begin", "ok"), ("undo", "failed")]


def test_a_server_that_does_not_come_back_after_the_trial_is_said(tmp_path: Path) -> None:
    faults = striking(Mortal(), Fault(0.0, "kill", ("db",), "db"), tmp_path)
    faults._in_turn(0)
    [said] = faults.heal()
    assert said.startswith("`kill` of `db` at 0 s was not undone: it ended at its start")
    assert outcomes(tmp_path) == [("begin", "ok"), ("undo", "failed")]


def test_without_root_or_control_groups_a_limit_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    server: Any = Mortal()
    fault = Fault(1.0, "limit", ("db",), "db", cpu_cores=0.5)
    with pytest.raises(DynoError, match="`db` cannot be limited") as caught:
        Limit(tmp_path).begin(Node("db", server, ""), fault)
    assert "only root may" in caught.value.cause and "run dyno as root" in caught.value.fix
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_fault_of_links_without_a_relay_is_an_error() -> None:
    server: Any = Mortal()
    node = Node("db", server, "", others=("db.2",))
    fault = Fault(1.0, "partition", ("db",), "db", peers=("nodes",))
    with pytest.raises(DynoError, match="there is no link of `db` to nodes"):
        FAULTS["partition"].begin(node, fault)


def test_a_quorum_that_is_never_regained_ends_the_wait_of_a_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(galera, "JOIN_TIMEOUT_S", 0.0)
    monkeypatch.setattr(galera, "JOIN_POLL_S", 0.0)
    state = [["wsrep_cluster_status", "non-Primary"], ["wsrep_local_state_comment", "Initialized"]]
    server: Any = SimpleNamespace(look=lambda sql, timeout_s: state)
    target = Target("db", "mariadb", topology=Topology("galera", 3))
    members = Members(target, Binaries(""), Resolved({}, (), ()), {"db": server})
    with pytest.raises(DynoError, match="did not join the cluster again") as caught:
        galera.WIRING.rewire(members, members.nodes[0])
    assert "the others have no quorum" in caught.value.cause
    state[:] = [["wsrep_cluster_status", "Primary"], ["wsrep_local_state_comment", "Synced"]]
    galera.WIRING.rewire(members, members.nodes[0])


@pytest.mark.parametrize(("dies", "works"), [(0, True), (1, True), (2, False)])
def test_a_node_that_gives_up_while_it_joins_is_started_once_more(
    tmp_path: Path, dies: int, works: bool
) -> None:
    started: list[int] = []

    def start_again() -> None:
        started.append(len(started))
        if len(started) <= dies:
            raise DynoError("mariadb ended at its start with signal 6")

    account = SimpleNamespace(switch=False)
    server: Any = SimpleNamespace(
        directory=tmp_path,
        given=SimpleNamespace(account=account),
        start_again=start_again,
        alive=lambda: False,
    )
    target = Target("db", "mariadb", topology=Topology("galera", 3))
    members = Members(target, Binaries(""), Resolved({}, (), ()), {"db": server})
    if works:
        planned.joins_by_itself(members, members.nodes[0], Steps())
    else:
        with pytest.raises(DynoError, match="signal 6"):
            planned.joins_by_itself(members, members.nodes[0], Steps())
    assert len(started) == min(dies + 1, 2)


def others_take(times: int) -> tuple[Callable[..., str], list[int]]:
    """What starts a node whose ports others take so often; the numbers of its tries."""
    tried: list[int] = []

    def start(*given: Any) -> str:
        tried.append(len(tried) + 1)
        if len(tried) <= times:
            raise PortTaken("mariadb ended at its start", cause="its port is in use")
        return "a server"

    return start, tried


def test_ports_of_a_node_that_others_took_meanwhile_are_chosen_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, servers = three()
    tries = cluster.TRIES
    node, ports = made._members.nodes[1], iter(range(5000, 6000))
    monkeypatch.setattr(base, "free_port", lambda: next(ports))
    used: list[int] = []

    class Talking(Wiring):
        def options(self, members: Any, node: Any, directory: Any) -> NodeOptions:
            used.append(members.port(node, "talk"))
            return NodeOptions()

    made._wiring = Talking()
    start, tried = others_take(tries - 1)
    monkeypatch.setattr(cluster, "start_node", start)
    made._start(node, Path("/nowhere"))
    assert servers[node.name] == "a server"
    assert len(set(used)) == len(tried) == tries
    monkeypatch.setattr(cluster, "start_node", others_take(tries)[0])
    with pytest.raises(PortTaken, match="ended at its start"):
        made._start(node, Path("/nowhere"))


def test_a_port_that_somebody_took_meanwhile_is_replaced_unless_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ports = iter(range(5000, 6000))
    monkeypatch.setattr(starting, "free_port", lambda: next(ports))
    stopped: list[int] = []

    def launch(port: int) -> Any:
        def ready() -> None:
            if port in (5000, 5001, 9999):
                raise PortTaken("it ended at its start")

        def stop(*, discard: bool = False) -> bool:
            stopped.append(port)
            return True

        return SimpleNamespace(
            port=port, wait_until_ready=ready, check_settings=lambda _: None, stop=stop
        )

    assert starting.start(launch, Resolved({}, (), ()), None).port == 5002
    assert stopped == [5000, 5001]
    with pytest.raises(PortTaken):
        starting.start(launch, Resolved({}, (), ()), 9999)
    assert stopped == [5000, 5001, 9999]
