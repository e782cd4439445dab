"""A small sample of `make attack`, drawn by a fixed seed: nothing that is tried may fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.attack import confined, families, page
from tools.attack.row import Effort, Row, Tally

from dbdyno.execute.engine import job

pytestmark = pytest.mark.live

MOST = 8
SLOWER = {"kills": 4}  # a run is started for each, and resumed; `test_kill.py` kills more


@pytest.mark.parametrize("row", families.rows(), ids=lambda row: row.name)
def test_a_sample_is_survived(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "WALL_S", 240.0)  # a minute is the promise of an idle machine
    said: list[str] = []
    most = SLOWER.get(row.name, MOST)
    tally = row.run(Effort(most, 7, job.find(), tmp_path, said.append))
    assert tally.tried
    assert tally.failed == 0, tally.failures


def test_every_file_of_the_families_is_a_row() -> None:
    folder = Path(families.__file__).parent
    found = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert found == set(families.NAMES)


def test_the_page_shows_what_was_tried_and_what_was_not(tmp_path: Path) -> None:
    rows = families.rows()[:2]
    tally = Tally()
    tally.add("a", [])
    tally.add("b", ["does `not` end"])
    page.save(tmp_path, rows[0], tally, {"when": "today", "command": "make attack"})
    made = page.page(rows, tmp_path)
    assert "| 2 | 1 | 1 |" in made
    assert "- `b: does 'not' end`" in made
    assert "not tried yet" in made
