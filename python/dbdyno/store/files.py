"""Files that are whole or absent, and streams that may end in the middle of a line.

A file is replaced by write, fsync, rename, fsync of the directory (rename(2), fsync(2)): after a
crash either the old or the new one is there. Event streams are appended by a process that can be
killed, so their last line may be cut off; it is dropped, and only the last.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError

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


def write_atomically(path: Path, text: str) -> None:
    """Replaces `path` by `text`, durably. OSError as it comes; no temporary file is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes renames within `path` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Makes the contents of `path`, written by another process, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> Any:
    """The value in `path`; DynoError if it is missing, unreadable or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DynoError(
            f"{path} does not exist",
            cause="the directory is not a run of dbdyno, or it is incomplete",
            fix="give the directory that `dyno run` printed",
        ) from error
    except OSError as error:
        raise DynoError(
            f"cannot read {path}: {error.strerror or error}",
            cause="its permissions, or a failing disk",
            fix="make it readable, or run as the user who made it",
        ) from error
    except ValueError as error:
        raise DynoError(
            f"{path} is not JSON: {error}",
            cause="the file was edited or damaged; dbdyno replaces it in one step",
            fix="restore it from a copy, or run the experiment again into another directory",
        ) from error


def read_ndjson(path: Path) -> list[dict[str, Any]]:
    """The objects in `path`, one a line; an absent file is empty, a cut-off last line is dropped.

    A broken line elsewhere is damage and a DynoError with its line number.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DynoError(f"cannot read {path}: {error.strerror or error}") from error
    lines = raw.split(b"\n")
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError("not an object")
        except ValueError as error:
            if number == len(lines):  # no newline after it: its writer was stopped in mid-line
                break
            raise DynoError(
                f"{path}:{number}: not a JSON object: {error}",
                cause="the file was edited or damaged",
                fix="delete the trial's directory and resume the run to measure it again",
            ) from error
        objects.append(value)
    return objects
