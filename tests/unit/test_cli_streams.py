"""Standard streams whose reader goes away, and text that would command a terminal."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from rich.panel import Panel
from rich.text import Text

from dbdyno.cli.terminal import limits, streams
from dbdyno.cli.terminal.console import Shown
from dbdyno.cli.terminal.streams import Lasting, Showing, drawing, point_at_nothing
from dbdyno.wording.visible import visible


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


EVIL = "a\x1b[2J\x9b31m\x07\x7f\r\u202e\u2066\x00b\tc\n"


def harmless(text: str) -> bool:
    return streams.shown(text) == text


def test_what_commands_a_terminal_is_shown_and_json_means_the_same() -> None:
    shown = streams.shown(EVIL)
    assert shown == (r"a\u001b[2J\u009b31m\u0007\u007f\u000d\u202e\u2066\u0000b" + "\tc\n")
    dumped = json.dumps({"name": EVIL}, ensure_ascii=False)
    assert not harmless(dumped) and json.loads(streams.shown(dumped)) == {"name": EVIL}


def test_streams_and_reports_are_afraid_of_the_same() -> None:
    for code in range(0x3000):
        char = chr(code)
        assert harmless(char) == (visible(char) == char), hex(code)


def test_a_stream_shows_and_who_draws_draws() -> None:
    raw = io.BytesIO()
    stream = Showing(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
    print(EVIL, file=stream)
    stream.writelines([EVIL])
    assert harmless(raw.getvalue().decode())
    drawing(stream).write("\x1b[K")
    assert raw.getvalue().endswith(b"\x1b[K")
    assert drawing(io.StringIO()) is not None


def test_a_console_sends_its_own_commands_only(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = Showing(raw, encoding="utf-8", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    Shown().print(Panel(Text(f"evil\x1b[5m\x9b5m{EVIL}", style="bold red"), title=Text(EVIL)))
    said = raw.getvalue().decode()
    assert "\x1b[1;31m" in said  # Rich's own
    for command in ("\x1b[2J", "\x1b[5m", "\x9b", "\x07", "\u202e", "\r", "\x7f"):
        assert command not in said


def test_what_the_machine_lacks_is_told() -> None:
    for error, word in (
        (MemoryError(), "memory"),
        (OSError(24, "Too many open files"), "ulimit -n"),
        (ImportError("libx.so: cannot open shared object file: Too many open files"), "ulimit -n"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
    ):
        said = limits.lacking(error)
        assert said is not None and word in str(said)
    assert limits.lacking(OSError(2, "No such file")) is None
    assert limits.lacking(RuntimeError("x")) is None
