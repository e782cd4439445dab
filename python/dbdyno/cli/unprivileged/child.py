"""The child that does the work as nobody, and the parent's end of it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from dbdyno import diskfiles
from dbdyno.cli.unprivileged import channel, rights, values
from dbdyno.errors import DynoError, Where

PATIENCE_S = 3.0  # for a child that is done, or has to end


class Impossible(Exception):
    """This machine does not let an account be changed, with the reason."""


def run(work: Callable[[], Any], reads: Sequence[Path], makes: Sequence[Path]) -> Any:
    """What `work` returns, done in a child without rights. Raises what it raises for users;
    Impossible where no such child can be started; then nothing has been done."""
    with tempfile.TemporaryDirectory(prefix="dyno-read-") as temporary:
        try:
            os.chown(temporary, rights.NOBODY, rights.NOBODY)
        except OSError as error:
            raise Impossible(error.strerror) from None
        return _apart(work, reads, makes, Path(temporary))


def _apart(
    work: Callable[[], Any], reads: Sequence[Path], makes: Sequence[Path], temporary: Path
) -> Any:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    _flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        ours.close()
        seen = [*reads, *(path for path in makes if path.exists())]
        _be(theirs, work, makes, lambda: rights.leave_root(parent, seen, temporary))
    theirs.close()
    ended: int | None = None
    try:
        with ours:
            message, file = channel.serve(ours, makes)
        ended = _ended(pid)
        return _outcome(message, file, ended)
    except ValueError as error:
        raise _lost(f"sent an invalid answer: {error}") from None
    finally:
        if ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            _ended(pid)


def _be(
    to: socket.socket,
    work: Callable[[], Any],
    makes: Sequence[Path],
    leave_root: Callable[[], None],
) -> NoReturn:
    """The child's whole life."""
    try:
        try:
            leave_root()
        except OSError as error:
            channel.send(to, "impossible", error.strerror or str(error))
            os._exit(0)
        diskfiles.keep_by(channel.Keeper(to, makes))
        _say_end(work, to)
        _flush()
    except BaseException:  # an interrupt, or a parent that has gone: the parent is gone
        os._exit(1)
    os._exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _say_end(work: Callable[[], Any], to: socket.socket) -> None:
    try:
        value = work()
        _flush()
    except DynoError as error:
        where = (
            [str(error.where.file), error.where.line, error.where.column] if error.where else None
        )
        channel.send(to, "error", error.what, error.cause, error.fix, where, error.exit_code)
    except click.UsageError as error:
        channel.send(to, "usage", error.format_message())
    except click.exceptions.Exit as error:
        channel.send(to, "exit", error.exit_code)
    except OSError as error:
        channel.send(to, "failed", error.errno, error.strerror or str(error), str(error.filename))
    except MemoryError:
        channel.send(to, "memory")
    except Exception as error:
        channel.send(to, "defect", f"{type(error).__name__}: {error}")
    else:
        with tempfile.TemporaryFile() as file:
            values.write(value, file)
            file.flush()
            channel.send(to, "value", descriptor=file.fileno())


def _outcome(message: channel.Message, file: Any, status: int) -> Any:
    """What the last message says."""
    match message:
        case ["value"] if file is not None:
            with file:
                file.seek(0)
                return values.read(file)
        case ["error", str(what), str(cause), str(fix), where, int(code)]:
            place = Where(*where) if isinstance(where, list) else None
            error = DynoError(what, where=place, cause=cause, fix=fix)
            error.exit_code = code
            raise error
        case ["usage", str(text)]:
            raise click.UsageError(text)
        case ["exit", int(code)]:
            raise click.exceptions.Exit(code)
        case ["failed", number, str(text), str(name)]:
            raise OSError(number, text, name)
        case ["memory"]:
            raise MemoryError
        case ["defect", str(text)]:
            raise RuntimeError(text)
        case ["impossible", str(text)]:
            raise Impossible(text)
        case _:
            signalled = os.WIFSIGNALED(status)
            number = os.WTERMSIG(status) if signalled else os.waitstatus_to_exitcode(status)
            raise _lost(f"{'was killed by signal' if signalled else 'ended with code'} {number}")


def _lost(how: str) -> DynoError:
    return DynoError(
        f"the process that read the files {how}",
        cause="memory ran out, somebody killed it, or a file made it fail",
        fix="try it with fewer files; if it happens again, do not trust them",
    )


def _ended(pid: int) -> int:
    """How the child ended; one that does not is killed."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]
