"""Histograms of copies, exactly: from groups of values to pieces, keys, couplings and tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Column, ForeignKey, Index, Schema, Table
from dbdyno.copies.statistics import catalog, pieces
from dbdyno.copies.statistics.pieces import Group
from dbdyno.copies.statistics.values import (
    ColumnStatistics,
    Lengths,
    Pair,
    Piece,
    TableStatistics,
    units,
)
from dbdyno.copies.synthesis import coupling
from dbdyno.copies.synthesis.coupling import Positions, moved
from dbdyno.copies.synthesis.tables import synthesised

LENGTHS = Lengths(least=10, mean=12.5, most=20)


def test_even_parts_become_one_piece_and_a_frequent_value_stays_apart() -> None:
    parts = [Group(n, 0, 10, 10, 10 * n, 10 * n + 9) for n in range(9)]
    assert pieces.ranged(parts) == [Piece(0, 89, 90, 90)]
    hot = [*parts[:4], Group(4, 13, 100, 1, 40, 40), *(parts[5:])]
    assert pieces.ranged(hot) == [
        Piece(0, 39, 40, 40),
        Piece(40, 40, 100, 1),
        Piece(50, 89, 40, 40),
    ]


def test_values_of_one_part_lie_side_by_side_in_it() -> None:
    found = pieces.ranged([Group(0, 0, 6, 6, 1, 100), Group(0, 8, 40, 2, 30, 31)])
    assert [(piece.rows, piece.distinct) for piece in found] == [(6, 6), (40, 2)]
    assert found[0].low == 1 and found[1].low == found[0].high + 1 and found[1].high == 100
    # More values than places (seconds of a column with parts of seconds): as many as there are.
    narrow = pieces.ranged([Group(0, 0, 50, 50, 7, 8), Group(0, 4, 40, 9, 7, 8)])
    assert sum(piece.rows for piece in narrow) == 90
    assert all(piece.distinct <= piece.high - piece.low + 1 for piece in narrow)


def test_values_seen_once_stand_for_those_that_were_not() -> None:
    sample = [Group(0, 0, 100, 100), Group(0, 6, 900, 90)]
    assert pieces.scaled(sample, 1000, None) == sample
    found = pieces.scaled(sample, 10_000, None)
    # n d / (n - f + f n / N) with n = 1000, d = 190, f = 100, N = 10000
    assert sum(group.distinct for group in found) == round(190_000 / 910 - 190) + 190
    assert sum(group.distinct for group in pieces.scaled(sample, 10_000, 5000)) == 5000


def test_common_values_of_pg_stats_cut_the_parts_of_its_histogram() -> None:
    found = catalog._ranged({15: 500.0}, [1, 11, 21], 500.0, 20)
    assert sum(piece.rows for piece in found) == pytest.approx(1000)
    assert [piece for piece in found if piece.low == 15] == [Piece(15, 15, 500.0, 1)]
    assert sum(piece.distinct for piece in found) == 21
    assert [a.high < b.low for a, b in pairwise(found)] == [True, True]


def test_positions_are_the_engine_s_and_stay_uniform() -> None:
    found = Positions([Piece(1, 10, 2, 10), Piece(17, 17, 6, 1), Piece(20, 39, 2, 2)])
    assert [*found.at(np.array([0.0, 0.199, 0.2, 0.79, 0.85, 0.95]))] == [0, 9, 10, 10, 11, 12]
    rng = np.random.default_rng(3)
    for spread in (0.1, 0.7, 1.0):
        there = moved((np.arange(200_000) + 0.5) / 200_000, spread, rng)
        counts = np.histogram(there, bins=10, range=(0, 1))[0]
        assert abs(counts - 20_000).max() < 6 * 20_000**0.5, (spread, counts)


@pytest.mark.parametrize("distinct", [400, 2000, 6000])
def test_a_spread_gives_the_pairs_that_were_counted(distinct: int) -> None:
    a, b = [Piece(1, 100, 1, 100)], [Piece(1, 100, 1, 100)]
    found = coupling.of_pair(a, b, Pair(distinct=distinct, rows=50_000))
    assert found is not None and found.determined is None
    rng = np.random.default_rng(9)
    positions = rng.random(50_000)
    other = Positions(b, shuffle=found.shuffle).at(moved(positions, found.spread, rng))
    pairs = len(np.unique(Positions(a).at(positions) * 100 + other))
    assert pairs == pytest.approx(distinct, rel=0.05)
    assert coupling.of_pair(a, b, Pair(distinct=9900, rows=50_000)) is None


@pytest.mark.parametrize("ranks", [0.95, 0.5, -0.8])
def test_a_spread_gives_the_correlation_that_was_measured(ranks: float) -> None:
    found = coupling.of_ranks(ranks)
    assert found is not None and found.descending == (ranks < 0)
    rng = np.random.default_rng(9)
    positions = rng.random(50_000)
    there = moved(1 - positions if found.descending else positions, found.spread, rng)
    assert np.corrcoef(positions, there)[0, 1] == pytest.approx(ranks, abs=0.02)


def test_ends_that_no_generator_makes_are_dropped() -> None:
    day = Column(name="d", type="date", family=of.DAY)
    assert units(day, "1970-01-02", 0) == 1
    for text in ("infinity", "0000-00-00", "0044-03-15 BC"):
        assert units(day, text, 0) is None
    price = Column(name="p", type="decimal(9,2)", family=of.DECIMAL, scale=2)
    assert units(price, "-1.50", 2) == -150 and units(price, "NaN", 2) is None


def _column(name: str, family: str = of.WHOLE, **more: object) -> Column:
    return Column(name=name, type="int", family=family, **more)  # type: ignore[arg-type]


def _table(name: str, columns: list[Column], keys: list[list[str]], *to: str) -> Table:
    return Table(
        name=name,
        columns={column.name: column for column in columns},
        indexes=[
            Index(name=f"k{n}", columns=key, is_unique=True, is_primary=n == 0)
            for n, key in enumerate(keys)
        ],
        foreign=[
            ForeignKey(name=f"f{n}", columns=[each], table=each, references=["id"], sql="")
            for n, each in enumerate(to)
        ],
        rows=0,
        create="",
    )


def test_keys_and_references_are_numbers_of_the_same_keys() -> None:
    parent = _table(
        "parent", [_column("id"), _column("mail", of.TEXT, length=60)], [["id"], ["mail"]]
    )
    child = _table("child", [_column("parent"), _column("line")], [["parent", "line"]], "parent")
    statistics = {
        "parent": TableStatistics(
            rows=100,
            columns={
                "id": ColumnStatistics(pieces=[Piece(3, 300, 100, 100)]),
                "mail": ColumnStatistics(pieces=[Piece(1, 100, 100, 100)], lengths=LENGTHS),
            },
        ),
        "child": TableStatistics(
            rows=300,
            columns={
                "parent": ColumnStatistics(
                    pieces=[Piece(3, 150, 200, 40), Piece(153, 300, 100, 30)]
                ),
                "line": ColumnStatistics(pieces=[Piece(1, 4, 300, 4)]),
            },
        ),
    }
    made = synthesised(Schema(tables={"parent": parent, "child": child}), statistics)
    assert made.omitted == [] and made.broken == set()
    assert made.tables["parent"]["columns"]["id"] == {
        "type": "int", "histogram": [[1, 100, 1]], "keys": [3, 300, 100], "spread": 0,
    }  # fmt: skip
    columns = made.tables["child"]["columns"]
    assert columns["parent"]["histogram"] == [[1, 50, 200, 40], [51, 100, 100, 30]]
    assert columns["parent"]["keys"] == [3, 300, 100]
    # Five rows of each of the 40: there must be as many lines.
    assert columns["line"] == {
        "type": "int", "histogram": [[1, 4, 300], [5, 5, 1]], "numbered": "parent", "spread": 0,
    }  # fmt: skip


def test_all_pairs_of_two_references_are_one_key() -> None:
    a, b = (_table(name, [_column("id")], [["id"]]) for name in "ab")
    pairs = _table("pairs", [_column("a"), _column("b")], [["a", "b"]], "a", "b")
    ten = ColumnStatistics(pieces=[Piece(1, 10, 10, 10)])
    found = {name: TableStatistics(rows=10, columns={"id": ten}) for name in "ab"}
    found["pairs"] = TableStatistics(rows=100, columns={"a": ten, "b": ten})
    made = synthesised(Schema(tables={"a": a, "b": b, "pairs": pairs}), found)
    assert made.omitted == []
    assert made.tables["pairs"]["columns"]["b"]["numbered"] == "a"
    found["pairs"] = TableStatistics(rows=101, columns={"a": ten, "b": ten})
    made = synthesised(Schema(tables={"a": a, "b": b, "pairs": pairs}), found)
    assert "pairs" not in made.tables and "no such primary keys" in made.omitted[0]


def test_what_cannot_be_made_is_named() -> None:
    shape = Column(name="shape", type="geometry", family=of.OTHER, is_nullable=False)
    table = _table("places", [_column("id"), shape], [["id"]])
    id_ = ColumnStatistics(pieces=[Piece(1, 9, 9, 9)])
    found = {"places": TableStatistics(rows=9, columns={"id": id_, "shape": ColumnStatistics()})}
    made = synthesised(Schema(tables={"places": table}), found)
    assert made.tables == {}
    assert made.omitted == [
        "column `places.shape`: without it no row: no values of type geometry are made"
    ]
