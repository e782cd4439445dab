"""Files that are whole or absent, and streams that may end in the middle of a line.

A file is replaced by write, fsync, rename, fsync of the directory (rename(2), fsync(2)): after a
crash either the old or the new one is there. Event streams are appended by a process that can be
killed, so their last line may be cut off; it is dropped, and only the last.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.store.text import json as jsontext

JSON_BYTES_MAX = 64 << 20  # of a document, which is read whole
LINE_BYTES_MAX = 16 << 20
STREAM_BYTES_MAX = 4 << 30  # a week of a trial with hundreds of metrics a second
LINES_MAX = 10_000_000

Check = Callable[[dict[str, Any]], None]

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def explained(path: Path, run: Path) -> Iterator[None]:
    """Turns an OSError while writing `path` of the run directory `run` into a DynoError."""
    try:
        yield
    except OSError as error:
        again = f"free some space, then: dyno run --resume {run}"
        if error.errno in _FULL:
            raise DynoError(
                f"no space left on the disk that holds {run} (writing {path.name})",
                cause="trials that were complete before are safe on disk; only this one is lost",
                fix=again,
            ) from error
        if error.errno == errno.EFBIG:
            raise DynoError(
                f"cannot write {path}: {error.strerror}",
                cause="a limit on the size of files (`ulimit -f`)",
                fix=f"raise the limit, then: dyno run --resume {run}",
            ) from error
        raise DynoError(
            f"cannot write {path}: {error.strerror or error}",
            cause="the run directory's disk or its permissions; complete trials stay as they are",
            fix=f"make {run} writable, then: dyno run --resume {run}",
        ) from error


def dumps(value: Any) -> str:
    """JSON text as this package writes it: strict (no NaN), readable, ending in a newline."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write_atomically(path: Path, text: str, *, private: bool = False) -> None:
    """Replaces `path` by `text`, durably. OSError as it comes; no temporary file is left."""
    with diskfiles.replacing(path, private=private) as file:
        file.write(text.encode("utf-8"))


def sync_directory(path: Path) -> None:
    """Makes renames within `path` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Makes the contents of `path`, written by another process, durable."""
    with diskfiles.opened(path) as file:
        os.fsync(file.fileno())


def read_json(path: Path) -> Any:
    """The value in `path`; DynoError if it is missing, unreadable, too large or not JSON."""
    try:
        return jsontext.loads(diskfiles.read(path, JSON_BYTES_MAX))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DynoError(
            f"{path} does not exist",
            cause="the directory is not a run of dbdyno, or it is incomplete",
            fix="give the directory that `dyno run` printed",
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise DynoError(
            f"{path} is not JSON: {error}",
            cause="the file was edited or damaged; dbdyno replaces it in one step",
            fix="restore it from a copy, or run the experiment again into another directory",
        ) from error


def read_ndjson(path: Path, check: Check | None = None) -> Iterator[dict[str, Any]]:
    """The objects in `path`, one a line, never all in memory; an absent file is empty, a cut-off
    last line is dropped.

    A broken line elsewhere is damage and a DynoError with its line number; so is one that `check`
    (ValueError, with what is wrong) refuses, and a line or a file without end.
    """
    try:
        with diskfiles.opened(path) as file:
            yield from _objects(path, file, check)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(path, error) from error


def _objects(path: Path, file: IO[bytes], check: Check | None) -> Iterator[dict[str, Any]]:
    size = 0
    for number in itertools.count(1):
        line = file.readline(LINE_BYTES_MAX + 1)
        if not line:
            return
        size += len(line)
        if len(line) > LINE_BYTES_MAX or size > STREAM_BYTES_MAX or number > LINES_MAX:
            raise damaged(path, number, "more than a trial can write: the file is endless")
        if not line.strip():
            continue
        try:
            value = jsontext.loads(line)
            if not isinstance(value, dict):
                raise ValueError("not an object")
        except ValueError as error:
            if not line.endswith(b"\n"):  # its writer was stopped in mid-line
                return
            raise damaged(path, number, f"not a JSON object: {error}") from error
        try:
            if check is not None:
                check(value)
        except ValueError as error:
            raise damaged(path, number, str(error)) from error
        yield value


def refuse_link(directory: Path) -> None:
    """DynoError for a directory of a run that is a symbolic link: it may lead anywhere."""
    if directory.is_symlink():
        raise DynoError(
            f"{directory} is a symbolic link",
            cause="dbdyno makes none in a run: somebody else put it there",
            fix="check its target; replace it by the directory itself",
        )


def damaged(path: Path, line: int, what: str) -> DynoError:
    """A stream of a trial that cannot be what was written."""
    return DynoError(
        f"{path}:{line}: {what}",
        cause="the file was edited or damaged",
        fix="restore it from a copy; or delete the trial's directory and resume the run to measure"
        " it again",
    )


def unreadable(path: Path, error: OSError) -> DynoError:
    """A file of a run that cannot be opened or read."""
    return DynoError(
        f"cannot read {path}: {error.strerror or error}",
        cause="its permissions, a failing disk, or something else was put in its place",
        fix="make it a readable file, or run as the user who made it",
    )
