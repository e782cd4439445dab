"""The proof: every simulated row measures, and the page is drawn from what rows leave."""

from __future__ import annotations

import dataclasses
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tools.proof import __main__ as proof
from tools.proof import chart, page
from tools.proof import rows as package
from tools.proof.proving import dexter, measuring, movies, shop, tpcc
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.rows import FAMILIES, rows
from tools.proof.rows.verdicts import coverage, false_alarms, power
from tools.proof.simulating import experiment
from tools.proof.simulating.many import clopper_pearson, many, share

from dbdyno import kinds
from dbdyno.experiment import load
from dbdyno.experiment.types import Looks
from dbdyno.experiment.workloads import mix
from dbdyno.sql.statement import read

SIMULATED = [row for row in rows() if not row.timed]


def quick(scratch: Path) -> Effort:
    return Effort(True, scratch / "engine", scratch, lambda said: None)


def test_every_file_of_rows_is_registered() -> None:
    folders = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert folders == set(FAMILIES)
    for family in FAMILIES:
        home = import_module(f"{package.__name__}.{family}")
        assert {module.name for module in pkgutil.iter_modules(home.__path__)} == set(home.NAMES)
    assert len({row.claim for row in rows()}) == len({row.name for row in rows()}) == len(rows())


@pytest.mark.parametrize("row", SIMULATED, ids=lambda row: row.name)
@pytest.mark.long
def test_a_simulated_row_fills_every_table(row: Row, tmp_path: Path) -> None:
    outcome = row.measure(quick(tmp_path))
    assert outcome.measured
    assert outcome.tables
    for table in outcome.tables:
        assert table.rows, table.title
        for cells in table.rows:
            assert all(cells), table.title
            assert not any("nan" in cell.split() for cell in cells)
            shares = [float(found) for cell in cells for found in re.findall(r"([\d.]+) %", cell)]
            assert all(0 <= found <= 100 for found in shares)
    if outcome.figure:
        ElementTree.fromstring(outcome.figure)
        assert outcome.figure_about
    page.save(tmp_path / "proof", row, outcome, proof.facts(row.name))
    text = page.page(rows(), tmp_path / "proof")
    assert outcome.measured in text
    assert all(table.title in text for table in outcome.tables)


def test_the_page_is_drawn_without_any_measurement(tmp_path: Path) -> None:
    text = page.page(rows(), tmp_path)
    for row in rows():
        assert f"## {row.claim}" in text
        assert row.bar in text
    assert text.count("Not measured yet.") == len(rows())


def test_a_bar_that_was_not_met_stands_out(tmp_path: Path) -> None:
    row = dataclasses.replace(rows()[0], name="false_alarms")
    outcome = Outcome("9 %", False, (Table("numbers", ("a",), (("1 | 2",),)),), ("a note",))
    page.save(tmp_path, row, outcome, proof.facts(row.name))
    text = page.page([row], tmp_path)
    assert "**not met**" in text
    assert "| 1 \\| 2 |" in text
    assert "a note" in text


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="another width"):
        Table("numbers", ("a", "b"), (("1",),))


def test_noise_is_as_much_as_it_says() -> None:
    plan = experiment.ordered(experiment.experiment({"a": ("x", "y")}, [], blocks=2000), 1)
    rng = np.random.default_rng(1)
    plain = np.log(experiment.steady(0.02)(plan, rng))
    assert plain.std() == pytest.approx(0.02, rel=0.05)
    restless = np.log(experiment.restless(0.02, 0.0, 0.7)(plan, rng))
    assert restless.std() == pytest.approx(0.02, rel=0.05)
    assert np.corrcoef(restless[1:], restless[:-1])[0, 1] == pytest.approx(0.35, abs=0.05)
    drifting = np.log(experiment.restless(0.0, 0.15, 0.7)(plan, rng))
    assert abs(drifting[-1] - drifting[0]) == pytest.approx(0.15, abs=0.1)


def test_a_large_effect_is_found_and_ends_a_run_early() -> None:
    rng = np.random.default_rng(1)
    assert power.fixed(power.Asked(0.5, 6), 1, rng) == 1.0
    supported, ends = power.growing(power.Asked(0.5, 12, looks=Looks(4, 12)), 1, rng)
    assert supported
    assert ends < 8


@pytest.mark.parametrize("kind", coverage.KINDS, ids=lambda kind: kind.name)
def test_both_sides_have_the_geometric_mean_one(kind: coverage.Kind) -> None:
    sides = kind.sides(np.random.default_rng(1), 100_000)
    on, off = (float(np.log(side).mean()) for side in sides)
    assert on == pytest.approx(off, abs=0.01)


def test_alarms_are_counted_by_the_look_that_gave_them() -> None:
    assert false_alarms._by_look([4, 6, false_alarms.NEVER, 12], 4)[:3] == [
        (4, 0.25),
        (5, 0.25),
        (6, 0.5),
    ]


def _drawn(number: int, rng: np.random.Generator) -> tuple[int, float]:
    return number, float(rng.random())


def test_experiments_are_the_same_however_many_there_are() -> None:
    assert many(_drawn, 250, seed=3)[:120] == many(_drawn, 120, seed=3)


def test_proportions_have_their_exact_interval() -> None:
    assert clopper_pearson(0, 10) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert clopper_pearson(10, 10) == pytest.approx((0.6915, 1.0), abs=1e-4)
    assert clopper_pearson(5, 100) == pytest.approx((0.0164, 0.1128), abs=1e-4)
    assert share(5, 100) == "5.00 % (1.64-11.28)"
    with pytest.raises(ValueError, match="3 of 2"):
        clopper_pearson(3, 2)


@pytest.mark.parametrize("kind", measuring.KINDS)
@pytest.mark.parametrize("of", [shop, tpcc, movies], ids=lambda module: module.__name__[-6:])
def test_workloads_with_which_indexes_are_found_can_be_taken_apart(of: Any, kind: str) -> None:
    for quick in (True, False):
        (cell,) = load(of.experiment(kind, quick)).cells
        assert [(one.name, one.kind) for one in cell.targets] == [("db", kind)]
        for _, name, each in mix.sent(cell.groups[0].options):
            found = read(re.sub(r":\w+", "1", each["sql"]), kinds.of(kind).language)
            assert found is not None, name
            assert found.tables, name


def test_the_found_set_is_held_against_the_best() -> None:
    speeds = {"none": 10.0, "found": 45.0, "expert": 50.0, "both": 40.0}
    assert measuring.near(speeds) == pytest.approx(0.9)
    chosen = ["CREATE INDEX t_a ON t (a)", "CREATE INDEX t_b ON t (b)"]
    table = measuring.table("speeds", chosen, speeds, most=1)
    assert table.rows == (
        ("found: t (a); t (b)", "45", "90%"),
        ("none", "10", "20%"),
        ("expert", "50", "100%"),
    )


SAID = """\
Processing 5 new query fingerprints
Index found: public.customers (mail)
Index found: public.orders (customer_id, created)
"""


def test_another_finder_s_indexes_are_read_and_shown_next_to_ours() -> None:
    found = dexter.indexes(SAID)
    assert found == (
        "CREATE INDEX dexter_1 ON public.customers (mail)",
        "CREATE INDEX dexter_2 ON public.orders (customer_id, created)",
    )
    assert dexter.indexes("No new indexes found\n") == ()
    speeds = {"none": 10.0, "found": 50.0, "dexter": 40.0, "a": 45.0}
    table = measuring.table("speeds", (), speeds, most=1, others={"dexter": found})
    assert [row[0] for row in table.rows] == [
        "found: nothing",
        "dexter: public.customers (mail); public.orders (customer_id, created)",
        "none",
    ]


def test_another_finder_that_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    workload = measuring.Workload("shop", shop.experiment("postgres", True))
    found = dexter.choice(quick(tmp_path), workload, "postgres")
    assert (found.sets, found.ratio({})) == ({}, "")
    assert found.notes == (
        "dexter: not tested here (it is not installed: it comes as Ruby's gem pgdexter)",
    )
    assert dexter.choice(quick(tmp_path), workload, "mariadb").notes == ()


def test_charts_stand_alone() -> None:
    drawn = chart.lines("a < b", {"x & y": [(1, 2.0), (2, 0.0)]}, across="n", up="%", bar=1.0)
    ElementTree.fromstring(drawn)
    assert "<style>" in drawn
    assert (
        ElementTree.fromstring(chart.lines("one", {"x": [(1, 0.0)]}, across="n", up="%"))
        is not None
    )
