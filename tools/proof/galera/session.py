"""A client that costs next to nothing: statements as ready packets on the socket of a session.

PyMySQL parses each answer in Python, which takes longer than a small server needs for it; on two
processors that six sessions share with three servers the client would be what is measured. An
answer is one packet here, OK or ERR (https://mariadb.com/docs/server/reference/clientserver-protocol).
"""

from __future__ import annotations

import socket
from types import TracebackType

from tools.proof.galera.nodes import Node

ANSWER_S = 20.0
_HEAD = 4
_ERR = 0xFF


def packet(statement: str) -> bytes:
    """COM_QUERY."""
    body = b"\x03" + statement.encode()
    return len(body).to_bytes(3, "little") + b"\0" + body


class Session:
    """Of root, through the node's socket; a context manager."""

    def __init__(self, node: Node) -> None:
        self._connection = node.connect(ANSWER_S)  # logs in
        self._socket: socket.socket = self._connection._sock  # type: ignore[attr-defined]

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None
    ) -> None:
        self._connection.close()

    def ask(self, query: bytes) -> int:
        """Sends a packet; 0 if the answer is OK, else the error's number."""
        self._socket.sendall(query)
        answer = self._socket.recv(4096)
        while len(answer) < _HEAD or len(answer) < _HEAD + int.from_bytes(answer[:3], "little"):
            more = self._socket.recv(4096)
            if not more:
                raise ConnectionError("the server closed the session")
            answer += more
        return int.from_bytes(answer[5:7], "little") if answer[4] == _ERR else 0
