"""`setup:`, `session:` and `instances:`: what is read, what is refused and where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.targets import setups
from dbdyno.experiment.types import Setup, Spec, Target
from dbdyno.plan import data
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate

MACHINE = Machine(2, 8 << 30, "", "", (0, 1))
TEXT = """experiment: mine
targets:
  db: {kind: sqlite}
setup:
  tables:
    users:
      rows: 1e6
      columns: {id: {type: bigint, sequence: 1, key: primary}, city: {type: int, uniform: [1, 9]}}
      indexes: [[city], {columns: [id, city], unique: true}]
groups:
  app:
    kind: mix
    params: {uid: {zipfian: [1, 1000000]}}
    statements: {find: "SELECT * FROM users WHERE id = :uid"}
"""
DUMP = "    dump: shop.sql\n"


def loaded(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load(path)


def with_own(setup: str, kind: str = "sqlite") -> str:
    own = f"  db: {{kind: {kind}, setup: {setup}}}"
    return TEXT.replace("  db: {kind: sqlite}", own)


def target(tmp_path: Path, text: str) -> Target:
    return loaded(tmp_path, text).cells[0].targets[0]


def test_what_holds_for_all_lies_under_what_a_target_says(tmp_path: Path) -> None:
    setup = target(tmp_path, with_own("{after: [SELECT 1], tables: {users: {rows: 5}}}")).setup
    assert setup is not None
    users = setup.tables["users"]
    assert (users["rows"], setup.after) == (5, ("SELECT 1",))
    assert users["indexes"][0] == {"columns": ["city"], "unique": False}
    assert list(users["columns"]) == ["id", "city"]


def test_paths_are_relative_to_the_experiment_and_contents_count(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text("SELECT 1;")
    text = with_own("{dump: shop.sql, sql: [./shop.sql]}")
    one = target(tmp_path, text)
    assert one.setup is not None
    assert one.setup.dump == str(tmp_path / "shop.sql") == one.setup.sql[0]
    assert setups.changed(one.setup) is None
    (tmp_path / "shop.sql").write_text("SELECT 2;")
    assert setups.changed(one.setup) == one.setup.dump
    two = target(tmp_path, text)
    assert data.target_key(one, (), lambda _: {}) != data.target_key(two, (), lambda _: {})
    assert two.setup is not None
    (tmp_path / "shop.sql").rename(tmp_path / "other.sql")
    renamed = target(tmp_path, text.replace("shop.sql", "other.sql"))
    assert data.target_key(renamed, (), lambda _: {}) == data.target_key(two, (), lambda _: {})
    assert setups.changed(two.setup) == two.setup.dump  # gone


def test_a_changed_template_is_another_data_set(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "a").write_text("1")
    text = with_own("{template: data}", "mariadb")
    before = target(tmp_path, text)
    (directory / "b").mkdir()
    after = target(tmp_path, text)
    assert before.setup is not None and after.setup is not None
    assert before.setup.hashes != after.setup.hashes
    assert setups.changed(before.setup) == str(directory)


WRONG = {
    "missing dump": (with_own("{dump: shop.sq}"), 3, "there is no file", "did you mean `shop.sql`"),
    "missing sql": (with_own("{sql: [shop.sql, nix.sql]}"), 3, "nix.sql", "known: "),
    "missing template": (with_own("{template: nix}"), 3, "there is no template", ""),
    "a directory as dump": (with_own("{dump: folder}"), 3, "is no file", "plain SQL"),
    "a custom dump": (with_own("{dump: custom.dump}"), 3, "custom format", "pg_restore"),
    "schema alone": (with_own("{schema: shop}"), 3, "`schema` but no `template`", ""),
    "null": (with_own("{after: [SELECT 1]}", "'null'"), 3, "null driver keeps nothing", ""),
    "unknown key": (with_own("{dmp: shop.sql}"), 3, "no key `dmp`", "did you mean `dump`?"),
    "no type": (TEXT.replace("type: int, ", ""), 8, "city.type` is missing", ""),
    "no generator": (
        TEXT.replace(", uniform: [1, 9]", ""),
        8,
        "does not define its values",
        "",
    ),
    "column of a column": (
        TEXT.replace("uniform: [1, 9]", "column: users.id"),
        8,
        "there is no key `column`",
        "known: ",
    ),
    "index": (
        TEXT.replace("[[city]", "[[cty]"),
        9,
        "there is no column `cty` for an index",
        "did you mean `city`?",
    ),
    "key": (
        TEXT.replace("key: primary", "key: primary, nulls: 10%"),
        8,
        "column `id` of the primary key cannot be NULL",
        "",
    ),
    "rows": (TEXT.replace("rows: 1e6", "rows: many"), 7, "must be a whole number", ""),
    "instances": (TEXT.replace("sqlite}", "sqlite, instances: 0}"), 3, "must be at least 1", ""),
    "port": (
        TEXT.replace("sqlite}", "mariadb, instances: 2, config: {port: 3307}}"),
        3,
        "2 instances cannot share the port",
        "remove `port`",
    ),
    "session": (TEXT.replace("sqlite}", "sqlite, session: SET x}"), 3, "must be a list", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    text, line, what, fix = WRONG[name]
    (tmp_path / "shop.sql").write_text("SELECT 1;")
    (tmp_path / "folder").mkdir()
    (tmp_path / "custom.dump").write_bytes(b"PGDMP\x01")
    with pytest.raises(DynoError) as caught:
        loaded(tmp_path, text)
    error = caught.value
    assert what in error.what, str(error)
    assert fix in error.fix, str(error)
    assert error.where is not None
    assert error.where.line == line, str(error)


def hard_factors(tmp_path: Path, factors: str) -> dict[str, bool]:
    plan = make(loaded(tmp_path, TEXT + f"factors: {factors}\n"), MACHINE)
    return {factor.name: factor.hard for factor in plan.factors}


def test_instances_and_rows_are_hard_sessions_and_weights_easy(tmp_path: Path) -> None:
    assert hard_factors(tmp_path, "{db.instances: [1, 2]}") == {"db.instances": True}
    rows = "setup.tables.users.rows"
    assert hard_factors(tmp_path, f"{{{rows}: [10, 20]}}") == {rows: True}
    theta = "app.params.uid.theta"
    assert hard_factors(tmp_path, f"{{{theta}: [0, 0.5]}}") == {theta: False}
    session = "{s: {on: {db.session: [SELECT 1]}, off: {}}}"
    assert hard_factors(tmp_path, session) == {"s": False}


def test_instances_multiply_memory_and_starts(tmp_path: Path) -> None:
    found = loaded(tmp_path, TEXT.replace("kind: sqlite", "kind: mariadb, memory: 1Gi"))
    four = replace(found.cells[0], targets=(replace(found.cells[0].targets[0], instances=4),))
    one = estimate.of(make(found, MACHINE))
    many = estimate.of(make(replace(found, cells=(four,)), MACHINE))
    assert many.memory_bytes - one.memory_bytes >= 3 << 30
    assert many.restarts == 4 * one.restarts
    assert many.disk_bytes > 2 * one.disk_bytes
    assert many.touched[0].instances == (4,)
    assert many.touched[0].words["memory"] == "1Gi for each server"
    assert "sessions are dealt over the instances" in " ".join(
        make(replace(found, cells=(four,)), MACHINE).notes
    )


def test_a_quick_run_cuts_rows_and_the_ranges_that_end_there(tmp_path: Path) -> None:
    plan = make(loaded(tmp_path, TEXT), MACHINE, quick=True)
    cell = plan.cells[0]
    assert cell.targets[0].setup is not None
    assert cell.targets[0].setup.tables["users"]["rows"] == 10_000
    assert cell.groups[0].options["params"]["uid"]["zipfian"] == [1, 10_000]
    assert any("10000 rows at most (app)" in note for note in plan.notes)


def test_declared_tables_are_loaded_first_and_estimated(tmp_path: Path) -> None:
    plan = make(loaded(tmp_path, TEXT), MACHINE)
    target_ = plan.cells[0].targets[0]
    [(workload, options)] = data.data_sets(plan.cells[0].groups, target_)
    assert (workload, list(options["tables"])) == ("tables", ["users"])
    assert 30e6 < data.data_bytes(target_, plan.cells[0].groups) < 300e6
    assert data.setup_facts(replace(target_, setup=Setup())) == {
        "template": None,
        "schema": None,
        "dump": None,
        "sql": [],
        "after": [],
    }
