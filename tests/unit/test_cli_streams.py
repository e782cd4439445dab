"""Standard streams whose reader goes away."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from dbdyno.cli.streams import Lasting, point_at_nothing


def writer(descriptor: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(Lasting(descriptor)), line_buffering=True)


def test_what_is_written_arrives(tmp_path: Path) -> None:
    path = tmp_path / "out"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    writer(descriptor).write("one\n")
    os.fstat(descriptor)  # the stream does not close what it was lent
    os.close(descriptor)
    assert path.read_text() == "one\n"


def test_a_pipe_without_a_reader_swallows() -> None:
    read, write = os.pipe()
    out = writer(write)
    out.write("heard\n")
    assert os.read(read, 100) == b"heard\n"
    os.close(read)
    for _ in range(3):
        out.write("unheard\n")
    out.flush()
    assert os.readlink(f"/proc/self/fd/{write}") == os.devnull
    os.close(write)


def test_a_closed_terminal_swallows() -> None:
    master, slave = os.openpty()
    out = writer(slave)
    os.close(master)
    out.write("unheard\n")
    assert not out.isatty()
    os.close(slave)


def test_a_full_disk_is_an_error() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    out = writer(descriptor)
    with pytest.raises(OSError, match="No space left"):
        out.write("lost\n")
    point_at_nothing(descriptor)
    out.flush()
    os.close(descriptor)
