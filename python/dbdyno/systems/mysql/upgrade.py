"""The system tables of a server that was started with newer programs on older data.

Source: the MariaDB knowledge base on mariadb-upgrade. It writes nothing into the binary log, so
that each node of a topology is upgraded by itself.
"""

from __future__ import annotations

from dbdyno.systems.backups.base import Site
from dbdyno.systems.backups.mysqlfamily import sessions


def upgrade_tables(site: Site) -> None:
    """Returns once all system tables are those of the server's version."""
    program = site.program("mariadb-upgrade", "mysql_upgrade", package="mariadb-server")
    site.run([program, f"--defaults-file={sessions.options(site)}", "--silent"])
