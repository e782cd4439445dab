"""What others have written is read by a child that can do nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import os
import pickle
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil
import pytest

from dbdyno import diskfiles
from dbdyno.cli.unprivileged import _is_foreign, channel, child, landlock, reading, rights, values
from dbdyno.errors import DynoError, Where
from dbdyno.imports.found import Found, Interval, Part
from dbdyno.store.metrics.histogram import Histogram

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
HAS_LANDLOCK = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A file for root alone, unreachable for others, and that anyone may have written."""
    file = tmp_path / "in" / "foreign.txt"
    file.parent.mkdir(mode=0o700)
    file.write_text("theirs")
    file.chmod(0o600)
    return file


def refusal(work: Callable[[], Any]) -> int:
    """The error number with which something is refused; 0 if it is done."""
    try:
        work()
    except OSError as error:
        return error.errno or -1
    return 0


@AS_ROOT
def test_the_reader_is_nobody_and_keeps_one_right(foreign: Path) -> None:
    def who() -> list[Any]:
        status = Path("/proc/self/status").read_text()
        facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        caps = [int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")]
        return [os.getresuid(), os.getresgid(), os.getgroups(), caps, int(facts["NoNewPrivs"])]

    nobody = (65534,) * 3
    mine = int(Path("/proc/self/status").read_text().split("CapPrm:")[1].split()[0], 16)
    kept = mine & 1 << 2 or mine & 1 << 1  # CAP_DAC_READ_SEARCH, else CAP_DAC_OVERRIDE
    assert reading(who, [foreign]) == [nobody, nobody, [], [0, kept, kept, 0], 1]
    assert os.geteuid() == 0


@AS_ROOT
def test_it_reads_what_it_was_asked_to_and_writes_what_was_named(foreign: Path) -> None:
    named, other = foreign.parent / "out" / "a.txt", foreign.parent / "b.txt"

    def work() -> list[Any]:
        diskfiles.make_directory(named.parent)
        with diskfiles.replacing(named) as file:
            file.write(foreign.read_bytes())
        with diskfiles.opened(named) as again:
            text = again.read()
        refused = [
            refusal(lambda: diskfiles.write_text(other, "")),
            refusal(lambda: other.parent.chmod(0o777)),
            refusal(lambda: foreign.unlink()),
            refusal(lambda: os.open(foreign, os.O_WRONLY)),
            refusal(lambda: os.kill(os.getppid(), 0)),
            refusal(lambda: os.setresuid(0, 0, 0)),
        ]
        return [text, refused]

    text, refused = reading(work, [foreign], [named])
    assert (text, named.read_text()) == (b"theirs", "theirs")
    assert {*refused} <= {errno.EACCES, errno.EPERM}, refused
    assert named.stat().st_uid == 0
    assert not other.exists()


@AS_ROOT
@pytest.mark.parametrize("verb", ["open", "keep", "make"])
def test_the_parent_opens_and_writes_nothing_else(foreign: Path, verb: str) -> None:
    """A child that says what it likes: its requests are made without asking what is allowed."""
    other = foreign.parent / "other"

    def work() -> int:
        keeper = diskfiles._keeper
        assert isinstance(keeper, channel.Keeper)
        with tempfile.TemporaryFile() as file:
            return refusal(lambda: keeper._asked(verb, other, 0o700, descriptor=file.fileno()))  # type: ignore[arg-type]

    assert reading(work, [foreign], [foreign.parent / "named"]) == errno.EACCES
    assert not other.exists()


@AS_ROOT
@pytest.mark.parametrize(
    "raw", [b"x", b"{}", b"[[]]", b'["open"]', b'["make", "/in"]', b'["value"]']
)
def test_a_child_that_says_anything_is_an_error(foreign: Path, raw: bytes) -> None:
    def work() -> None:
        keeper = diskfiles._keeper
        assert isinstance(keeper, channel.Keeper)
        keeper._parent.send(raw)
        time.sleep(60)

    with pytest.raises(DynoError, match="the process that read the files"):
        reading(work, [foreign], [Path("/in/named")])


@AS_ROOT
@HAS_LANDLOCK
def test_with_landlock_it_reads_nothing_else_and_connects_nowhere(foreign: Path) -> None:
    secret = foreign.with_name("secret")
    secret.write_text("ours")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def work() -> list[int]:
            return [
                refusal(lambda: secret.read_text()),
                refusal(lambda: Path("/etc/shadow").read_text()),
                refusal(lambda: [*Path("/root").iterdir()]),
                refusal(lambda: socket.create_connection(address).close()),
            ]

        refused = reading(work, [foreign])
    assert refused[:3] == [errno.EACCES] * 3
    assert refused[3] == errno.EACCES or landlock.version() < 4


@AS_ROOT
def test_without_landlock_it_is_nobody_all_the_same(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    assert reading(lambda: [os.getuid(), foreign.read_text()], [foreign]) == [65534, "theirs"]


@AS_ROOT
def test_where_no_account_can_be_changed_it_is_said_and_read_as_root(
    foreign: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A container without CAP_SETUID, in a process of its own."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            both = (rights._Word * 2)(rights._Word(0, 0, 0), rights._Word(0, 0, 0))
            header = rights._Header(rights._VERSION_3, 0)
            rights._check(rights.LIBC.capset(ctypes.byref(header), both))
            os._exit(0 if reading(foreign.read_text, [foreign]) == "theirs" else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert "read as root" in capfd.readouterr().err


def test_what_is_ours_is_read_by_ourselves(tmp_path: Path) -> None:
    for name in ("", "run", "run/trials"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "run" / "manifest.json").write_text("{}")
    for path in (tmp_path, tmp_path / "run", tmp_path / "nothing"):
        assert reading(os.getpid, [path]) == os.getpid()


@AS_ROOT
def test_a_link_to_itself_is_for_the_reader_to_tell(tmp_path: Path) -> None:
    link = tmp_path / "run"
    link.symlink_to("run")
    assert reading(os.getpid, [link]) == os.getpid()


@AS_ROOT
def test_whose_it_is_decides(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "run"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text("{}")
    assert not _is_foreign(run) and not _is_foreign(run.parent)
    os.chown(run / "manifest.json", 12345, 12345)
    assert _is_foreign(run) and _is_foreign(run.parent)
    link = tmp_path / "link"
    link.symlink_to(run)
    assert _is_foreign(link)
    (tmp_path / "file").write_text("")
    assert _is_foreign(tmp_path / "file")


@AS_ROOT
def test_errors_for_users_come_through(foreign: Path) -> None:
    def raising(error: BaseException) -> Callable[[], None]:
        def work() -> None:
            raise error

        return work

    told = DynoError("what", where=Where("a.txt", 3, 4), cause="why", fix="how")
    told.exit_code = 3
    with pytest.raises(DynoError) as caught:
        reading(raising(told), [foreign])
    assert (str(caught.value), caught.value.exit_code) == (str(told), 3)
    with pytest.raises(click.UsageError, match="one table"):
        reading(raising(click.UsageError("one table")), [foreign])
    with pytest.raises(OSError, match="No space left") as full:
        reading(raising(OSError(errno.ENOSPC, "No space left", "x")), [foreign])
    assert full.value.errno == errno.ENOSPC
    with pytest.raises(MemoryError):
        reading(raising(MemoryError()), [foreign])
    with pytest.raises(RuntimeError, match="KeyError"):
        reading(raising(KeyError("x")), [foreign])


@AS_ROOT
def test_long_errors_are_cut_and_said(foreign: Path) -> None:
    def work() -> None:
        raise DynoError("\U0001f600" * 5000, cause="\x00" * 5000, fix="\udcff" * 5000)

    with pytest.raises(DynoError) as caught:
        reading(work, [foreign])
    assert {len(text) for text in (caught.value.what, caught.value.cause)} == {4000}


@AS_ROOT
def test_output_that_cannot_be_written_is_an_error(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> None:
        print("x" * 100)

    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(OSError, match="No space left"):
            reading(work, [foreign])


@AS_ROOT
def test_a_reader_that_dies_is_an_error(foreign: Path) -> None:
    with pytest.raises(DynoError, match="was killed by signal 9"):
        reading(lambda: os.kill(os.getpid(), signal.SIGKILL), [foreign])


def our_children() -> set[int]:
    """What this process has started, also by other tests, and not yet waited for."""
    return {one.pid for one in psutil.Process().children()}


@AS_ROOT
def test_an_interrupted_parent_leaves_no_reader(foreign: Path) -> None:
    """Ctrl-C goes to both; a SIGTERM to the parent alone."""
    before = our_children()
    told, telling = os.pipe()
    over = threading.Event()

    def work() -> None:
        os.write(telling, b"x")
        time.sleep(600)

    def interrupt() -> None:
        os.read(told, 1)  # once the reader is at work
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGALRM)

    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            reading(work, [foreign])
    finally:
        over.set()
        os.write(telling, b"x")
        interrupting.join()
        os.close(told)
        os.close(telling)
        signal.signal(signal.SIGALRM, old)
    assert our_children() <= before


@AS_ROOT
def test_a_reader_goes_with_a_parent_that_is_killed(foreign: Path) -> None:
    told, telling = os.pipe()

    def work() -> None:
        os.write(telling, str(os.getpid()).encode())
        time.sleep(600)

    parent = os.fork()
    if parent == 0:
        with contextlib.suppress(BaseException):
            reading(work, [foreign])
        os._exit(0)
    reader = int(os.read(told, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    give_up = time.monotonic() + 120
    while _is_alive(reader) and time.monotonic() < give_up:
        time.sleep(0.01)
    assert not _is_alive(reader)


def _is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_last_message_that_was_made_up_is_an_error() -> None:
    for message in ([], ["value"], ["error", 1], ["what"]):
        with pytest.raises(DynoError, match="the process that read the files"):
            child._outcome(message, None, 0)


# ---- values


def written(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    values.write(value, file)
    file.seek(0)
    return file


def test_results_are_values() -> None:
    counts = np.arange(5, dtype=np.int64)
    part = Part({"tps": 1.5}, (Interval(1.0, 1.0, 2.0, 3.0),), Histogram(counts))
    found = Found("fio", "3", Path("a.txt"), 1, {"": part}, words=("w",))
    back = values.read(written(found))
    assert (back.file, back.parts[""].intervals) == (found.file, part.intervals)
    assert back.parts[""].histogram.counts.tolist() == counts.tolist()


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize(
    "raw",
    [
        pickle.dumps(Evil()),
        pickle.dumps(np.arange(3)),
        pickle.dumps(DynoError("x")),
        b"cdbdyno.diskfiles\nos.system\n(S'true'\ntR.",
        b"\x80\x05",
        b"",
    ],
)
def test_whatever_is_no_value_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="no value"):
        values.read(io.BytesIO(raw))


def test_a_value_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BYTES_MAX", 10)
    with pytest.raises(ValueError, match="more than"):
        values.read(written("x" * 100))
