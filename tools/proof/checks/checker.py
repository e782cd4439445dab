"""`dyno check` in a process that has loaded it and waits: checks begin when they are asked for.

A new process spends its first half second on imports, and when its statements reach the server
would be left to chance. `python -m tools.proof.checks.checker CPU [idle]` reads the arguments of a
check from each line, a JSON list, and answers with a line of its exit code and, of an error, its
words.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[3]
ENDS_S = 20.0
IDLE = "idle"


class Checker:
    """The process. `idle`: it runs only when nothing else wants its CPU."""

    def __init__(self, cpu: int, *, idle: bool) -> None:
        self._command = [sys.executable, "-m", __name__, str(cpu), *([IDLE] if idle else [])]

    def __enter__(self) -> Checker:
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def check(self, url: str, password_file: Path) -> None:
        """Checks a server by all packs; returns when it is done. RuntimeError if it could not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        arguments = [url, "--password-file", str(password_file), "--json"]
        with contextlib.suppress(BrokenPipeError):  # that it has ended shows below
            self._process.stdin.write(json.dumps(arguments) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the checking process ended with {self._process.wait(ENDS_S)}")
        answer = json.loads(line)
        if answer["code"] not in (0, 1):  # 1: there are findings
            raise RuntimeError(f"dyno check {url}: {answer['said']}")


def yield_cpu(pid: int) -> None:
    """Has a server use a CPU only when nothing else wants it (SCHED_IDLE of sched(7)): its
    processes and threads, and those that they start."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for process in (str(pid), *children):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            for task in Path(f"/proc/{process}/task").iterdir():
                _yield(int(task.name))


def _yield(task: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.sched_setscheduler(task, os.SCHED_IDLE, os.sched_param(0))


def main(cpu: int, *, idle: bool) -> None:
    """Answers until standard input ends."""
    os.sched_setaffinity(0, {cpu})
    answers = os.fdopen(os.dup(1), "w")
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # where findings are printed
    import click

    from dbdyno.cli.main import dyno
    from dbdyno.errors import DynoError

    if idle:
        _yield(0)
    for line in sys.stdin:
        said = ""
        try:
            code = dyno.main(["check", *json.loads(line)], standalone_mode=False)
        except (DynoError, click.ClickException) as error:
            code, said = 2, str(error)
        answers.write(json.dumps({"code": code, "said": said}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), idle=IDLE in sys.argv[2:])
