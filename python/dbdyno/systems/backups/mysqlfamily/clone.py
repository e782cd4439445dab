"""A physical backup of MySQL by its clone plugin, which copies InnoDB's files within the server.

Source: the MySQL manual, "Cloning Data Locally". Its state is that of the end of the copy.
"""

from __future__ import annotations

import shutil
import time

import pymysql

from dbdyno.systems.backups.base import Backup, Site, Tool, size_of
from dbdyno.systems.backups.mysqlfamily import sessions
from dbdyno.systems.mysql.control import quoted

ALREADY = 1125  # ER_UDF_EXISTS: the plugin is there


class Clone(Tool):
    """See the module."""

    name = "clone"
    kind = "mysql"

    def take(self, site: Site, logs: str) -> Backup:
        assert not logs, "checked by experiment.drills"
        path = site.new_directory("backup") / "data"
        with site.step("backup"):
            try:
                site.server.rows("INSTALL PLUGIN clone SONAME 'mysql_clone.so'")
            except pymysql.MySQLError as error:
                if not error.args or error.args[0] != ALREADY:
                    raise
            site.execute(f"CLONE LOCAL DATA DIRECTORY = {quoted(str(path))}")
        return Backup(self, path, time.time(), size_of(path))

    def place(self, site: Site, backup: Backup) -> None:
        with site.step("copy"):
            copy = shutil.which("cp") or "/bin/cp"
            site.run([copy, "-a", "--reflink=auto", "--", backup.path, site.data])

    def restore(self, site: Site, backup: Backup, until_unix_s: float | None) -> None:
        self.place(site, backup)
        sessions.start_closed(site)

    def check(self, site: Site) -> str:
        return sessions.check_tables(site)


TOOL = Clone()
