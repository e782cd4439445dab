"""Where labs are found: a private directory a lab, below the user's state directory.

A guardian makes the directory and removes it, however the owner ends; the file `owner` in it is
locked while the owner lives (`systems.process.owner`). It holds `lab.json`, the socket, and files
that clients log in with. After a power cut the next `dyno lab` removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.systems.process.account import Account, private_file
from dbdyno.systems.process.owner import sweep

RECORD, SOCKET, PASSWORD = "lab.json", "socket", "password"
_LOCK = "lock"  # held while a name is taken
_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Record:
    """A lab as it was when its record was written. `facts`: see `owner`."""

    directory: Path
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.facts["name"])

    @property
    def pid(self) -> int:
        """Of its owner."""
        return int(self.facts["pid"])

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Its nodes in their order; empty until all are up."""
        return list(self.facts.get("nodes", []))

    @property
    def socket(self) -> Path:
        """Where its owner listens."""
        return self.directory / SOCKET


def root() -> Path:
    """The directory of all labs of this user, below XDG_STATE_HOME where that is set."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".local" / "state"
    return base / "dbdyno" / "labs"


def made() -> Path:
    """`root`, which is made if need be. DynoError if it cannot be, or is not for us alone."""
    path = root()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise DynoError(
            f"cannot make {path}, where labs are kept: {error.strerror}",
            cause="its parents belong to another account, or the disk is full",
            fix="set XDG_STATE_HOME to a directory of yours",
        ) from None
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise DynoError(
            f"{path} belongs to another account, or others may use it",
            cause="it holds passwords of servers, and the sockets by which labs are commanded",
            fix=f"chmod 0700 {path}, as its owner",
        )
    return path


def listed() -> list[Record]:
    """All records, by name. Changes nothing: labs may have ended."""
    found = (read(path) for path in root().glob(f"dyno-*/{RECORD}"))
    return sorted((one for one in found if one is not None), key=lambda one: one.name)


def read(path: Path) -> Record | None:
    """The record in a file; None where it is gone, or none."""
    try:
        with path.open("rb") as file:
            facts = json.loads(file.read(_BYTES_MAX))
        record = Record(path.parent, facts)
        return record if record.name and record.pid else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(directory: Path, facts: Mapping[str, Any]) -> Record:
    """Puts a lab's record in place, whole."""
    fresh = directory / f".{RECORD}"
    private(fresh, json.dumps(facts))
    fresh.rename(directory / RECORD)
    return Record(directory, facts)


def private(path: Path, text: str) -> Path:
    """Writes a file that only this user can read."""
    return private_file(path, text, Account("", os.geteuid(), os.getegid(), switch=False))


def clear() -> list[str]:
    """Removes what labs have left whose owner and guardians died at once, as in a power cut, their
    servers' files included; returns their names."""
    if not root().is_dir():
        return []
    names = {record.directory: record for record in listed()}
    gone = [names[path] for path in sweep(root()) if path in names]
    for place in {str(record.facts.get("scratch", "")) for record in gone} - {""}:
        sweep(Path(place))
    if gone:
        sweep(Path(tempfile.gettempdir()))
    return [record.name for record in gone]


@contextlib.contextmanager
def claiming() -> Iterator[Path]:
    """`made`, while nobody else takes a name in it."""
    path = made()
    descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        clear()
        yield path
    finally:
        os.close(descriptor)


def refuse_taken(name: str) -> None:
    """DynoError where a lab of that name is up."""
    for record in listed():
        if record.name == name:
            raise DynoError(
                f"a lab called `{name}` is up (process {record.pid})",
                fix=f"choose another --name, or take it down: dyno lab down {name}",
            )
