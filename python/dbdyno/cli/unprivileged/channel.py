"""What an unprivileged child and its parent say to each other: datagrams of JSON, with a descriptor
if there is something to hand over.

    child                                   parent
    open PATH                               done + a descriptor, or refused ERRNO TEXT
    make PATH MODE (a directory)            done, or refused
    keep PATH PRIVATE + a descriptor        done once it is written, or refused
    value + a descriptor                    (the end)
    error ..., usage ..., failed ..., impossible ...    (the end)

The parent serves paths that it knew before, and no others.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dbdyno import diskfiles

MESSAGE_BYTES_MAX = 1 << 17
_TEXT_MAX = 4000  # characters of one text in a message, each at most 12 bytes of JSON
Message = list[Any]


def send(to: socket.socket, *message: Any, descriptor: int | None = None) -> None:
    """Sends a message."""
    cut = [one[:_TEXT_MAX] if isinstance(one, str) else one for one in message]
    raw = json.dumps(cut).encode()
    socket.send_fds(to, [raw], [] if descriptor is None else [descriptor])


def receive(of: socket.socket) -> tuple[Message, IO[bytes] | None]:
    """The next message, and the file that came with it; an empty one when the other has gone.
    ValueError for what is no message."""
    raw, descriptors, _, _ = socket.recv_fds(of, MESSAGE_BYTES_MAX, 1, socket.MSG_CMSG_CLOEXEC)
    file = os.fdopen(descriptors[0], "rb") if descriptors else None
    message = json.loads(raw) if raw else []
    if not isinstance(message, list):
        raise ValueError("not a message")
    return message, file


class Keeper:
    """The child's end: what `diskfiles` is given in place of directories that it may not write."""

    def __init__(self, parent: socket.socket, makes: Sequence[Path]) -> None:
        self._parent = parent
        self._makes = frozenset([*makes, *_directories(makes)])

    def keeps(self, path: Path) -> bool:
        """Whether the parent opens and makes this one."""
        return Path(os.path.abspath(path)) in self._makes

    def opened(self, path: Path) -> IO[bytes]:
        """As `diskfiles.opened`, for reading."""
        file = self._asked("open", path)
        assert file is not None, "an opened file comes with its descriptor"
        return file

    @contextmanager
    def replacing(self, path: Path, *, private: bool) -> Iterator[IO[bytes]]:
        """As `diskfiles.replacing`."""
        with tempfile.TemporaryFile() as file:
            yield file
            file.flush()
            self._asked("keep", path, private, descriptor=file.fileno())

    def make_directory(self, path: Path, mode: int) -> None:
        """As `diskfiles.make_directory`."""
        self._asked("make", path, mode)

    def _asked(
        self, verb: str, path: Path, *more: Any, descriptor: int | None = None
    ) -> IO[bytes] | None:
        send(self._parent, verb, os.path.abspath(path), *more, descriptor=descriptor)
        answer, file = receive(self._parent)
        if answer[:1] == ["done"]:
            return file
        number, text = answer[1:] if len(answer) == 3 else (errno.EIO, "no answer")
        raise OSError(number, text, str(path))


def serve(child: socket.socket, makes: Sequence[Path]) -> tuple[Message, IO[bytes] | None]:
    """Does what the child asks for, until its last message, which is returned. ValueError for what
    is no request."""
    while True:
        message, file = receive(child)
        if not message or message[0] not in ("open", "keep", "make"):
            return message, file
        try:
            _answer(child, message, file, makes)
        except OSError as error:
            with suppress(OSError):
                send(child, "refused", error.errno or errno.EIO, error.strerror or str(error))
        except (IndexError, TypeError) as error:
            raise ValueError("no request") from error
        finally:
            if file is not None:
                file.close()


def _answer(
    child: socket.socket, message: Message, file: IO[bytes] | None, makes: Sequence[Path]
) -> None:
    path = Path(str(message[1]))
    if path not in (_directories(makes) if message[0] == "make" else makes):
        raise OSError(errno.EACCES, "the command line does not name it", str(path))
    if message[0] == "open":
        with diskfiles.opened(path) as found:
            send(child, "done", descriptor=found.fileno())
        return
    if message[0] == "make":
        diskfiles.make_directory(path, 0o700 if message[2] == 0o700 else 0o777)
    else:
        if file is None or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        file.seek(0)
        with diskfiles.replacing(path, private=message[2] is True) as made:
            shutil.copyfileobj(file, made, 1 << 20)
    send(child, "done")


def _directories(makes: Sequence[Path]) -> list[Path]:
    return [path.parent for path in makes]
