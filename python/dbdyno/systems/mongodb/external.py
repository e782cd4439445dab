"""A server that speaks MongoDB's protocol, to be read: who we are there, and what it is.

Commands only read, and each has `maxTimeMS`. Source: the MongoDB manual, "hello", "buildInfo".
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from dbdyno import __version__
from dbdyno.errors import DynoError
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.systems.external import credentials
from dbdyno.systems.external.credentials import Login
from dbdyno.systems.external.encryption import context
from dbdyno.systems.external.server import Refused
from dbdyno.systems.logins.bounded import Bounded, Bounds, bind, opened
from dbdyno.systems.mongodb import scram
from dbdyno.systems.mongodb.client import (
    COMMAND_NOT_FOUND,
    UNAUTHORIZED,
    Client,
    MongoError,
)
from dbdyno.systems.process.starting import CONTROL_TIMEOUT_S
from dbdyno.systems.server_errors import understood

ADMIN = "admin"
COMMAND_TIMEOUT_MS = 5_000
PREFERRED_S = 3.0  # for TLS that need not be: a FerretDB without it waits in silence for more
_WHO = {
    "application": {"name": "dbdyno"},
    "driver": {"name": "dbdyno", "version": __version__},
    "os": {"type": "Linux"},
}
# Of buildInfo; what else speaks the protocol (Amazon DocumentDB, Azure Cosmos DB) has none of them.
_OF_MONGODB = ("storageEngines", "javascriptEngine", "openssl")


class NoTls(OSError):
    """It does not answer in TLS."""


@understood
class MongoRemote:
    """See the module. `engine`: what answers, mongodb or ferretdb; `version`: its own."""

    kind = "mongodb"

    def __init__(self, kind: str, url: ServerUrl, login: Login, tls: str) -> None:
        self.place, self.address = url.place, login.socket or login.host
        self.remark = login.warning
        self.engine, self.version, self.title = kind, "", ""
        self.hello: Mapping[str, Any] = {}
        self.session_tls = ""  # TLSv1.3; empty: without
        self._database = url.schema or ADMIN  # in which the user is
        self._login = login
        self._tls = credentials.tls_of(tls, login)
        self._client: Client | None = None

    # ---- connections

    def log_in(self) -> None:
        """Opens the connection, logs in if the URL names a user, and learns what answers. Refused,
        OSError, MongoError, DynoError."""
        login = self._login
        if login.password and not login.user:
            raise DynoError(
                f"{self.place}: there is a password, and the URL names no user",
                fix="write mongodb://USER@HOST, with the user's database behind a slash if it is"
                f" not {ADMIN}",
            )
        if login.user and not login.password:
            raise Refused("no password was given")
        self._client = self._open()
        user = f"{self._database}.{login.user}" if login.user else ""
        self.hello = self._greet(self._client, user)
        if login.user:
            rules, offered = login.rules(self.place), self.hello.get("saslSupportedMechs")
            known = offered if isinstance(offered, list) else None
            scram.log_in(self._client, rules, self._database, login.password, known)
        self._learn(self.ask("buildInfo"))

    def _open(self) -> Client:
        """A connection, encrypted as `tls` says; `prefer` tries TLS first."""
        if self._tls == "off":
            return Client(self._way())
        try:
            way: Any = self._encrypted()
        except (ssl.SSLError, NoTls):
            if self._tls != "prefer":
                raise
            self._tls, way = "off", self._way()
        self.session_tls = way.version() or "" if isinstance(way, ssl.SSLSocket) else ""
        return Client(way)

    def _way(self) -> Bounded:
        login = self._login
        bounds = Bounds(self.place, CONTROL_TIMEOUT_S)
        return opened(
            bounds, CONTROL_TIMEOUT_S, host=login.host, port=login.port, path=login.socket
        )

    def _encrypted(self) -> ssl.SSLSocket:
        way, preferred = self._way(), self._tls == "prefer"
        try:
            assert way.bounds is not None
            how = bind(context("require" if preferred else self._tls), way.bounds)
            if preferred:
                way.settimeout(PREFERRED_S)
            return how.wrap_socket(way, server_hostname=self._login.host)
        except BaseException as error:
            way.close()
            if isinstance(error, ConnectionError | TimeoutError):
                raise NoTls(f"it does not answer in TLS: {error.strerror or error}") from error
            raise

    def _greet(self, client: Client, user: str) -> dict[str, Any]:
        """`hello`, which before 4.4.2 has another name."""
        about = {"client": _WHO, **({"saslSupportedMechs": user} if user else {})}
        try:
            return client.command(ADMIN, {"hello": 1, **about})
        except MongoError as error:
            if error.code != COMMAND_NOT_FOUND:
                raise
            return client.command(ADMIN, {"isMaster": 1, **about})

    def close_connection(self) -> None:
        """Closes it."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def stop(self, *, discard: bool = False) -> bool:
        """It goes on; only our connection is closed."""
        self.close_connection()
        return True

    def unanswered(self, error: Exception) -> DynoError:
        """The error for one of the client's."""
        return DynoError(
            f"{self.place}: {error}",
            cause="it is gone, or refuses",
            fix="see the commands in the guide `check`, and the server's log",
        )

    # ---- asking

    def ask(self, name: str, value: Any = 1, **more: Any) -> dict[str, Any]:
        """The answer of the database `admin` to a command. MongoError, OSError."""
        assert self._client is not None
        asked = {name: value, **more, "maxTimeMS": COMMAND_TIMEOUT_MS}
        return self._client.command(ADMIN, asked)

    def demands_login(self, name: str) -> bool:
        """Whether a connection without a login is refused a command that needs a privilege.
        MongoError for another refusal; OSError."""
        stranger = self._open()
        try:
            self._greet(stranger, "")
            stranger.command(ADMIN, {name: 1, "maxTimeMS": COMMAND_TIMEOUT_MS})
            return False
        except MongoError as error:
            if error.code == UNAUTHORIZED:
                return True
            raise
        finally:
            stranger.close()

    def _learn(self, build: Mapping[str, Any]) -> None:
        """What it is: FerretDB gives its own version, next to that of the MongoDB it stands for."""
        spoken = str(build["version"])
        own = build.get("ferretdb")
        if isinstance(own, Mapping) or "ferretdbVersion" in build:
            version = own["version"] if isinstance(own, Mapping) else build["ferretdbVersion"]
            self.engine, self.version = "ferretdb", str(version)
            self.title = f"FerretDB {version}, which speaks as MongoDB {spoken}"
            return
        if not any(name in build for name in _OF_MONGODB):
            raise DynoError(
                f"{self.place} speaks MongoDB's protocol, and is neither MongoDB nor FerretDB:"
                f" its buildInfo has none of {', '.join(_OF_MONGODB)}",
                cause="another product, such as Amazon DocumentDB or Azure Cosmos DB",
                fix="none here: what is known of MongoDB does not hold for it",
            )
        fork = build.get("psmdbVersion")
        self.version = spoken
        self.title = f"Percona Server for MongoDB {fork}" if fork else f"MongoDB {spoken}"
