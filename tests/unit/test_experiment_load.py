"""Experiment files: their meaning, and errors with places for wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import Spec, types
from dbdyno.experiment import load as load_file

EXPERIMENTS = Path(__file__).parent / "experiments"

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.yaml"))

HEAD = """\
experiment: demo
targets:
  db: {kind: mariadb}
"""

ONE = HEAD + "workload: {kind: oltp, preset: read_only}\n"

TWO = (
    HEAD
    + """\
groups:
  readers: {kind: oltp, preset: point_select}
  writer: {kind: oltp, preset: update_index}
"""
)


def load(text: str, *overrides: str) -> Spec:
    return load_file(text, overrides)


def failure(text: str, *overrides: str) -> DynoError:
    """The error that `text` gives; `¶` in it marks where the error must point."""
    mark = text.find("¶")
    with pytest.raises(DynoError) as caught:
        load(text.replace("¶", ""), *overrides)
    error = caught.value
    if mark >= 0:
        line = text.count("\n", 0, mark) + 1
        column = mark - (text.rfind("\n", 0, mark) + 1) + 1
        assert error.where is not None
        assert (error.where.line, error.where.column) == (line, column), str(error)
    return error


def test_blocks_may_be_left_to_the_claims() -> None:
    text = ONE + "trials: {max: 9, until: decided}\nclaims: [tps > 1]\n"
    assert (load(text).blocks, load(text).looks) == (9, types.Looks(4, 9))
    s = load(text, "trials.max=20", "trials.min=5")
    assert (s.blocks, s.looks) == (20, types.Looks(5, 20))
    assert load(s.text).looks == s.looks
    fixed = load(text, "trials=null", "blocks=3")
    assert (fixed.blocks, fixed.looks) == (3, None)
    assert load(fixed.text).looks is None
    with pytest.raises(DynoError, match="`blocks` and `trials`") as caught:
        load(text, "blocks=3")
    assert "--set trials=null" in caught.value.fix


def test_the_query_cache_experiment() -> None:
    s = load(EXPERIMENTS / "query-cache.yaml")
    assert s.name == "query-cache"
    assert [(f.name, f.levels) for f in s.factors] == [
        ("cache", ("on", "off")),
        ("id_range", ("10000", "1000000")),
        ("readers.sessions", ("1", "4", "20")),
    ]
    assert s.factors[1].values == (10_000.0, 1_000_000.0)
    assert s.factors[0].values is None
    assert len(s.cells) == 12
    last = s.cells[-1]
    assert last.levels == {"cache": "off", "id_range": "1000000", "readers.sessions": "20"}
    (db,) = last.targets
    assert db.config == {
        "innodb_flush_method": "O_DIRECT",
        "query_cache_type": 0,
        "query_cache_size": 0,
    }
    assert (db.memory_bytes, db.protocol, db.tls, db.isolation) == (
        1 << 30,
        "text",
        "prefer",
        "repeatable_read",
    )
    readers, updater = last.groups
    assert (readers.sessions, updater.sessions) == (20, 1)
    assert (readers.options["id_range"], updater.options["id_range"]) == (1_000_000, 1_000_000)
    assert (updater.arrivals.steps[0].to_per_s, updater.deadline_s, updater.retries) == (
        66.7,
        30.0,
        10,
    )
    assert (s.blocks, s.seed, s.matters, s.budget_s) == (6, 42, 0.03, 86400.0)
    assert (s.data, s.cache, s.needs.cores) == ("reuse", "warm", 16)
    assert {(cell.cpus.generator, cell.cpus.servers) for cell in s.cells} == {((0,), (1,))}
    assert s.require[0].text == "status.Created_tmp_disk_tables <= 10"
    assert len(s.claims) == 3
    assert s.scope.groups == ("readers", "updater")


def test_targets_are_those_that_a_cell_uses() -> None:
    s = load(EXPERIMENTS / "engines.yaml")
    used = {c.levels["engine"]: [t.name for t in c.targets] for c in s.cells}
    assert used == {"sqlite": ["lite"], "mariadb": ["maria"], "postgres": ["pg"], "mysql": ["my"]}
    assert s.scope.targets == ()  # never two at once: names carry no prefix
    assert [t.optional for c in s.cells for t in c.targets] == [False] * 6 + [True] * 2


def test_on_and_off_are_names_quoted_or_not() -> None:
    s = load(EXPERIMENTS / "journal.yaml")
    assert s.factors[1].levels == ("on", "off")
    assert {c.targets[0].config["synchronous"] for c in s.cells} == {"FULL", "OFF"}
    assert s.cells[0].warmup_s == 0.5


def test_booleans_and_numbers_are_names_of_levels_too() -> None:
    text = ONE + (
        "factors:\n"
        "  a: {true: {db.config.x: 1}, false: {db.config.x: 2}, no: }\n"
        "  b: {16: {workload.sessions: 16}, 32: {workload.sessions: 32}}\n"
        "  workload.skip_trx: [true, false]\n"
    )
    s = load(text)
    assert [f.levels for f in s.factors] == [
        ("true", "false", "no"),
        ("16", "32"),
        ("true", "false"),
    ]
    assert s.factors[1].values == (16.0, 32.0)
    assert {c.groups[0].options["skip_trx"] for c in s.cells} == {True, False}


def test_kind_null_is_the_null_driver() -> None:
    s = load(ONE.replace("mariadb", "null"))
    assert s.cells[0].targets[0].kind == "null"


def test_sizes_as_levels_are_numbers() -> None:
    s = load(ONE + "factors: {db.memory: [256Mi, 1Gi]}\nclaims: ['tps[1Gi] > tps[256Mi]']\n")
    assert s.factors[0].values == (256.0 * 2**20, 2.0**30)


def test_defaults() -> None:
    s = load(ONE)
    assert (s.blocks, s.data, s.cache, s.matters, s.claims) == (6, None, "warm", 0.0, ())
    (cell,) = s.cells
    assert (cell.levels, cell.warmup_s, cell.duration_s, cell.interval_s) == ({}, 10.0, 30.0, 1.0)
    (group,) = cell.groups
    assert (group.name, group.target, group.sessions) == ("workload", "db", 1)
    assert (group.deadline_s, group.retries, group.arrivals) == (60.0, 10, None)


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert (
        load(ONE.replace("read_only", "read_only, rows: 1e6")).cells[0].groups[0].options["rows"]
        == 1_000_000
    )


def test_a_level_can_patch_a_whole_target_deeply() -> None:
    text = ONE.replace("{kind: mariadb}", "{kind: mariadb, config: {a: 1, b: 2}}")
    s = load(text + "factors: {f: {x: {db: {config: {b: 3}}}, y: {db.config.c.d: 4}}}\n")
    assert [c.targets[0].config for c in s.cells] == [
        {"a": 1, "b": 3},
        {"a": 1, "b": 2, "c.d": 4},
    ]


def test_several_targets_at_once_prefix_their_metrics() -> None:
    text = (
        "experiment: two\ntargets: {a: {kind: mariadb}, b: {kind: postgres}}\n"
        "groups:\n  x: {kind: oltp, target: a}\n  y: {kind: oltp, target: b}\n"
        "require: [a.status.Questions >= 1]\n"
    )
    assert load(text).scope.targets == ("a", "b")
    error = failure(text.replace("[a.status", "[¶status"))
    assert "`a.status.Questions` or `b.status.Questions`" in error.fix


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_shipped_studies_load(path: Path) -> None:
    assert load(path).cells
