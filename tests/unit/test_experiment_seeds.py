"""A seed is drawn for each run, unless the experiment has one."""

from pathlib import Path

import pytest

from dbdyno.experiment import load, load_seeded

TEXT = """experiment: demo
question: Which?
targets: {db: {kind: sqlite, isolation: serializable, durability: none}}
workload: {kind: oltp, preset: point_select}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "demo.yaml"
    path.write_text(TEXT)
    return path


def test_two_runs_have_seeds_of_their_own(file: Path) -> None:
    assert load(file).seed is None
    seeds = {load_seeded(file).seed for _ in range(5)}
    assert len(seeds) == 5
    assert None not in seeds


def test_what_is_recorded_repeats_the_run(file: Path) -> None:
    drawn = load_seeded(file)
    assert f"seed: {drawn.seed}" in drawn.text
    assert load(drawn.text + "\n").seed == drawn.seed


def test_a_given_seed_is_kept(file: Path) -> None:
    assert load_seeded(file, ["seed=7"]).seed == 7
    file.write_text(f"{TEXT}seed: 5\n")
    assert load_seeded(file).seed == 5
