"""PostgreSQL's side of a login, by servers that want the password, or do not know it.

Sources: the manual's "Message Flow" and "Message Formats"; RFC 5802.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from functools import partial

from tools.attack.servers.listening import HungUp, Peer

SSL_REQUEST = 80877103
SALT = base64.b64encode(bytes(16)).decode()
CLEAR, MD5, GSS, SASL, SASL_CONTINUE, SASL_FINAL = 3, 5, 7, 10, 11, 12
READY = b"Z" + struct.pack("!i", 5) + b"I"


class Line:
    """Messages to and from one client."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def open(self) -> None:
        """Up to the client's startup message."""
        body = self.peer.read(struct.unpack("!i", self.peer.read(4))[0] - 4)
        if struct.unpack_from("!i", body)[0] != SSL_REQUEST:
            return
        if self.peer.offers_tls:
            self.peer.send(b"S")
            self.peer.start_tls()
        else:
            self.peer.send(b"N")
        self.peer.read(struct.unpack("!i", self.peer.read(4))[0] - 4)

    def ask(self, code: int, data: bytes = b"") -> None:
        self.peer.send(b"R" + struct.pack("!ii", len(data) + 8, code) + data)

    def hear(self) -> bytes:
        """The body of the client's next message, unless that is a farewell."""
        head = self.peer.read(5)
        if head[:1] == b"X":
            raise HungUp
        return self.peer.read(struct.unpack("!i", head[1:])[0] - 4)

    def message(self) -> tuple[bytes, bytes]:
        """The client's next message: kind and body."""
        head = self.peer.read(5)
        return head[:1], self.peer.read(struct.unpack("!i", head[1:])[0] - 4)

    def let_in(self) -> None:
        self.ask(0)
        self.peer.send(READY)

    def content(self) -> None:
        """Lets the client in, and hangs up."""
        self.let_in()
        raise HungUp

    def scram(self, iterations: int, mechanisms: bytes = b"SCRAM-SHA-256\0\0") -> bytes:
        """Up to the client's proof, which is returned."""
        self.ask(SASL, mechanisms)
        first = self.hear().decode()
        nonce = first.rpartition("r=")[2] + "more"
        self.ask(SASL_CONTINUE, f"r={nonce},s={SALT},i={iterations}".encode())
        proof = self.hear()
        self.peer.learned.proofs += 1
        return proof


def trust(line: Line) -> None:
    line.content()


def asks_for(code: int, line: Line) -> None:
    """Any method, and then it is content."""
    line.ask(code, bytes(4) if code == MD5 else b"")
    line.hear()
    line.content()


def scram(line: Line) -> None:
    """As it should be, but the server does not know the password."""
    line.scram(4096)
    line.ask(SASL_FINAL, b"v=" + base64.b64encode(bytes(32)))
    line.content()


def scram_without_final(line: Line) -> None:
    line.scram(4096)
    line.content()


def scram_without_anything(line: Line) -> None:
    """Content after the client's first word."""
    line.ask(SASL, b"SCRAM-SHA-256\0\0")
    line.hear()
    line.content()


def scram_of_one_iteration(line: Line) -> None:
    line.scram(1)


def scram_of_4095_iterations(line: Line) -> None:
    line.scram(4095)


def scram_without_end(line: Line) -> None:
    line.scram(2**31 - 1)


def scram_of_another_kind(line: Line) -> None:
    line.scram(4096, b"SCRAM-SHA-1\0\0")


def clear_amid_scram(line: Line) -> None:
    line.ask(SASL, b"SCRAM-SHA-256\0\0")
    line.hear()
    line.ask(CLEAR)
    line.hear()


def clear_after_scram(line: Line) -> None:
    line.scram(4096)
    line.ask(CLEAR)
    line.hear()


def clear_after_md5(line: Line) -> None:
    line.ask(MD5, bytes(4))
    line.hear()
    line.let_in()
    line.ask(CLEAR)
    line.hear()


def clear_after_login(line: Line) -> None:
    """Waits for the first statement, and answers by asking for the password."""
    line.let_in()
    line.hear()
    line.ask(CLEAR)
    line.hear()


def ready_at_once(line: Line) -> None:
    line.peer.send(READY)


def unknown_method(line: Line) -> None:
    asks_for(99, line)


def method_cut_short(line: Line) -> None:
    line.peer.send(b"R" + struct.pack("!i", 6) + b"\0\0")


# What the policy calls a demand -> who makes it.
DEMANDS: dict[str, Callable[[Line], None]] = {
    "0, no authentication": trust,
    "3, clear-text password": partial(asks_for, CLEAR),
    "5, MD5": partial(asks_for, MD5),
    "10, SCRAM-SHA-256": scram,
    "any other method": partial(asks_for, GSS),
}
# Other ways to the same, and to be let in without a proof; none may lead anywhere.
TRICKS: tuple[Callable[[Line], None], ...] = (
    scram,
    scram_without_final,
    scram_without_anything,
    scram_of_one_iteration,
    scram_of_4095_iterations,
    scram_without_end,
    scram_of_another_kind,
    clear_amid_scram,
    clear_after_scram,
    clear_after_md5,
    clear_after_login,
    ready_at_once,
    unknown_method,
    method_cut_short,
)
# Of these, those that ask for a proof that is too cheap: not even that may reach them.
WITHOUT_PROOF = (scram_of_one_iteration, scram_of_4095_iterations, scram_without_end)


def talk(mode: Callable[[Line], None], peer: Peer) -> None:
    """One client, by one mode."""
    line = Line(peer)
    line.open()
    mode(line)
