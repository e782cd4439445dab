"""PyMySQL, restricted to the policy for logins.

Left alone it answers every plug-in: passwords go in clear text, or under whatever RSA key a server
shows. Its `auth_plugin_map` puts these plug-ins into our hands (docs/decisions/logins.md).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pymysql
from pymysql.constants import CLIENT

from dbdyno.errors import DynoError
from dbdyno.systems.logins.bounded import Bounds, bind, opened
from dbdyno.systems.logins.policy import FULL, ROUNDS_MAX, TAKE_KEY, LoginRules
from dbdyno.systems.process.starting import CONTROL_TIMEOUT_S

_CANNOT_CONNECT, _MALFORMED_PACKET = 2003, 2027
_PROOFS = ("mysql_native_password", "client_ed25519")  # PyMySQL's own will do
_NONCE_BYTES = 20
_NAME_MAX = 64


class Packet(Protocol):
    """What PyMySQL hands a plug-in."""

    def is_auth_switch_request(self) -> bool: ...
    def is_extra_auth_data(self) -> bool: ...
    def check_error(self) -> None: ...
    def read_all(self) -> bytes: ...
    def read_uint8(self) -> int: ...
    def advance(self, length: int) -> None: ...


def connect(
    rules: LoginRules,
    *,
    password: str,
    database: str | None,
    timeout_s: int,
    **where: Any,
) -> pymysql.Connection[Any]:
    """A connection with autocommit and utf8mb4. `where`: host and port or socket, and encryption.

    `timeout_s`: for the whole answer to a statement, and for the login if that is shorter than
    CONTROL_TIMEOUT_S. DynoError: the server asks for what it may not
    have, or answers without end. pymysql.Error, OSError: anything else."""
    login_s = min(timeout_s, CONTROL_TIMEOUT_S)
    bounds = Bounds(rules.place, login_s)
    connection = _Connection(
        **where,
        user=rules.user,
        password=password.encode(),  # PyMySQL's own encoding of text is latin1
        database=database,
        read_timeout=timeout_s,
        write_timeout=CONTROL_TIMEOUT_S,
        autocommit=True,
        charset="utf8mb4",
        program_name="dbdyno control",
        auth_plugin_map=_Plugins(rules),
        defer_connect=True,
    )
    connection.bounds = bounds
    if connection.ssl:
        bind(connection.ctx, bounds)
    host, port, path = connection.host, connection.port, connection.unix_socket
    try:
        way = opened(bounds, login_s, host=host, port=port, path=path)
    except OSError as error:
        said = f"Can't connect to MySQL server on {path or host!r} ({error})"
        raise pymysql.OperationalError(_CANNOT_CONNECT, said) from error
    with _readable():
        connection.connect(way)
    bounds.timeout_s = timeout_s
    return connection


@contextmanager
def _readable() -> Iterator[None]:
    """PyMySQL indexes and decodes what a server sends: its errors become one of the protocol."""
    try:
        yield
    except (DynoError, pymysql.Error, OSError):
        raise
    except Exception as error:
        raise _malformed("its answer cannot be read") from error


class _Connection(pymysql.Connection):  # type: ignore[type-arg]
    """Counts what it reads, and says what cannot be read."""

    bounds: Bounds | None = None

    def query(self, sql: str, unbuffered: bool = False) -> int:
        with _readable():
            return super().query(sql, unbuffered)

    def select_db(self, db: str) -> None:
        with _readable():
            super().select_db(db)

    def _read_packet(self, *args: Any, **kwargs: Any) -> Any:
        """One of each row."""
        if self.bounds is not None:
            self.bounds.count_row()
        return super()._read_packet(*args, **kwargs)


class _Plugins(dict[str, Any]):
    """A plug-in for every name that a server may send, except for those that only prove."""

    def __init__(self, rules: LoginRules) -> None:
        names = ("caching_sha2_password", "sha256_password", "mysql_clear_password", "dialog")
        super().__init__((name, functools.partial(_Plugin, rules, name)) for name in names)
        self._rules = rules

    def get(self, name: Any, default: Any = None) -> Callable[[Any], _Plugin] | None:
        text = name.decode("latin1") if isinstance(name, bytes) else str(name)
        text = ascii(text[:_NAME_MAX])[1:-1]  # messages repeat it
        if text in _PROOFS:
            return None
        return functools.partial(_Plugin, self._rules, text)


class _Plugin:
    """One plug-in's part of a login."""

    def __init__(self, rules: LoginRules, name: str, connection: Any) -> None:
        self._rules = rules
        self._name = name
        self._connection = connection
        self._rounds = 0

    @property
    def _private(self) -> bool:
        """Whether no one can listen: PyMySQL encrypts exactly where both sides offer it."""
        connection = self._connection
        offered = connection.server_capabilities & CLIENT.SSL
        return connection.unix_socket is not None or bool(connection.ssl and offered)

    def authenticate(self, packet: Packet) -> Packet:
        """Answers a change of plug-in, or what a plug-in says next."""
        is_switch = packet.is_auth_switch_request()
        if is_switch:
            nonce = packet.read_all()
            self._connection.salt = nonce.removesuffix(b"\0")
        if self._name == "caching_sha2_password":
            return self._caching_sha2(packet, is_switch)
        if self._name == "sha256_password":
            return self._send_password(self._name, b"\1", None if is_switch else packet)
        self._rules.check("mysql", self._name, private=self._private)
        if self._name != "mysql_clear_password" or not is_switch:
            raise _malformed(f"plug-in {self._name} out of turn")
        return self._say(self._password + b"\0")

    @property
    def _password(self) -> bytes:
        return bytes(self._connection.password)

    def _caching_sha2(self, packet: Packet, is_switch: bool) -> Packet:
        """The proof, unless it went with the login; then the server is content (3), or wants the
        password, which it does not know the hash of yet (4)."""
        if is_switch:
            packet = self._say(_proof(self._password, self._connection.salt))
        if not packet.is_extra_auth_data():
            return packet
        packet.advance(1)
        step = packet.read_uint8()
        if step == 3:
            return self._hear()
        if step != 4:
            raise _malformed(f"step {step} of caching_sha2_password")
        return self._send_password(FULL, b"\2", None)

    def _send_password(self, asked: str, key_request: bytes, shown: Packet | None) -> Packet:
        """The password over a private way, else under an RSA key that the user allows. `shown`: the
        server's, where it was asked for with the login."""
        if not self._password:
            return self._say(b"\0")
        self._rules.check("mysql", asked, private=self._private)
        if self._private:
            return self._say(self._password + b"\0")
        key = self._rules.server_key.encode()
        if self._rules.server_key == TAKE_KEY:
            packet = shown or self._say(key_request)
            if not packet.is_extra_auth_data():
                raise _malformed("no RSA key")
            packet.advance(1)
            key = packet.read_all()
        return self._say(self._encrypted(key))

    def _encrypted(self, pem: bytes) -> bytes:
        """Password and a zero byte, xor the challenge, under RSA (OAEP with SHA-1)."""
        from cryptography.hazmat.primitives.asymmetric import padding
        from cryptography.hazmat.primitives.hashes import SHA1

        nonce = bytes(self._connection.salt[:_NONCE_BYTES])
        if not nonce:
            raise _malformed("no challenge")
        text = self._password + b"\0"
        hidden = bytes(byte ^ nonce[i % len(nonce)] for i, byte in enumerate(text))
        try:
            return rsa_key(pem).encrypt(hidden, padding.OAEP(padding.MGF1(SHA1()), SHA1(), None))
        except ValueError as error:
            raise self._rules.refusal(
                f"the server's RSA key cannot be used: {error}",
                "use `tls: require` or a Unix socket, or correct `server_public_key:`",
            ) from None

    def _say(self, data: bytes) -> Packet:
        self._connection.write_packet(data)
        return self._hear()

    def _hear(self) -> Packet:
        self._rounds += 1
        if self._rounds > ROUNDS_MAX:
            raise _malformed("a login without end")
        packet: Packet = self._connection._read_packet()
        packet.check_error()
        return packet


def rsa_key(pem: bytes) -> Any:
    """An RSA public key. ValueError if it is none."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem)
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from None
    if not isinstance(key, RSAPublicKey):
        raise ValueError("it is not of RSA")
    return key


def _proof(password: bytes, nonce: bytes) -> bytes:
    """SHA256(password) xor SHA256(SHA256(SHA256(password)) + nonce); nothing for no password."""
    if not password:
        return b""
    once = hashlib.sha256(password).digest()
    twice = hashlib.sha256(once).digest()
    mask = hashlib.sha256(twice + nonce).digest()
    return bytes(a ^ b for a, b in zip(once, mask, strict=True))


def _malformed(what: str) -> pymysql.OperationalError:
    return pymysql.OperationalError(
        _MALFORMED_PACKET, f"it does not speak MySQL's protocol: {what}"
    )
