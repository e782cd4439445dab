"""Copies of a real server's schema: sampled rows keep every reference; made-up rows give planners
the estimates that they have at the original, and have none of its texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from copied_servers import PASSWORD, Planted, foreign_keys
from planted_shop import NEEDLE, ORDERS, fill
from private_servers import running
from ruamel.yaml import YAML

from dbdyno.copies.copied import How
from dbdyno.copies.statistics import sampled
from dbdyno.digest.workload.yamltext import scalar
from dbdyno.errors import DynoError

pytestmark = pytest.mark.live

FACTOR = 2.0  # between estimates at the original and at the copy
ESTIMATED = {  # what is looked for: table, the column whose value has this rank in frequency, ranks
    "state": ("order", (0, 1, 4)),
    "customer": ("order", (0, 100, 1000)),
    "age": ("customers", (0, 20)),
    "country": ("customers", (0, 3, 15)),
}
RANGES = {  # table, column, parts of the rows that the range spans
    "made": ("order", ((0.1, 0.12), (0.5, 0.9))),
    "total": ("order", ((0.0, 0.05), (0.7, 0.75), (0.9, 1.0))),
    "age": ("customers", ((0.5, 0.8),)),
}
PAIRS = (("customers", "country", "city", (0, 5, 30)),)


@pytest.fixture(scope="module", params=("mariadb", "postgres", "mysql"))
def planted(request: pytest.FixtureRequest) -> Iterator[Planted]:
    with running(request.param) as (bench, server):
        yield Planted(request.param, bench, server, fill)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)


def counts(planted: Planted, database: str, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Values by frequency."""
    names = ", ".join(columns)
    filled = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return planted.run(
        database,
        f"SELECT {names}, COUNT(*) FROM {planted.name(table)} WHERE {filled} GROUP BY {names}"
        f" ORDER BY COUNT(*) DESC, {names}",
    )


def equal(columns: tuple[str, ...], values: tuple[Any, ...]) -> str:
    return " AND ".join(f"{name} = '{value}'" for name, value in zip(columns, values, strict=False))


def compared(planted: Planted, copy: str) -> list[tuple[str, float, float]]:
    """What is looked for, and how many rows the planner expects at the original and at the copy."""
    found = []

    def add(what: str, table: str, index: str, wheres: dict[str, str]) -> None:
        rows = [planted.estimate(name, table, where, index) for name, where in wheres.items()]
        found.append((what, rows[0], rows[1]))

    index = {"state": "state", "country": "place"}
    for column, (table, ranks) in ESTIMATED.items():
        values = {name: counts(planted, name, table, column) for name in ("shop", copy)}
        for rank in ranks:
            wheres = {name: equal((column,), of[rank]) for name, of in values.items()}
            add(f"{column} = value {rank}", table, index.get(column, column), wheres)
    for column, (table, parts) in RANGES.items():
        ordered = f"SELECT {column} FROM {planted.name(table)} WHERE {column} IS NOT NULL"
        values_ = [row[0] for row in planted.run("shop", f"{ordered} ORDER BY {column}")]
        for low, high in parts:
            ends = [values_[int(part * (len(values_) - 1))] for part in (low, high)]
            where = f"{column} BETWEEN '{ends[0]}' AND '{ends[1]}'"
            add(f"{column} from {low} to {high}", table, column, {"shop": where, copy: where})
    for table, a, b, ranks in PAIRS:
        pairs = {name: counts(planted, name, table, a, b) for name in ("shop", copy)}
        for rank in ranks:
            wheres = {name: equal((a, b), of[rank]) for name, of in pairs.items()}
            add(f"{a}, {b} = pair {rank}", table, index.get(a, a), wheres)
    return found


def test_made_up_rows_have_the_planner_s_estimates_and_no_text(
    planted: Planted, tmp_path: Path
) -> None:
    copied = planted.copy(tmp_path / "copy.sql", How())
    planted.load(copied, "made_up", tmp_path)
    rows = compared(planted, "made_up")
    table = "\n".join(f"{what:30} {there:8.0f} {here:8.0f}" for what, there, here in rows)
    away = [what for what, a, b in rows if not 1 / FACTOR <= max(b, 1) / max(a, 1) <= FACTOR]
    assert not away, f"{away}\n{table}"
    for one in copied.tables:
        there = planted.one("shop", f"SELECT COUNT(*) FROM {planted.name(one.name)}")
        here = planted.one("made_up", f"SELECT COUNT(*) FROM {planted.name(one.name)}")
        assert here == one.copied == there == one.there
    written = [*tmp_path.rglob("*")]
    assert len(written) > 1
    for path in written:
        assert path.is_dir() or NEEDLE not in path.read_text(errors="replace"), path
    assert NEEDLE not in json.dumps(copied.setup) + repr(copied)
    for name, column in (("customers", "mail"), ("customers", "note"), ("staff", "name")):
        sql = f"SELECT COUNT(*) FROM {name} WHERE {column} LIKE '%{NEEDLE}%'"
        assert planted.one("shop", sql) > 0
        assert planted.one("made_up", sql) == 0
    assert (tmp_path / "copy.sql").stat().st_mode & 0o777 == 0o600
    assert foreign_keys(planted, "made_up") == foreign_keys(planted, "shop")
    if planted.is_postgres:
        checked = "SELECT COUNT(*) FROM pg_constraint WHERE conname = 'money_of_check'"
        assert planted.one("made_up", checked) == 1


def test_a_sample_has_all_rows_that_its_rows_refer_to(planted: Planted, tmp_path: Path) -> None:
    copied = planted.copy(tmp_path / "sample.sql", How(way="sample", rows=150))
    planted.load(copied, "sampled", tmp_path)  # adds the foreign keys: the server checks them
    assert foreign_keys(planted, "sampled") == foreign_keys(planted, "shop")
    by_name = {one.name: one for one in copied.tables}
    for name, one in by_name.items():
        here = planted.one("sampled", f"SELECT COUNT(*) FROM {planted.name(name)}")
        assert here == one.copied and 0 < here < one.there, one
    for child, column, parent in (
        ("lines", "order", "order"), ("order", "customer", "customers"),
        ("order", "seller", "staff"), ("staff", "boss", "staff"),
    ):  # fmt: skip
        lost = planted.one(
            "sampled",
            f"SELECT COUNT(*) FROM {planted.name(child)} c LEFT JOIN {planted.name(parent)} p ON"
            f" p.id = c.{planted.name(column)} WHERE c.{planted.name(column)} IS NOT NULL AND p.id"
            " IS NULL",
        )
        assert lost == 0, (child, column)
    # What was copied is the same, to the last character.
    for name in by_name:
        key = '"order", line'.replace('"', planted.quote) if name == "lines" else "id"
        here = planted.run("sampled", f"SELECT * FROM {planted.name(name)} ORDER BY {key}")
        there = {tuple(map(str, row)) for row in
                 planted.run("shop", f"SELECT * FROM {planted.name(name)}")}  # fmt: skip
        assert all(tuple(map(str, row)) in there for row in here), name
    assert (tmp_path / "sample.sql").stat().st_mode & 0o777 == 0o600
    again = planted.copy(tmp_path / "again.sql", How(way="sample", rows=150))
    assert again.path.read_bytes() == copied.path.read_bytes()


def test_of_a_large_table_a_part_is_read(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampled, "WHOLE_ROWS", 2000)
    if not planted.is_postgres:  # InnoDB's estimate is then of all pages, not of twenty
        planted.run("shop", "ALTER TABLE `order` STATS_SAMPLE_PAGES = 10000")
        planted.run("shop", "ANALYZE TABLE `order`")
    copied = planted.copy(tmp_path / "copy.sql", How(tables=["order"]))
    order = next(one for one in copied.tables if one.name == "order")
    assert order.said.startswith("about 2,000 of about "), order
    assert order.there == pytest.approx(ORDERS, rel=0.05)
    columns = copied.setup["tables"]["order"]["columns"]
    customers = sum((piece[3:] or [piece[1] - piece[0] + 1])[0] for piece in
                    columns["customer"]["histogram"])  # fmt: skip
    there = len(counts(planted, "shop", "order", "customer"))
    assert there / 1.5 < customers < there * 1.5
    assert columns["made"]["spread"] < 0.2  # orders are made one after the other


def test_what_is_not_copied_is_said_and_files_are_kept(planted: Planted, tmp_path: Path) -> None:
    out = tmp_path / "copy.sql"
    copied = planted.copy(out, How(tables=["order"]))
    assert {one.name for one in copied.tables} == {"order", "customers", "staff"}
    assert any("`seen`: no statement of the work" in each for each in copied.omitted)
    with pytest.raises(DynoError, match="cannot be written"):
        planted.copy(out, How())
    with pytest.raises(DynoError, match="no table `ordr`"):
        planted.copy(tmp_path / "other.sql", How(tables=["ordr"]))
    text = YAML(typ="safe").load(scalar(copied.setup))
    assert text == json.loads(json.dumps(copied.setup))
