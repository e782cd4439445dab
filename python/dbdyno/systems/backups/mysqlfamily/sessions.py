"""How programs of MariaDB and MySQL reach a server, how a server is started without a network, and
what is asked of a restored one."""

from __future__ import annotations

from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import Program, Site
from dbdyno.systems.mysql.control import quoted_name
from dbdyno.systems.mysql.managed import USER
from dbdyno.systems.process.account import private_file

CLOSED = {"skip_networking": "ON"}  # the socket in a private directory is left
GOOD = ("status", "note", "info")  # types of what CHECK TABLE says
TABLES = (
    "SELECT table_name FROM information_schema.tables"
    " WHERE table_schema = '{}' AND table_type = 'BASE TABLE'"
)


def options(site: Site, name: str = "drill.cnf", above: str = "") -> Path:
    """A private file of options with the login. It goes with the server's process."""
    given = site.given
    text = (
        f'{above}[client]\nuser={USER}\npassword="{given.password}"\n'
        f"socket={site.server.socket_path}\n"
    )
    return private_file(given.sockets / name, text, site.account)


def client(site: Site, what: str = "") -> Path:
    """A client program of the server's own family: of MariaDB `mariadb-dump`, of MySQL `mysqldump`
    for `dump`."""
    return client_of(site.server.kind, what).found(site.server.client_places)


def client_of(kind: str, what: str = "") -> Program:
    """The same for a kind of server."""
    of_mysql = f"mysql{what}"
    if kind == "mysql":
        return Program((of_mysql,), "default-mysql-client")
    return Program((f"mariadb-{what}".rstrip("-"), of_mysql), "mariadb-client")


def logs(site: Site) -> bool:
    """Whether the server writes a binary log."""
    [[on]] = site.server.rows("SELECT @@GLOBAL.log_bin")
    return bool(int(on))


def start_closed(site: Site) -> None:
    """Starts the server on its directory; the load does not reach it."""
    with site.step("start"):
        site.server.start_again(CLOSED)


def check_tables(site: Site) -> str:
    """CHECK TABLE of all tables of the load. DynoError with what it says of one that is damaged."""
    names = [str(name) for (name,) in site.server.rows(TABLES.format(site.database))]
    if not names:
        raise DynoError(f"the restored server has no table in `{site.database}`")
    for name in names:
        rows = site.execute(f"CHECK TABLE {quoted_name(name)} EXTENDED")
        said = [str(text) for _, _, kind, text in rows if str(kind).lower() not in GOOD]
        if said:
            raise DynoError(
                f"table `{name}` of the restored server is damaged: {'; '.join(said)}",
                cause="the backup was damaged, or its logs were replayed on other data",
                fix="see the server's log; take another backup",
            )
    return f"CHECK TABLE of {len(names)} tables: good"
