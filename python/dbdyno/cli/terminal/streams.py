"""Standard streams that outlive their readers, and command no terminal.

A run must go on when its terminal is closed or the `head` behind it has seen enough: writing then
fails with EIO or EPIPE (write(2)). From then on output goes nowhere; it is in `run.log` too.

Text of servers, logs, bundles and names may hold what commands a terminal (ECMA-48's C0 and C1,
Unicode's overrides of the writing direction): all that is printed goes through `shown`. Who draws
uses `drawing`.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from typing import Any, TextIO, cast

_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
GONE = (errno.EPIPE, errno.EIO, errno.ENXIO, errno.ECONNRESET)


class Lasting(io.FileIO):
    """A descriptor that becomes /dev/null when its reader is gone."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data) -> int | None:  # type: ignore[no-untyped-def,override]
        """As FileIO's, but a reader who has gone is no error."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in GONE:
                raise
            point_at_nothing(self.fileno())
            return memoryview(data).nbytes


def shown(text: str) -> str:
    """The text with what would command a terminal as `\\u001b`: JSON stays JSON of the same
    meaning."""
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Showing(io.TextIOWrapper):
    """A text stream that shows what would command a terminal. `used`: something was written."""

    used = False

    def write(self, text: str, /) -> int:
        """As TextIOWrapper's."""
        self.used = True
        super().write(shown(text))
        return len(text)


class Drawing:
    """The stream below, unfiltered: for output that escapes foreign text itself and adds
    colours."""

    def __init__(self, stream: Showing) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """As it is."""
        self._stream.used = True
        return io.TextIOWrapper.write(self._stream, text)


def drawing(stream: TextIO) -> TextIO:
    """What to draw on."""
    return cast("TextIO", Drawing(stream)) if isinstance(stream, Showing) else stream


def install() -> None:
    """Makes sys.stdout and sys.stderr last. Streams that are closed from the start are opened on
    /dev/null, so that no file of dbdyno gets their numbers."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            point_at_nothing(number)
    sys.stdout = _lasting(sys.stdout, 1)
    sys.stderr = _lasting(sys.stderr, 2)


def _lasting(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is not None:
        stream.flush()
    interactive = os.isatty(descriptor)
    return Showing(
        io.BufferedWriter(Lasting(descriptor)),
        encoding=stream.encoding if stream is not None else "utf-8",
        errors="backslashreplace",  # a name that the terminal cannot show must not end a run
        line_buffering=interactive or descriptor == 2,
    )


def point_at_nothing(descriptor: int) -> None:
    """Makes a descriptor number one of /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
