"""redis.conf, valkey.conf and sentinel.conf, with what they include. Source: the comments of these
files themselves."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from dbdyno.facts.fact import Facts
from dbdyno.facts.files import redisusers, text
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.secret import HIDDEN

_SIGNS = re.compile(
    r"^(appendonly|appendfsync|maxmemory|maxmemory-policy|protected-mode|requirepass|dbfilename"
    r"|save \d+|sentinel monitor)\b",
    re.M,
)
_OF_USERS = ("user", "masteruser", "rename-command")
_OF_SENTINEL = ("auth-pass", "sentinel-pass", "rename-command")


def detect(path: Path, content: str) -> bool:
    """Directives that no other server has."""
    return "redis" in path.name or bool(_SIGNS.search(content))


def read(path: Path, found: Gathered) -> Facts:
    """Directives as settings, words joined by a space; repeated ones joined too, as `CONFIG GET`
    has them. Every line in the table `options`: name, value, place. Users of `user` lines in the
    table `acl_users`, as of a server."""
    rows, together, users = [], dict[str, str](), []
    for line, file, number in text.Includes(_included, found.lacks).lines(path):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        try:
            name, *words = shlex.split(bare)
        except ValueError:  # a quote that does not end: the server refuses it too
            name, *words = bare.split()
        name = name.lower()
        place = f"{file}:{number}:{text.column(line, bare)}"
        if name == "user" and words:
            users.append({**redisusers.user(" ".join([name, *words])), "place": place})
        value = _without_secret(name, words)
        rows.append({"name": name, "spelled": name, "value": value, "place": place})
        repeats = name in together and name in ("save", *_OF_USERS)
        together[name] = f"{together[name]} {value}" if repeats else value
        found.setting(name, together[name], place)
    found.table("options", rows, str(path))
    if users:
        found.table("acl_users", users, str(path))
    return found.facts(str(path), "file", "redis")


def _without_secret(name: str, words: Sequence[str]) -> str:
    """The value of a line. Of Sentinel, `auth-pass NAME (hidden)` keeps the name."""
    if name in _OF_USERS:
        return HIDDEN
    if name == "sentinel" and words and words[0].lower() in _OF_SENTINEL:
        return " ".join([words[0], *words[1:-1][:1], HIDDEN])
    return " ".join(words)


def _included(line: str, path: Path) -> Sequence[Path] | None:
    if not line.lower().startswith("include "):
        return None
    pattern = line.partition(" ")[2].strip().strip("'\"")
    other = path.parent / pattern
    if "*" in pattern:
        return sorted(one for one in other.parent.glob(other.name) if one.is_file())
    return [other]
