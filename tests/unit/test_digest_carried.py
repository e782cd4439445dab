"""Which calls of a log a workload carries over, and the report on the others."""

from __future__ import annotations

import pytest

from dbdyno.digest import document
from dbdyno.digest.workload import carried, experiment, profile
from fixtures.shapes import Made, unit, whole


def chosen(made: Made) -> carried.Chosen:
    return carried.choose(document.parse(made.document()), profile.parse(made.shape()))


def left(made: Made) -> dict[str, int]:
    return {reason: sum(by.values()) for reason, by in chosen(made).left.calls.items()}


def text(made: Made) -> str:
    typed, shaped = document.parse(made.document()), profile.parse(made.shape())
    return experiment.made(typed, shaped, accepts_censored=False).text


@pytest.mark.parametrize(
    "several",
    [
        "SELECT 1; DELETE FROM acc WHERE id = :p1",
        "BEGIN; UPDATE acc SET b = :p1; COMMIT",
        "SET a = 1; /* app */ SELECT b FROM acc WHERE id = :p1;",
    ],
)
def test_strings_of_several_statements_are_left_out(several: str) -> None:
    made = Made()
    both = made.says(several, whole(1, 9), calls=200)
    made.units = [unit(200, both), unit(1000, made.says("SELECT ';' FROM t -- a; b"))]
    assert left(made) == {carried.SEVERAL: 200}
    assert "# Omitted, 16.67% of the calls" in text(made) and "It only reads" in text(made)


@pytest.mark.parametrize(
    ("fingerprint", "reason"),
    [
        ("PREPARE select b from acc where id = ?", carried.PREPARATIONS),
        ("command: connect", carried.DRIVERS),
        ("command: Quit", carried.DRIVERS),
        ("command: Reset Connection", carried.DRIVERS),
        ("command: Drop DB", carried.NO_WORK),
        ("command: Binlog Dump GTID", carried.NO_WORK),
        ("command: duration", carried.UNTOLD),
        ("command: FATAL", carried.UNTOLD),
        ("commit", carried.FRAMES),
        ("deallocate ?", carried.SESSIONS),
        ("select beyond from what where is = ?", carried.NOT_KEPT),
    ],
)
def test_what_is_no_statement_of_the_shape_is_called_by_its_name(
    fingerprint: str, reason: str
) -> None:
    made = Made()
    made.units = [unit(1000, made.says("SELECT a FROM t"))]
    made.says(fingerprint, calls=500, table="", in_shape=False)
    made.classes[-1]["fingerprint"] = fingerprint
    assert left(made) == {reason: 500}
    how = "Sent differently by dyno" if reason in carried.OURS else "Omitted"
    assert f"# {how}, 33.33% of the calls" in text(made)


def test_a_statement_in_two_databases_is_sent_to_both() -> None:
    made = Made()
    sql = "SELECT v FROM t WHERE id = :p1"
    for database, calls, ends in (("big", 1800, (1, 1000)), ("small", 200, (5000, 5100))):
        number = made.says(sql, whole(*ends), calls=calls, table="t", database=database)
        made.statements[number]["id"] = made.statements[0]["id"]
        made.units.append(unit(calls, number))
    one, other = made.classes
    one["count"], one["databases"] = 2000, {"big": 1800, "small": 200}
    made.classes.remove(other)
    found = chosen(made)
    assert {name: units[0].count for name, units in found.units.items()} == {
        "big": 1800,
        "small": 200,
    }
    said = text(made)
    assert "t_id: {uniform: [1, 1000]" in said and "t_id: {uniform: [5000, 5100]" in said


def test_databases_that_no_group_is_left_for_are_left_out() -> None:
    made = Made()
    for n in range(carried.DATABASES_MAX + 3):
        number = made.says("SELECT 1", calls=100 + n, database=f"d{n}")
        made.units.append(unit(100 + n, number))
    assert left(made) == {carried.SMALL: 100 + 101 + 102}
    assert len(chosen(made).units) == carried.DATABASES_MAX


def test_calls_without_a_session_are_said() -> None:
    made = Made("postgres-stderr", "PostgreSQL 15")
    made.units = [unit(1000, made.says("SELECT 1"))]
    assert "does not tell the session" not in " ".join(text(made).split("\n# "))
    raw = made.shape() | {"statements_unplaced": 1000, "sessions": 0, "sessions_at_once": None}
    typed = document.parse(made.document())
    said = experiment.made(typed, profile.parse(raw), accepts_censored=False).text
    assert "# Of 1,000 calls the log does not tell the session" in said
