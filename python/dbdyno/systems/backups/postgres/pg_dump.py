"""A logical backup of PostgreSQL by pg_dump: what makes the load's database again, as it was when
the dump began. It has no place in the log: nothing can be replayed after it.

Sources: PostgreSQL's manual on pg_dump and pg_restore.
"""

from __future__ import annotations

import time

from dbdyno.systems.backups.base import Backup, Program, Site, Tool, size_of
from dbdyno.systems.backups.postgres import sessions

DUMP, RESTORE = (Program((name,), sessions.PACKAGE) for name in ("pg_dump", "pg_restore"))


class PgDump(Tool):
    """See the module."""

    name = "dump"
    physical = False
    kind = "postgres"
    programs = (DUMP, RESTORE)

    def take(self, site: Site, logs: str) -> Backup:
        assert not logs, "checked by experiment.drills"
        program = DUMP.found(site.server.client_places)
        file = site.new_directory("backup") / "dump"
        began_s = time.time()
        with site.step("backup"):
            site.run(
                [program, "--format=custom", f"--file={file}", site.database],
                sessions.environment(site),
                as_account=False,
            )
        return Backup(self, file, began_s, size_of(file))

    def place(self, site: Site, backup: Backup) -> None:
        with site.step("initialise"):
            site.given.initialise()

    def restore(self, site: Site, backup: Backup, until_unix_s: float | None) -> None:
        program = RESTORE.found(site.server.client_places)
        self.place(site, backup)
        with site.step("start"):
            site.server.start_again(sessions.CLOSED)
        with site.step("load"):
            site.server.create_schema(site.database)
            site.run(
                [program, f"--dbname={site.database}", "--exit-on-error", backup.path],
                sessions.environment(site),
                as_account=False,
            )

    def check(self, site: Site) -> str:
        return sessions.check_tables(site)


TOOL = PgDump()
