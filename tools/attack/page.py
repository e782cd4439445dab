"""`docs/attack.md` from the tallies of the rows that were tried."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.attack.row import Row, Tally

HEAD = """# What was attacked

What others send to dbdyno (files, bundles, answers of servers), put to the test by `make attack`
(`make attack ROWS="bundles"` tries some of it): at most 2,500 attacks a row, drawn by a seed from
all that the row has. A small sample is part of `make test`. This page is written by the program;
the last column is to be 0.

| attack | tried | survived | failed |
|---|---|---|---|
"""


def save(directory: Path, row: Row, tally: Tally, facts: Mapping[str, Any]) -> None:
    """Keeps a row's tally, with `facts` (when, how)."""
    directory.mkdir(parents=True, exist_ok=True)
    kept = {"row": row.name, **facts, **asdict(tally)}
    (directory / f"{row.name}.json").write_text(json.dumps(kept, indent=1) + "\n")


def page(rows: Sequence[Row], directory: Path) -> str:
    """The page; rows that were never tried say so."""
    lines = [HEAD]
    for row in rows:
        found = _tally(directory, row)
        attack = f"[{row.attack}](#{row.name})"
        if found is None:
            lines.append(f"| {attack} | not tried yet | | |\n")
        else:
            survived = found["tried"] - found["failed"]
            lines.append(f"| {attack} | {found['tried']} | {survived} | {found['failed']} |\n")
    for row in rows:
        lines.append(_section(row, _tally(directory, row)))
    return "".join(lines)


def _tally(directory: Path, row: Row) -> dict[str, Any] | None:
    path = directory / f"{row.name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _section(row: Row, found: Mapping[str, Any] | None) -> str:
    parts = [f"\n## {row.name}\n\nTried: {row.attack}.\n\nSurvived: {row.survived}.\n"]
    if found is None:
        return "".join([*parts, "\nNot tried yet.\n"])
    if found["failures"]:
        parts.append("\nFailed:\n\n")
        parts.extend(f"- {_code(failure)}\n" for failure in found["failures"])
    parts.append(f"\n{found['when']}, `{found['command']}`\n")
    return "".join(parts)


def _code(text: str) -> str:
    plain = "".join(char if char.isprintable() else "?" for char in text).replace("`", "'")
    return f"`{plain}`"
