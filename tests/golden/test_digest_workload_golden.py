"""Workloads made of logs, compared with golden files; and each of them is an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from test_digest_golden import CONTROL
from test_report_golden import Plain

from dbdyno import __version__
from dbdyno.digest import document
from dbdyno.digest.workload import experiment, profile
from dbdyno.experiment import loader
from fixtures import shapes

MADE = {"shop": shapes.shop, "hostile": shapes.hostile, "hundred": shapes.hundred}


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Plain)


def text_of(made: shapes.Made, **options: Any) -> str:
    options = {"accepts_censored": False, **options}
    typed = document.parse(made.document())
    return experiment.made(typed, profile.parse(made.shape()), **options).text


@pytest.mark.parametrize("name", MADE)
def test_a_workload(golden: SnapshotAssertion, name: str) -> None:
    assert text_of(MADE[name]()).replace(__version__, "VERSION") == golden


@pytest.mark.parametrize("name", MADE)
def test_it_is_an_experiment_and_moves_no_terminal(name: str, tmp_path: Path) -> None:
    text = text_of(MADE[name]())
    assert not CONTROL.search(text)
    file = tmp_path / "out.yaml"
    file.write_text(text)
    spec = loader.load(file)
    groups = spec.cells[0].groups
    assert all(group.kind == "mix" for group in groups) and groups
