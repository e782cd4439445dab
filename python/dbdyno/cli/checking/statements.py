"""The statement classes of a log that is checked, as `dyno-engine digest` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.digest import reading
from dbdyno.errors import DynoError
from dbdyno.facts import keyleaks, targets
from dbdyno.facts.fact import Facts
from dbdyno.facts.files import digest, logs
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.targets import Asked

PACKS = frozenset({"distribution", "indexes", "statements"})  # whose rules need classes
EVENTS = "events"


def with_classes(lines: Facts, path: Path, asked: Asked) -> list[Facts]:
    """The facts of a file, and of a log of statements its classes with what its lines told. Where
    it cannot be digested, the reason."""
    whose = lines.get(logs.STATEMENTS)
    is_this = lines.source == "log" and lines.subject == str(path)
    if whose is None or not is_this or PACKS.isdisjoint(asked.packs):
        return [lines]
    found = Gathered()
    try:
        made = digest.of_log(_digested(path, asked), str(path), found)
    except DynoError as error:
        found.lacks("statements", error.what)
        made = found.facts(str(path), "log", whose.text)
    made = targets.completed(_joined(made, lines), asked)
    return [_without_secrets(lines), made] if lines.table(EVENTS).rows else [made]


def _digested(path: Path, asked: Asked) -> Mapping[str, Any]:
    """DynoError if it cannot be."""
    progress = asked.progress or (lambda done, total: None)
    raw, code = reading.read(
        ["--limit=all", "--samples=raw", "--", str(path)], on_progress=progress
    )
    if code == reading.INTERRUPTED:
        raise KeyboardInterrupt
    return raw


def _without_secrets(lines: Facts) -> Facts:
    """Those of the audit subsystem and of InnoDB: secrets are found once."""
    tables = {name: table for name, table in lines.tables.items() if name != keyleaks.TABLE}
    return replace(lines, tables=tables)


def _joined(classes: Facts, lines: Facts) -> Facts:
    """With the places of secrets, which the lines told."""
    facts = {key: fact for key, fact in lines.facts.items() if key != logs.STATEMENTS}
    return replace(
        classes,
        facts={**facts, **classes.facts},
        tables={**lines.tables, **classes.tables},
        missing={**lines.missing, **classes.missing},
    )
