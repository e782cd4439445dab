"""How programs of PostgreSQL reach a server, how one is started without a network, and what is
asked of a restored one."""

from __future__ import annotations

from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import Site
from dbdyno.systems.postgres.managed import USER
from dbdyno.systems.process.account import private_file
from dbdyno.systems.process.paths import LOOPBACK

PACKAGE = "postgresql-client"
CLOSED = {"listen_addresses": ""}  # the socket in a private directory is left
TABLES = (
    "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables"
    " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
)


def conninfo(site: Site) -> str:
    """For programs that run under the server's account: by TCP, since only we may use the socket
    without a password."""
    given = site.given
    passwords = private_file(
        given.sockets / "pgpass", f"*:*:*:{USER}:{given.password}\n", site.account
    )
    return (
        f"host={LOOPBACK} port={site.server.port} user={USER} sslmode=disable passfile={passwords}"
    )


def environment(site: Site) -> dict[str, str]:
    """For programs that run as ourselves: the kernel says who we are."""
    sockets: Path = site.given.sockets
    return {"PGHOST": str(sockets), "PGPORT": str(site.server.port), "PGUSER": USER}


def check_tables(site: Site) -> str:
    """Reads all rows of the load's database: each page's checksum is verified when it is read."""
    names = [str(name) for (name,) in site.server.run(site.database, [TABLES])]
    if not names:
        raise DynoError(f"the restored server has no table in `{site.database}`")
    rows = 0
    for name in names:
        [[count]] = site.execute(f"SELECT count(*) FROM {name}")
        rows += int(count)
    return f"read {len(names)} tables with {rows} rows, page checksums good"
