"""Data directories of the user's that a managed server starts from: only read, never run on."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.process.account import Account


def check_files(template: Path) -> None:
    """Refuses links and the like: a server on a copy would follow them to the user's own files
    (tablespaces, DATA DIRECTORY)."""
    for directory, inner, names in os.walk(template):
        for name in (*inner, *names):
            path = Path(directory, name)
            mode = path.lstat().st_mode
            if stat.S_ISSOCK(mode):
                raise running(template, name)
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or path.suffix == ".isl":
                raise DynoError(
                    f"{path} leads out of the template",
                    cause="a tablespace or table that lies elsewhere: a server on a copy would "
                    "write to the original",
                    fix="move it into the data directory, or load a dump instead",
                )


def is_locked(path: Path) -> bool:
    """Whether another process holds a lock on it, as InnoDB does on its files while it runs."""
    with path.open("rb+" if os.access(path, os.W_OK) else "rb") as file:
        try:
            kind = fcntl.LOCK_EX if file.writable() else fcntl.LOCK_SH
            fcntl.lockf(file, kind | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in (errno.EACCES, errno.EAGAIN)
        fcntl.lockf(file, fcntl.LOCK_UN)
    return False


def own(directory: Path, account: Account) -> None:
    """Gives a copy to the server's account."""
    if not account.switch:
        return
    for parent, inner, names in os.walk(directory):
        os.chown(parent, account.uid, account.gid)
        for name in (*inner, *names):
            os.chown(Path(parent, name), account.uid, account.gid, follow_symlinks=False)


def unlike(template: Path, kind: str, lacking: str) -> DynoError:
    """The error for what is no data directory of that kind."""
    return DynoError(
        f"{template} is not a data directory of {kind}: it has no `{lacking}`",
        cause="another directory is meant (Debian: /var/lib/mysql, /var/lib/postgresql/15/main)",
        fix="give the directory itself; a dump goes under `dump:`",
    )


def running(template: Path, sign: str) -> DynoError:
    """The error for a directory that a server runs on."""
    return DynoError(
        f"a server runs on {template} (`{sign}`)",
        cause="a copy of files in use is no copy of one moment; or it was killed and left its mark",
        fix="stop that server cleanly first, or take a snapshot of its disk and start that once",
    )
