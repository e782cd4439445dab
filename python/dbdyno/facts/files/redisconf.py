"""redis.conf and valkey.conf, with what they include. Source: the comments of redis.conf itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from dbdyno.facts.fact import Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.secret import HIDDEN

_SIGNS = re.compile(
    r"^(appendonly|appendfsync|maxmemory|maxmemory-policy|protected-mode|requirepass|dbfilename"
    r"|save \d+)\b",
    re.M,
)
_OF_USERS = ("user", "masteruser", "rename-command")


def detect(path: Path, content: str) -> bool:
    """Directives that no other server has."""
    return "redis" in path.name or bool(_SIGNS.search(content))


def read(path: Path, found: Gathered) -> Facts:
    """Directives as settings, words joined by a space; repeated ones joined too, as `CONFIG GET`
    has them. Every line in the table `options`: name, value, place."""
    rows, together = [], dict[str, str]()
    for line, file, number in text.Includes(_included, found.lacks).lines(path):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        try:
            name, *words = shlex.split(bare)
        except ValueError:  # a quote that does not end: the server refuses it too
            name, *words = bare.split()
        name, value = name.lower(), " ".join(words)
        place = f"{file}:{number}:{text.column(line, bare)}"
        if name in _OF_USERS:
            value = HIDDEN
        rows.append({"name": name, "spelled": name, "value": value, "place": place})
        repeats = name in together and name in ("save", *_OF_USERS)
        together[name] = f"{together[name]} {value}" if repeats else value
        found.setting(name, together[name], place)
    found.table("options", rows, str(path))
    return found.facts(str(path), "file", "redis")


def _included(line: str, path: Path) -> Sequence[Path] | None:
    if not line.lower().startswith("include "):
        return None
    pattern = line.partition(" ")[2].strip().strip("'\"")
    other = path.parent / pattern
    if "*" in pattern:
        return sorted(one for one in other.parent.glob(other.name) if one.is_file())
    return [other]
