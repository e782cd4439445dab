"""Looks for a value in the files of a data directory. Nothing but its place is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dbdyno import diskfiles
from dbdyno.facts.at_rest import classes

BYTES_MAX = 32 << 30  # of all files together
_CHUNK = 8 << 20
_HEAD = 64
_SLACK_S = 2.0  # file systems' times are coarser than the clock


@dataclass
class Searched:
    """Rows of the table `needle`, and what was read."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    lacking: list[str] = field(default_factory=list)


def search(directories: Sequence[Path], needle: bytes, since_unix_s: float) -> Searched:
    """All files that were written since then, and all redo logs, which a server may write through
    memory without a new time of the file."""
    found = Searched()
    for path in _files(directories, found.lacking):
        try:
            with diskfiles.opened(path) as file:
                _search_one(path, file, needle, since_unix_s, found)
        except OSError as error:
            found.lacking.append(f"{path}: {error.strerror}")
    return found


def _files(directories: Sequence[Path], lacking: list[str]) -> Iterator[Path]:
    known: set[Path] = set()
    for directory in directories:
        for path in classes.files(directory, lacking):
            if path not in known:
                known.add(path)
                yield path


def _search_one(
    path: Path, file: IO[bytes], needle: bytes, since_unix_s: float, found: Searched
) -> None:
    kind = classes.of(path, file.read(_HEAD)) or "other files"
    stat = path.stat()
    if kind != classes.REDO and stat.st_mtime < since_unix_s - _SLACK_S:
        return
    if found.bytes + stat.st_size > BYTES_MAX:
        found.lacking.append(f"{path}: more than {BYTES_MAX >> 30} GiB of files")
        return
    found.files += 1
    found.bytes += stat.st_size
    at = position(file, needle)
    if at is not None:
        found.rows.append({"class": kind, "path": str(path), "place": f"{path} at byte {at}"})


def position(file: IO[bytes], needle: bytes) -> int | None:
    """Where a value first is, or None."""
    file.seek(0)
    offset, kept = 0, b""
    while chunk := file.read(_CHUNK):
        window = kept + chunk
        at = window.find(needle)
        if at >= 0:
            return offset - len(kept) + at
        kept = window[-(len(needle) - 1) :]
        offset += len(chunk)
    return None
