"""Text files of others, bounded, also those that gzip has packed, and what includes what."""

from __future__ import annotations

import errno
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from dbdyno import diskfiles
from dbdyno.errors import DynoError

BYTES_MAX = 8 << 20  # of a configuration file or manifest
DEPTH_MAX = 10  # of files that include files, as MySQL has it
FILES_MAX = 200
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # first bytes: RFC 1952, RFC 8878
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


def read(path: Path, most: int = BYTES_MAX) -> str:
    """Its text, unpacked. DynoError if it cannot be read, is no file, or has more than `most`
    bytes."""
    found, is_whole = head(path, most)
    if not is_whole:
        raise _unreadable(path, OSError(errno.EFBIG, f"it is larger than {most / 2**20:g} MiB"))
    return found


def head(path: Path, most: int) -> tuple[str, bool]:
    """Its text up to so many bytes, unpacked, and whether that is all. DynoError as `read`."""
    try:
        with diskfiles.opened(path, links=True) as file:
            raw = _unpacked(path, file, most + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    return raw[:most].decode("utf-8", "replace"), len(raw) <= most


def _unpacked(path: Path, file: IO[bytes], most: int) -> bytes:
    begin = file.read(len(_ZSTD))
    file.seek(0)
    if begin == _ZSTD:  # which Python 3.11 does not unpack
        raise DynoError(
            f"{path} is packed by zstd, which `dyno check` does not unpack",
            cause="of packed files it reads those of gzip",
            fix="unpack it: zstd -d FILE; or digest the log first: dyno digest LOG --json",
        )
    if not begin.startswith(_GZIP):
        return file.read(most)
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            return packed.read(most)
    except _DAMAGED as error:
        raise DynoError(
            f"{path} cannot be unpacked: {error}",
            cause="it was cut short, or is damaged",
            fix="test it: gzip -t FILE; copy it again",
        ) from None


def _unreadable(path: Path, error: OSError) -> DynoError:
    return DynoError(
        f"{path} cannot be read: {error.strerror or error}",
        cause="a misspelt path, its permissions, or something that is no file",
        fix="name a file that you may read",
    )


def column(line: str, word: str) -> int:
    """Where a word begins in its line, from 1."""
    return max(0, line.find(word)) + 1


class Includes:
    """Lines of a file and of those that it includes, each with its place. A missing file is
    reported to `lacks` and no error: it may be on another machine."""

    def __init__(
        self,
        named: Callable[[str, Path], Sequence[Path] | None],
        lacks: Callable[[str, str], None],
    ) -> None:
        self._named, self._lacks, self._files = named, lacks, 0

    def lines(self, path: Path) -> Iterator[tuple[str, Path, int]]:
        """(line, file, number), includes in place. `named` gives the files of a line that includes,
        or None."""
        return self._lines(path, read(path), 0)

    def _lines(self, path: Path, content: str, depth: int) -> Iterator[tuple[str, Path, int]]:
        self._files += 1
        if depth > DEPTH_MAX or self._files > FILES_MAX:
            raise DynoError(
                f"{path}: more than {DEPTH_MAX} levels or {FILES_MAX} files are included",
                cause="a file that includes itself",
                fix="name one file",
            )
        for number, line in enumerate(content.splitlines(), 1):
            included = self._named(line.strip(), path)
            if included is None:
                yield line, path, number
                continue
            for one in included:
                try:
                    more = read(one)
                except DynoError as error:
                    self._lacks(f"file {one}", f"{path}:{number} includes it: {error.what}")
                else:
                    yield from self._lines(one, more, depth + 1)


def files_in(directory: Path, suffix: str) -> list[Path]:
    """Files of a directory by name; empty if there is none."""
    try:
        found = [one for one in directory.iterdir() if one.name.endswith(suffix) and one.is_file()]
    except OSError:
        return []
    return sorted(one for one in found if not one.name.startswith("."))
