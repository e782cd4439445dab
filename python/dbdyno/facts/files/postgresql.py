"""postgresql.conf, with what it includes.

Source: the PostgreSQL manual, "Setting Parameters": `name = value`, quotes, `include`,
`include_if_exists`, `include_dir`; the last of several wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dbdyno.facts.fact import Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered

_LINE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:=|\s)\s*('(?:[^']|'')*'|[^\s#]+)\s*(?:#.*)?$")
_INCLUDE = re.compile(r"(include|include_if_exists|include_dir)\s*=?\s*'?([^'#]+?)'?\s*(?:#.*)?")
_SIGNS = ("shared_buffers", "max_connections", "wal_level", "listen_addresses", "work_mem")


def detect(path: Path, content: str) -> bool:
    """Its own parameters, outside of any group."""
    signs = re.compile(rf"^\s*#?\s*({'|'.join(_SIGNS)})\s*=", re.M)
    return "postgres" in path.name or (bool(signs.search(content)) and "[" not in content[:1])


def read(path: Path, found: Gathered) -> Facts:
    """Parameters as settings; every line in the table `options`: name, value, place."""
    rows = []
    for line, file, number in text.Includes(_included, found.lacks).lines(path):
        parts = _LINE.fullmatch(line)
        if parts is None:
            continue
        name, value = parts[1].lower(), parts[2]
        if value.startswith("'"):
            value = value[1:-1].replace("''", "'")
        place = f"{file}:{number}:{text.column(line, parts[1])}"
        rows.append({"name": name, "spelled": parts[1], "value": value, "place": place})
        found.setting(name, value, place)
    found.table("options", rows, str(path))
    return found.facts(str(path), "file", "postgres")


def _included(line: str, path: Path) -> Sequence[Path] | None:
    named = _INCLUDE.fullmatch(line)
    if named is None:
        return None
    other = path.parent / named[2]
    if named[1] == "include_dir":
        return text.files_in(other, ".conf")
    if named[1] == "include_if_exists" and not other.is_file():
        return []
    return [other]
