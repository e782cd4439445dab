"""Plans with external servers: what is refused, what is estimated, notes for readers."""

from __future__ import annotations

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.plan import external
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate
from dbdyno.plan.stored import json as plan_json
from dbdyno.plan.types import Plan

MACHINE = Machine(8, 16 << 30, "6.1", "CPU", tuple(range(8)))
FILE = """experiment: x
targets:
  db: {{url: mysql://app@db1:3306{target}}}
workload: {{kind: oltp, preset: {preset}, rows: 100000}}
factors: {{sessions: [1, 2]}}
{more}
"""
EXISTING = ", data: {existing: shop}"


def plan(target: str = "", preset: str = "point_select", more: str = "", **options: object) -> Plan:
    text = FILE.format(target=target, preset=preset, more=more)
    return make(load(text), MACHINE, **options)  # type: ignore[arg-type]


def test_writing_to_existing_data_takes_the_file_and_the_command_line() -> None:
    with pytest.raises(DynoError, match="would change `shop`") as raised:
        plan(EXISTING, "read_write")
    assert raised.value.where is not None
    with pytest.raises(DynoError, match="would change `shop`") as raised:
        plan(EXISTING + ", may: {write: yes}", "read_write")
    assert "--write-to shop" in raised.value.fix
    made = plan(EXISTING + ", may: {write: yes}", "read_write", write_to=["shop"])
    assert made.cells[0].state.data == "reuse"
    with pytest.raises(DynoError, match="cannot be restored"):
        plan(
            EXISTING + ", may: {write: yes}",
            "read_write",
            "state: {data: restore}",
            write_to=["shop"],
        )
    with pytest.raises(DynoError, match="--write-to shpo"):
        plan(EXISTING, write_to=["shpo"])


def test_a_plan_that_is_only_looked_at_need_not_name_what_it_would_change() -> None:
    made = plan(EXISTING + ", may: {write: yes}", "read_write", runs=False)
    assert external.unnamed(made.cells, ()) == ["shop"]
    assert external.unnamed(made.cells, ("shop",)) == []
    assert external.unnamed(plan(EXISTING).cells, ()) == []
    with pytest.raises(DynoError, match="would change `shop`"):
        plan(EXISTING, "read_write", runs=False)


def test_caches_of_others_are_not_emptied() -> None:
    with pytest.raises(DynoError, match="cold"):
        plan(more="state: {cache: cold}")


def test_what_is_there_is_not_loaded_started_or_pinned() -> None:
    existing, own = plan(EXISTING), plan(preset="read_write")
    assert existing.generator_cpus == () and own.generator_cpus == ()
    cost, ours = estimate.of(existing), estimate.of(own)
    assert (cost.loads, cost.restarts, cost.restores, cost.disk_bytes) == (0, 0, 0, 0)
    assert ours.loads == 1 and ours.restarts == 0 and ours.restores > 0
    assert ours.block_s > cost.block_s + 1, "loading again before each trial takes time"
    touched = cost.touched[0]
    assert (touched.place, touched.schema, touched.existing) == ("db1:3306", "shop", True)
    assert ours.touched[0].schema.startswith("dbdyno_") and not ours.touched[0].existing


def test_a_reader_is_told_and_a_resumed_run_knows_all() -> None:
    made = plan(EXISTING)
    assert any("db1:3306 was there already" in note for note in made.notes)
    assert plan_json.from_json(plan_json.to_json(made)) == made


def test_urls_are_levels_of_a_hard_factor() -> None:
    text = FILE.format(target="", preset="point_select", more="")
    text = text.replace(
        "{sessions: [1, 2]}",
        "{where: {here: {db.url: mysql://app@db1/x}, away: {db.url: mysql://app@db2/x}}}",
    )
    made = make(load(text), MACHINE)
    assert made.factors[0].hard
    assert len({cell.data_key for cell in made.cells}) == 2
