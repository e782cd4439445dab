"""pg8000, restricted to the policy for logins.

By default it sends the password in clear text to any server that asks, at any time, and goes on
without the proof that a SCRAM server owes (docs/decisions/logins.md). Its `handle_...` methods are
public, and so is `sock`: we open the way ourselves, and know whether it is encrypted.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pg8000.native
import scramp
from pg8000.exceptions import Error, InterfaceError

from dbdyno.errors import DynoError
from dbdyno.systems.external.encryption import context
from dbdyno.systems.logins.bounded import Bounded, Bounds, bind, opened
from dbdyno.systems.logins.policy import (
    SCRAM_ITERATIONS_MAX,
    SCRAM_ITERATIONS_MIN,
    SCRAM_MECHANISMS,
    LoginRules,
)
from dbdyno.systems.process.starting import CONTROL_TIMEOUT_S

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
_METHODS = {3: "3, clear-text password", 5: "5, MD5", 10: "10, SCRAM-SHA-256"}
_OTHERS = {2: "2, Kerberos V5", 7: "7, GSSAPI", 9: "9, SSPI"}
# What may come next, and where that leads. A server that is content (0) ends it.
_NEXT = {
    "open": {0: "done", 3: "answered", 5: "answered", 10: "scram"},
    "answered": {0: "done"},
    "scram": {11: "proving"},
    "proving": {12: "proved"},
    "proved": {0: "done"},
}


def connect(
    rules: LoginRules,
    *,
    password: str,
    database: str,
    timeout_s: int,
    tls: str,
    host: str = "",
    port: int = 0,
    unix_sock: str | None = None,
) -> pg8000.native.Connection:
    """`timeout_s`: for the whole answer to a statement, and for the login if that is shorter than
    CONTROL_TIMEOUT_S. DynoError: the server asks for what it may
    not have, or answers without end. pg8000's Error, OSError: anything else."""
    login_s = min(timeout_s, CONTROL_TIMEOUT_S)
    bounds = Bounds(rules.place, login_s)
    way = _way(bounds, login_s, tls, host, port, unix_sock)
    try:
        with _readable():
            made = _Connection(
                rules, unix_sock is not None, way, bounds, password or None, database
            )
    except BaseException:
        way.close()
        raise
    bounds.timeout_s = timeout_s
    return made


@contextmanager
def _readable() -> Iterator[None]:
    """pg8000 indexes and decodes what a server sends: its errors become one of the protocol."""
    try:
        yield
    except (DynoError, Error, OSError):
        raise
    except Exception as error:
        what = "it does not speak PostgreSQL's protocol: its answer cannot be read"
        raise InterfaceError(what) from error


def _way(
    bounds: Bounds, timeout_s: float, tls: str, host: str, port: int, unix_sock: str | None
) -> socket.socket:
    """The socket to a server, encrypted as `tls` says."""
    way = None
    try:
        way = opened(bounds, timeout_s, host=host, port=port, path=unix_sock)
        return way if tls == "off" or unix_sock is not None else _encrypted(way, tls, host)
    except BaseException as error:
        if way is not None:
            way.close()
        if isinstance(error, OSError):
            raise InterfaceError(error.strerror or str(error)) from error
        raise


def _encrypted(way: Bounded, tls: str, host: str) -> socket.socket:
    way.sendall(_SSL_REQUEST)
    answer = way.recv(1)
    if answer == b"S":
        assert way.bounds is not None
        how = bind(context("require" if tls == "prefer" else tls), way.bounds)
        return how.wrap_socket(way, server_hostname=host)
    if answer == b"N" and tls == "prefer":
        return way
    if answer == b"N":
        raise InterfaceError("it does not offer TLS, and the target asks for it")
    raise InterfaceError("it does not speak PostgreSQL's protocol: no answer about TLS")


class _Connection(pg8000.native.Connection):
    """Answers what the policy allows, in the order of a login, and nothing after it."""

    def __init__(
        self,
        rules: LoginRules,
        on_socket: bool,
        way: socket.socket,
        bounds: Bounds,
        password: str | None,
        database: str,
    ) -> None:
        self._rules = rules
        self._private = on_socket or isinstance(way, ssl.SSLSocket)
        self._bounds = bounds
        self._stage = "open"
        super().__init__(
            rules.user,
            database=database,
            password=password,
            sock=way,
            ssl_context=False,  # TLS is on for all there is to encrypt
            application_name="dbdyno control",
        )

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:
        code = struct.unpack_from("!i", data)[0]
        following = _NEXT.get(self._stage, {})
        if code not in following:
            refusal = self._out_of_turn(code)
            self.close()
            raise refusal
        if code in _METHODS:
            self._rules.check("postgres", _METHODS[code], private=self._private)
            if self.password is None:
                raise InterfaceError("it asks for a password, and none is known")
        if code == 10:
            data = self._mechanisms(data)
        if code == 11:
            self._check_iterations(data[4:])
        try:
            super().handle_AUTHENTICATION_REQUEST(data, context)
        except scramp.ScramException as error:
            raise self._scram_failed(str(error)) from None
        self._stage = following[code]

    def handle_READY_FOR_QUERY(self, data: bytes, context: Any) -> None:
        if self._stage != "done":
            raise self._out_of_turn(0)
        super().handle_READY_FOR_QUERY(data, context)

    def handle_DATA_ROW(self, data: bytes, context: Any) -> None:
        self._bounds.count_row()
        super().handle_DATA_ROW(data, context)

    def execute_simple(self, statement: str) -> Any:
        with _readable():
            return super().execute_simple(statement)

    def close(self) -> None:
        """The farewell need not reach a server that has hung up."""
        with contextlib.suppress(Error, OSError):
            super().close()

    def _mechanisms(self, data: bytes) -> bytes:
        """The request, less the mechanisms that are not in the policy."""
        offered = [name for name in data[4:].split(b"\0") if name]
        known = [name for name in offered if name.decode("utf-8", "replace") in SCRAM_MECHANISMS]
        if not known:
            shown = b", ".join(offered).decode("utf-8", "replace")
            raise self._rules.refusal(
                f"the server offers only {shown or 'nothing'} for SCRAM",
                "let pg_hba.conf offer scram-sha-256 to this user",
            )
        return data[:4] + b"".join(name + b"\0" for name in known) + b"\0"

    def _check_iterations(self, message: bytes) -> None:
        found = re.search(rb",i=([0-9]{1,10})(?:,|$)", message)
        count = int(found[1]) if found else 0
        if not SCRAM_ITERATIONS_MIN <= count <= SCRAM_ITERATIONS_MAX:
            raise self._rules.refusal(
                f"the server asks for SCRAM with {count:,} iterations, and "
                f"{SCRAM_ITERATIONS_MIN:,} to {SCRAM_ITERATIONS_MAX:,} are accepted",
                "set scram_iterations to 4096 or more and set the password again; if the server is "
                "not yours to set, do not log in",
                "an account made with a low scram_iterations, or a server that wants to guess the "
                "password from what we answer",
            )

    def _out_of_turn(self, code: int) -> DynoError:
        if self._stage in ("scram", "proving") and code == 0:
            return self._scram_failed("it let us in without proving that it knows the password")
        if self._stage == "open" and code not in (0, *_METHODS):
            name = _OTHERS.get(code, str(code))
            self._rules.check("postgres", name, private=self._private)
        return self._rules.refusal(
            f"the server sent authentication request {code} out of turn"
            + (" (clear-text password)" if code == 3 else ""),
            "look at what listens there; try the server's own client",
            "it is not PostgreSQL, or somebody on the way wants the password",
        )

    def _scram_failed(self, why: str) -> DynoError:
        return self._rules.refusal(
            f"SCRAM-SHA-256 failed: {why}",
            "look at what listens there; try the server's own client",
            "the server does not know the password, or is not PostgreSQL",
        )
