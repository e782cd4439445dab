"""mongod.conf and mongos.conf: YAML since 2.6, lines of `name = value` before.

Source: the MongoDB manual, "Configuration File Options", and that of 2.4.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.file import document
from dbdyno.experiment.file.document import Node
from dbdyno.facts.fact import Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered

_TOP = "storage|systemLog|net|processManagement|replication|sharding|security|operationProfiling"
_YAML = re.compile(rf"^({_TOP}|setParameter)\s*:", re.M)
_LINES = re.compile(
    r"^\s*(dbpath|logpath|configdb|nojournal|journal|smallfiles|oplogSize|replSet|bind_ip"
    r"|logappend|shardsvr|configsvr|nohttpinterface|directoryperdb|noprealloc)\s*=",
    re.M,
)
_LINE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*(?:\s#.*)?$")

_SWITCH = {"true": "enabled", "false": "disabled"}


def detect(path: Path, content: str) -> bool:
    """Sections of its YAML, or options of its older lines."""
    return "mongo" in path.name or bool(_YAML.search(content) or _LINES.search(content))


def read(path: Path, found: Gathered) -> Facts:
    """Settings by their dotted path (`storage.dbPath`), of the older form by their names. The table
    `options` has the same with `form`, and of each list how it is written."""
    content = text.read(path)
    form = "lines" if _LINES.search(content) and not _YAML.search(content) else "yaml"
    rows = _of_lines(path, content) if form == "lines" else _of_yaml(path, content)
    for row in rows:
        found.setting(row["name"], row["value"], row["place"])
    found.table("options", [row | {"form": form} for row in rows], str(path))
    return found.facts(str(path), "file", "mongodb")


def _of_yaml(path: Path, content: str) -> list[dict[str, Any]]:
    rows = []
    try:
        root = document.parse(content, path)
    except DynoError as error:
        error.fix = "mongod refuses it too: correct the line"
        raise
    for steps, leaf in document.leaves(root):
        rows.append(
            {
                "name": ".".join(steps),
                "spelled": ".".join(steps),
                "value": _value(leaf),
                "place": str(leaf.place),
            }
        )
    return rows


def _value(leaf: Node) -> Any:
    if leaf.items:
        return ", ".join(str(one.plain()) for one in leaf.items)
    return leaf.text if leaf.is_scalar and leaf.value is not None else None


def _of_lines(path: Path, content: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(content.splitlines(), 1):
        parts = _LINE.fullmatch(line)
        if parts is None or line.lstrip().startswith("#"):
            continue
        place = f"{path}:{number}:{text.column(line, parts[1])}"
        name, value = parts[1], parts[2]
        if name == "auth":  # a switch, whose name alone would hide it
            name, value = "security.authorization", _SWITCH.get(value.lower(), value)
        rows.append({"name": name, "spelled": parts[1], "value": value, "place": place})
    return rows
