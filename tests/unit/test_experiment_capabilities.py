"""What a workload needs and its target cannot do is reported with line and column."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.kinds.kind import KEY_VALUE, POPULATE

FILE = """\
experiment: e
targets: {{db: {{kind: "null"}}}}
duration: 1s
workload:
  kind: {workload}
"""


@pytest.fixture(autouse=True)
def _keys_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The null kind as a server that only knows records by their keys."""
    less = replace(kinds.KINDS["null"], capabilities=(KEY_VALUE, POPULATE))
    monkeypatch.setitem(kinds.KINDS, "null", less)


def refused(workload: str) -> DynoError:
    with pytest.raises(DynoError) as caught:
        load(FILE.format(workload=workload))
    return caught.value


@pytest.mark.parametrize(
    ("workload", "needed", "line", "column"),
    [
        ("oltp", "workload `oltp` needs `sql`,", 5, 9),
        ("tpcc", "needs `sql`,", 5, 9),
        ("kv\n  preset: e", "workload `kv` needs `key_ranges` for scans,", 6, 11),
        ("kv\n  scan: 0.5", "`key_ranges` for scans", 6, 9),
        ("kv\n  preset: f\n  transactional: true", "`transactions` for `transactional`", 7, 18),
    ],
)
def test_a_need_that_is_not_met_is_pointed_at(
    workload: str, needed: str, line: int, column: int
) -> None:
    error = refused(workload)
    assert needed in error.what
    assert "target `db` (null)" in error.what
    assert error.where is not None
    assert (error.where.line, error.where.column) == (line, column)
    assert error.cause == "its capabilities are key_value, populate"
    assert error.fix.startswith("use a target of kind sqlite, mariadb, mysql, postgres, or ")


def test_a_pipeline_needs_a_driver_that_sends_before_it_is_answered() -> None:
    error = refused("kv\n  preset: c\n  pipeline: 16")
    assert error.what == (
        "group `workload`: workload `kv` needs `pipelining` for `pipeline`, "
        "and target `db` (null) does not have it"
    )
    assert error.where is not None
    assert (error.where.line, error.where.column) == (7, 13)
    assert error.cause == "its driver sends each request after the answer to the one before"
    assert error.fix == "use a target of kind redis, or remove `pipeline`"
    load(FILE.format(workload="kv\n  preset: c\n  pipeline: 1"))


@pytest.mark.parametrize("kind", ["sqlite", "mariadb", "mysql", "postgres"])
def test_no_system_with_sql_takes_a_pipeline(kind: str) -> None:
    text = FILE.format(workload="kv\n  pipeline: 4").replace('"null"', kind)
    with pytest.raises(DynoError, match="needs `pipelining` for `pipeline`"):
        load(text)


def test_only_levels_that_pipeline_are_refused() -> None:
    error = refused("kv\n  preset: c\nfactors:\n  workload.pipeline: [1, 4]\n")
    assert "(in cell workload.pipeline=4)" in error.what


@pytest.mark.parametrize("preset", ["a", "b", "c", "d", "f"])
def test_presets_without_scans_run_on_keys_alone(preset: str) -> None:
    load(FILE.format(workload=f"kv\n  preset: {preset}"))


def test_a_cell_is_named_where_only_one_does_not_fit() -> None:
    error = refused(
        "kv\n  preset: a\nfactors:\n  mix: {a: {workload.preset: a}, e: {workload.preset: e}}\n"
    )
    assert "(in cell mix=e)" in error.what
