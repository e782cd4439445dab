"""CPUs of generator and servers, and caches, as levels of a factor."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbdyno.analysis.between_runs import comparability
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.plan import cpus
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored import json
from dbdyno.plan.two_versions.against import Base
from dbdyno.plan.types import Plan
from dbdyno.report.sections.setting import tested

EIGHT = Machine(
    cores=8, memory_bytes=16 << 30, kernel="", cpu_model="", cpus=tuple(range(8))
)  # fmt: skip
HEAD = """
experiment: scaling
targets: {db: {kind: mariadb}}
workload: {kind: oltp, preset: read_only}
"""
FACTOR = """
factors:
  server:
    one: {cpus: {generator: [0, 1], servers: [2]}}
    four: {cpus: {generator: [0, 1], servers: [4, 5, 6, 7]}}
"""


def planned(text: str, machine: Machine = EIGHT) -> Plan:
    return make(load(HEAD + text), machine)


def test_cpus_are_a_level_and_the_servers_start_anew_for_it() -> None:
    plan = planned(FACTOR)
    assert [plan.server_cpus_of(cell) for cell in plan.cells] == [(2,), (4, 5, 6, 7)]
    assert {plan.generator_cpus_of(cell) for cell in plan.cells} == {(0, 1)}
    assert plan.factors[0].hard
    assert (plan.generator_cpus, plan.server_cpus) == ((), ())
    assert json.from_json(json.to_json(plan)) == plan
    assert len({comparability.fingerprint(planned(FACTOR.replace("[2]", "[3]"))),
                comparability.fingerprint(plan)}) == 2  # fmt: skip


def test_single_cpus_are_levels_by_their_path() -> None:
    text = FACTOR.replace("cpus: {generator: [0, 1], servers: [2]}", "cpus.servers: [2]")
    plan = planned(text + "cpus: {generator: [0, 1], servers: [3]}\n")
    assert [plan.server_cpus_of(cell) for cell in plan.cells] == [(2,), (4, 5, 6, 7)]


def test_a_level_without_cpus_has_the_default() -> None:
    text = FACTOR.replace("one: {cpus: {generator: [0, 1], servers: [2]}}", "usual: {}")
    usual, four = planned(text).cells
    assert (usual.generator_cpus, usual.server_cpus) == ((0, 1), (2, 3, 4, 5, 6, 7))
    assert four.server_cpus == (4, 5, 6, 7)
    two = replace(EIGHT, cores=2, cpus=(0, 1))
    small = text.replace("[0, 1]", "[0]").replace("[4, 5, 6, 7]", "[1]")
    shared, apart = planned(small, two).cells
    assert (shared.generator_cpus, apart.generator_cpus) == ((), (0,))


def test_where_cpus_do_not_vary_they_are_the_plan_s() -> None:
    plan = planned("cpus: {generator: [0], servers: [1, 2]}\nfactors: {sessions: [1, 2]}\n")
    assert (plan.generator_cpus, plan.server_cpus) == ((0,), (1, 2))
    assert all(cell.generator_cpus == () for cell in plan.cells)
    assert not plan.factors[0].hard
    assert cpus.said(plan) == [("", (0,), (1, 2))]
    assert tested.split(plan) == "The load generator ran on CPU 0, the servers on CPU 1-2."


def test_people_are_told_each_split() -> None:
    plan = planned(FACTOR)
    assert cpus.said(plan) == [
        ("server=one", (0, 1), (2,)),
        ("server=four", (0, 1), (4, 5, 6, 7)),
    ]
    assert "At server=four the load generator ran on CPU 0-1" in tested.split(plan)


def test_both_versions_run_on_the_new_one_s_cpus() -> None:
    base = load(HEAD + "factors: {sessions: [1, 2]}\n")
    new = load(HEAD + "factors: {sessions: [1, 2]}\ncpus: {generator: [0], servers: [1]}\n")
    plan = make(new, EIGHT, base=Base(base, "base.yaml"))
    assert {plan.server_cpus_of(cell) for cell in plan.cells} == {(1,)}
    assert any("new file's cpus" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("level", "said"),
    [
        ("{cpus: {generator: [0], servers: [0]}}", "CPU 0 is given to generator and servers"),
        ("{cpus: {generator: [0]}}", "gives CPUs to one side only"),
        ("{cpus.server: [0]}", "there is no `server`"),
        ("{cpus: {generator: [0], servers: [9]}}", "CPU 9 cannot be used here"),
        ("{state: {data: reuse}}", "`state.data` applies to all cells"),
        ("{state.data: reuse}", "`state.data` applies to all cells"),
        ("{seed: 3}", "`seed` applies to all cells"),
    ],
)
def test_what_cannot_be_a_level_is_said(level: str, said: str) -> None:
    with pytest.raises(DynoError, match=said.replace("[", "\\[")) as error:
        planned(f"factors: {{f: {{one: {level}, two: {{}}}}}}\n")
    assert error.value.fix


def test_a_cold_cache_is_a_level() -> None:
    plan = planned("factors: {state.cache: [warm, cold]}\n")
    assert [cell.state.cache for cell in plan.cells] == ["warm", "cold"]
    assert {cell.state.data for cell in plan.cells} == {"reuse"}
    assert plan.factors[0].hard
