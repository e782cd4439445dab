"""Two versions of an experiment as one plan: what is run, what is omitted, what is refused."""

from __future__ import annotations

import itertools

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored import json as plan_json
from dbdyno.plan.two_versions.against import Base, unite
from dbdyno.plan.two_versions.differences import differences, paired_cells
from dbdyno.plan.types import Plan

TEXT = """
experiment: new
targets:
  db: {kind: sqlite, memory: 16Mi, config: {journal_mode: WAL}}
workload: {kind: oltp, preset: read_write, tables: 1, rows: 1000}
factors:
  sync:
    full: {db.config: {synchronous: FULL}}
    off: {db.config: {synchronous: OFF}}
  sessions: [1, 2]
blocks: 4
warmup: 1s
duration: 2s
matters: 5%
"""
MACHINE = Machine(cores=2, memory_bytes=8 << 30, kernel="6.1", cpu_model="test", cpus=(0, 1))


def planned(
    *overrides: str, text: str = TEXT, base: str = TEXT, quick: bool = False, more: str = ""
) -> Plan:
    """The plan of `text` against `base` with `overrides`."""
    read = Base(load(base, overrides), "old.yaml")
    return make(load(text + more), MACHINE, quick=quick, base=read)


def test_every_cell_is_there_twice_in_every_block() -> None:
    plan = planned("db.config.journal_mode=DELETE")
    assert [factor.name for factor in plan.factors] == ["version", "sync", "sessions"]
    assert plan.factors[0].levels == ("base", "new")
    assert plan.factors[0].hard
    cells = {tuple(cell.levels.values()) for cell in plan.cells}
    assert cells == set(itertools.product(("base", "new"), ("full", "off"), ("1", "2")))
    for block in range(1, plan.blocks + 1):
        ran = sorted(trial.cell for trial in plan.trials if trial.block == block)
        assert ran == list(range(8))
    for cell in plan.cells:
        mode = cell.targets[0].config["journal_mode"]
        assert mode == ("DELETE" if cell.levels["version"] == "base" else "WAL")


def test_versions_are_easy_to_change_where_one_server_serves_both() -> None:
    plan = planned("db.protocol=text")
    assert not plan.factors[0].hard


def test_pairs_are_alike_but_for_the_version() -> None:
    plan = planned("db.memory=8Mi")
    pairs = list(paired_cells(plan))
    assert len(pairs) == 4
    for base, new in pairs:
        assert base.levels == {**new.levels, "version": "base"}


def test_what_differs_is_told_once() -> None:
    plan = planned("db.config.journal_mode=DELETE", "db.memory=8Mi", "workload.rows=500")
    assert [str(each) for each in differences(plan)] == [
        "db.config.journal_mode: DELETE -> WAL",
        "db.memory: 8 MiB -> 16 MiB",
        "workload.rows: 500 -> 1000",
    ]


def test_what_differs_in_some_cells_says_so() -> None:
    plan = planned("factors.sync.off=null", "factors.sync.off={db.config: {synchronous: NORMAL}}")
    (found,) = differences(plan)
    assert str(found) == "db.config.synchronous: NORMAL -> OFF (in 2 of 4 cells)"


def test_nothing_differs_is_said() -> None:
    plan = planned()
    assert differences(plan) == ()
    assert any("noise of this machine" in note for note in plan.notes)


def test_only_cells_that_both_have_are_run_and_the_others_are_listed() -> None:
    plan = planned("factors.sessions=[2, 4]")
    assert {cell.levels["sessions"] for cell in plan.cells} == {"2"}
    assert {skipped.what for skipped in plan.skipped} == {
        "version=new, sessions=1",
        "version=base, sessions=4",
    }


def test_claims_are_about_the_new_version() -> None:
    claims = "claims: ['tps[sync=off] > tps[sync=full] at each sessions', 'p95 < 9 at sync=full, "
    plan = planned(more=claims + "sessions=1', 'tps[1] ~= tps[2] at sync=off within 5%']\n")
    assert plan.claims == (
        "tps[sync=off] > tps[sync=full] at each sessions, version=new",
        "p95 < 9 at sync=full, sessions=1, version=new",
        "tps[1] ~= tps[2] at sync=off within 5% at version=new",
    )
    assert plan.untested == {}


def test_a_claim_on_a_cell_that_was_left_out_is_not_tested() -> None:
    more = "claims: ['tps[sessions=2] > tps[sessions=1] at sync=off']\n"
    plan = planned("factors.sessions=[2, 4]", more=more)
    (why,) = plan.untested.values()
    assert "sessions=1 was skipped" in why


def test_names_that_are_taken_are_not_given_again() -> None:
    text = TEXT.replace("full:", "new:").replace("  sessions: [1, 2]", "  workload.rows: [9, 10]")
    text = text.replace("  sync:", "  version:")
    plan = planned(text=text, base=text)
    assert plan.against is not None
    assert plan.against.factor == "version-2"
    assert (plan.against.base, plan.against.new) == ("base-2", "new-2")


def test_the_new_file_rules_both_and_says_so() -> None:
    plan = planned("blocks=2", "duration=5s", "warmup=3s", "matters=1%")
    assert plan.blocks == 4
    assert {(cell.warmup_s, cell.duration_s) for cell in plan.cells} == {(1.0, 2.0)}
    assert plan.against is not None
    assert plan.against.matters == 0.05
    (note,) = [note for note in plan.notes if "run by the new file's" in note]
    assert "blocks, matters, warmup, duration" in note


def test_a_gate_may_say_what_matters() -> None:
    base = Base(load(TEXT), "old.yaml", matters=0.1)
    against = unite(load(TEXT), base).against
    assert against.matters == 0.1


def test_a_quick_run_keeps_both_versions() -> None:
    more = "".join(
        f"  workload.{name}: [1, 2, 3]\n" for name in ("point_selects", "sum_ranges", "range_size")
    )
    text = TEXT.replace("blocks", f"{more.rstrip()}\nblocks")
    plan = planned("db.protocol=text", text=text, base=text, quick=True)
    assert {cell.levels["version"] for cell in plan.cells} == {"base", "new"}


def test_the_plan_survives_its_file() -> None:
    plan = planned("db.memory=8Mi")
    assert plan_json.from_json(plan_json.to_json(plan)) == plan


OTHER_FACTOR = TEXT.replace("  sessions: [1, 2]\n", "")
HOOKED = TEXT + "hooks: {before_run: ['true']}\n"
KV = TEXT.replace("kind: oltp, preset: read_write, tables: 1, rows: 1000", "kind: kv")
TWO = TEXT.replace("workload: {", "groups:\n  w: {").replace("  sessions: ", "  w.sessions: ")


@pytest.mark.parametrize(
    ("base", "overrides", "said"),
    [
        (OTHER_FACTOR, (), "factors differ: sessions only in the new version"),
        (HOOKED, (), "commands under `hooks`"),
        (KV, (), "is a closed loop of oltp here, and a closed loop of kv in the base"),
        (TEXT, ("workload.rate=10/s",), "an open loop of oltp in the base"),
        (TEXT, ("factors.sessions=[3, 4]",), "no cell in common"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_reasons(
    base: str, overrides: tuple[str, ...], said: str
) -> None:
    with pytest.raises(DynoError) as caught:
        planned(*overrides, base=base)
    assert said in caught.value.what
    assert caught.value.fix


def test_other_groups_are_refused() -> None:
    named = TWO.replace("w:", "v:").replace("w.sessions", "sessions")
    renamed = TWO.replace("w.sessions", "sessions")
    with pytest.raises(DynoError, match="groups differ: w here, v in the base"):
        planned(text=renamed, base=named)
