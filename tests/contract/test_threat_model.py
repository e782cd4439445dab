"""Every line of the threat model is shown by tests, and these are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threat-model.md"
NAMED = re.compile(r"`([\w/.-]+\.(?:py|rs))::(\w+)`")
DEFINED = {".py": r"^(?:async )?def {}\(", ".rs": r"#\[test\]\s+fn {}\("}


def rows() -> list[str]:
    """Lines of tables, less their heads."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [line for line in lines if not line.startswith(("|---", "| may | may not |"))]


def test_every_line_names_a_test() -> None:
    assert len(rows()) > 20
    assert [line for line in rows() if not NAMED.search(line.rpartition(" | ")[2])] == []


def test_every_test_named_is_there() -> None:
    named = NAMED.findall(PAGE.read_text())
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file()
        or not re.search(
            DEFINED[Path(path).suffix].format(re.escape(name)), (ROOT / path).read_text(), re.M
        )
    ]
    assert missing == []
