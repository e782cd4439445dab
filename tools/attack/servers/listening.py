"""A server that is none: it asks for passwords in every way that a login has, and keeps what it is
given. Each protocol is a module next to this one, each way of asking a small function in it."""

from __future__ import annotations

import socket
import ssl
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from dbdyno.systems.certificate import Certificate

USER = "app"
PASSWORD = "correct-horse:4711"
Way = Literal["plain", "tls", "socket"]


class HungUp(Exception):
    """The client has."""


@dataclass
class Learned:
    """What a server was given by all its clients."""

    heard: bytearray = field(default_factory=bytearray)  # every byte, decrypted
    decrypted: list[bytes] = field(default_factory=list)  # by its RSA key
    proofs: int = 0  # answers to a challenge of its own choice

    @property
    def password(self) -> bool:
        """Whether it knows the password now."""
        return PASSWORD.encode() in bytes(self.heard) + b"\0".join(self.decrypted)


class Peer:
    """One client."""

    def __init__(self, client: socket.socket, way: Way, learned: Learned) -> None:
        self._socket = client
        self.offers_tls = way == "tls"
        self.learned = learned

    def read(self, count: int) -> bytes:
        """Exactly so many bytes."""
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise HungUp
            self.learned.heard += part
            data += part
        return data

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def start_tls(self) -> None:
        self._socket = tls_context().wrap_socket(self._socket, server_side=True)

    def wait_for_the_end(self) -> None:
        """Hears what the client still has to say."""
        with suppress(HungUp):
            while True:
                self.read(1)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()


def drip(peer: Peer, pieces: Iterable[bytes]) -> None:
    """Sends a byte at a time, often enough for a client that waits for the next one only."""
    for piece in pieces:
        for byte in piece:
            peer.send(bytes([byte]))
            time.sleep(0.2)


@dataclass(frozen=True)
class Hostile:
    """Where one listens, and what it has learned."""

    way: Way
    port: int
    path: Path | None
    learned: Learned

    @property
    def place(self) -> str:
        return str(self.path) if self.path else f"127.0.0.1:{self.port}"


@contextmanager
def hostile(talk: Callable[[Peer], None], way: Way, name: str = "s") -> Iterator[Hostile]:
    """A server that `talk`s to each client in a thread of its own; `name` is its socket's."""
    with tempfile.TemporaryDirectory(prefix="dth") as directory:
        path = Path(directory) / name if way == "socket" else None
        if path is None:
            listener = socket.create_server(("127.0.0.1", 0))
        else:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(path))
            listener.listen()
        learned = Learned()
        threads = [threading.Thread(target=_accept, args=(listener, talk, way, learned))]
        threads[0].start()
        port = 0 if path else listener.getsockname()[1]
        try:
            yield Hostile(way, port, path, learned)
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            threads[0].join(20)


def _accept(
    listener: socket.socket, talk: Callable[[Peer], None], way: Way, learned: Learned
) -> None:
    serving = []
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            client.settimeout(15)
            peer = Peer(client, way, learned)
            serving.append(threading.Thread(target=_serve, args=(talk, peer)))
            serving[-1].start()
    for thread in serving:
        thread.join(20)


def _serve(talk: Callable[[Peer], None], peer: Peer) -> None:
    with suppress(HungUp, OSError, struct.error):
        talk(peer)
        peer.wait_for_the_end()
    peer.close()


@cache
def tls_context() -> ssl.SSLContext:
    """With a certificate that nobody has signed whom anybody knows."""
    made = Certificate.make()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        cert, key = Path(directory) / "cert.pem", Path(directory) / "key.pem"
        cert.write_text(made.cert)
        key.write_text(made.key)
        context.load_cert_chain(cert, key)
    return context
