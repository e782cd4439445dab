"""The server behind a URL as a source of statement counts."""

from __future__ import annotations

from dbdyno.digest.servers.counted import Source
from dbdyno.digest.servers.mysql import MysqlDigests
from dbdyno.digest.servers.postgres import PostgresStatements
from dbdyno.experiment.types import Credentials
from dbdyno.systems.external import reach
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres.external import PostgresRemote


def open_server(
    text: str, credentials: Credentials, tls: str | None
) -> MysqlRemote | PostgresRemote:
    """Logs in. DynoError as `reach.open_url`."""
    server = reach.open_url(text, credentials, tls)
    assert isinstance(server, MysqlRemote | PostgresRemote)
    return server


def open_source(text: str, credentials: Credentials, tls: str | None) -> Source:
    """The same as a source of counts."""
    server = open_server(text, credentials, tls)
    return (
        PostgresStatements(server) if isinstance(server, PostgresRemote) else MysqlDigests(server)
    )
