"""`dyno plan` on a real SQLite: its own pilot, then an earlier run."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from running import Place, place, result

from fixtures.schemas import valid

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: small
targets:
  db: {kind: sqlite, durability: none}
workload: {kind: oltp, preset: point_select, rows: 1000}
factors:
  sessions: [1, 2]
blocks: 3
warmup: 50ms
duration: 30s
interval: 100ms
claims: ["tps[sessions=2] > 0.01 * tps[sessions=1]"]
"""


@pytest.fixture
def there() -> Iterator[Place]:
    with place() as made:
        yield made


def test_a_pilot_is_run_stored_and_planned_from(there: Place) -> None:
    file = there.experiment(EXPERIMENT)
    short = ("--pilot-blocks", "3", "--pilot-duration", "300ms", "--dir", "pilot")
    done = there.dyno("plan", file, "--detect", "20%", *short)
    assert done.returncode in (0, 1), done.stderr
    assert "trial 9/9" in done.stderr  # two cells and a copy, three blocks
    assert "With trials of 30 s, as the experiment has them:" in done.stdout
    assert "Noise floor: two copies of sessions=1 have a ratio of" in done.stdout
    assert "tps[sessions=2] > 0.01 * tps[sessions=1]: " in done.stdout
    assert result(there.path / "pilot")["blocks"] == 3
    assert (there.path / "pilot" / "report.html").exists()
    again = there.dyno("plan", file, "--detect", "20%", "--from", "pilot", "--json")
    assert again.returncode == done.returncode, again.stderr
    found = json.loads(again.stdout)
    valid("planning", found)
    assert found["found"] is (again.returncode == 0)
    assert [one["levels"] for one in found["noise_floor"]] == [{"sessions": "1"}]
    assert there.until_clean() == []


def test_what_cannot_be_planned_ends_with_2(there: Place) -> None:
    file = there.experiment(EXPERIMENT)
    assert there.dyno("plan", file).returncode == 2
    assert there.dyno("plan", file, "--detect", "3").returncode == 2
    both = there.dyno("plan", file, "--detect", "3%", "--from", "a", "--dir", "b")
    assert both.returncode == 2
    assert there.dyno("run", file, "--quick", "--dir", "quick").returncode == 0
    quick = there.dyno("plan", file, "--detect", "3%", "--from", "quick")
    assert quick.returncode == 2
    assert "a quick run is too short" in quick.stderr
