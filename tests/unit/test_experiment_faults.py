"""Faults in an experiment file: what may be written, what it means, what is refused, where."""

from __future__ import annotations

import jsonschema
import pytest
from ruamel.yaml import YAML
from test_experiment_load import ONE, failure, load

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.pilot import Pilot, shorten
from dbdyno.plan.stored.json import from_json, to_json
from fixtures.schemas import validator

MACHINE = Machine(cores=8, memory_bytes=1 << 34, kernel="6", cpu_model="x")
ALL = (
    ONE
    + """\
faults:
  - {at: 0s, do: kill, back_after: 4s}
  - {at: 500ms, do: pause, node: db, for: 3s}
  - {at: 5s, do: resume, node: any}
  - {at: 6s, do: stop}
  - {at: 7s, do: restart, target: db}
  - {at: 8s, do: limit, cpu: 0.5, memory: 256Mi, for: 1s}
  - {at: 9s, do: sql, sql: CHECKPOINT}
  - {at: 9s, do: sql, sql: [SET a = 1, BEGIN, COMMIT]}
  - {at: 9s, do: alter, table: sbtest1, change: ADD INDEX by_pad (pad)}
  - {at: 10s, do: nemesis, for: 15s, every: 2s, hold: 1s, of: [kill, restart]}
"""
)
FACTOR = (
    ONE
    + """\
factors:
  fault:
    none:
    kill: {faults: [{at: 2s, do: kill}]}
claims: ["outage_s[kill] < 5s", "failover_s[kill] < 5s"]
"""
)
THREE = ONE.replace("{kind: mariadb}", "{kind: mariadb, instances: 3}")
EXTERNAL = "experiment: x\ntargets: {db: {url: 'mysql://u@h/s'}}\nworkload: {kind: oltp}\n"
BOTH = """\
experiment: x
targets: {a: {kind: mariadb}, b: {kind: redis}}
groups: {one: {kind: oltp, target: a}, two: {kind: kv, target: b}}
"""


def test_every_fault_as_it_is_written() -> None:
    (cell,) = load(ALL).cells
    assert cell.faults == (
        Fault(0.0, "kill", ("primary",), "db", 4.0),
        Fault(0.5, "pause", ("db",), "db", 3.0),
        Fault(5.0, "resume", ("any",), "db"),
        Fault(6.0, "stop", ("primary",), "db"),
        Fault(7.0, "restart", ("primary",), "db"),
        Fault(8.0, "limit", ("primary",), "db", 1.0, cpu_cores=0.5, memory_bytes=256 << 20),
        Fault(9.0, "sql", ("primary",), "db", sql="CHECKPOINT"),
        Fault(9.0, "sql", ("primary",), "db", sql="SET a = 1", more_sql=("BEGIN", "COMMIT")),
        Fault(
            *(9.0, "alter", ("primary",), "db"),
            sql="ADD INDEX by_pad (pad)",
            table="sbtest1",
            tool="pt-online-schema-change",
        ),
        Fault(
            *(10.0, "nemesis", ("any",), "db", 15.0),
            every_s=2.0,
            hold_s=1.0,
            of=("kill", "restart"),
        ),
    )
    data = YAML(typ="safe", pure=True).load(ALL)
    validator("experiment").validate(data)
    for wrong in ({"at": "1s"}, {"at": "1s", "do": "kill", "for": "1s"}, {"at": 1, "do": "kill"}):
        with pytest.raises(jsonschema.ValidationError):
            validator("experiment").validate({**data, "faults": [wrong]})


def test_a_level_has_its_own_faults() -> None:
    none, kill = load(FACTOR).cells
    assert none.faults == ()
    assert kill.faults == (Fault(2.0, "kill", ("primary",), "db"),)


def test_nodes_are_named_or_drawn() -> None:
    (cell,) = load(THREE + "faults: [{at: 1s, do: kill, node: [db.2, db.3]}]\n").cells
    assert cell.faults[0].nodes == ("db.2", "db.3")
    (cell,) = load(THREE + "faults: [{at: 1s, do: kill, node: any}]\n").cells
    assert cell.faults[0].nodes == ("any",)
    (cell,) = load(
        BOTH + "faults: [{at: 1s, do: kill, target: b}, {at: 2s, do: pause, node: a}]\n"
    ).cells
    assert [fault.target for fault in cell.faults] == ["b", "a"]


def test_a_plan_keeps_them_and_restores_data_after_them() -> None:
    plan = make(load(ALL), MACHINE)
    assert from_json(to_json(plan)).cells[0].faults == load(ALL).cells[0].faults
    assert plan.cells[0].state.data == "restore"  # though the workload only reads
    assert make(load(ONE), MACHINE).cells[0].state.data == "reuse"
    assert not any(factor.hard for factor in make(load(FACTOR), MACHINE).factors)


def test_in_a_quick_run_they_come_sooner_and_end_sooner() -> None:
    quick = make(load(ALL), MACHINE, quick=True)
    share = quick.cells[0].duration_s / 30
    found = quick.cells[0].faults
    assert [one.at_s for one in found[:3]] == pytest.approx([0.0, 0.5 * share, 5.0 * share])
    assert found[1].for_s == pytest.approx(3.0 * share)
    assert (found[-1].every_s, found[-1].hold_s) == pytest.approx((2.0 * share, share))


def test_a_pilot_keeps_the_length_that_they_belong_to() -> None:
    assert {cell.duration_s for cell in shorten(load(FACTOR), Pilot()).cells} == {30.0}


@pytest.mark.parametrize(
    ("head", "faults", "said"),
    [
        (ONE, "[{at: 1s, do: kil¶}]", ""),
        (ONE, "[{at: 1s, do: ¶explode}]", "cannot be `explode`"),
        (ONE, "[¶{at: 1s}]", "do` is missing"),
        (ONE, "[¶{do: kill}]", "at` is missing"),
        (ONE, "[{at: ¶1, do: kill}]", "unit"),
        (ONE, "[{at: 1s, do: kill, ¶for: 3s}]", "there is no key `for`"),
        (ONE, "[{at: 1s, do: pause, ¶back_after: 3s}]", "there is no key `back_after`"),
        (ONE, "[{at: ¶30s, do: kill}]", "it measures 30 s"),
        (ONE, "[{at: 28s, do: kill, back_after: ¶4s}]", "ends at 32 s"),
        (ONE, "[{at: 28s, do: pause, for: ¶4s}]", "ends at 32 s"),
        (ONE, "[{at: 1s, do: kill, node: ¶replica}]", "has no replica"),
        (ONE, "[{at: 1s, do: kill, node: ¶db.2}]", "no node `db.2`"),
        (ONE, "[{at: 1s, do: kill, node: ¶primry}]", "no node `primry`"),
        (THREE, "[{at: 1s, do: kill, node: ¶primary}]", "none of the 3 instances"),
        (THREE, "[{at: 1s, do: kill, node: ¶[db, db.4]}]", "no node `db.4`"),
        (ONE, "[{at: 1s, do: kill, target: ¶bd}]", "no group is sent to such a target"),
        (ONE, "[{at: 1s, do: ¶limit}]", "limits nothing"),
        (ONE, "[{at: 1s, do: limit, cpu: ¶0}]", "at least 0.01"),
        (ONE, "[{at: 1s, do: nemesis, for: 9s, every: 1s, of: [¶sql]}]", "cannot be `sql`"),
        (ONE, "[{at: 1s, do: alter, table: ¶a.b, change: ADD a INT}]", "cannot be"),
        (ONE, "[¶{at: 1s, do: alter, table: a}]", "change` is missing"),
        (ONE, "[{at: 1s, do: alter, tool: ¶gh-ost, table: a, change: b}]", "gh-ost"),
        (
            ONE.replace("mariadb", "postgres"),
            "[{at: 1s, do: ¶alter, table: a, change: ADD a INT}]",
            "use a target of kind mariadb, mysql",
        ),
        (EXTERNAL, "[¶{at: 1s, do: kill}]", "no fault on target `db`"),
        (EXTERNAL, "[{at: 1s, do: kill, node: ¶db}]", "no fault on target `db`"),
        (BOTH, "[¶{at: 1s, do: kill}]", "does not say of which target"),
        (BOTH, "[{at: 1s, do: ¶sql, sql: SELECT 1, node: b}]", "knows no SQL"),
        (ONE.replace("mariadb", "sqlite"), "[¶{at: 1s, do: kill}]", "no fault on target `db`"),
        (
            ONE + "matters: 3%\nduration: {until: steady, max: 5m}\n",
            "[{at: ¶1s, do: kill}]",
            "steady",
        ),
    ],
)
def test_what_cannot_be_is_said_where_it_stands(head: str, faults: str, said: str) -> None:
    if not said:  # a misspelt word is guessed
        with pytest.raises(DynoError) as caught:
            load(f"{head}faults: {faults.replace('¶', '')}\n")
        assert "kill" in caught.value.fix
        return
    error = failure(f"{head}faults: {faults}\n")
    assert said in f"{error.what} {error.fix} {error.cause}", str(error)


def test_a_search_has_no_faults() -> None:
    text = ONE.replace(
        "preset: read_only", "preset: read_only, find: {rate: max, while: response_ms_p99 < 20}"
    )
    assert "searches for a rate" in failure(f"{text}¶faults: [{{at: 1s, do: kill}}]\n").what


def test_metrics_of_faults_need_faults() -> None:
    error = failure(ONE + 'claims: ["¶failover_s < 5s"]\n')
    assert "the experiment has no faults" in error.what
    assert load(ONE + "claims: [outage_s < 5s]\n").claims


def test_a_plan_says_what_will_happen() -> None:
    notes = make(load(FACTOR), MACHINE).notes
    assert "Faults in 1 of 2 cells: `kill`. The next trial starts fresh servers." in notes
    assert not any("Faults" in note for note in make(load(ONE), MACHINE).notes)
