"""Reaching an external server: the kind of server at a URL, and the account there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pg8000.exceptions
import pymysql

from dbdyno import kinds, systems
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.experiment.types import Credentials, Target
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.base import Binaries, Copy, Resolved, Server, System, TargetPlan, Word
from dbdyno.systems.external import credentials
from dbdyno.systems.external.credentials import Login
from dbdyno.systems.external.server import Refused, RemoteServer
from dbdyno.systems.mongodb.client import MongoError
from dbdyno.systems.mongodb.external import MongoRemote
from dbdyno.systems.mysql import family as mysqlfamily
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres import system
from dbdyno.systems.postgres.control import message
from dbdyno.systems.postgres.external import PostgresRemote
from dbdyno.systems.redis.client import RedisError
from dbdyno.systems.redis.external import RedisRemote
from dbdyno.systems.redis.settings import refuse_sql_words
from dbdyno.systems.server_errors import understanding

AS_FOUND = Word(
    "an external server",
    {},
    "not started by dbdyno: memory, durability and all else are as found",
)
ERRORS = (pymysql.Error, pg8000.exceptions.Error, RedisError, MongoError, OSError)


def system_of(target: TargetPlan) -> System:
    """What maps the words of a target: its kind, or what holds for external servers."""
    return RemoteSystem(target.kind) if target.url else systems.load(target.kind)


class RemoteSystem:
    """The words of an external target. It is found by its URL, and never prepared or
    started."""

    about = "an external server, reached by its URL"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.driver = systems.load(kind).driver

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        return Binaries(version="as found", host=host)

    def installations(self) -> Sequence[str]:
        return ()

    def resolve(self, target: TargetPlan) -> Resolved:
        portable_options.check_words(target)
        if kinds.of(target.kind).language == kinds.REDIS:
            refuse_sql_words(target)
        config = portable_options.settings_of(target.config, target.kind, ())
        said: list[Word] = [AS_FOUND]
        session: tuple[str, ...] = ()
        if target.isolation is not None:
            family = system if kinds.of(target.kind).language == kinds.POSTGRES else mysqlfamily
            word = family.isolation_word(target.isolation)
            said.append(word)
            session = (word.settings["session"],)
        if config:
            said.append(Word("config", dict(config), "set for the run, then restored"))
        return Resolved(settings=config, session_sql=session, words=tuple(said))

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        raise _never(self.kind)

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        raise _never(self.kind)

    def start(
        self, binaries: Binaries, directory: Path, resolved: Resolved, cpus: Sequence[int]
    ) -> Server:
        raise _never(self.kind)


def _never(kind: str) -> DynoError:
    return DynoError(f"{kind}: an external server is not started", cause="a defect of dbdyno")


@dataclass(frozen=True)
class Surveyed:
    """What an external server says of itself."""

    kind: str
    version: str
    started_unix_s: float

    def __str__(self) -> str:
        started = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self.started_unix_s))
        return f"{self.kind} {self.version}, up since {started}"


def survey(target: TargetPlan, text: str) -> Surveyed:
    """Logs in and out again. DynoError as `connect`."""
    server = connect(target, text)
    try:
        with understanding(server.place, "how long it is up"):
            started_unix_s = round(time.time() - server.uptime_s(), 1)
            time.gmtime(started_unix_s)
        return Surveyed(server.kind, server.version, started_unix_s)
    finally:
        server.stop()


def open_url(
    text: str, credentials: Credentials, tls: str | None, *, for_check: bool = False
) -> RemoteServer:
    """The server behind a URL that was typed, logged in. DynoError if the URL is none (which is not
    repeated: it may hold a password), or as `connect`. `for_check`: it may be of a kind that is
    only checked, and then has no more than its class says."""
    try:
        url = server_url.parse(text, for_check=for_check)
    except ValueError as error:
        raise DynoError(
            f"the server's URL {error}",
            fix=server_url.FORM + "; " + server_url.FROM_ELSEWHERE,
        ) from None
    target = Target(
        name=url.place,
        kind=url.kinds[0],
        url=text,
        credentials=credentials,
        tls=tls or server_url.usual_tls(url, url.on_this_machine),
    )
    return connect(target, text, _TYPED)


@dataclass(frozen=True)
class _Spelling:
    """How the words of a login are written where the URL stands: messages repeat them."""

    passwords: str
    group: str
    authority: str
    encryption: str


_WRITTEN = _Spelling(
    "`password_env:`, `password_file:`, `password_command:`",
    "`defaults_group:`",
    "`tls: ca:FILE`",
    "`tls: prefer`",
)
_TYPED = _Spelling(
    "`--password-env`, `--password-file`, `--password-command`",
    "`--defaults-group`",
    "`--tls ca:FILE`",
    "`--tls prefer`",
)


def connect(target: TargetPlan, text: str, spelling: _Spelling = _WRITTEN) -> RemoteServer:
    """The server behind one URL of a target, logged in. DynoError if it cannot be reached, refuses
    us, or is of another kind."""
    url = server_url.parse(text, for_check=True)
    login = credentials.find(url, target.kind, target.credentials, kinds.of(target.kind).port)
    try:
        try:
            server = _logged_in(target, url, login)
        except Refused:
            again = None if login.password else credentials.ask(login, url.place)
            if again is None:
                raise
            server = _logged_in(target, url, again)
    except Refused as refused:
        raise _refused(str(refused), url, login, target, spelling) from None
    except ERRORS as error:
        raise DynoError(
            f"target `{target.name}`: {url.place} cannot be reached: {_words(error)}",
            cause=_likely(_words(error), spelling),
            fix="try the URL with the server's own client",
        ) from None
    _check_kind(server, target, url)
    return server


def _logged_in(target: TargetPlan, url: ServerUrl, login: Login) -> RemoteServer:
    server = _REMOTES[kinds.of(target.kind).language](target.kind, url, login, target.tls)
    try:
        server.log_in()
    except BaseException:
        server.close_connection()
        raise
    return server


def _check_kind(server: RemoteServer, target: TargetPlan, url: ServerUrl) -> None:
    """`mysql://` names a protocol, so MariaDB may answer, and is then reported."""
    if server.kind == target.kind:
        return
    if target.kind == "mysql" and server.kind in url.kinds:
        remark = f"target `{target.name}` is called mysql, and {server.version} answers"
        server.remark = "; ".join(filter(None, (server.remark, remark)))
        return
    version = server.version
    server.stop()
    raise DynoError(
        f"target `{target.name}` is called {target.kind}, and {version} answers at {url.place}",
        cause="the URL leads to another server than meant",
        fix=f"write `kind: {server.kind}`, or correct the URL",
    )


_REMOTES: dict[str, Callable[[str, ServerUrl, Login, str], Any]] = {
    kinds.MYSQL: MysqlRemote,
    kinds.POSTGRES: lambda _, url, login, tls: PostgresRemote(url, login, tls),
    kinds.REDIS: RedisRemote,
    kinds.MONGODB: MongoRemote,
}


def _refused(
    words_: str, url: ServerUrl, login: Login, target: TargetPlan, spelling: _Spelling
) -> DynoError:
    user = login.user or "default"
    own = {
        kinds.MYSQL: f", {spelling.group} or ~/.my.cnf",
        kinds.POSTGRES: " or ~/.pgpass",
        kinds.REDIS: f" or the environment's {kinds.of(target.kind).password_variable}",
        kinds.MONGODB: "; a user of another database than admin has it in the URL, behind a slash",
    }
    if login.password:
        cause = f"the password from {login.source} is wrong, or the user may not come from here"
    else:
        cause = "no password is known for it"
    return DynoError(
        f"target `{target.name}`: {url.place} refuses user {user}: {words_}",
        cause=cause,
        fix=f"name the password's source: {spelling.passwords}"
        + own[kinds.of(target.kind).language],
    )


def _words(error: Exception) -> str:
    """PyMySQL adds the exception that it caught in parentheses: its words are enough."""
    text = str(error.args[1]) if len(error.args) > 1 else message(error)
    return re.sub(r"\s*\((?:\[Errno -?\d+\] |\w+\(\d+, ')([^()']*)'?\)+$", r": \1", text)


def _likely(text: str, spelling: _Spelling) -> str:
    lower = text.lower()
    if "protocol" in lower:
        return "another kind of server listens there, or something between changes what it says"
    if "certificate" in lower or "ssl" in lower or "tls" in lower:
        return (
            "its certificate is not signed by an authority that this machine trusts, or it offers "
            f"no TLS: {spelling.authority} names the authority, and {spelling.encryption} does"
            " without a proof of who answers"
        )
    if "unknown database" in lower or "does not exist" in lower:
        return "the URL ends in a schema that is not there"
    return "it does not run, listens elsewhere, or a firewall is in the way"
