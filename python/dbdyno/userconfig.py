"""The user's own settings: `~/.config/dbdyno/config.toml`, below XDG_CONFIG_HOME where that is set.

    scratch = "/mnt/nvme"              # where servers keep their files
    runs = "~/measurements"            # where runs go that nobody named
    [passwords."app@db1:3306"]         # or "db1", "app@db1", "db1:3306": the closest one counts
    command = "pass show db1"          # or env, file, defaults_group

What a command line, an environment variable or an experiment says comes before them.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError, Mistakes, Where

SOURCES = ("env", "file", "command", "defaults_group")
_KEYS = ("scratch", "runs", "passwords")
_SERVER = re.compile(
    r"(?:(?P<user>[^@\s]+)@)?(?P<host>[^@\s:]+|\[[^]\s]+\])(?::(?P<port>\d{1,5}))?"
)
_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class UserConfig:
    """What the file says. `passwords`: by server as written, the source and its value."""

    path: Path
    is_there: bool = False
    scratch: Path | None = None
    runs: Path | None = None
    passwords: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def password(self, user: str, host: str, port: int) -> tuple[str, str] | None:
        """The source for a login, and its value: of the entry that says most of it."""
        best: tuple[int, tuple[str, str]] | None = None
        for server, source in self.passwords.items():
            found = _SERVER.fullmatch(server)
            assert found is not None
            asked = {"user": user, "host": host, "port": str(port)}
            said = {name: value.strip("[]") for name, value in found.groupdict().items() if value}
            if said.items() <= asked.items() and (best is None or len(said) > best[0]):
                best = len(said), source
        return best and best[1]


def place() -> Path:
    """Where the file is, if there is one."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".config"
    return base / "dbdyno" / "config.toml"


def read() -> UserConfig:
    """The file's settings; the defaults without one. DynoError, by line, for what is wrong."""
    path = place()
    try:
        with path.open("rb") as file:
            _refuse_others(path, os.fstat(file.fileno()))
            raw = file.read(_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return UserConfig(path)
    except OSError as error:
        raise DynoError(
            f"{path} cannot be read: {error.strerror or error}",
            fix="make it readable, or remove it",
        ) from None
    return _parsed(path, raw.decode("utf-8", "replace"))


def _refuse_others(path: Path, found: os.stat_result) -> None:
    """It may name commands: nobody else may write it."""
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise DynoError(
            f"{path} belongs to another account, or others may write to it",
            cause="it may name commands that print passwords",
            fix=f"chmod go-w {path}, as its owner",
        )


def _parsed(path: Path, text: str) -> UserConfig:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(at[1]), int(at[2])) if at else (text.count("\n") + 1, 1)
        what = str(error).partition(" (at ")[0]
        raise DynoError(
            f"this is not TOML: {what}", where=Where(path, line, column), fix="correct the line"
        ) from None
    mistakes = Mistakes()

    def wrong(what: str, *keys: str, fix: str = "") -> None:
        mistakes.add(DynoError(what, where=Where(path, _line(text, keys), 1), fix=fix))

    for key in found.keys() - set(_KEYS):
        wrong(f"there is no key `{key}`", key, fix=f"known: {', '.join(_KEYS)}")
    directories: dict[str, Path | None] = {}
    for key in ("scratch", "runs"):
        value = found.get(key)
        directories[key] = None
        if isinstance(value, str) and os.path.isabs(os.path.expanduser(value)):
            directories[key] = Path(value).expanduser()
        elif value is not None:
            wrong(f"`{key}` must be the absolute path of a directory", key, fix='such as "/mnt/x"')
    passwords: dict[str, tuple[str, str]] = {}
    servers = found.get("passwords", {})
    if not isinstance(servers, dict):
        wrong("`passwords` must hold servers", "passwords", fix='write [passwords."app@db1"]')
        servers = {}
    for server, given in servers.items():
        if _SERVER.fullmatch(server) is None:
            wrong(f"`{server}` is no server", "passwords", server, fix="write USER@HOST:PORT")
        elif (why := _why_no_source(given)) is not None:
            wrong(f"`{server}` {why}", "passwords", server, fix=f"one of {', '.join(SOURCES)}")
        else:
            ((source, value),) = given.items()
            passwords[server] = source, os.path.expanduser(value) if source == "file" else value
    mistakes.stop()
    return UserConfig(path, True, directories["scratch"], directories["runs"], passwords)


def _why_no_source(given: Any) -> str | None:
    if not isinstance(given, dict) or len(given) != 1:
        return "must name one source of its password"
    ((source, value),) = given.items()
    if source in ("password", "secret"):
        return "holds a password: name where it comes from instead"
    if source not in SOURCES or not isinstance(value, str) or not value:
        return f"cannot have `{source}`"
    return None


def _line(text: str, keys: tuple[str, ...]) -> int:
    """The line of a key or of a table's head; tomllib keeps no places."""
    for number, line in enumerate(text.splitlines(), 1):
        words = re.sub(r"[\s\"']", "", line.partition("=")[0])
        if words.strip("[]") in (".".join(keys), keys[-1]):
            return number
    return 1
