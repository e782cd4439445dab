"""Requests to an owner: one a connection on a Unix socket, a JSON object on a line, and an answer.

The socket is in a directory of our own account, and the user at its other end must be the same or
root (unix(7), SO_PEERCRED). Paths of sockets are limited to 107 bytes: both sides name it through
the descriptor of its directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError

LINE_BYTES_MAX = 1 << 16  # of a request
ANSWER_BYTES_MAX = 1 << 22
HEARD_S = 10.0  # for a request to arrive
PAUSE_S = 0.1  # after a connection that could not be accepted
CLIENTS_MAX = 16  # at once; who comes after them waits

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@contextlib.contextmanager
def named(path: Path) -> Iterator[str]:
    """A short name of a socket's path, for this process."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


class Ear:
    """Answers requests in threads, from `open` to the end of the process."""

    def __init__(self, path: Path, answer: Answer) -> None:
        """`answer` may raise DynoError, which the other side then raises."""
        self._answer = answer
        self._room = threading.BoundedSemaphore(CLIENTS_MAX)
        self._socket = socket.socket(socket.AF_UNIX)
        with named(path) as name:
            self._socket.bind(name)
        self._socket.listen(CLIENTS_MAX)
        threading.Thread(target=self._accept, name="ear", daemon=True).start()

    def _accept(self) -> None:
        while True:
            self._room.acquire()
            try:
                connection, _ = self._socket.accept()
            except OSError:  # no descriptor is free, or who came has gone
                self._room.release()
                time.sleep(PAUSE_S)
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(HEARD_S)
                if _peer(connection) not in (os.geteuid(), 0):
                    return
                # Who has gone meanwhile does not want to hear it.
                with contextlib.suppress(OSError, ValueError):
                    request = json.loads(read_line(connection, LINE_BYTES_MAX))
                    connection.sendall(json.dumps(self._answered(request)).encode() + b"\n")
        finally:
            self._room.release()

    def _answered(self, request: Any) -> Mapping[str, Any]:
        try:
            if not isinstance(request, dict):
                raise DynoError("a request is a JSON object")
            return self._answer(request)
        except DynoError as error:
            return failure(error)
        except Exception as error:  # each client library has errors of its own
            return failure(DynoError(f"{type(error).__name__}: {error}"))


def failure(error: DynoError) -> dict[str, Any]:
    """An error, as an answer."""
    return {"error": {"what": error.what, "cause": error.cause, "fix": error.fix}}


def raised(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer; what `failure` made of a DynoError is raised again."""
    if "error" in answer:
        said = answer["error"]
        raise DynoError(said["what"], cause=said["cause"], fix=said["fix"])
    return answer


def read_line(connection: socket.socket, limit: int) -> bytes:
    """A line without its end. ValueError where it is longer than `limit` bytes, or has no end."""
    data = b""
    while not data.endswith(b"\n"):
        part = connection.recv(1 << 16)
        if not part or len(data) > limit:
            raise ValueError("no whole line")
        data += part
    return data[:-1]


def _peer(connection: socket.socket) -> int:
    """The user at the other end."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", found)
    return int(user)
