"""No two test files of one name: pytest imports them by it, and would refuse the second."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_each_test_file_has_a_name_of_its_own() -> None:
    found = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in found.items() if count > 1] == []
