"""One command of `dyno`, in a process of its own that may not take all of the machine.

The process is forked from one that has everything imported, so that thousands of commands take
minutes; time, memory and the size of files are bounded by the kernel (setrlimit(2)).
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

WALL_S = 60.0
CPU_S = 40
MEMORY_BYTES = 2 << 30  # beyond what the parent has
FILE_BYTES = 1 << 30
OUTPUT_BYTES = 4 << 20  # of its output that is kept


@dataclass(frozen=True)
class Ended:
    """How a command ended. `code` negative: by that signal; None: it took too long."""

    code: int | None
    out: bytes
    err: str
    peak_bytes: int


def preload() -> None:
    """Imports what commands would import each for itself."""
    import scipy.stats  # noqa: F401

    import dbdyno.cli.main
    import dbdyno.report
    import dbdyno.report.between_runs.history_page
    import dbdyno.report.digest.page
    import dbdyno.report.pooling.page  # noqa: F401
    from dbdyno.wording.findings import analyse  # noqa: F401


def run(arguments: Sequence[str], directory: Path) -> Ended:
    """Runs `dyno ARGUMENTS` in `directory`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _child(arguments, directory, out, err)
        code, peak_bytes = _wait(pid)
        return Ended(code, _text(out), _text(err).decode("utf-8", "replace"), peak_bytes)


def _child(
    arguments: Sequence[str], directory: Path, out: IO[bytes], err: IO[bytes]
) -> None:  # never returns
    code = 70
    try:
        os.setpgid(0, 0)
        os.chdir(directory)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, at in ((null, 0), (out.fileno(), 1), (err.fileno(), 2)):
            os.dup2(number, at)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        _limit(resource.RLIMIT_CPU, CPU_S)
        _limit(resource.RLIMIT_AS, _virtual_bytes() + MEMORY_BYTES)
        _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
        _limit(resource.RLIMIT_CORE, 0)
        from dbdyno.cli import entry

        sys.argv = ["dyno", *arguments]
        try:
            entry.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _limit(what: int, most: int) -> None:
    resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def _virtual_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _wait(pid: int) -> tuple[int | None, int]:
    """The exit code, and the largest resident set; the process group is gone afterwards."""
    give_up = time.monotonic() + WALL_S
    pause_s = 0.005
    while True:
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024
        if time.monotonic() > give_up:
            os.kill(pid, signal.SIGKILL)
            _, _, used = os.wait4(pid, 0)
            return None, used.ru_maxrss * 1024
        time.sleep(pause_s)
        pause_s = min(0.05, pause_s * 1.2)


def _text(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(OUTPUT_BYTES)
