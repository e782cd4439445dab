"""`dyno-engine digest` itself: its events and exit codes, a log that grows and is rotated, and what
it says of logs that are missing, empty, rubbish, cut, packed badly or put together."""

from __future__ import annotations

import gzip
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dbdyno.installed import find

pytestmark = pytest.mark.live

DONE, NOT_UNDERSTOOD, REFUSED, INTERRUPTED = 0, 1, 2, 3
TIMEOUT_S = 240


def event(n: int, statement: str = "select a from t where b = {n}") -> str:
    return (
        f"# User@Host: app[app] @ web1 []  Id: {n % 5}\n"
        "# Query_time: 0.010000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
        f"SET timestamp={1_700_000_000 + n};\n{statement.format(n=n)};\n"
    )


def run(*arguments: object, given: bytes | None = None) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, events, standard error; standard input is a pipe without a writer, or `given`."""
    reader, writer = os.pipe()
    try:
        process = subprocess.Popen(
            [find(), "digest", *map(str, arguments)],
            stdin=reader if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            out, said = process.communicate(given, timeout=TIMEOUT_S)
        finally:
            process.kill()
    finally:
        os.close(reader)
        os.close(writer)
    events = [json.loads(line) for line in out.splitlines()]
    return process.returncode, events, said.decode()


def document(*arguments: object, code: int = DONE, given: bytes | None = None) -> dict[str, Any]:
    got, events, said = run(*arguments, given=given)
    assert got == code, said
    assert events[-1]["event"] == "digest", events[-1]
    found: dict[str, Any] = events[-1]["document"]
    return found


def refused(*arguments: object) -> str:
    """What it says; as an event and on standard error alike."""
    code, events, said = run(*arguments)
    assert code == REFUSED and [one["event"] for one in events] == ["failed"]
    assert events[0]["what"] in said and "panicked" not in said
    return str(events[0]["what"])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "slow.log"
    path.write_text("".join(map(event, range(50))))
    return path


def test_events_are_progress_and_then_the_digest(log: Path) -> None:
    code, events, said = run(log, log)
    *progress, last = events
    assert (code, said, last["event"]) == (DONE, "", "digest")
    assert progress and all(one["event"] == "progress" for one in progress)
    total = 2 * log.stat().st_size
    assert all(one["bytes"] <= one["bytes_total"] == total for one in progress)
    assert last["document"]["overall"]["count"] == 100


def test_strict_is_an_exit_code_and_changes_no_number(log: Path) -> None:
    assert document("--strict", log)["overall"]["count"] == 50
    log.write_text("rubbish before\n" + log.read_text())
    found = document("--strict", log, code=NOT_UNDERSTOOD)
    assert found == document(log)
    (piece,) = found["inputs"][0]["not_understood"]
    assert (piece["offset"], piece["bytes"], piece["line"]) == (0, 15, 1)
    assert run("--strict", "--parallelism", log)[0] == NOT_UNDERSTOOD


@pytest.mark.parametrize("extra", [(), ("--shape",), ("--parallelism",), ("--follow",)])
def test_a_missing_log_is_an_error_at_once_and_never_waits(
    tmp_path: Path, log: Path, extra: tuple[str, ...]
) -> None:
    missing = tmp_path / "missing.log"
    assert str(missing) in refused(*extra, missing)
    if extra != ("--follow",):
        assert str(missing) in refused(*extra, log, missing)
    assert "no log" in refused(*extra)
    assert str(tmp_path) in refused(*extra, tmp_path)


def test_an_empty_log_is_no_event(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.write_bytes(b"")
    found = document("--strict", empty)
    assert (found["overall"]["count"], found["inputs"][0]["format"]) == (0, "empty")
    assert document("-", given=b"")["overall"]["count"] == 0


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\0\x01\x02 rubbish \xff" * 999,
        b"\n" * 5000,
        b"x",
        b"{",
        b"\xfebin",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        os.urandom(70_000),
    ],
    ids=["bytes", "lines", "letter", "brace", "binlog", "gzip", "zstd", "random"],
)
def test_rubbish_is_refused_or_told_and_never_counted(tmp_path: Path, rubbish: bytes) -> None:
    file = tmp_path / "rubbish"
    file.write_bytes(rubbish)
    code, events, said = run("--strict", file)
    assert "panicked" not in said and code in (DONE, NOT_UNDERSTOOD, REFUSED)
    if code == REFUSED:
        assert events[-1]["event"] == "failed" and str(file) in events[-1]["what"]
    else:
        assert events[-1]["document"]["overall"]["count"] == 0


def test_a_line_without_an_end_is_told_and_what_follows_is_read(tmp_path: Path) -> None:
    file = tmp_path / "long.log"
    with file.open("wb") as out:
        out.write(event(1).encode())
        out.write(event(2, "insert into t values ('")[:-2].encode())
        out.truncate(out.tell() + (66 << 20))  # a hole, which reads as zeros
        out.seek(0, os.SEEK_END)
        out.write(b"');\n" + "".join(event(n) for n in range(3, 9)).encode())
    found = document("--threads=2", "--strict", file, code=NOT_UNDERSTOOD)
    assert found["overall"]["count"] >= 7
    told = found["inputs"][0]["not_understood"]
    assert told and any("64 MiB" in one["why"] for one in told)


def test_other_encodings_are_read_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "latin.log"
    statement = "select 'caf\xe9' from caf\xe9 where \xe9 = 1"
    file.write_bytes(event(1, statement).encode("latin-1") + event(2, "select 'né'").encode())
    found = document("--strict", "--samples=raw", file)
    assert found["overall"]["count"] == 2
    utf16 = tmp_path / "utf16.log"
    utf16.write_text(event(1), encoding="utf-16")
    assert "format is not known" in refused(utf16)


def test_a_log_may_begin_within_a_line_of_megabytes(log: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.log"
    for length in (60 << 10, 70 << 10, 4 << 20, 15 << 20):
        cut.write_bytes(b"x" * length + b"'), (1);\n" + log.read_bytes())
        found = document(cut)
        assert found["inputs"][0]["format"] == "mysql-slow"
        assert found["overall"]["count"] == document(log)["overall"]["count"]
    cut.write_bytes(b"x" * (17 << 20) + b"\n" + log.read_bytes())
    assert "format is not known" in refused(cut)


def test_text_of_logs_commands_no_terminal(log: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil.log"
    evil.write_text(event(1, "select `\x9b31m\x7f\u202e` from t{n}"), encoding="utf-8")
    process = subprocess.run([find(), "digest", evil], capture_output=True, check=True)
    out = process.stdout.decode()
    assert not any(char in out for char in "\x1b\x9b\x7f\u202e")
    [line] = [json.loads(one) for one in out.splitlines() if '"digest"' in one]
    assert line["document"]["overall"]["count"] == 1
    missing = subprocess.run(
        [find(), "digest", "--log-format", "a\x1b[2J", log], capture_output=True, check=False
    )
    assert b"\x1b" not in missing.stderr + missing.stdout and missing.returncode == REFUSED


def test_a_log_that_is_cut_anywhere_loses_no_other_event(log: Path, tmp_path: Path) -> None:
    whole = log.read_bytes()
    one = len(event(10))
    for cut in range(len(whole) - one, len(whole), 7):
        file = tmp_path / "cut.log"
        file.write_bytes(whole[:cut])
        found = document(file)
        assert found["overall"]["count"] in (49, 50), cut
        lost = found["inputs"][0]["bytes_not_understood"]
        assert found["overall"]["count"] == 50 or lost or whole[:cut].count(b"# User") == 49


def test_logs_of_two_servers_put_together_are_both_read(tmp_path: Path) -> None:
    opening = (
        "/usr/sbin/{0}, Version: {1} (x). started with:\nTcp port: 3306  Unix socket: /s\n"
        "Time                 Id Command    Argument\n"
    )
    file = tmp_path / "both.log"
    file.write_text(
        opening.format("mysqld", "9.7.4")
        + event(1)
        + opening.format("mariadbd", "10.11.14-MariaDB")
        + "# Time: 231114 22:13:25\n"
        + event(2)
    )
    found = document("--strict", file)
    assert found["overall"]["count"] == 2
    assert found["inputs"][0]["server"] in ("MySQL 9.7.4", "MariaDB 10.11.14")


def test_a_packed_log_that_is_cut_gives_what_it_has_and_says_so(log: Path, tmp_path: Path) -> None:
    packed = tmp_path / "slow.log.gz"
    text = "".join(event(n, f"select '{n * 7919 % 10007}' from t") for n in range(2000))
    data = gzip.compress(text.encode())
    packed.write_bytes(data)
    assert document("--strict", packed)["overall"]["count"] == 2000
    packed.write_bytes(data[: len(data) // 2])
    found = document("--strict", packed, code=NOT_UNDERSTOOD)
    assert 0 < found["overall"]["count"] < 2000
    assert any("damaged" in one["why"] for one in found["inputs"][0]["not_understood"])
    packed.write_bytes(data + gzip.compress(log.read_bytes()))  # as rotated logs are put together
    assert document("--strict", packed)["overall"]["count"] == 2050


class Following:
    """The engine while it follows a log, or reads a pipe."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [find(), "digest", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.left = b""
        self.documents: list[dict[str, Any]] = []

    def until(self, count: int) -> dict[str, Any]:
        """Waits for a document of so many statements."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            self._take()
            for found in reversed(self.documents):
                if found["overall"]["count"] == count:
                    return found
        counts = [one["overall"]["count"] for one in self.documents]
        raise AssertionError(f"no document of {count} statements; there were {counts}")

    def _take(self) -> bool:
        stdout = self.process.stdout
        assert stdout is not None
        select.select([stdout], [], [], 0.2)
        more = stdout.read()
        *lines, self.left = (self.left + (more or b"")).split(b"\n")
        for line in map(json.loads, lines):
            if line["event"] == "digest":
                self.documents.append(line["document"])
        return more != b""

    def end(self) -> tuple[int, dict[str, Any]]:
        """Interrupts it; its exit code and its last document."""
        self.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + TIMEOUT_S
        while self._take() and time.monotonic() < deadline:
            pass
        code = self.process.wait(timeout=TIMEOUT_S)
        self.close()
        return code, self.documents[-1]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def test_a_log_that_grows_and_is_rotated_is_followed(log: Path) -> None:
    following = Following("--follow", "--every=1", log)
    try:
        # The last event is whole only once the next begins.
        following.until(49)
        with log.open("a") as out:
            out.write("".join(map(event, range(50, 61))))
        following.until(60)
        log.rename(log.with_suffix(".1"))
        log.write_text("".join(map(event, range(61, 66))))
        following.until(65)
        code, last = following.end()
    finally:
        following.close()
    assert code == INTERRUPTED and last["overall"]["count"] == 66
    assert last["inputs"][0]["pieces_not_understood"] == 0


def test_a_log_that_is_emptied_and_outgrows_its_old_size_is_followed(log: Path) -> None:
    following = Following("--follow", "--every=1", log)
    try:
        following.until(49)
        log.write_text(
            "".join(map(event, range(100, 200)))
        )  # the same file, as copytruncate has it
        following.until(149)
        code, last = following.end()
    finally:
        following.close()
    assert code == INTERRUPTED and last["overall"]["count"] == 150
    assert last["inputs"][0]["pieces_not_understood"] == 0


def test_the_first_event_of_a_followed_log_may_come_in_pieces(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    text = "".join(map(event, range(10)))
    log.write_text(text[:4])
    following = Following("--follow", "--every=1", log)
    try:
        time.sleep(0.5)
        with log.open("a") as out:
            out.write(text[4:])
        following.until(9)
        code, last = following.end()
    finally:
        following.close()
    assert code == INTERRUPTED and last["overall"]["count"] == 10


def test_a_packed_log_is_not_followed(log: Path) -> None:
    packed = log.with_suffix(".gz")
    packed.write_bytes(gzip.compress(log.read_bytes()))
    command = [find(), "digest", "--follow", str(packed)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ran.returncode not in (0, INTERRUPTED)
    assert "packed files do not grow" in ran.stdout + ran.stderr


def test_an_interrupt_ends_a_pipe_with_what_was_read() -> None:
    reading = Following("-")
    try:
        assert reading.process.stdin is not None
        reading.process.stdin.write("".join(map(event, range(30_000))).encode())
        reading.process.stdin.flush()  # and nothing more: the pipe stays open
        time.sleep(0.5)
        code, last = reading.end()
    finally:
        reading.close()
    assert code == INTERRUPTED and 0 < last["overall"]["count"] <= 30_000
