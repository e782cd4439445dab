"""MySQL server, 8.0 or newer; Debian has none, so `make servers` puts one in a private prefix.

Sources: the reference manual on --initialize-insecure, caching_sha2_password,
innodb_buffer_pool_size (multiples of chunk size times instances) and the X plugin.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.base import Binaries, Resolved, TargetPlan, Word
from dbdyno.systems.mysql import family
from dbdyno.systems.mysql.managed import USER, Family
from dbdyno.systems.process.account import account_for, check_reachable, run_as
from dbdyno.systems.process.guarded import run_guarded
from dbdyno.systems.process.paths import in_prefixes, prefixes, program

INITIALIZE_TIMEOUT_S = 180.0
CHUNK_BYTES = (
    128 * portable_options.MIB
)  # the default; the pool is a multiple of it times the instances
INSTANCES_MAX = 8
NO_BINARY_LOG = Word(
    "by default: no binary log",
    {"skip_log_bin": "ON"},
    "MySQL's own default is on; off as in MariaDB, so that a commit writes one log",
)


class Mysql(family.OfFamily):
    """See the module."""

    kind = "mysql"
    driver = "mysql"
    about = "MySQL server 8.0 or newer, from the private prefix of `make servers` or `basedir:`"

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        bases = [Path(basedir)] if basedir else default_bases()
        for base in bases:
            for place in (base / "usr/sbin", base / "sbin", base / "bin", base / "libexec"):
                server = place / "mysqld"
                if server.is_file() and os.access(server, os.X_OK):
                    return Binaries(_version(host, server), {"server": server}, host)
        on_path = None if basedir else program("mysqld", [])
        if on_path and "mariadb" not in str(
            on_path.resolve()
        ):  # Debian's MariaDB has that name too
            return Binaries(_version(host, on_path), {"server": on_path}, host)
        raise DynoError(
            f"no MySQL server found{f' under {basedir}' if basedir else ''}",
            cause="`basedir:` is not its prefix" if basedir else "Debian does not package it",
            fix="run `make servers`, or set `basedir:` or DYNO_MYSQL_BASEDIR to its prefix",
        )

    def installations(self) -> Sequence[str]:
        return [str(path) for path in in_prefixes(self.kind)]

    def resolve(self, target: TargetPlan) -> Resolved:
        return family.resolve(target, memory, [NO_BINARY_LOG])

    def initial_settings(self, resolved: Resolved) -> dict[str, str]:
        return {k: v for k, v in resolved.data_settings.items() if _shapes_files(k)}

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        account = account_for("mysql")
        data = family.data_directory(directory, account)
        check_reachable(binaries.paths["server"], account)
        settings = self.initial_settings(resolved)
        own = {
            **own_settings(binaries),
            "datadir": str(data),
            "tmpdir": str(directory / "tmp"),
            "skip_log_bin": "ON",
        }
        config = family.configuration({**own, **settings})
        path = family.write_private(directory / "server.cnf", config, account)
        done = run_guarded(
            binaries.host,
            account,
            [
                binaries.paths["server"],
                f"--defaults-file={path}",
                # The empty password lasts until the first start, whose init file removes the
                # account before anything can connect.
                "--initialize-insecure",
            ],
            {"PATH": os.defpath, "LC_ALL": "C", "HOME": str(directory)},
            INITIALIZE_TIMEOUT_S,
            directory / "init.log",
        )
        family.check_made(done, "mysqld --initialize-insecure")


def default_bases() -> list[Path]:
    """Prefixes to search first: the environment's alone, else those of `make servers`."""
    asked = os.environ.get("DYNO_MYSQL_BASEDIR")
    if asked:
        return [Path(asked)]
    return [root / "mysql" for root in prefixes()]


def _version(host: Host, server: Path) -> str:
    """`9.7.0` out of what `--version` prints."""
    account = account_for("mysql")
    check_reachable(server, account)
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    done = run_as(host, account, [server, "--no-defaults", "--version"], environment, 20.0)
    found = re.search(r"Ver (\d+\.\d+\.\d+)", done.stdout)
    if done.returncode != 0 or not found or "MariaDB" in done.stdout:
        raise DynoError(
            f"{server} is not a MySQL that runs: {(done.stderr + done.stdout)[-300:].strip()}",
            cause="it is MariaDB, a library is missing, or the account mysql cannot reach it",
            fix="run `make servers`, or set `basedir:`",
        )
    return f"MySQL {found[1]}"


def memory(size_bytes: int, config: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The word `memory`: InnoDB's buffer pool, in sizes that the server does not round."""
    note = (
        "all of it is the buffer pool; InnoDB's descriptors (about 6 %), sessions, dictionary "
        "and performance_schema come on top"
    )
    if size_bytes < portable_options.GIB:
        # One instance is what the server uses here; the chunk is the pool.
        pool = size_bytes // portable_options.MIB * portable_options.MIB
        chunk, instances = min(pool, CHUNK_BYTES), 1
        pool = pool // chunk * chunk
    else:
        instances = min(INSTANCES_MAX, size_bytes // portable_options.GIB)
        chunk = CHUNK_BYTES
        pool = size_bytes // (chunk * instances) * chunk * instances
    assert 0 < pool <= size_bytes
    if pool != size_bytes:
        note = f"rounded down to {portable_options.bytes_text(pool)}, a multiple of chunks; {note}"
    wanted = {
        "innodb_buffer_pool_size": str(pool),
        "innodb_buffer_pool_chunk_size": str(chunk),
        "innodb_buffer_pool_instances": str(instances),
    }
    return wanted, note


def _shapes_files(name: str) -> bool:
    """Settings that --initialize needs to know, since they are fixed with the data directory."""
    return name.startswith(("innodb_page_size", "innodb_undo", "innodb_data", "lower_case_table"))


def own_settings(binaries: Binaries) -> dict[str, str]:
    """Settings that a server outside the system's places needs; no X plugin, no file access."""
    base = binaries.paths["server"].parent.parent
    own = {"mysqlx": "OFF", "secure_file_priv": "NULL"}
    if base == Path("/usr"):
        return own
    own["basedir"] = str(base)
    for name, tails in (
        ("plugin_dir", ("lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin")),
        ("lc_messages_dir", ("share/mysql", "share")),
        ("character_sets_dir", ("share/mysql/charsets", "share/charsets")),
    ):
        for tail in tails:
            if (base / tail).is_dir():
                own[name] = str(base / tail)
                break
    return own


def login_sql(password: str) -> list[str]:
    """Our account with everything, and no root. The password is plain here, as there is no way to
    give caching_sha2_password a hash; the file is private and removed once the server is up."""
    statements = []
    for host in ("localhost", "127.0.0.1"):
        user = f"'{USER}'@'{host}'"
        statements += [
            f"CREATE USER IF NOT EXISTS {user}",
            f"ALTER USER {user} IDENTIFIED BY '{password}'",
            f"GRANT ALL PRIVILEGES ON *.* TO {user} WITH GRANT OPTION",
        ]
    return [*statements, "DROP USER IF EXISTS 'root'@'localhost'"]


FAMILY = Family(
    kind="mysql",
    isolation_variable="transaction_isolation",
    own_settings=own_settings,
    login_sql=login_sql,
)
SYSTEM = Mysql(FAMILY)
