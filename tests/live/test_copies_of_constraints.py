"""Copies of a schema with foreign keys of several columns, checks and views: what made-up rows and
sampled ones keep, as the servers themselves say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from copied_servers import PASSWORD, Planted, foreign_keys
from planted_depot import fill, rows
from private_servers import running

from dbdyno.copies.copied import How

pytestmark = pytest.mark.live

STATEMENTS = ("SELECT many FROM busy WHERE w = :w", "SELECT t FROM doubled")
OWN = {"staff_boss", "area_inside", "post_re"}  # foreign keys to the own table
BOSSES = "SELECT MAX(n), COUNT(*) FROM (SELECT COUNT(*) AS n FROM staff GROUP BY w, boss) g"
# Each of the staff is below one who has no boss: nowhere does a way go in a circle.
BELOW = (
    "WITH RECURSIVE below AS (SELECT w, id FROM staff WHERE boss IS NULL UNION ALL SELECT staff.w,"
    " staff.id FROM staff JOIN below ON staff.w = below.w AND staff.boss = below.id)"
    " SELECT COUNT(*) FROM below"
)
MANY = "SELECT MAX(n), COUNT(*) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY w, d, c) g"


def checks(planted: Planted, database: str) -> set[str]:
    """Names of those that the server enforces."""
    where = f"information_schema.check_constraints WHERE constraint_schema = '{database}'"
    if planted.is_postgres:
        where = "pg_constraint WHERE contype = 'c' AND conrelid <> 0 AND convalidated"
    name = "conname" if planted.is_postgres else "constraint_name"
    return {str(row[0]) for row in planted.run(database, f"SELECT {name} FROM {where}")}


def counts(planted: Planted, database: str) -> dict[str, int]:
    return {name: planted.one(database, f"SELECT COUNT(*) FROM {name}") for name in rows()}


@pytest.mark.parametrize("kind", ["mariadb", "postgres", "mysql"])
def test_keys_checks_and_views_are_kept_or_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    with running(kind, durability="none") as (bench, server):
        planted = Planted(kind, bench, server, fill)
        all_keys, all_checks = foreign_keys(planted, "shop"), checks(planted, "shop")
        assert {row[0] for row in all_keys} >= OWN and "in_order" in all_checks

        copied = planted.copy(tmp_path / "made.sql", How(statements=STATEMENTS))
        planted.load(copied, "made_up", tmp_path)
        there = counts(planted, "shop")
        assert counts(planted, "made_up") == there
        assert {one.name: one.copied for one in copied.tables} == there
        # The server itself checks what it is told to: all but what was named.
        assert foreign_keys(planted, "made_up") == all_keys
        assert checks(planted, "made_up") == all_checks - {"in_order"}
        _is_named(copied.omitted, "check `in_order` of")
        for counted in (MANY, BOSSES):
            assert _like(planted.run("shop", counted)[0], planted.run("made_up", counted)[0])
        assert planted.one("made_up", BELOW) == there["staff"]
        _has_views(planted, "made_up", copied.omitted)
        text = (tmp_path / "made.sql").read_text()
        assert all(f"-- not copied: {each}\n" in text for each in copied.omitted)

        sample = planted.copy(
            tmp_path / "sample.sql", How(way="sample", rows=40, statements=STATEMENTS)
        )
        planted.load(sample, "sampled", tmp_path)
        assert foreign_keys(planted, "sampled") == all_keys
        assert checks(planted, "sampled") == all_checks
        sampled = counts(planted, "sampled")
        assert all(0 < sampled[name] < there[name] for name in ("sold", "staff", "post"))
        _has_views(planted, "sampled", sample.omitted)


def _like(there: Any, here: Any) -> bool:
    """Orders of the customer with most, and how many customers have some."""
    return all(0.5 < float(a) / float(b) < 2 for a, b in zip(there, here, strict=True))


def _has_views(planted: Planted, database: str, omitted: Any) -> None:
    assert planted.one(database, "SELECT SUM(many) FROM busy") == planted.one(
        database, "SELECT COUNT(*) FROM fresh"
    )
    _is_named(omitted, "`idle`: no statement of the workload refers", "view `doubled`: it calls")
    if planted.is_postgres:  # the others show routines to those who may run them
        _is_named(omitted, "functions `twice`: only tables and views are copied")


def _is_named(omitted: Any, *parts: str) -> None:
    for part in parts:
        assert any(part in each for each in omitted), (part, omitted)
