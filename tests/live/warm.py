"""`dyno` that starts warm: a process that has imported all of it forks for each start.

A start from the shell imports for half a second and more, on a whole core, and tests start dyno
hundreds of times. What comes after the imports is the same: a process of its own with its own
directory, environment, streams, signals and exit code. It hurries where it can (`hurried.py`).
Tests of the start itself, of kills and of terminals execute the installed program instead
(`Place.start`, `running.DYNO`).
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

REQUEST_MAX = 1 << 17


def run(
    arguments: Sequence[str], directory: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Runs `dyno` to its end, as `subprocess.run` with captured output does. `arguments` begin
    with the program's name."""
    request = {"arguments": [*arguments], "directory": str(directory)}
    text = json.dumps({**request, "environment": {**environment}}).encode()
    answers, answering = socket.socketpair()
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    socket.send_fds(_forker(), [text], [answering.fileno(), out_end, err_end])
    answering.close()
    for end in (out_end, err_end):
        os.close(end)
    with answers, answers.makefile("r") as told:
        pid = int(told.readline())
        texts = _read_all((out, err), time.monotonic() + timeout)
        if texts is None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired([*arguments], timeout)
        status = int(told.readline())
    return subprocess.CompletedProcess([*arguments], status, *texts)


def _read_all(pipes: tuple[int, int], deadline: float) -> tuple[str, str] | None:
    """What comes through the pipes until no writer is left; None: that takes too long."""
    read: dict[int, list[bytes]] = {pipe: [] for pipe in pipes}
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map() and time.monotonic() < deadline:
            for key, _ in waiting.select(deadline - time.monotonic()):
                if part := os.read(key.fd, 1 << 16):
                    read[key.fd].append(part)
                else:
                    waiting.unregister(key.fd)
        late = bool(waiting.get_map())
    for pipe in pipes:
        os.close(pipe)
    out, err = (b"".join(parts).decode() for parts in read.values())
    return None if late else (out, err)


@functools.cache
def _forker() -> socket.socket:
    """The end on which requests go to a forker of this process; it ends when this process does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # what forks has one thread
            stdin=subprocess.DEVNULL,
            cwd="/",
        )
    return ours


def _serve(requests: socket.socket) -> None:
    """The forker: two forks a request, one that waits and reports, and one that becomes `dyno`."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the waiting ones are not waited for
    while True:
        text, descriptors, _, _ = socket.recv_fds(requests, REQUEST_MAX, 3)
        if not text:
            break
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _start(json.loads(text), *descriptors)
            break
        for descriptor in descriptors:
            os.close(descriptor)


def _start(request: dict, answers: int, out: int, err: int) -> None:
    pid = os.fork()
    if pid:
        for descriptor in (out, err):
            os.close(descriptor)
        os.write(answers, f"{pid}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(BrokenPipeError):
            os.write(answers, f"{status}\n".encode())
        os._exit(0)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["arguments"]
    for descriptor, number in ((out, 1), (err, 2)):
        os.dup2(descriptor, number)
    for descriptor in (answers, out, err):
        os.close(descriptor)
    import hurried

    from dbdyno.cli import entry

    hurried.begin()
    entry.main()


def _import_all() -> None:
    """Everything that a command may import, and the templates of reports, now."""
    import hurried  # noqa: F401

    import dbdyno

    for module in pkgutil.walk_packages(dbdyno.__path__, "dbdyno."):
        importlib.import_module(module.name)
    from dbdyno.report import templating

    for name in templating.templates():  # to compile those of a report takes half a second
        if name.endswith(".j2"):
            templating.environment(escaped=not name.endswith(".md.j2")).get_template(name)
    gc.freeze()  # so that children's collections leave these pages shared


if __name__ == "__main__":
    _import_all()
    _serve(socket.socket(fileno=int(sys.argv[1])))
