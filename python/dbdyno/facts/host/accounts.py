"""The account that a server runs as: its shell, its groups, and whether it may become root.

Sources: passwd(5), group(5), sudoers(5). Of sudoers only the places of lines are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ADMINISTRATORS = ("sudo", "wheel", "admin", "docker")  # by sudoers of distributions, by containers
PASSWD, GROUP, SUDOERS = Path("etc/passwd"), Path("etc/group"), Path("etc/sudoers")
CLIENT_FILES = (
    *(".my.cnf", ".pgpass", ".pg_service.conf"),
    *(".mysql_history", ".mariadb_history", ".psql_history", ".rediscli_history", ".dbshell"),
)
"""Passwords and statements that clients keep in a home. (Clients themselves refuse a `.mylogin.cnf`
that others may read.)"""


@dataclass(frozen=True)
class Account:
    """A line of /etc/passwd."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str
    place: str


def all_of(root: Path) -> list[Account]:
    """Accounts of /etc/passwd; those of directories (LDAP) are not among them."""
    found = []
    for number, line in enumerate(_lines(root / PASSWD), 1):
        parts = line.split(":")
        if len(parts) == 7 and parts[2].isdigit() and parts[3].isdigit():
            name, _, uid, gid, _, home, shell = parts
            place = f"/{PASSWD}:{number}"
            found.append(Account(name, int(uid), int(gid), home, shell, place))
    return found


def administrating(account: Account, root: Path) -> list[str]:
    """Groups of the account whose members may become root."""
    found = []
    for line in _lines(root / GROUP):
        parts = line.split(":")
        if len(parts) == 4 and parts[0] in ADMINISTRATORS and parts[2].isdigit():
            member = account.name in parts[3].split(",") or int(parts[2]) == account.gid
            if member:
                found.append(parts[0])
    return found


def sudo_lines(account: Account, root: Path) -> list[str]:
    """Places of lines in sudoers that name it. OSError if they cannot be read."""
    directory = root / f"{SUDOERS}.d"
    files = [root / SUDOERS, *(sorted(directory.iterdir()) if directory.is_dir() else [])]
    if not files[0].exists():
        return []
    named = re.compile(rf"{re.escape(account.name)}\s+\S+\s*=")
    return [
        f"/{file.relative_to(root)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1)
        if named.match(line.strip())
    ]


def client_files(accounts: list[Account]) -> Iterator[tuple[Account, Path]]:
    """Where clients of each account may keep passwords and statements."""
    homes: Mapping[str, Account] = {one.home: one for one in reversed(accounts)}
    for home, account in homes.items():
        if Path(home).is_absolute() and home != "/":
            yield from ((account, Path(home) / name) for name in CLIENT_FILES)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
