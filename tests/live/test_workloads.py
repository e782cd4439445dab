"""`tables`, `mix` and `kv` on real servers, in both protocols: every type there and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import Event, Said, plan, run
from private_servers import Bench, running
from running import has

from dbdyno.systems.base import Server

pytestmark = pytest.mark.live
PROTOCOLS = ("prepared", "text")

ALL_TYPES = {
    "id": {"type": "bigint", "sequence": 1, "key": "primary"},
    "city": {"type": "int", "zipfian": [1, 50], "nulls": 0.2},
    "balance": {"type": "decimal(12,2)", "uniform": [-5.25, 99.99]},
    "score": {"type": "double", "uniform": [0.5, 1.5]},
    "ok": {"type": "boolean", "values": [True, False]},
    "name": {"type": "varchar(64)", "text": "it's \\\\ user-#####"},
    "note": {"type": "text", "values": ["a\tb\nc", "ü?", None]},
    "born": {"type": "date", "dates": ["1950-01-01", "2005-12-31"]},
    "seen": {"type": "datetime", "times": ["2024-01-01", "2024-12-31 23:59:59"]},
    "tag": {"type": "uuid", "text": "########-####-####-####-############"},
}
TABLES = {
    "users": {
        "rows": 500,
        "columns": ALL_TYPES,
        "indexes": [["city"], {"columns": ["id", "born"], "unique": True}],
    },
    "copies": {"rows": 0, "columns": ALL_TYPES},
}

PARAMS = {
    "uid": {"zipfian": [1, 500]},
    "new": {"sequence": 1, "per": "statement"},
    "balance": {"uniform": [-9.99, 9.99]},
    "score": {"const": 1.5e300},
    "ok": {"values": [True, False]},
    "note": {"values": ["it's", "a \\ b'", "x? :y $1", None, "é"]},
    "day": {"dates": ["1950-01-01", "2005-12-31"]},
    "time": {"times": ["2024-01-01", "2024-12-31 23:59:59"]},
    "tag": {"text": "########-####-####-####-############"},
}
COPY = (
    "INSERT INTO copies (id, city, balance, score, ok, name, note, born, seen, tag) "
    "VALUES (:new, :uid, :balance, :score, :ok, 'x? :y', :note, :day, :time, :tag)"
)
MIX = {
    "params": PARAMS,
    "statements": {
        "find": {"sql": "SELECT * FROM users WHERE id = :uid", "expect": {"rows": 1}},
        "older": "SELECT count(*) FROM users WHERE born < :day AND seen > :time -- :nobody",
        "some": "SELECT * FROM users WHERE balance > :balance LIMIT 3",
    },
    "transactions": {
        "copy": {
            "steps": [
                {
                    "sql": "UPDATE users SET balance = balance - :balance, ok = :ok "
                    "WHERE id = :uid",
                    "expect": {"affected": [0, 1]},
                },
                {"sql": COPY, "repeat": 2, "name": "add", "expect": {"affected": 1}},
            ]
        }
    },
}


@pytest.fixture(scope="module", params=["mariadb", "postgres"])
def there(request: pytest.FixtureRequest) -> Iterator[tuple[Bench, Server]]:
    with running(request.param) as found:
        yield found


def schema(there: tuple[Bench, Server], name: str, protocol: str) -> dict[str, Any]:
    """The engine's target for a new schema."""
    bench, server = there
    server.create_schema(name)
    target = server.engine_target(bench.target, bench.resolved, name)
    return {**target, "protocol": protocol}


def job(
    directory: Path,
    target: dict[str, Any],
    job: str,
    workload: str,
    options: Any,
    until: Callable[[Sequence[Event]], bool] | None = None,
) -> Said:
    return run(plan(directory, target, job, workload=workload, options=options), until=until)


def loaded(directory: Path, target: dict[str, Any], workload: str, options: Any) -> dict[str, int]:
    said = job(directory, target, "load", workload, options)
    assert said.last["event"] == "loaded", said.last
    rows: dict[str, int] = said.last["rows"]
    return rows


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_mix_runs_on_declared_tables_of_every_type(
    there: tuple[Bench, Server], protocol: str, tmp_path: Path
) -> None:
    target = schema(there, f"mix_{protocol}", protocol)
    assert loaded(tmp_path, target, "tables", {"tables": TABLES}) == {"users": 500, "copies": 0}
    said = job(tmp_path, target, "run", "mix", MIX, has(100))  # of each kind some
    assert said.total["errors"] == {}, said.of("error")
    classes = said.total["classes"]
    assert set(classes) == {"find", "older", "some", "begin", "commit", "copy_1", "add"}
    assert classes["add"]["count"] == 2 * classes["commit"]["count"] > 0
    shown = {event["class"]: event["sql"] for event in said.of("statement")}
    assert shown["older"].endswith("-- :nobody")
    # The other workload's checks, on what this one wrote.
    checks = {
        "params": {"one": {"const": 1}},
        "statements": {
            "written": {
                "sql": "SELECT id FROM copies WHERE name = 'x? :y' AND score > 1e300 AND city > 0 "
                "AND (note IS NULL OR note IN ('it''s', 'x? :y $1', 'é') OR note LIKE 'a _ b''') "
                "AND id > :one LIMIT 1",
                "expect": {"rows": 1},
            },
            "wrong": {"sql": "SELECT id FROM users WHERE id = :one", "expect": {"rows": 2}},
        },
    }
    total = job(tmp_path, target, "run", "mix", checks, has(20)).total
    assert set(total["errors"]) == {"check"}
    assert total["classes"]["written"]["count"] > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("preset", ["d", "e", "f"])
def test_kv_finds_its_records(
    there: tuple[Bench, Server], protocol: str, preset: str, tmp_path: Path
) -> None:
    target = schema(there, f"kv_{preset}_{protocol}", protocol)
    options = {"preset": preset, "records": 300, "transactional": True, "scan_length_max": 9}
    assert loaded(tmp_path, target, "kv", options) == {"usertable": 300}
    total = job(tmp_path, target, "run", "kv", options, has(100)).total
    # Two sessions may meet on a hot record within their transactions.
    assert set(total["errors"]) <= {"1213", "40001", "40P01"}, total["errors"]
    if preset != "e":
        assert total["classes"].get("read", {"count": 1})["count"] > 0
    assert total["transactions"] > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_value_that_does_not_fit_its_column_is_named(
    there: tuple[Bench, Server], protocol: str, tmp_path: Path
) -> None:
    kind = there[0].target.kind
    target = schema(there, f"misfit_{protocol}", protocol)
    loaded(tmp_path, target, "tables", {"tables": {"t": TABLES["copies"]}})
    misfit = {
        "params": PARAMS | {"word": {"const": "word"}},
        "statements": {"misfit": COPY.replace("copies", "t").replace(":uid", ":word")},
    }
    said = job(tmp_path, target, "run", "mix", misfit, has(0, errors=1))
    code = {"mariadb": "1366", "postgres": "22P02"}[kind]
    assert set(said.total["errors"]) == {code}, said.total["errors"]
    message = said.of("error")[0]["message"]
    assert "statement misfit" in message, message
    assert "word" in message, message


def test_a_statement_that_cannot_be_prepared_is_named(
    there: tuple[Bench, Server], tmp_path: Path
) -> None:
    target = schema(there, "unprepared", "prepared")
    options = {"params": {"a": {"const": 1}}, "statements": {"lost": "SELECT :a FROM nowhere"}}
    said = job(tmp_path, target, "run", "mix", options)
    said.failure("server", "lost", "nowhere")


def test_tables_only_load(there: tuple[Bench, Server], tmp_path: Path) -> None:
    target = schema(there, "only", "prepared")
    said = job(tmp_path, target, "run", "tables", {"tables": TABLES})
    said.failure("plan", "tables only loads")
