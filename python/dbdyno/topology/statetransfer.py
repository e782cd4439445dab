"""How all data of a Galera cluster come to a node that has none, or no position (SST): by rsync,
whose donor takes no writes meanwhile, or by mariabackup, whose donor does.

A script of the server's package does either. Mariabackup logs in at the donor, by an account of its
own with the privileges that a backup needs. Its password is drawn for this start alone: the server
gets it over the control connection, and hands it to the script, and that to mariabackup, in the
environment. So it is on no command line and in no file.

Sources: the MariaDB knowledge base on "mariadb-backup SST Method" (`[sst]` options, privileges),
`wsrep_sst_auth`, and "Authentication and Privileges" of mariadb-backup; the scripts
`wsrep_sst_mariabackup` and `wsrep_sst_common`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import MARIABACKUP, RSYNC
from dbdyno.systems.base import Binaries
from dbdyno.systems.mysql.mariadb import password_hash

USER = "sst"
PRIVILEGES = "RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR"
# Otherwise the server's certificate has its transfers encrypted, by a program more (stunnel, or
# socat with OpenSSL), and mariabackup's logs of a transfer before are kept in /tmp.
OPTIONS: Mapping[str, Mapping[str, str]] = {
    RSYNC: {"ssl-mode": "DISABLED"},
    MARIABACKUP: {"ssl-mode": "DISABLED", "sst-log-archive": "0"},
}


def check_installed(sst: str, binaries: Binaries) -> None:
    """DynoError with the command that installs it, if a program of the script is missing. Those of
    mariabackup must be of the server's own version: its script searches them where the server is
    before it searches PATH."""
    if sst == RSYNC:
        if shutil.which("rsync") is None:
            raise DynoError(
                "no rsync found, by which Galera transfers state",
                cause="it is not installed",
                fix="run `make servers`, or `apt-get install rsync`",
            )
        return
    folder = binaries.paths["server"].parent.parent / "bin"
    for name in ("mariadb-backup", "mbstream"):
        if shutil.which(name, path=str(folder)) is None:
            raise DynoError(
                f"no `{name}` in {folder}, by which Galera transfers state (`sst: {MARIABACKUP}`)",
                cause="it is not installed next to the server, whose version it must have",
                fix="run `make servers`, or `apt-get install mariadb-backup` for Debian's server;"
                f" or write `sst: {RSYNC}`",
            )
    if shutil.which("socat") is None:
        raise DynoError(
            f"no socat found, by which `sst: {MARIABACKUP}` sends data",
            cause="it is not installed",
            fix="run `make servers`, or `apt-get install socat`",
        )


def account_sql(sst: str, password: str) -> tuple[str, ...]:
    """Statements that make the account; none where nobody logs in."""
    if sst != MARIABACKUP:
        return ()
    user = f"'{USER}'@'localhost'"
    return (
        f"CREATE OR REPLACE USER {user} IDENTIFIED BY PASSWORD '{password_hash(password)}'",
        f"GRANT {PRIVILEGES} ON *.* TO {user}",
    )


def authenticate(server: Any, sst: str, password: str) -> None:
    """Tells a running node how mariabackup logs in, in a session whose statements it does not
    log."""
    if sst != MARIABACKUP:
        return
    server.rows("SET SESSION sql_log_off = ON, SESSION slow_query_log = OFF")
    server.rows(f"SET GLOBAL wsrep_sst_auth = '{USER}:{password}'")
    server.close_connection()


def environment(sst: str, directory: Path) -> Mapping[str, str]:
    """What has the script keep its temporary files in the node's directory."""
    return {"TMPDIR": str(directory / "tmp")} if sst == MARIABACKUP else {}
