"""Standard streams that outlive whoever reads them.

A run must go on when its terminal is closed or the `head` behind it has seen enough: writing then
fails with EIO or EPIPE (write(2)). From then on what is said goes nowhere; it is in `run.log` too.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TextIO

GONE = (errno.EPIPE, errno.EIO, errno.ENXIO, errno.ECONNRESET)


class Lasting(io.FileIO):
    """A descriptor that becomes /dev/null when nobody is there any more to read what is written."""

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


def install() -> None:
    """Makes sys.stdout and sys.stderr last. Streams that are closed from the start are opened on
    /dev/null, so that no file of ours gets their numbers."""
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
    return io.TextIOWrapper(
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
