"""`docs/proof.md` from the results of the rows that were measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.proof.row import Outcome, Row

MET = {True: "met", False: "**not met**", None: "not measured"}

HEAD = """# What was proved

dbdyno's own promises, put to the test by `make proof` (`make proof ROWS="power coverage"` measures
some of them). What cannot depend on speed is part of `make test` as well, at a smaller size.
This page is written by the program; the figures are those of the last measurement of each row.

"""


def save(directory: Path, row: Row, outcome: Outcome, facts: Mapping[str, Any]) -> None:
    """Keeps a row's outcome, with `facts` (when, where, how)."""
    directory.mkdir(parents=True, exist_ok=True)
    kept = {"row": row.name, **facts, **asdict(outcome)}
    figure = kept.pop("figure")
    path = directory / f"{row.name}.svg"
    if figure:
        path.write_text(figure)
    else:
        path.unlink(missing_ok=True)
    (directory / f"{row.name}.json").write_text(json.dumps(kept, indent=1) + "\n")


def page(rows: Sequence[Row], directory: Path) -> str:
    """The page; rows that were never measured say so."""
    results = {row.name: _result(directory, row) for row in rows}
    lines = [HEAD, "| claim | bar | before | measured | |\n|---|---|---|---|---|\n"]
    for row in rows:
        found = results[row.name]
        said = _cell(found["measured"]) if found else "not measured yet"
        met = MET[found["met"]] if found else MET[None]
        claim, bar, before = f"[{row.claim}](#{_anchor(row)})", _cell(row.bar), _cell(row.before)
        lines.append(f"| {claim} | {bar} | {before or '-'} | {said} | {met} |\n")
    for row in rows:
        lines.append(_section(row, results[row.name], directory))
    return "".join(lines)


def _result(directory: Path, row: Row) -> dict[str, Any] | None:
    path = directory / f"{row.name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _section(row: Row, found: Mapping[str, Any] | None, directory: Path) -> str:
    parts = [f"\n## {row.claim}\n\n{row.how}\n\nBar: {row.bar}.\n"]
    if row.before:
        parts.append(f"\nBefore: {row.before}.\n")
    if found is None:
        return "".join([*parts, "\nNot measured yet.\n"])
    parts.append(f"\nMeasured: {found['measured']}. {MET[found['met']].capitalize()}.\n")
    if (directory / f"{row.name}.svg").exists():
        parts.append(f"\n![{found['figure_about']}](proof/{row.name}.svg)\n")
    for table in found["tables"]:
        head = " | ".join(map(_cell, table["head"]))
        rule = "|".join("---" for _ in table["head"])
        body = "".join(f"| {' | '.join(map(_cell, cells))} |\n" for cells in table["rows"])
        parts.append(f"\n{table['title']}\n\n| {head} |\n|{rule}|\n{body}")
    parts.extend(f"\n{note}\n" for note in found["notes"])
    parts.append(f"\n{found['when']}, {found['machine']}, `{found['command']}`\n")
    return "".join(parts)


def _anchor(row: Row) -> str:
    kept = "".join(c for c in row.claim.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
