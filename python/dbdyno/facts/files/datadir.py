"""A data directory of MySQL or MariaDB: which processes hold its files open, what is encrypted in
it (`facts.at_rest`), which of its logs hold keys, and what InnoDB's files hold (`facts.innodb`).

Source: proc(5). Processes of others are seen by root alone, and then said to be missing. No file is
written or locked.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.facts import keyleaks
from dbdyno.facts.at_rest import classes
from dbdyno.facts.at_rest.reading import AtRest, Seen
from dbdyno.facts.at_rest.tablespaces import chosen
from dbdyno.facts.fact import EITHER, Facts
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.innodb import redolog, tablespaces

SPACE, ENCRYPTION = PACKS = ("space", "encryption")  # whose rules judge what the files hold
SHARED = "ibdata1"  # every InnoDB has it, locked while the server runs
PROC = Path("/proc")
LOG_BYTES_MAX = 64 << 20  # of a log: its end
LOGS_MAX = 8  # the newest


def read(
    path: Path,
    found: Gathered,
    proc: Path = PROC,
    *,
    packs: Collection[str] = PACKS,
    progress: tablespaces.Progress | None = None,
) -> Facts:
    """Table `holders`: pid, program, file, place; and what the files hold, as far as rules of
    `packs` judge it."""
    wanted = path / SHARED
    try:
        about = wanted.stat()
    except OSError as error:
        raise DynoError(
            f"{path} is no data directory that is understood: {SHARED}: {error.strerror}",
            cause="another directory, another engine, or no permission",
            fix="name the directory of `SELECT @@datadir`, as a user who may read it",
        ) from None
    unseen: list[int] = []
    holders = list(_holders(proc, (about.st_dev, about.st_ino), str(wanted), unseen))
    if unseen:
        reason = f"{len(unseen)} processes of other users do not show their files: see as root"
        found.lacks("holders", reason)
    if not unseen or len(holders) > 1:
        found.table("holders", holders, f"{proc}/*/fd")
    log = None
    if SPACE not in packs:
        found.lacks("tablespaces", "no rule that was asked for needs what the files hold")
    if SPACE in packs or ENCRYPTION in packs:
        log = _contents(path, found, packs, progress)
    engine, version = (log.engine, log.version) if log is not None and log.engine else (EITHER, ())
    return found.facts(str(path), "directory", engine, version)


def _contents(
    path: Path, found: Gathered, packs: Collection[str], progress: tablespaces.Progress | None
) -> redolog.RedoLog | None:
    """One scan of InnoDB's files for both packs. The redo log is read after it: LSNs only grow."""
    space = tablespaces.Space(path) if SPACE in packs else None
    at_rest = AtRest(path) if ENCRYPTION in packs else None
    paths = [path] if space or not at_rest else chosen(at_rest.innodb)
    try:
        if paths:
            tablespaces.scan(paths, [one.add for one in (space, at_rest) if one], progress)
    except DynoError as error:
        found.lacks("tablespaces", error.what)
        if at_rest is not None:
            at_rest.lacking.append(error.what)
        space = None
    if space is not None:
        space.put(found)
    if at_rest is not None:
        at_rest.put(found)
        keyleaks.tell(found, list(_leaks(at_rest.seen)), f"the newest logs in {path}")
    return _redo_log(path, found, space)


def _redo_log(
    path: Path, found: Gathered, space: tablespaces.Space | None
) -> redolog.RedoLog | None:
    about = os.statvfs(path)
    found.add("space.available_bytes", about.f_bavail * about.f_frsize, f"statvfs({path})", "bytes")
    try:
        log = redolog.read(path)
    except OSError as error:
        found.lacks("space.most_lsn", f"the redo log cannot be read: {error.strerror}")
        return None
    if log is None:
        found.lacks("space.most_lsn", "the redo log is not in this directory")
        return None
    found.add("space.most_lsn", log.most_lsn, log.place)
    if space is not None:
        ahead = sum(lsn > log.most_lsn for lsn in space.lsns)
        found.add("space.files_ahead", ahead, log.place)
    return log


def _leaks(seen: list[Seen]) -> Iterator[dict[str, Any]]:
    """Keys in the newest binary logs and logs of statements. An encrypted one shows none."""
    logs = [one.path for one in seen if one.of in (classes.BINLOG, classes.TEXT_LOG)]
    for path in sorted(logs, key=lambda one: one.stat().st_mtime)[-LOGS_MAX:]:
        try:
            with diskfiles.opened(path) as file:
                file.seek(max(0, file.seek(0, 2) - LOG_BYTES_MAX))
                offset, content = file.tell(), file.read(LOG_BYTES_MAX)
        except OSError:
            continue  # it was removed meanwhile
        is_binary = offset > 0 or content[:4] in classes.BINLOG_MAGIC
        yield from keyleaks.rows(str(path), content, begin=offset if is_binary else None)


def _holders(
    proc: Path, wanted: tuple[int, int], name: str, unseen: list[int]
) -> Iterator[dict[str, Any]]:
    for process in sorted(proc.glob("[0-9]*"), key=lambda one: int(one.name)):
        try:
            descriptors = list((process / "fd").iterdir())
        except PermissionError:
            unseen.append(int(process.name))
            continue
        except OSError:  # it has ended
            continue
        if any(_identity(one) == wanted for one in descriptors):
            program = _text(process / "comm")
            pid = int(process.name)
            yield {"pid": pid, "program": program, "file": name, "place": str(process / "fd")}


def _identity(descriptor: Path) -> tuple[int, int] | None:
    try:
        about = os.stat(descriptor)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
