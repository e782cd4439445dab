"""Where an external server is found: `mysql://app@db1.example.com:3306/shop`.

No message here repeats a URL: somebody may have written a password into it, and messages are kept.
Sources: RFC 3986; libpq's chapter on connection URIs (percent-encoded socket directories).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdyno import kinds
from dbdyno.errors import DynoError, Where
from dbdyno.experiment.file.document import Node

FORM = "KIND://USER@HOST:PORT/SCHEMA, such as mysql://app@db1.example.com:3306/shop"
FROM_ELSEWHERE = (
    "remove the password from the URL, and name its source: `password_env:`, `password_file:`, "
    "`password_command:` or `defaults_group:`; ~/.my.cnf and ~/.pgpass are read too"
)

# A password may itself hold `/`, `?` or `#`, whatever the standard says.
_WITH_PASSWORD = re.compile(
    rf"(?:{'|'.join(kinds.SCHEMES)})://(?:[^\s@]*(?::|%(?:25)*3a)[^\s@]*@|\S*[?&](?:password|passwd|pwd)=)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_SCHEMA = re.compile(r"[^\x00-\x1f/`\"'\\]{1,64}")


@dataclass(frozen=True)
class ServerUrl:
    """A URL taken apart. `host` None: by `socket`, or as the user's option file says."""

    kinds: tuple[str, ...]  # what may follow it
    user: str | None
    host: str | None
    port: int | None
    socket: str | None  # of MySQL the socket itself, of PostgreSQL its directory
    schema: str | None  # a schema (MySQL), database (PostgreSQL, MongoDB), its number (Redis)
    tls: bool | None = None  # whether its scheme says that it is encrypted; None: it is empty

    @property
    def on_this_machine(self) -> bool:
        """Whether it cannot leave the machine: a socket, or loopback."""
        return self.socket is not None or (self.host is not None and is_loopback(self.host))

    @property
    def place(self) -> str:
        """`db1.example.com:3306` or the socket: names the server in messages, and no secret."""
        if self.socket is not None:
            return self.socket
        port = self.port or kinds.of(self.kinds[0]).port
        host = self.host or "localhost"
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def usual_tls(url: ServerUrl, is_near: bool) -> str:
    """What protects a login if nobody says it: as the scheme has it, else what a network demands.
    `is_near`: neither this URL nor those used with it leave the machine."""
    if url.tls is None:
        return "prefer" if is_near else "verify"
    if not url.tls:
        return "off"
    return "require" if is_near else "verify"


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_url(text: str) -> bool:
    """Whether this names a server, not a file."""
    scheme, found, _ = text.partition("://")
    return bool(found) and scheme.lower() in kinds.SCHEMES


def refuse_unknown(text: str, *, for_check: bool = False) -> None:
    """DynoError for a URL of a scheme that names no server, where no file is called so."""
    scheme, found, rest = text.partition("://")
    if not found or is_url(text) or not _SCHEME.fullmatch(scheme) or Path(text).exists():
        return
    shown = text if "@" not in rest else f"{scheme}://..."  # there may be a password in it
    if (one := scheme.lower().removesuffix("+srv")) != scheme.lower() and one in kinds.SCHEMES:
        raise DynoError(
            f"{shown}: it names the servers of a cluster, by DNS",
            fix=f"name one of them: {one}://USER@HOST:PORT",
        )
    raise DynoError(
        f"{shown}: no kind of server, and no file of this name",
        fix=f"servers are {_known(for_check)}",
    )


def parse(text: str, *, for_check: bool = False) -> ServerUrl:
    """Takes a URL apart. ValueError with a sentence, never with the URL, if it is none, or of a
    kind that is only checked, unless it is `for_check`."""
    if _WITH_PASSWORD.search(text):
        raise ValueError("contains a password")
    if "," in text.partition("://")[2].partition("/")[0].rpartition("@")[2]:
        raise ValueError("names several servers: each needs a URL of its own")
    try:
        parts = urlsplit(text)
        host, port, user = parts.hostname, parts.port, parts.username
    except ValueError:
        raise ValueError("is not a valid URL: check its host and port") from None
    behind = kinds.SCHEMES.get(parts.scheme.lower())
    if behind is None:
        raise ValueError(f"must begin with one of {_known(for_check)}")
    if behind[0] in kinds.ONLY_CHECKED and not for_check:
        raise ValueError(f"is of {kinds.of(behind[0]).title}, which only `dyno check` reads")
    if parts.password is not None or re.search("%(?:25)*3a", user or "", re.IGNORECASE):
        raise ValueError("contains a password")
    if parts.fragment or "#" in text:
        raise ValueError("ends in a fragment (`#...`), which means nothing here")
    socket = _socket(parts.query)
    host = unquote(host) if host else None
    if host and host.startswith("/"):  # libpq's way: a percent-encoded directory as the host
        host, socket = None, socket or unquote(parts.netloc.rpartition("@")[2].partition(":")[0])
    if socket and host:
        raise ValueError("names both a host and a socket")
    schema = unquote(parts.path.removeprefix("/")) or None
    if schema is not None and not _SCHEMA.fullmatch(schema):
        raise ValueError("ends in something that cannot be a schema's name")
    has_numbers = kinds.of(behind[0]).language == kinds.REDIS
    if schema is not None and has_numbers and not schema.isdecimal():
        raise ValueError("ends in something that is no number of a database")
    if port == 0:
        raise ValueError("names port 0")
    if not host and not socket and kinds.of(behind[0]).language == kinds.POSTGRES:
        raise ValueError("names no host")
    with_tls = kinds.of(behind[0]).schemes_with_tls
    tls = parts.scheme.lower() in with_tls if with_tls else None
    return ServerUrl(behind, unquote(user) if user else None, host, port, socket, schema, tls)


def _known(for_check: bool) -> str:
    """Schemes, as a list."""
    found = (
        scheme
        for scheme, behind in kinds.SCHEMES.items()
        if for_check or behind[0] not in kinds.ONLY_CHECKED
    )
    return ", ".join(f"{scheme}://" for scheme in found)


def _socket(query: str) -> str | None:
    socket = None
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name == "socket" and value.startswith("/"):
            socket = value
        elif name == "socket":
            raise ValueError("names a socket that is not an absolute path")
        else:
            raise ValueError("has a parameter other than `socket=/PATH`")
    return socket


def refuse_passwords(root: Node) -> None:
    """DynoError for any text in a file that is a server's URL with a password in it."""
    for text, where in _texts(root):
        if _WITH_PASSWORD.search(text):
            raise _password(where)


def refuse_passwords_typed(overrides: Sequence[str]) -> None:
    """The same for `--set PATH=VALUE` texts."""
    for text in overrides:
        if _WITH_PASSWORD.search(text):
            path = text.partition("=")[0].strip()
            named = "--set" if _WITH_PASSWORD.search(path) else f"--set {path}"
            raise _password(Where(named, 1, 1))


def _texts(node: Node) -> Iterator[tuple[str, Where]]:
    for key, child in node.mapping.items():
        yield key, child.place
        yield from _texts(child)
    for child in node.items:
        yield from _texts(child)
    if node.is_scalar:
        yield node.text, node.where


def _password(where: Where) -> DynoError:
    return DynoError(
        "a URL contains a password",
        where=where,
        cause="a password in a file or on a command line is read by others, and kept in reports",
        fix=FROM_ELSEWHERE,
    )
