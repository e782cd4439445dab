"""What an engine that reads logs may still do, as the kernel says it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Place, place

from dbdyno.installed import find

pytestmark = pytest.mark.live

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
NOBODY = ["65534"] * 4
READ, OVERRIDE, OWNER = 1 << 2, 1 << 1, 1 << 3
PIECE = """# Time: 2025-11-22T04:42:15.{n:06}Z
# User@Host: app[app] @ localhost []  Id: 7
# Query_time: 0.001000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1
SET timestamp=1763786535;
select {n} from t;
"""


@pytest.fixture
def there() -> Iterator[Place]:
    with place() as made:
        yield made


def log(path: Path, begin: int, count: int) -> None:
    path.write_text("".join(PIECE.format(n=n) for n in range(begin, begin + count)))


def status(process: subprocess.Popen[bytes]) -> dict[str, str]:
    text = Path(f"/proc/{process.pid}/status").read_text()
    return {name: value.strip() for name, _, value in (x.partition(":") for x in text.splitlines())}


def confined(process: subprocess.Popen[bytes]) -> dict[str, str]:
    """The engine's status once it has its filter, which comes last."""
    return until(lambda: found if (found := status(process))["Seccomp"] == "2" else None)


def until(look: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up:
        if (found := look()) is not None:
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")


def engine(*arguments: object, directory: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [find(), "digest", *map(str, arguments)],
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes], more: bytes = b"") -> list[dict[str, Any]]:
    out, err = process.communicate(more, timeout=240)
    assert err == b""
    return [json.loads(line) for line in out.splitlines()]


def counted(events: list[dict[str, Any]]) -> int:
    return events[-1]["document"]["overall"]["count"]


def test_a_reader_of_logs_may_gain_nothing_and_calls_few(there: Place) -> None:
    process = engine("-", directory=there.path)
    found = confined(process)
    assert found["NoNewPrivs"] == "1"
    if os.geteuid() == 0:
        assert (found["Uid"].split(), found["Gid"].split()) == (NOBODY, NOBODY)
        assert (found["Groups"], int(found["CapPrm"], 16), int(found["CapEff"], 16)) == ("", 0, 0)
    assert counted(ended(process, PIECE.format(n=1).encode())) == 1
    assert process.returncode == 0


@AS_ROOT
def test_logs_for_roots_eyes_are_read_and_lines_are_counted(there: Place) -> None:
    closed = there.path / "closed"
    closed.mkdir(mode=0o700)
    log(closed / "slow.log", 0, 3)
    with (closed / "slow.log").open("a") as file:
        file.write("# User@Host: broken\n# Query_time: none\nselect 1;\n")
    (closed / "slow.log").chmod(0o600)
    subprocess.run(["gzip", "--keep", closed / "slow.log"], check=True)
    events = ended(engine("slow.log", "slow.log.gz", "--threads=2", directory=closed))
    plain, packed = events[-1]["document"]["inputs"]
    assert (plain["events"], packed["events"]) == (plain["events"], plain["events"])
    assert plain["events"] >= 3
    for shape in ("--shape", "--parallelism"):
        assert ended(engine("slow.log", shape, directory=closed))[-1]["event"] == shape[2:]


@AS_ROOT
def test_a_log_that_is_followed_is_read_on_after_rotation(there: Place) -> None:
    closed = there.path / "closed"
    closed.mkdir(mode=0o700)
    path = closed / "slow.log"
    log(path, 0, 5)
    path.chmod(0o600)
    process = engine(path, "--follow", "--every=1", directory=there.path)
    found = confined(process)
    assert found["Uid"].split() == NOBODY
    assert int(found["CapEff"], 16) in (READ, OVERRIDE)
    seen: list[int] = []

    def next_count() -> int | None:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        if event["event"] == "digest":
            seen.append(event["document"]["overall"]["count"])
        return seen[-1] if seen else None

    until(lambda: found if (found := next_count()) == 4 else None)  # the last may go on
    path.rename(closed / "slow.log.1")
    log(path, 5, 4)
    path.chmod(0o600)
    until(lambda: found if (found := next_count()) == 8 else None)
    process.send_signal(signal.SIGINT)
    assert counted(ended(process)) == 9


@AS_ROOT
def test_a_trace_has_its_name_when_it_is_whole_and_no_other_right_is_left(there: Place) -> None:
    closed = there.path / "closed"
    closed.mkdir(mode=0o700)
    process = engine("-", f"--trace={closed / 'trace'}", directory=there.path)
    found = confined(process)
    assert int(found["CapEff"], 16) == OVERRIDE | OWNER
    events = ended(process, PIECE.format(n=1).encode())
    assert events[-1]["event"] == "trace"
    assert [path.name for path in closed.iterdir()] == ["trace"]
    assert (closed / "trace").stat().st_mode & 0o777 == 0o600
    process = engine("-", "--trace=trace", directory=closed)
    assert ended_badly(process, b"rubbish\n")
    assert [path.name for path in closed.iterdir()] == ["trace"]


def ended_badly(process: subprocess.Popen[bytes], more: bytes) -> bool:
    out, _ = process.communicate(more, timeout=240)
    return process.returncode == 2 and b'"failed"' in out


@AS_ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv takes rights away")
def test_a_container_that_may_not_change_accounts_digests(there: Place) -> None:
    log(there.path / "slow.log", 0, 3)
    less = ["setpriv", "--bounding-set=-setuid,-setgid,-dac_read_search"]
    done = subprocess.run(
        [*less, find(), "digest", "slow.log"], cwd=there.path, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert counted([json.loads(line) for line in done.stdout.splitlines()]) == 3


def test_the_engine_dies_with_its_parent_also_as_nobody(there: Place) -> None:
    program = (
        "import subprocess, sys, time\n"
        "one = subprocess.Popen([sys.argv[1], 'digest', '-'], stdin=subprocess.PIPE)\n"
        "print(one.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, find()], stdout=subprocess.PIPE, cwd=there.path
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    entry = Path(f"/proc/{child}/status")
    until(lambda: "Seccomp:\t2" in entry.read_text() or None)
    parent.kill()
    parent.communicate()
    until(lambda: not is_alive(entry) or None)


def is_alive(entry: Path) -> bool:
    try:
        return "State:\tZ" not in entry.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
