"""A file of somebody else's, read line by line and never beyond stated bounds.

Encodings as they occur: UTF-8, UTF-16 with its mark (a Windows shell writes it), and where bytes
are neither, Latin-1. Lines may end in LF, CRLF or CR. A NUL byte in other text makes it binary.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, cast

from dbdyno import diskfiles
from dbdyno.errors import DynoError, Where

FILE_BYTES_MAX = 4 << 30  # of a log that is read line by line
WHOLE_BYTES_MAX = 64 << 20  # of a file that is parsed at once
LINE_CHARS_MAX = 1 << 16
HEAD_LINES = 200  # read to recognise a file

Line = tuple[int, str]


@dataclass(frozen=True)
class Text:
    """A text file, not kept in memory."""

    path: Path

    def lines(self, *, whole: bool = True) -> Iterator[Line]:
        """(number from 1, text without its end) of each line. DynoError for what is no text, and
        for an endless line; not `whole`: of that, what fits, and nothing after it."""
        try:
            with self._opened() as probe:
                start = probe.read(4)
                if os.fstat(probe.fileno()).st_size > FILE_BYTES_MAX:
                    self.refuse(1, f"the file is larger than {FILE_BYTES_MAX >> 30} GiB")
            wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            encoding = "utf-16" if wide else "utf-8-sig"
            with io.TextIOWrapper(
                self._opened(), encoding=encoding, errors="surrogateescape"
            ) as file:
                number = 0
                while line := file.readline(LINE_CHARS_MAX + 1):
                    number += 1
                    endless = len(line) > LINE_CHARS_MAX
                    if endless and whole:
                        self.refuse(number, f"a line of more than {LINE_CHARS_MAX} characters")
                    yield number, self._checked(number, line)
                    if endless:
                        return
        except OSError as error:
            raise DynoError(
                f"cannot read {self.path}: {error.strerror or error}",
                fix="make it readable, or remove it",
            ) from None
        except UnicodeDecodeError:
            self.refuse(1, "this is not the UTF-16 text that its first bytes announce")

    def head(self) -> list[Line]:
        """The first lines; an endless one (JSON may be a single line) is cut."""
        found: list[Line] = []
        for line in self.lines(whole=False):
            found.append(line)
            if len(found) == HEAD_LINES:
                break
        return found

    def whole(self) -> str:
        """All of it, for formats that are no lines. DynoError if that is too much."""
        try:
            raw = diskfiles.read(self.path, WHOLE_BYTES_MAX, links=True)
        except OSError as error:
            if error.errno == errno.EFBIG:
                self.refuse(1, f"the file is larger than {WHOLE_BYTES_MAX >> 20} MiB")
            raise DynoError(f"cannot read {self.path}: {error.strerror or error}") from None
        wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return raw.decode("utf-16" if wide else "utf-8-sig", errors="replace")

    def sha256(self) -> str:
        """Digest of the file's bytes."""
        with self._opened() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _opened(self) -> io.BufferedReader:
        return cast(io.BufferedReader, diskfiles.opened(self.path, links=True))

    def error(self, line: int, what: str, *, cause: str = "", fix: str = "") -> DynoError:
        """The error of a place in this file."""
        return DynoError(
            what,
            where=Where(self.path, line, 1),
            cause=cause or "the file was cut off or edited, or is of another format",
            fix=fix or "correct or remove it; `--skip-bad` skips and lists such files",
        )

    def refuse(self, line: int, what: str, *, cause: str = "", fix: str = "") -> NoReturn:
        """Raises `error`."""
        raise self.error(line, what, cause=cause, fix=fix)

    def _checked(self, number: int, line: str) -> str:
        if "\0" in line:
            self.refuse(number, "the file is binary: a line contains a NUL byte")
        line = line.rstrip("\r\n")
        if any("\udc80" <= char <= "\udcff" for char in line):
            line = line.encode("utf-8", "surrogateescape").decode("latin-1")
        return line


def number(text: str) -> float:
    """A finite number of a file. ValueError for anything else (`nan`, `inf`, 400 digits)."""
    value = float(text)
    if not abs(value) < 1e300:
        raise ValueError(f"not a number that can be: {text[:20]}")
    return value
