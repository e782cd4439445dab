"""The other side of `listening`: what `dyno lab` asks of an owner."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.lab import listening
from dbdyno.lab.registry import Record

STATUS_S = 60.0  # nodes that do not answer are waited for by the owner
ACTION_S = 300.0  # a server that starts again recovers first
DOWN_S = 120.0
POLL_S = 0.05


def ask(record: Record, request: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
    """A lab's answer; DynoError if it has ended, is silent, or refuses."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout_s)
    try:
        with connection, listening.named(record.socket) as name:
            connection.connect(name)
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = listening.read_line(connection, listening.ANSWER_BYTES_MAX)
        answer: dict[str, Any] = json.loads(line)
    except TimeoutError:
        raise DynoError(
            f"lab `{record.name}` did not answer within {timeout_s:.0f} s",
            cause="a server is still starting or stopping, or the machine is very busy",
            fix=f"see `dyno lab status {record.name}`; where that does not answer for minutes,"
            f" `kill -9 {record.pid}` ends it: guardians then remove its servers and files",
        ) from None
    except (OSError, ValueError):
        raise ended(record) from None
    return listening.raised(answer)


def ended(record: Record) -> DynoError:
    """The error for a lab that is not there any more."""
    return DynoError(
        f"lab `{record.name}` has just ended",
        cause="its time was over, it was taken down, or its owner was killed",
        fix=f"start it again: dyno lab up ... --name {record.name}",
    )


def status(record: Record) -> dict[str, Any]:
    """What a lab says of itself; see `owner`."""
    return dict(ask(record, {"do": "status"}, STATUS_S))


def act(record: Record, action: str, node: str) -> str:
    """Does one of `servers.ACTIONS` to a node; what there is to say of it."""
    said = ask(record, {"do": action, "node": node}, ACTION_S)
    return str(said.get("said", ""))


def down(record: Record) -> None:
    """Ends a lab; returns once nothing is left of it."""
    with contextlib.suppress(_Gone):
        ask_down(record)
    deadline = time.monotonic() + DOWN_S
    while record.directory.exists():
        if time.monotonic() > deadline:
            raise _stays(record)
        time.sleep(POLL_S)


def _stays(record: Record) -> DynoError:
    """The error for a lab that was asked to end, and of which something is left."""
    if _lives(record.pid):
        return DynoError(
            f"lab `{record.name}` was asked to end, and is still there after {DOWN_S:.0f} s",
            cause="a server waits for a disk, or the machine is very busy",
            fix=f"`kill -9 {record.pid}` ends it: guardians then remove its servers and files",
        )
    return DynoError(
        f"lab `{record.name}` has ended, and its directory {record.directory} is still there after"
        f" {DOWN_S:.0f} s",
        cause="its guardian was killed too, or waits for a disk that does not answer",
        fix=f"see that no server of it runs (`fuser -vm {record.directory}`), then remove the"
        " directory",
    )


class _Gone(Exception):
    """It ended before it answered."""


def ask_down(record: Record) -> None:
    """Asks it to end. _Gone where it has done so already."""
    try:
        ask(record, {"do": "down"}, STATUS_S)
    except DynoError:
        if not record.directory.exists() or not _lives(record.pid):
            raise _Gone from None
        raise


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
