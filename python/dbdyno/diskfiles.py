"""Regular files, opened and made so that nobody else decides what they are.

A directory may belong to a stranger. A name in it may be a FIFO, on which open(2) waits for ever, a
device without end, or a link to a file of dbdyno. So files are opened without waiting and checked
before the first byte is read; files are made under names that nobody can guess, with O_EXCL and
O_NOFOLLOW, and renamed into place, which replaces a link instead of following it. Source: open(2),
rename(2), fifo(7).
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol, TextIO

_FLAGS = {
    "rb": os.O_RDONLY,
    "xb": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "wb": os.O_WRONLY | os.O_CREAT,
}
_ALWAYS = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISDIR, "it is a directory"),
    (stat.S_ISFIFO, "it is a named pipe (FIFO)"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)
_NAME_BYTES = 64  # of a name, in that of its temporary file: a name may have 255 in all


class Keeper(Protocol):
    """Opens and makes files for a process that has given up its rights to do so."""

    def keeps(self, path: Path) -> bool:
        """Whether this one is the keeper's."""

    def opened(self, path: Path) -> IO[bytes]:
        """As the function of this name, for reading."""

    def replacing(self, path: Path, *, private: bool) -> AbstractContextManager[IO[bytes]]:
        """As the function of this name."""

    def make_directory(self, path: Path, mode: int) -> None:
        """As the function of this name."""


_keeper: Keeper | None = None


def keep_by(keeper: Keeper) -> None:
    """From now on this process asks `keeper` for what is the keeper's."""
    global _keeper
    _keeper = keeper


def opened(path: Path, mode: str = "rb", *, links: bool = False) -> IO[Any]:
    """Opens a regular file; OSError, with what it is, for anything else. Never waits.

    `mode`: `rb`, `xb` (must not be there), `ab`, `wb`. `links`: whether the path's last name may
    be a symbolic link: only where the user has typed it, and only to read. A file that is written
    must have no second name (a hard link may be to a file of somebody else's).
    """
    assert not links or mode == "rb", "a link is followed by readers only"
    if _keeper is not None and mode == "rb" and _keeper.keeps(path):
        return _keeper.opened(path)
    flags = _FLAGS[mode] | _ALWAYS | (0 if links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise _explained(error, path) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, f"{kind_of(found.st_mode)}, not a regular file", str(path))
        if mode != "rb" and found.st_nlink > 1:
            raise OSError(errno.EMLINK, "it has a second name (a hard link)", str(path))
        if mode == "wb":
            os.ftruncate(descriptor, 0)
        return os.fdopen(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise


def opened_text(path: Path, mode: str, *, line_buffering: bool = False) -> TextIO:
    """The same for UTF-8 text: `r`, `x`, `a`, `w`."""
    raw = opened(path, f"{mode}b")
    return io.TextIOWrapper(raw, encoding="utf-8", line_buffering=line_buffering)


def read(path: Path, limit: int, *, links: bool = False) -> bytes:
    """All bytes of a regular file. OSError for more than `limit` of them."""
    with opened(path, links=links) as file:
        raw: bytes = file.read(limit + 1)
    if len(raw) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit / 2**20:g} MiB", str(path))
    return raw


def write_text(path: Path, text: str) -> None:
    """Writes a new file."""
    with opened_text(path, "x") as file:
        file.write(text)


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` at the end of the block, durably, or never:
    after an error nothing is left of it. `private`: for its owner's eyes only.

    All is done within one open directory, so that nobody can exchange it in between.
    """
    if _keeper is not None and _keeper.keeps(path):
        with _keeper.replacing(path, private=private) as kept:
            yield kept
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    temporary = temporary_name(path.name)
    try:
        flags = _FLAGS["xb"] | _ALWAYS | os.O_NOFOLLOW
        mode = 0o600 if private else 0o666
        descriptor = os.open(temporary, flags, mode, dir_fd=directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise
        os.fsync(directory)
    finally:
        os.close(directory)


def make_directory(path: Path, mode: int = 0o700) -> None:
    """Makes a directory, and those above it, where they are not there."""
    if _keeper is not None and _keeper.keeps(path):
        _keeper.make_directory(path, mode)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=mode, exist_ok=True)


def temporary_name(name: str) -> str:
    """A name that nobody guesses, for what becomes `name`; `writer_of` reads it."""
    kept = name.encode("utf-8", "surrogateescape")[:_NAME_BYTES].decode("utf-8", "ignore")
    return f".{kept}.{os.getpid()}.x{secrets.token_hex(8)}.tmp"


def writer_of(temporary: str) -> int | None:
    """The process that made a temporary file, by its name; None if that is no name of dbdyno's
    files."""
    parts = temporary.split(".")
    found = next((part for part in parts[-3:-1] if part.isascii() and part.isdigit()), None)
    return int(found) if found and len(found) < 12 else None


def kind_of(mode: int) -> str:
    """What a file that is not regular is, in a sentence's words."""
    return next((said for test, said in _KINDS if test(mode)), "it is something else")


def _explained(error: OSError, path: Path) -> OSError:
    """What open(2) says of a link and of a FIFO without a reader, in plain words."""
    said = {
        errno.ELOOP: "it is a symbolic link, not a regular file",
        errno.ENXIO: "it is a named pipe or a socket, not a regular file",
    }.get(error.errno or 0)
    return OSError(error.errno, said, str(path)) if said else error
