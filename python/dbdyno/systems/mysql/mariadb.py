"""MariaDB server.

Sources: the MariaDB knowledge base on mariadb-install-db, server system variables,
innodb_buffer_pool_size, and mysql_native_password's hash (SHA1 of SHA1).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.base import Binaries, Resolved, TargetPlan
from dbdyno.systems.mysql import family
from dbdyno.systems.mysql.managed import USER, Family
from dbdyno.systems.process.account import account_for, check_reachable, version_of
from dbdyno.systems.process.guarded import run_guarded
from dbdyno.systems.process.paths import in_prefixes, program

INSTALL_TIMEOUT_S = 120.0
# The buffer pool is kept to a multiple of this: every version since 10.2 accepts it unrounded.
# What shapes files, and the plugin without whose keys none of them can be encrypted.
_FOR_INSTALLATION = ("innodb_", "lower_case", "aria_", "plugin_load", "file_key_management")
POOL_STEP_BYTES = 8 * portable_options.MIB


class Mariadb(family.OfFamily):
    """See the module."""

    kind = "mariadb"
    driver = "mysql"
    about = "MariaDB server, managed, from Debian's packages or from `basedir:`"

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        base = Path(basedir) if basedir else None
        places = [base / "sbin", base / "bin", base / "libexec"] if base else [Path("/usr/sbin")]
        scripts = [base / "bin", base / "scripts"] if base else [Path("/usr/bin")]
        server = program("mariadbd", places) or (program("mysqld", places) if base else None)
        init = program("mariadb-install-db", scripts) or program("mysql_install_db", scripts)
        if base and server and base not in server.parents:
            server = None
        if server is None or init is None:
            raise DynoError(
                f"no MariaDB server found{f' under {basedir}' if basedir else ''}",
                cause="it is not installed" if not base else "`basedir:` is not its prefix",
                fix="run `make servers`, or `apt-get install mariadb-server`, or set `basedir:`",
            )
        paths = {"server": server, "init": init}
        return Binaries(mysqlfamily_version(host, server), paths, host)

    def installations(self) -> Sequence[str]:
        return [str(path / "usr") for path in in_prefixes(self.kind)]

    def resolve(self, target: TargetPlan) -> Resolved:
        return family.resolve(target, memory)

    def initial_settings(self, resolved: Resolved) -> dict[str, str]:
        # The others need not be valid for the bootstrap server.
        settings = {k: v for k, v in resolved.settings.items() if k in resolved.data_settings}
        return {k: v for k, v in settings.items() if k.startswith(_FOR_INSTALLATION)}

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        account = account_for("mysql")
        data = family.data_directory(directory, account)
        check_reachable(binaries.paths["server"], account)
        settings = self.initial_settings(resolved)
        own = {
            **own_settings(binaries),
            "datadir": str(data),
            "tmpdir": str(directory / "tmp"),
        }
        family.write_private(
            directory / "server.cnf", family.configuration({**own, **settings}), account
        )
        done = run_guarded(
            binaries.host,
            account,
            [
                binaries.paths["init"],
                f"--defaults-file={directory / 'server.cnf'}",
                f"--basedir={base_directory(binaries)}",
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
                "--skip-name-resolve",
                "--skip-test-db",
            ],
            {"PATH": os.defpath + ":/usr/sbin:/sbin", "LC_ALL": "C", "HOME": str(directory)},
            INSTALL_TIMEOUT_S,
            directory / "init.log",
        )
        family.check_made(done, "mariadb-install-db")


def mysqlfamily_version(host: Host, server: Path) -> str:
    """`10.11.14-MariaDB` out of what `--version` prints."""
    version = version_of(host, server, "mysql", r"Ver (\S+)", "--no-defaults")
    return re.sub(r"(-MariaDB).*", r"\1", version)


def base_directory(binaries: Binaries) -> Path:
    """The prefix: two levels above the server's program."""
    return binaries.paths["server"].parent.parent


def memory(size_bytes: int, config: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The word `memory`: all of it is InnoDB's buffer pool."""
    pool = size_bytes // POOL_STEP_BYTES * POOL_STEP_BYTES
    note = (
        "all of it is the buffer pool; InnoDB's descriptors (about 6 %), sessions and other "
        "caches come on top"
    )
    return {"innodb_buffer_pool_size": str(pool)}, note


def own_settings(binaries: Binaries) -> dict[str, str]:
    """Settings that a server outside Debian's places needs."""
    base = base_directory(binaries)
    if base == Path("/usr"):
        return {}
    own = {"basedir": str(base)}
    # Debian's folder of messages was renamed in version 11.
    for name, tail in (
        ("lc_messages_dir", "share/mysql"),
        ("lc_messages_dir", "share/mariadb"),
        ("character_sets_dir", "share/mysql/charsets"),
        ("character_sets_dir", "share/mariadb/charsets"),
        ("plugin_dir", "lib/mysql/plugin"),
    ):
        if (base / tail).is_dir():
            own[name] = str(base / tail)
    return own


def password_hash(password: str) -> str:
    """Of mysql_native_password, as `IDENTIFIED BY PASSWORD` takes it."""
    return "*" + hashlib.sha1(hashlib.sha1(password.encode()).digest()).hexdigest().upper()


def login_sql(password: str) -> list[str]:
    """The one account, with all privileges; the password goes in as its hash."""
    statements = [
        "DELETE FROM mysql.global_priv WHERE user NOT IN ('mariadb.sys')",
        "FLUSH PRIVILEGES",
    ]
    for host in ("localhost", "127.0.0.1"):
        user = f"'{USER}'@'{host}'"
        statements += [
            f"CREATE OR REPLACE USER {user} IDENTIFIED BY PASSWORD '{password_hash(password)}'",
            f"GRANT ALL PRIVILEGES ON *.* TO {user} WITH GRANT OPTION",
        ]
    return statements


FAMILY = Family(
    kind="mariadb",
    isolation_variable="tx_isolation",
    own_settings=own_settings,
    login_sql=login_sql,
)
SYSTEM = Mariadb(FAMILY)
