"""One's own workload, as a user runs it: tables, statements, columns, dumps, instances."""

from __future__ import annotations

import json
import sqlite3
import subprocess

import pytest
from ending import LONG, Watched, ended
from private_servers import binaries
from running import Place

pytestmark = pytest.mark.live

MIX = """experiment: mine
targets: {db: {kind: KIND, instances: 2, session: [SESSION]}}
warmup: 100ms
duration: 300ms
interval: 100ms
setup:
  tables:
    users:
      rows: 2000
      columns:
        id: {type: bigint, sequence: 1, key: primary}
        city: {type: int, zipfian: [1, 50]}
        name: {type: varchar(40), text: "user-#####", nulls: 10%}
        born: {type: date, dates: [1950-01-01, 2005-12-31]}
      indexes: [[city]]
  after: [DELETE FROM users WHERE id > 1000]
groups:
  app:
    kind: mix
    sessions: 2
    params:
      uid: {uniform: [1, 1000]}
      gone: {uniform: [1001, 2000]}
      who: {column: users.id}
    statements:
      find: {sql: "SELECT name, born FROM users WHERE id = :uid", weight: 8, expect: {rows: 1}}
      known: {sql: "SELECT city FROM users WHERE id = :who", expect: {rows: 1}}
    transactions:
      move:
        steps:
          - {sql: "UPDATE users SET city = city + 1 WHERE id = :uid", expect: {affected: 1}}
          - {sql: "SELECT city FROM users WHERE id = :gone", expect: {rows: 0}, name: none_left}
"""
SESSIONS = {
    "sqlite": "PRAGMA cache_size=-500",
    "mariadb": "SET sql_mode=''",
    "postgres": "SET jit=off",
}


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_statement_that_is_wrong_is_told_once_with_its_line(kind: str, there: Place) -> None:
    binaries(kind)
    text = MIX.replace("KIND", kind).replace("SESSION", SESSIONS[kind])
    wrong = text.replace(
        "SELECT city FROM users WHERE id = :gone", "SELECT cty FROM users WHERE id = :gone"
    )
    line = wrong[: wrong.index("SELECT cty")].count("\n") + 1
    done = there.dyno("run", there.experiment(wrong), "--quick", "--dir", "run")
    assert done.returncode == 2
    assert f"experiment.yaml:{line}:" in done.stderr, done.stderr
    assert done.stderr.count("transactions.move.steps.1") == 1, done.stderr
    assert "transactions.move.steps.1" in (there.path / "run" / "run.log").read_text()


@pytest.mark.parametrize("kind", SESSIONS)
def test_all_wrong_statements_are_told_before_the_first_trial_also_those_of_later_cells(
    kind: str, there: Place
) -> None:
    binaries(kind)
    text = MIX.replace("KIND", kind).replace("SESSION", SESSIONS[kind])
    text = text.replace("name, born FROM users", "name, born FORM users")
    text += """factors:
  look:
    one: {app.statements.known.sql: "SELECT city FROM users WHERE id = :who"}
    two: {app.statements.known.sql: "SELECT town FROM users WHERE id = :who"}
"""
    done = there.dyno("run", there.experiment(text), "--dir", "run")
    assert done.returncode == 2
    torn = text[: text.index("FORM users") + len("FORM ")]  # FORM passes for an alias
    unknown = text[: text.index("SELECT town")]
    lines = [one for one in done.stderr.splitlines() if "experiment.yaml:" in one]
    assert len(lines) == 2, done.stderr
    place = f"{torn.count(chr(10)) + 1}:{len(torn) - torn.rfind(chr(10))}"
    assert f"experiment.yaml:{place}: " in lines[0]
    assert "does not take `statements.find`" in lines[0]
    assert f"experiment.yaml:{unknown.count(chr(10)) + 1}:" in lines[1]
    assert "town" in lines[1]
    assert not list(there.path.glob("run/trials/*"))
    assert there.until_clean() == []


def test_a_table_that_a_command_makes_before_each_trial_is_not_missed(there: Place) -> None:
    """Statements are then left to the engine, which prepares them after that command."""
    text = MIX.replace("KIND", "sqlite").replace("SESSION", SESSIONS["sqlite"])
    text = text.replace("city FROM users WHERE id = :gone", "cty FROM users WHERE id = :gone")
    text = text.replace("expect: {rows: 0}, name: none_left", "name: none_left")
    text += "hooks: {before_trial: 'true'}\n"
    done = there.dyno("run", there.experiment(text), "--quick", "--dir", "run")
    assert done.returncode == 2
    assert "none_left" in done.stderr and "experiment.yaml:" in done.stderr, done.stderr
    assert list(there.path.glob("run/trials/*"))


def quickly(there: Place, text: str) -> subprocess.CompletedProcess[str]:
    """`dyno run --quick`, whose trials end once each group has committed something."""

    def each(watched: Watched) -> bool:
        return all(watched.each().values())

    file = there.experiment(text.replace("duration: 300ms", f"duration: {LONG}"))
    with ended(there.path / "run", each):
        return there.dyno("run", file, "--quick", "--dir", "run")


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_mix_runs_on_declared_tables_over_two_instances(kind: str, there: Place) -> None:
    binaries(kind)
    done = quickly(there, MIX.replace("KIND", kind).replace("SESSION", SESSIONS[kind]))
    assert done.returncode == 0, done.stderr
    [trial] = there.path.glob("run/trials/*")
    record = json.loads((trial / "trial.json").read_text())
    assert record["status"] == "complete"
    assert record["metrics"]["transactions_per_s"] > 0
    assert record["metrics"]["errors_per_s"] == 0, record["warnings"]
    assert set(record["statements"]) >= {"app/find", "app/known", "app/move_1", "app/none_left"}
    assert not any("no plan" in plan for plan in record["explain"].values()), record["explain"]
    assert record["targets"]["db"]["instances"] == 2
    assert SESSIONS[kind] in record["targets"]["db"]["session_sql"]
    request = json.loads((trial / "plan.json").read_text())
    assert list(request["targets"]) == ["db", "db.2"]
    assert request["groups"][0]["also_targets"] == ["db.2"]
    assert request["groups"][0]["options"]["params"]["who"]["column"] == "users.id"
    assert (trial / "plan.json").stat().st_size < 10_000  # the values are not kept
    assert there.until_clean() == []


KV = """experiment: kv
targets: {db: {kind: sqlite}}
warmup: 100ms
duration: 300ms
interval: 100ms
workload: {kind: kv, records: 500, sessions: 2}
factors: {preset: [a, e, f]}
"""


def test_kv_runs_its_presets(there: Place) -> None:
    done = quickly(there, KV)
    assert done.returncode == 0, done.stderr
    records = [json.loads(f.read_text()) for f in there.path.glob("run/trials/*/trial.json")]
    assert [r["metrics"]["transactions_per_s"] > 0 for r in records] == [True] * 3
    assert {len(r["statements"]) for r in records} >= {2}


def _on_table(setup: str, kind: str = "sqlite") -> str:
    return (
        f"experiment: dump\ntargets: {{db: {{kind: {kind}, setup: {setup}}}}}\n"
        "workload: {kind: mix, statements: {all: SELECT count(*) FROM t}}\n"
    )


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_dump_that_fails_half_way_leaves_nothing(kind: str, there: Place) -> None:
    binaries(kind)
    dump = there.path / "shop.sql"
    dump.write_text(
        "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO u VALUES (1);\n"
    )
    done = there.dyno("run", there.experiment(_on_table("{dump: shop.sql}", kind)), "--quick")
    assert done.returncode == 2
    assert f"{dump}:3:1: " in done.stderr
    assert "nothing of it is kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert there.until_clean() == []


def test_a_resumed_run_refuses_another_dump(there: Place) -> None:
    dump = there.path / "shop.sql"
    dump.write_text("CREATE TABLE t (a INT);\nSELECT broken;\n")
    file = there.experiment(_on_table("{dump: shop.sql}"))
    assert there.dyno("run", file, "--quick", "--dir", "run").returncode == 2
    dump.write_text("CREATE TABLE t (a INT);\n")
    done = there.dyno("run", "--resume", "run")
    assert done.returncode == 2
    assert "shop.sql has changed since this run was begun" in done.stderr


def test_wrong_statements_are_named(there: Place) -> None:
    for statement, setup, said in (
        ("SELECT x FROM nowhere", "{after: [SELECT 1]}", "nowhere"),
        ("SELECT 1", "{after: [DELETE FROM nowhere]}", "sqlite refused `DELETE FROM nowhere`"),
    ):
        text = _on_table(setup).replace("SELECT count(*) FROM t", statement)
        done = there.dyno("run", there.experiment(text), "--quick")
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_template_of_sqlite_is_used_and_left_alone(there: Place) -> None:
    path = there.path / "shop.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INT)")
    before = path.read_bytes()
    text = _on_table("{template: shop.sqlite3}").replace(
        "SELECT count(*) FROM t", "INSERT INTO t VALUES (1)"
    )
    done = there.dyno("run", there.experiment(text), "--quick", "--dir", "run")
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == before
    assert list(there.path.glob("shop*")) == [path]
