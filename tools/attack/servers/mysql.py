"""MySQL's side of a login, by servers that want the password.

Source: MySQL's client/server protocol, "Connection Phase", "Authentication Methods".
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, partial

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tools.attack.servers.listening import HungUp, Peer

NONCE = bytes(range(1, 21))
# LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, CONNECT_WITH_DB, TRANSACTIONS
CAPABILITIES = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000
SSL = 0x800


class Line:
    """Packets to and from one client."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._sequence = 0

    def say(self, payload: bytes) -> None:
        self.peer.send(self.packet(payload))

    def packet(self, payload: bytes) -> bytes:
        """The next one, to be sent."""
        made = struct.pack("<I", len(payload))[:3] + bytes([self._sequence]) + payload
        self.skip(1)
        return made

    def skip(self, count: int) -> None:
        """Numbers packets wrongly from here on, unless `count` was sent."""
        self._sequence = (self._sequence + count) % 256

    def hear(self) -> bytes:
        head = self.peer.read(4)
        self._sequence = (head[3] + 1) % 256
        return self.peer.read(int.from_bytes(head[:3], "little"))

    def greet(self, plugin: str) -> bytes:
        """Up to the client's login, which is returned."""
        flags = CAPABILITIES | (SSL if self.peer.offers_tls else 0)
        self.say(
            b"\x0a8.4.0\0" + struct.pack("<I", 7) + NONCE[:8] + b"\0"
            + struct.pack("<HBHHB", flags & 0xFFFF, 45, 2, flags >> 16, 21)
            + bytes(10) + NONCE[8:] + b"\0" + plugin.encode() + b"\0"
        )  # fmt: skip
        login = self.hear()
        if len(login) == 32 and self.peer.offers_tls:
            self.peer.start_tls()
            login = self.hear()
        return login

    def switch(self, plugin: str, data: bytes = NONCE + b"\0") -> bytes:
        """Asks for another plug-in; returns the answer."""
        self.say(b"\xfe" + plugin.encode() + b"\0" + data)
        return self.hear()

    def show_key(self) -> None:
        """Shows the RSA key, and reads what comes under it."""
        self.say(b"\x01" + public_key())
        self.unlock(self.hear())

    def unlock(self, data: bytes) -> None:
        """Keeps the password of an encrypted one."""
        try:
            hidden = rsa_key().decrypt(data, padding.OAEP(padding.MGF1(SHA1()), SHA1(), None))
        except ValueError:
            return  # it is not under our key
        text = bytes(byte ^ NONCE[i % len(NONCE)] for i, byte in enumerate(hidden))
        self.peer.learned.decrypted.append(text)

    def content(self) -> None:
        """Lets the client in, and hangs up."""
        self.say(bytes.fromhex("00000002000000"))
        raise HungUp


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def public_key() -> bytes:
    return rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def native(line: Line) -> None:
    """Takes whatever comes."""
    line.greet("mysql_native_password")
    line.content()


def ed25519(line: Line) -> None:
    line.greet("mysql_native_password")
    line.switch("client_ed25519", bytes(range(32)))
    line.content()


def fast(line: Line) -> None:
    """Claims to know the proof."""
    line.greet("caching_sha2_password")
    line.say(b"\x01\x03")
    line.content()


def full(line: Line) -> None:
    """Claims not to know it, and asks for the password."""
    line.greet("caching_sha2_password")
    _ask_for_all(line)


def full_after_switch(line: Line) -> None:
    line.greet("mysql_native_password")
    line.switch("caching_sha2_password")
    _ask_for_all(line)


def _ask_for_all(line: Line) -> None:
    line.say(b"\x01\x04")
    answer = line.hear()
    if answer == b"\x02":
        line.show_key()
    elif len(answer) == 256:
        line.unlock(answer)
    line.content()


def key_unasked(line: Line) -> None:
    """Shows its key before anybody asked for it."""
    line.greet("caching_sha2_password")
    line.say(b"\x01\x04")
    line.show_key()
    line.content()


def sha256(line: Line) -> None:
    line.greet("mysql_native_password")
    answer = line.switch("sha256_password")
    if answer == b"\x01":
        line.show_key()
    elif len(answer) == 256:
        line.unlock(answer)
    line.content()


def sha256_greeted(line: Line) -> None:
    """Its first word is sha256_password: some clients ask for the key at once."""
    line.greet("sha256_password")
    line.show_key()
    line.content()


def asks_for(plugin: str, line: Line) -> None:
    """Wants the answer of a plug-in to nothing."""
    line.greet("mysql_native_password")
    line.switch(plugin, b"")
    line.content()


def dialog(line: Line) -> None:
    """PAM's dialog: a byte that says "last question", and the question."""
    line.greet("mysql_native_password")
    line.switch("dialog", b"\x05Password: ")
    line.content()


def clear_greeted(line: Line) -> None:
    """Clear text is what it greets with."""
    line.greet("mysql_clear_password")
    line.say(b"\x01Password: ")
    line.hear()
    line.content()


def clear_after_fast(line: Line) -> None:
    """Is content with the proof, and then wants the password after all."""
    line.greet("caching_sha2_password")
    line.say(b"\x01\x03")
    line.switch("mysql_clear_password", b"")
    line.content()


def clear_twice(line: Line) -> None:
    """A plug-in that is fine, then one that is not."""
    line.greet("mysql_native_password")
    line.switch("caching_sha2_password")
    line.switch("mysql_clear_password", b"")
    line.content()


def key_that_is_none(line: Line) -> None:
    line.greet("caching_sha2_password")
    line.say(b"\x01\x04")
    line.hear()
    line.say(b"\x01-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
    line.hear()


def name_that_is_none(line: Line) -> None:
    line.greet("mysql_native_password")
    """No text of any encoding, and colours for the terminal."""
    line.say(b"\xfe\xff\xfe\x1b[31m\0")
    line.hear()


# What the policy calls a demand -> who makes it.
DEMANDS: dict[str, Callable[[Line], None]] = {
    "mysql_native_password": native,
    "client_ed25519": ed25519,
    "caching_sha2_password": fast,
    "caching_sha2_password, full authentication": full,
    "sha256_password": sha256,
    "mysql_clear_password": partial(asks_for, "mysql_clear_password"),
    "dialog": dialog,
    "mysql_old_password": partial(asks_for, "mysql_old_password"),
    "any other plug-in": partial(asks_for, "auth_gssapi_client"),
}
# Other ways to the same; none of them may lead anywhere without TLS.
TRICKS: tuple[Callable[[Line], None], ...] = (
    full_after_switch,
    key_unasked,
    sha256_greeted,
    clear_greeted,
    clear_after_fast,
    clear_twice,
    key_that_is_none,
    name_that_is_none,
)


def talk(mode: Callable[[Line], None], peer: Peer) -> None:
    """One client, by one mode."""
    mode(Line(peer))
