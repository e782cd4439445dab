"""Which files a server has, and who may read and write them. Source: stat(2), path_resolution(7):
who may not search a directory reaches nothing below it. Access control lists are not read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.facts.fact import Facts
from dbdyno.facts.secret import HIDDEN

DATA, CONFIGURATION, KEY, LOG, STATEMENT_LOG = (
    "data directory",
    "configuration",
    "private key",
    "log",
    "log of statements",
)
_MYSQL = {
    "datadir": DATA,
    "ssl_key": KEY,
    "file_key_management_filename": KEY,
    "keyring_file_data": KEY,
    "log_error": LOG,
    "general_log_file": STATEMENT_LOG,
    "slow_query_log_file": STATEMENT_LOG,
}
_NAMED: Mapping[str, Mapping[str, str]] = {
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "postgres": {
        "data_directory": DATA,
        "config_file": CONFIGURATION,
        "hba_file": CONFIGURATION,
        "ssl_key_file": KEY,
        "log_directory": STATEMENT_LOG,
    },
    "redis": {
        "dir": DATA,
        "tls-key-file": KEY,
        "tls-client-key-file": KEY,
        "aclfile": KEY,
        "logfile": LOG,
    },
    "mongodb": {
        "storage.dbPath": DATA,
        "dbpath": DATA,
        "security.keyFile": KEY,
        "keyFile": KEY,
        "net.tls.certificateKeyFile": KEY,
        "net.ssl.PEMKeyFile": KEY,
        "systemLog.path": LOG,
        "logpath": LOG,
    },
}
"""Settings that name a file. An aclfile of Redis holds hashes: it is as secret as a key."""
_INSIDE = {"*-key.pem": KEY, "server.key": KEY, "*.err": LOG}  # of a data directory


@dataclass(frozen=True)
class Named:
    """A path of a server, and what told it. `has_secret`: a password is in it."""

    role: str
    path: Path
    place: str
    has_secret: bool = False


def of(facts: Facts, root: Path) -> Iterator[Named]:
    """Absolute paths that settings, the target itself and its data directory name."""
    data = _data(facts)
    if data is not None:
        yield data
        for pattern, role in _INSIDE.items():
            for path in sorted(under(root, data.path).glob(pattern)):
                yield Named(role, Path("/") / path.relative_to(root), data.place)
    yield from _configuration(facts)
    for name, role in _settings(facts).items():
        fact = facts.get(f"setting.{name}")
        if fact is None or not fact.text or role == DATA:
            continue
        path = (data.path if data is not None else Path()) / fact.text
        if path.is_absolute():
            yield Named(role, path, fact.place)


def under(root: Path, path: Path) -> Path:
    """A path below the root that stands for /."""
    return root / path.relative_to("/")


def _settings(facts: Facts) -> Mapping[str, str]:
    return _NAMED.get(facts.engine.split("|")[0], {})


def _data(facts: Facts) -> Named | None:
    if facts.source == "directory":
        return Named(DATA, Path(facts.subject).resolve(), facts.subject)
    for name, role in _settings(facts).items():
        fact = facts.get(f"setting.{name}")
        if role == DATA and fact is not None and Path(fact.text).is_absolute():
            return Named(DATA, Path(fact.text), fact.place)
    return None


def _configuration(facts: Facts) -> Iterator[Named]:
    """The files of options, and the one that Redis says it has."""
    if facts.source != "file" or "options" not in facts.tables:
        fact = facts.get("status.config_file")
        if fact is not None and Path(fact.text).is_absolute():
            yield Named(CONFIGURATION, Path(fact.text), fact.place, True)
        return
    secret = {Path(facts.subject).absolute(): False}
    for row in facts.tables["options"].rows:
        path = Path(str(row["place"]).rsplit(":", 2)[0]).absolute()
        secret[path] = secret.get(path, False) or HIDDEN in str(row["value"])
    for path, has_secret in secret.items():
        yield Named(CONFIGURATION, path, facts.subject, has_secret)


def seen(named: Named, root: Path, names: Mapping[int, str]) -> dict[str, object] | None:
    """Owner, mode, and what all accounts may do with it: `r`, `rw`, or nothing. None if it is not
    there; PermissionError."""
    path = under(root, named.path)
    try:
        about = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return {
        "role": named.role,
        "path": str(named.path),
        "owner": names.get(about.st_uid, str(about.st_uid)),
        "mode": f"{stat.S_IMODE(about.st_mode):04o}",
        "others": others(path, root),
        "sensitive": named.has_secret,
        "place": f"stat {named.path}",
    }


def others(path: Path, root: Path) -> str:
    """What an account that is neither owner nor of the group may do. OSError."""
    mode = os.stat(path).st_mode
    reached = all(
        os.stat(parent).st_mode & stat.S_IXOTH
        for parent in path.parents
        if parent != root and parent.is_relative_to(root)
    )
    if not reached:
        return ""
    return "r" * bool(mode & stat.S_IROTH) + "w" * bool(mode & stat.S_IWOTH)
