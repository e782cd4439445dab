"""The server behind a URL as a source of statement counts."""

from __future__ import annotations

import re
from pathlib import Path

from dbdyno import kinds
from dbdyno.digest.servers.counted import Source
from dbdyno.digest.servers.mysql import MysqlDigests
from dbdyno.digest.servers.postgres import PostgresStatements
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials, Target
from dbdyno.systems.external import reach
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres.external import PostgresRemote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


def is_url(text: str) -> bool:
    """Whether this names a server, not a file."""
    scheme, found, _ = text.partition("://")
    return bool(found) and scheme.lower() in kinds.SCHEMES


def refuse_unknown(text: str) -> None:
    """DynoError for a URL of a scheme that names no server, where no file is called so."""
    scheme, found, rest = text.partition("://")
    if not found or is_url(text) or not _SCHEME.fullmatch(scheme) or Path(text).exists():
        return
    shown = text if "@" not in rest else f"{scheme}://..."  # there may be a password in it
    raise DynoError(
        f"{shown}: no kind of server, and no file of this name",
        fix=f"servers are {', '.join(f'{known}://' for known in kinds.SCHEMES)}",
    )


def open_server(
    text: str, credentials: Credentials, tls: str | None
) -> MysqlRemote | PostgresRemote:
    """Logs in. DynoError if the URL is none (which is not repeated: it may hold a password), or as
    `reach.connect`."""
    try:
        url = server_url.parse(text)
    except ValueError as error:
        raise DynoError(
            f"the server's URL {error}",
            fix=server_url.FORM + "; " + server_url.FROM_ELSEWHERE,
        ) from None
    target = Target(name=url.place, kind=url.kinds[0], url=text, credentials=credentials)
    if tls is not None:
        target = Target(
            name=url.place, kind=url.kinds[0], url=text, credentials=credentials, tls=tls
        )
    server = reach.connect(target, text)
    assert isinstance(server, MysqlRemote | PostgresRemote)
    return server


def open_source(text: str, credentials: Credentials, tls: str | None) -> Source:
    """The same as a source of counts."""
    server = open_server(text, credentials, tls)
    return (
        PostgresStatements(server) if isinstance(server, PostgresRemote) else MysqlDigests(server)
    )
