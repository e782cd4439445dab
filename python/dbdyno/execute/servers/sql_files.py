"""Files of SQL into a server: opened, unpacked, fed line by line, with the place of an error.

Memory holds one line (bounded); packed files are unpacked as they are read.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dbdyno.errors import DynoError, Where
from dbdyno.execute.control import Control
from dbdyno.hosts.base import DEVNULL, PIPE, Host
from dbdyno.systems.base import Server
from dbdyno.systems.sql_files import Importer, Rejected

LINE_BYTES_MAX = 1 << 30  # what a server takes in one statement, at most
PROGRESS_S = 10.0
CHECK_LINES = 256  # lines between checks of clock and signals
_UNPACKING = (EOFError, gzip.BadGzipFile, zlib.error)
# (pattern in a server's message, likely cause, next step)
_HINTS = (
    (
        r'role "[^"]*" does not exist',
        "the dump names owners or grants of the server that it comes from",
        "dump with `pg_dump --no-owner --no-acl`",
    ),
    (
        r"Unknown collation|Unknown character set|Unknown storage engine",
        "the dump is of another version or kind of server",
        "use a target of that kind and version (`basedir:`), or change the dump",
    ),
    (
        r"syntax error|error in your SQL syntax",
        "the file is cut short, or is SQL of another kind of server",
        "look at that line",
    ),
    (
        r"already exists",
        "two files, or a file and `tables:`, make the same table",
        "keep one of them",
    ),
)


def import_file(
    path: Path,
    server: Server,
    database: str,
    host: Host,
    say: Callable[[str], None],
    control: Control,
) -> None:
    """Sends a file of SQL into a schema, through programs of a host. DynoError with file and line
    for whatever is refused, Interrupted when the user wants to stop."""
    say(f"reading {path.name}")
    importer = server.importer(database, host)
    try:
        # One statement may take hours, in which no line is read and no signal handled.
        with control.watching(importer):
            _send(path, importer, host, say, control.check)
    except DynoError:
        control.check()  # then the importer was stopped, and the file is not to blame
        raise


def _send(
    path: Path,
    importer: Importer,
    host: Host,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> None:
    number = 0
    try:
        with _opened(path, host) as (lines, position):
            begun = told = time.monotonic()
            for number, line in enumerate(_bounded(lines, path), start=1):
                importer.feed(line)
                if number % CHECK_LINES:
                    continue
                check()
                if time.monotonic() - told > PROGRESS_S:
                    told = time.monotonic()
                    say(_progress(path, position(), told - begun))
        importer.finish()
    except Rejected as rejected:
        importer.abort()
        raise _refused(path, rejected) from None
    except _UNPACKING as error:
        importer.abort()
        raise _cut_short(path, number, str(error)) from None
    except OSError as error:
        importer.abort()
        raise DynoError(
            f"{path} cannot be read: {error.strerror or error}", fix="look at the file and its disk"
        ) from None
    except BaseException:
        importer.abort()
        raise


@contextmanager
def _opened(path: Path, host: Host) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """The file's lines, unpacked, and how many bytes of it were read so far."""
    with path.open("rb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw) as lines:
                yield lines, raw.tell  # type: ignore[misc]
        elif path.suffix == ".zst":
            with _zstd(raw, path, host) as lines:
                yield lines, lambda: os.lseek(raw.fileno(), 0, os.SEEK_CUR)
        else:
            yield raw, raw.tell


@contextmanager
def _zstd(raw: IO[bytes], path: Path, host: Host) -> Iterator[IO[bytes]]:
    """Python 3.11 has no Zstandard of its own, so its program unpacks."""
    program = shutil.which("zstd")
    if program is None:
        raise DynoError(
            f"{path.name} is packed with zstd, and that program is not here",
            fix="install it: `apt-get install zstd`, or pack the file with gzip",
        )
    process = host.start([program, "-dcq"], stdin=raw, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None
    try:
        yield process.stdout
        if process.wait() != 0:
            raise EOFError("zstd says that it is damaged")
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


def _bounded(lines: IO[bytes], path: Path) -> Iterator[bytes]:
    while line := lines.readline(LINE_BYTES_MAX):
        if len(line) == LINE_BYTES_MAX:
            raise DynoError(
                f"{path} has a line of 1 GiB or more",
                cause="it is not SQL in plain text",
                fix="dump in plain SQL",
            )
        yield line


def _progress(path: Path, done_bytes: int, seconds: float) -> str:
    total = path.stat().st_size
    return f"{path.name}: {done_bytes >> 20} of {total >> 20} MiB after {seconds:.0f} s"


def _refused(path: Path, rejected: Rejected) -> DynoError:
    cause, fix = rejected.cause, rejected.fix
    for pattern, hint_cause, hint_fix in _HINTS:
        if not fix and re.search(pattern, rejected.what, re.IGNORECASE):
            cause, fix = hint_cause, hint_fix
    return DynoError(
        f"{path.name}: {rejected.what}; nothing of it is kept",
        where=Where(path, rejected.line, 1) if rejected.line else None,
        cause=cause,
        fix=fix or "correct the file, then run again",
    )


def _cut_short(path: Path, lines: int, said: str) -> DynoError:
    return DynoError(
        f"{path} cannot be unpacked behind its line {lines}: {said}; nothing of it is kept",
        cause="it was cut short, or is not packed as its name says",
        fix="test it: `gzip -t` or `zstd -t`; copy it again",
    )
