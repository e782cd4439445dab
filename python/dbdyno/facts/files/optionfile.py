"""Option files of MySQL and MariaDB (my.cnf), with what they include.

Source: the manuals' "Using Option Files": groups, `-` and `_` alike, `loose_`, `!include`,
`!includedir`, the last of several wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno.facts.fact import EITHER, Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered

_GROUP = re.compile(r"\s*\[([^\]]*)\]")
_SERVER = re.compile(r"(mysqld|server|mariadb|mariadbd|galera)(-\d+\.\d+)?")
_INSTANCE = re.compile(r"mysqld\d+")
_QUOTED = re.compile(r"(['\"])(.*)\1(?:\s*#.*)?")
_OF_MARIADB = re.compile(r"(mariadb|mariadbd|galera)(-\d+\.\d+)?$")


def detect(path: Path, content: str) -> bool:
    """A group of a server, or a name that says so."""
    return bool(re.search(r"^\s*\[(mysqld|mariadbd?|server|client|mysql)\b", content, re.M))


def read(path: Path, found: Gathered) -> Facts:
    """Options of server groups as settings, and every option of any group in the table `options`:
    group, name, spelled, value, place."""
    group, rows, engine = "", [], EITHER
    for line, file, number in text.Includes(_included, found.lacks).lines(path):
        if heading := _GROUP.match(line):
            group = heading[1].strip()
            if _OF_MARIADB.fullmatch(group):
                engine = "mariadb"
            continue
        bare = line.strip()
        if not bare or bare[0] in "#;" or not group:
            continue
        row = _option(line, group, f"{file}:{number}:{text.column(line, bare)}")
        rows.append(row)
        if is_server(group):
            found.setting(row["name"], row["value"], row["place"])
    found.table("options", rows, str(path))
    return found.facts(str(path), "file", engine)


def is_server(group: str) -> bool:
    """Whether the server reads a group, of `mysqld_multi` one of several."""
    return bool(_SERVER.fullmatch(group))


def is_instance(group: str) -> bool:
    """A server of `mysqld_multi`: [mysqld1]."""
    return bool(_INSTANCE.fullmatch(group))


def _option(line: str, group: str, place: str) -> dict[str, Any]:
    spelled, equals, value = line.strip().partition("=")
    if not equals:
        spelled = re.sub(r"\s+#.*", "", spelled)
    spelled = spelled.strip()
    name = spelled.lower().replace("-", "_").removeprefix("loose_")
    quoted = _QUOTED.fullmatch(value.strip())
    bare = quoted[2] if quoted else re.sub(r"\s+#.*|^#.*", "", value.strip())
    return {
        "group": group,
        "name": name,
        "spelled": spelled,
        "value": bare if equals else "ON",
        "loose": spelled.lower().startswith(("loose-", "loose_")),
        "place": place,
    }


def _included(line: str, path: Path) -> Sequence[Path] | None:
    word, _, rest = line.partition(" ")
    if word == "!include":
        return [_beside(path, rest)]
    if word == "!includedir":
        return text.files_in(_beside(path, rest), ".cnf")
    return None


def _beside(path: Path, named: str) -> Path:
    """A path of an include; relative ones are read from the file's directory."""
    return path.parent / named.strip().rstrip("/")
