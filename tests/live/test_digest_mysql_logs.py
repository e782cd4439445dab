"""Slow, general and binary logs that MariaDB 10.11, MariaDB 11.8 and MySQL 9 wrote under a load
whose every statement is known: each is counted, and nothing is left unrecognised."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mysql_load import (
    FAILING,
    FIRST,
    PHASES,
    PREPARED,
    PRODUCTS,
    SECOND,
    SENT,
    TOGETHER,
    Logs,
    Phase,
    logs_of,
)

from dbdyno.digest import document, parallelism
from dbdyno.installed import find

pytestmark = pytest.mark.live

SCHEMAS = Path(__file__).parents[2] / "schemas"


@pytest.fixture(scope="module", params=PRODUCTS)
def logs(request: pytest.FixtureRequest) -> Iterator[Logs]:
    with logs_of(request.param) as made:
        yield made


def engine(*arguments: object, made: str = "digest") -> dict[str, Any]:
    """The engine's document of a log; everything in it must have been understood."""
    done = subprocess.run(
        [find(), "digest", "--strict", "--limit=all", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr or done.stdout[-2000:]
    event = json.loads(done.stdout.splitlines()[-1])
    assert event["event"] == made
    found: dict[str, Any] = event["document" if made == "digest" else made]
    name = "digest" if made == "digest" else "parallelism"
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    return found


def stock(found: dict[str, Any]) -> dict[str, int]:
    """Calls by fingerprint of what was sent to the table `stock` alone."""
    made = {one["fingerprint"]: one["count"] for one in found["classes"]}
    setup = ("create", "insert", "PREPARE")
    return {
        name: count
        for name, count in made.items()
        if "shop.stock" in name and not name.startswith(setup)
    }


def log_table(found: dict[str, Any]) -> dict[str, int]:
    """Calls by verb of what was sent to the table `log`."""
    made: dict[str, int] = {}
    for one in found["classes"]:
        if one["distill"] in Phase("", (), (0, 0, 0)).expected:
            made[one["distill"]] = made.get(one["distill"], 0) + one["count"]
    return made


def expected() -> dict[str, int]:
    counts = {name: count for name, (_, count) in SENT.items()}
    return counts | {FAILING[0]: FAILING[2], PREPARED[0]: PREPARED[2]}


def all_phases(kind: str) -> dict[str, int]:
    phases = [phase.expected for phase in PHASES[kind]]
    return {name: sum(one[name] for one in phases) for name in phases[0]}


def test_a_slow_log_counts_every_statement(logs: Logs) -> None:
    found = engine(logs.slow)
    assert stock(found) == expected() | {FIRST: TOGETHER[1], SECOND: TOGETHER[1]}
    assert log_table(found) == all_phases(logs.kind)
    assert found["inputs"][0]["format"] == "mysql-slow" and not found["censored"]
    failed = next(one for one in found["classes"] if one["fingerprint"] == FAILING[0])
    if logs.kind == "mysql":  # MariaDB's slow log has no errors
        assert (failed["errors"], failed["error_codes"]) == (FAILING[2], {"1054": FAILING[2]})
    sums = sum(one["query_time"]["sum"] for one in found["classes"])
    assert sums == pytest.approx(found["overall"]["query_time"]["sum"])


def test_a_general_log_counts_every_statement(logs: Logs) -> None:
    found = engine(logs.general)
    apart = {FIRST: TOGETHER[1], SECOND: TOGETHER[1]}
    # MariaDB logs statements that came together as they came.
    wanted = apart if logs.kind == "mysql" else {f"{FIRST}; {SECOND}": TOGETHER[1]}
    assert stock(found) == expected() | wanted
    assert log_table(found) == all_phases(logs.kind)
    assert found["overall"]["query_time"] is None


def test_a_binary_log_counts_every_change_however_it_is_written(logs: Logs) -> None:
    for phase in PHASES[logs.kind]:
        found = engine(logs.binary[phase.name])
        assert log_table(found) == phase.expected, phase.name
        classes = [one for one in found["classes"] if one["distill"] in phase.expected]
        if phase.name.startswith("rows"):
            rows = {one["distill"]: one["measures"]["rows_affected"]["sum"] for one in classes}
            inserts, updates, deletes = phase.calls
            left = [2 * inserts] * updates
            assert rows == dict(
                zip(phase.expected, (2 * inserts, sum(left), 2 * deletes), strict=True)
            ), phase.name
            assert all(one["databases"] == {"shop": one["count"]} for one in classes)


def test_logs_together_are_the_sum(logs: Logs) -> None:
    found = engine(*logs.binary.values())
    assert log_table(found) == all_phases(logs.kind)
    assert len(found["inputs"]) == len(PHASES[logs.kind])


def test_what_parallel_replication_could_bring(logs: Logs) -> None:
    found = parallelism.parse(engine("--parallelism", logs.binary["rows"], made="parallelism"))
    phase = PHASES[logs.kind][0]
    assert found.transactions == sum(phase.calls) and found.text_share == 0
    assert found.schemas and [one.name for one in found.schemas.schemas] == ["shop"]
    by_order = [one for one in found.curves if one.rule == "log"]
    assert len(by_order) == 2 and all(p.speedup >= 1 for one in by_order for p in one.points)
    if logs.kind == "mariadb":  # one session, no group commits; MySQL examines the rows written
        assert by_order[0].at(128) == pytest.approx(1.0)
    slow = parallelism.parse(engine("--parallelism", logs.slow, made="parallelism"))
    assert slow.schemas and slow.schemas.schemas[0].name == "shop" and not slow.curves


def test_documents_are_read_as_types(logs: Logs) -> None:
    typed = document.parse(engine(logs.slow, logs.general, *logs.binary.values()))
    assert typed.overall.count == sum(one.events for one in typed.inputs)
