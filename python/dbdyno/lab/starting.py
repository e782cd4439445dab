"""Starts the owner of a lab as a process of its own, and waits until the lab is up."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import DEVNULL, PIPE, Process, TimedOut
from dbdyno.lab import listening
from dbdyno.lab.wanted import Wanted

END_S = 60.0  # for the owner to remove what it has begun


def start(asked: Wanted, say: Callable[[str], None]) -> dict[str, Any]:
    """The facts of a lab once it is up (see `owner`); `say` gets what is done meanwhile. DynoError
    if it cannot come up; nothing is left of it then, nor where this is interrupted."""
    process = LOCAL.start(
        [sys.executable, "-m", "dbdyno.lab.owner", asked.lab],
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        cwd="/",
    )
    assert process.stdin is not None
    try:
        process.stdin.write(asked.as_json().encode() + b"\n")
        process.stdin.flush()
        return _heard(process, say)
    except BrokenPipeError:
        raise _silent() from None
    except BaseException:
        _give_up(process)
        raise
    finally:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _heard(process: Process, say: Callable[[str], None]) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        message = json.loads(line)
        if "say" in message:
            say(str(message["say"]))
            continue
        if "lab" in message:
            return dict(message["lab"])
        process.wait(END_S)
        listening.raised(message)
    raise _silent()


def _give_up(process: Process) -> None:
    """Ends an owner that nobody waits for; its guardians do the rest."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(END_S)
    except TimedOut:
        process.kill()


def _silent() -> DynoError:
    return DynoError(
        "the process that owns the lab has ended without a word",
        cause="it was killed, or the machine is out of memory",
        fix="look at `dmesg`, and try again",
    )
