"""Who we are at an external server, and the password for it.

A password comes from where the target says (an environment variable, a file, a command, a group of
~/.my.cnf), else from the user's own files, else from a prompt. It lives in this process's memory
and on the pipe to the load engine, nowhere else; no message of this module repeats one.

Sources: the MySQL manual, "Using Option Files"; the PostgreSQL manual, "The Password File".
"""

from __future__ import annotations

import functools
import getpass
import os
import re
import selectors
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dbdyno import kinds, userconfig
from dbdyno.errors import DynoError
from dbdyno.experiment.file.hidden import HIDDEN
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.experiment.types import Credentials
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import DEVNULL, PIPE, Process, TimedOut, end_group
from dbdyno.systems.logins.mysql import rsa_key
from dbdyno.systems.logins.policy import PUBLIC_KEY_BYTES_MAX, TAKE_KEY, LoginRules

COMMAND_TIMEOUT_S = 30.0
END_S = 0.2  # that the command is given to end by itself when it is stopped
PASSWORD_MAX = 4096  # characters: more is not a password but the wrong file
FILE_BYTES_MAX = 1 << 20
TLS_ORDER = ("off", "prefer", "require", "verify")  # weakest first


@dataclass(frozen=True)
class Login:
    """How a server is reached and as whom. `password` empty: none is known."""

    user: str
    password: str = field(repr=False)
    host: str
    port: int
    socket: str | None
    source: str  # where the password came from, for messages
    tls_min: str | None = None  # what the option file insists on
    ca: str | None = None  # the option file's authority
    warning: str = ""
    cleartext: bool = False  # see `LoginRules`
    server_key: str = ""

    @property
    def is_on_this_machine(self) -> bool:
        """Whether nothing that is sent leaves the machine."""
        return self.socket is not None or server_url.is_loopback(self.host)

    def rules(self, place: str) -> LoginRules:
        """What the server at `place` may ask of us."""
        return LoginRules(place, self.user, self.cleartext, self.server_key)


_asked: dict[tuple[str, int, str | None, str], str] = {}  # answers to prompts, for this process


def find(url: ServerUrl, kind: str, credentials: Credentials, default_port: int) -> Login:
    """The login for a URL. DynoError where a named source does not give a password."""
    credentials = _of_user(url, kind, credentials, default_port)
    options: Mapping[str, str] = {}
    language = kinds.of(kind).language
    if language == kinds.MYSQL:
        options = option_file(Path.home() / ".my.cnf", kind, credentials.defaults_group)
    socket = url.socket or (None if url.host else options.get("socket"))
    login = Login(
        user=url.user or options.get("user") or _default_user(language),
        password="",
        host=url.host or options.get("host") or "localhost",
        port=url.port or _port(options) or default_port,
        socket=socket,
        source="",
        tls_min=_tls_min(options),
        ca=options.get("ssl_ca"),
        cleartext=credentials.cleartext or _set(options, "enable_cleartext_plugin"),
        server_key=_server_key(credentials, options),
    )
    password, source, warning = _password(login, url, kind, credentials, options)
    if not password:
        password = _asked.get(_key(login), "")
        source = "the prompt" if password else source
    return replace(login, password=password, source=source, warning=warning)


def _of_user(url: ServerUrl, kind: str, credentials: Credentials, default_port: int) -> Credentials:
    """With the source that the user's own settings name for the server, where nothing else does."""
    if any(getattr(credentials, source) is not None for source in userconfig.SOURCES):
        return credentials
    user = url.user or _default_user(kinds.of(kind).language)
    found = userconfig.read().password(user, url.host or "localhost", url.port or default_port)
    named: dict[str, Any] = {} if found is None else dict([found])
    return replace(credentials, **named)


def _default_user(language: str) -> str:
    """Redis has a user for those who name none; in MongoDB they do not log in."""
    return "" if language in (kinds.REDIS, kinds.MONGODB) else getpass.getuser()


def ask(login: Login, place: str) -> Login | None:
    """The login with a password that the user types; None without a terminal to ask at."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    try:
        password = getpass.getpass(f"password of {login.user} at {place}: ", stream=sys.stderr)
    except (EOFError, KeyboardInterrupt):
        return None
    _asked[_key(login)] = password
    return replace(login, password=password, source="the prompt")


def _key(login: Login) -> tuple[str, int, str | None, str]:
    return (login.host, login.port, login.socket, login.user)


def _password(
    login: Login,
    url: ServerUrl,
    kind: str,
    credentials: Credentials,
    options: Mapping[str, str],
) -> tuple[str, str, str]:
    """(password, where it came from, warning). Empty where no source was named or found."""
    if credentials.env is not None:
        return (*_from_environment(credentials.env), "")
    if credentials.file is not None:
        return _from_file(Path(credentials.file))
    if credentials.command is not None:
        return (*_from_command(credentials.command), "")
    if variable := kinds.of(kind).password_variable:
        password = os.environ.get(variable, "")
        return password, variable if password else "", ""
    if kinds.of(kind).language == kinds.POSTGRES:
        path = Path(os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")
        found = password_file(path, login, url.schema or login.user)
        return found, str(path) if found else "", ""
    password = options.get("password", "")
    path = Path.home() / ".my.cnf"
    return password, str(path) if password else "", _readable(path) if password else ""


def _from_environment(name: str) -> tuple[str, str]:
    value = os.environ.get(name)
    if not value:
        raise DynoError(
            f"the environment variable {name} holds no password",
            cause="it is not set, is empty, or was not exported"
            if value is None
            else "it is empty",
            fix=f"export {name}, or name another source of the password",
        )
    return _plausible(value, f"environment variable {name}")


def _from_file(path: Path) -> tuple[str, str, str]:
    path = path.expanduser()
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX)
    except OSError as error:
        raise DynoError(
            f"the password file {path} cannot be read: {error.strerror}",
            cause="a misspelt path, or no permission",
            fix="correct `password_file:`",
        ) from None
    lines = raw.decode("utf-8", "replace").splitlines()
    if not lines or not lines[0]:
        raise DynoError(f"the password file {path} is empty", fix="write the password into it")
    return (*_plausible(lines[0], str(path)), _readable(path))


@functools.lru_cache(maxsize=64)
def _from_command(command: str) -> tuple[str, str]:
    """The first line that it prints; run once a process. Its complaints go to the user's terminal,
    and no further."""
    if command == HIDDEN:
        raise DynoError(
            "the text of `password_command` is not kept in run directories and bundles",
            cause="`--set` gave it, or the experiment's file has moved",
            fix="put the file back; or start a new run from an experiment that names the source",
        )
    # In the terminal's session, since it may ask there; in a group of its own, since whatever it
    # has started ends with it.
    process = LOCAL.start(["/bin/sh", "-c", command], stdin=DEVNULL, stdout=PIPE, group="group")
    output = _said(process)
    if process.returncode != 0:
        raise DynoError(
            f"`password_command` ended with status {process.returncode}",
            cause="see what it printed above",
            fix="run it by hand",
        )
    lines = output.decode("utf-8", "replace").splitlines()
    if not lines or not lines[0]:
        raise DynoError(
            "`password_command` printed nothing in its first line", fix="run it by hand"
        )
    return _plausible(lines[0], "password_command")


def _said(process: Process) -> bytes:
    """What it prints until its end. Killed with all it has started if that takes too long, is far
    too much, or the user wants to stop."""
    assert process.stdout is not None
    said, deadline = b"", time.monotonic() + COMMAND_TIMEOUT_S
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    process.wait(max(0.0, deadline - time.monotonic()))
                    return said
                said += part
                if len(said) > FILE_BYTES_MAX:
                    raise DynoError(
                        "`password_command` prints without end",
                        cause="it is not a command that prints a password",
                        fix="run it by hand",
                    )
        raise TimedOut("password_command", COMMAND_TIMEOUT_S)
    except TimedOut:
        raise DynoError(
            f"`password_command` did not end within {COMMAND_TIMEOUT_S:.0f} s",
            cause="it waits for something, such as an answer or a network",
            fix="run it by hand",
        ) from None
    finally:
        process.stdout.close()
        if process.poll() is None:
            end_group(process, END_S)


def _plausible(password: str, source: str) -> tuple[str, str]:
    if len(password) > PASSWORD_MAX or "\0" in password:
        raise DynoError(
            f"what {source} holds is not a password: it is longer than {PASSWORD_MAX} characters "
            "or binary",
            fix="name the right source",
        )
    return password, source


def _readable(path: Path) -> str:
    """A warning if others may read a file with a password."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        return f"{path} holds a password and others may read it: `chmod 600 {path}`"
    return ""


# ---- ~/.my.cnf

_OPTIONS = frozenset(
    """enable_cleartext_plugin get_server_public_key host password port server_public_key_path
    skip_ssl socket ssl ssl_ca ssl_mode ssl_verify_server_cert user""".split()  # noqa: SIM905
)
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\"}


def option_file(path: Path, kind: str, group: str | None) -> dict[str, str]:
    """Connection options of `[client]`, then of `group`, by name with underscores. Empty if there
    is no such file; DynoError if it does not have `group`."""
    groups = ["client", *(["client-mariadb"] if kind == "mariadb" else [])]
    groups += [group] if group is not None else []
    found: dict[str, dict[str, str]] = {}
    for name, option, value in _option_lines(path):
        options = found.setdefault(name, {})
        if option in _OPTIONS:
            options[option] = value
    if group is not None and group not in found:
        raise DynoError(
            f"there is no group [{group}] in {path}",
            cause="a misspelt `defaults_group:`, or another home directory",
            fix=f"add it: [{group}], then lines user=... and password=...",
        )
    merged: dict[str, str] = {}
    for name in groups:
        merged.update(found.get(name, {}))
    return merged


def _option_lines(path: Path) -> Iterator[tuple[str, str, str]]:
    """(group, option, value) of each line; (group, "", "") where a group begins."""
    try:
        with path.open("rb") as file:
            text = file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
        if path.stat().st_mode & stat.S_IWOTH:
            return  # as the clients do: anybody could have written it
    except OSError:
        return
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;!":
            continue
        if line[0] == "[" and "]" in line:
            group = line[1 : line.index("]")].strip()
            yield group, "", ""
        elif group:
            name, _, value = line.partition("=")
            yield group, name.strip().lower().replace("-", "_"), _unquoted(value.strip())


def _unquoted(value: str) -> str:
    """A value without its quotes or trailing comment, escapes resolved."""
    quoted = re.fullmatch(r"(['\"])(.*)\1(?:\s*#.*)?", value)
    bare = quoted[2] if quoted else re.sub(r"\s+#.*|^#.*", "", value)
    return re.sub(r"\\([btnrs\\])", lambda found: _ESCAPES[found[1]], bare)


def _port(options: Mapping[str, str]) -> int | None:
    port = options.get("port", "")
    return int(port) if port.isdigit() and 0 < int(port) < 65536 else None


def _tls_min(options: Mapping[str, str]) -> str | None:
    """The least that an option file asks of TLS; it can only make the target's word stricter."""
    mode = options.get("ssl_mode", "").upper()
    if mode in ("VERIFY_CA", "VERIFY_IDENTITY") or _set(options, "ssl_verify_server_cert"):
        return "verify"
    if mode == "REQUIRED" or _set(options, "ssl"):
        return "require"
    return None


def _set(options: Mapping[str, str], name: str) -> bool:
    return name in options and options[name].lower() not in ("0", "off", "false", "no")


def _server_key(credentials: Credentials, options: Mapping[str, str]) -> str:
    """The server's RSA key that may encrypt the password: PEM text, `get`, or empty."""
    named = credentials.server_public_key or options.get("server_public_key_path")
    if named is None:
        return TAKE_KEY if _set(options, "get_server_public_key") else ""
    if named == TAKE_KEY:
        return TAKE_KEY
    path = Path(named).expanduser()
    try:
        with path.open("rb") as file:
            pem = file.read(PUBLIC_KEY_BYTES_MAX)
        rsa_key(pem)
        return pem.decode()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it holds no RSA public key in PEM"
        raise DynoError(
            f"the server's public key {path} cannot be used: {why}",
            cause="a misspelt path, or the wrong file",
            fix="name a copy of public_key.pem from the server's data directory in "
            "`server_public_key:`, or say `get`",
        ) from None


def tls_of(word: str, login: Login) -> str:
    """The target's `tls` word with what the option file adds: an authority, a stricter mode."""
    if login.socket is not None:
        return "off"  # it does not leave the machine, and engines of both kinds offer none there
    if word in TLS_ORDER and login.tls_min is not None:
        word = max(word, login.tls_min, key=TLS_ORDER.index)
    return f"ca:{Path(login.ca).expanduser()}" if word == "verify" and login.ca else word


# ---- ~/.pgpass


def password_file(path: Path, login: Login, database: str) -> str:
    """The password of the first line that matches, or empty. DynoError if others may read it: libpq
    ignores such a file, with a message that goes unseen."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return ""
        with path.open("rb") as file:
            text = file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
    hosts = {login.host} if login.socket is None else {login.socket, "localhost"}
    for line in text.splitlines():
        fields = _pgpass_fields(line)
        if len(fields) != 5 or line.startswith("#"):
            continue
        host, port, name, user, password = fields
        matches = (
            (host == "*" or host in hosts)
            and port in ("*", str(login.port))
            and name in ("*", database)
            and user in ("*", login.user)
        )
        if not matches:
            continue
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise DynoError(
                f"{path} is not used: others may read it",
                cause="a password file must be its owner's alone, as libpq has it",
                fix=f"chmod 600 {path}",
            )
        return password
    return ""


def _pgpass_fields(line: str) -> list[str]:
    """Splits at colons; a backslash takes the next character as it is."""
    fields, escaped = [""], False
    for char in line:
        if escaped or (char not in ":\\"):
            fields[-1] += char
            escaped = False
        elif char == "\\":
            escaped = True
        elif len(fields) < 5:
            fields.append("")
        else:
            fields[-1] += char
    return fields
