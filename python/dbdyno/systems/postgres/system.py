"""PostgreSQL.

Durability follows the manual's chapters "Reliability and the Write-Ahead Log" and "Asynchronous
Commit": `synchronous_commit=off` may lose commits when the server process dies (they are still in
its memory), `fsync=off` when the operating system does (they are in the kernel's).
"""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.base import Binaries, Copy, Resolved, TargetPlan, Word
from dbdyno.systems.postgres.managed import USER, PostgresServer
from dbdyno.systems.process import logtail, templates
from dbdyno.systems.process.account import (
    Account,
    account_for,
    check_reachable,
    private_directory,
    private_file,
    version_of,
)
from dbdyno.systems.process.guarded import run_guarded
from dbdyno.systems.process.managed import (
    ENVIRONMENT,
    Command,
    Make,
    ManagedSystem,
    Started,
)
from dbdyno.systems.process.paths import LOOPBACK, in_prefixes, program

INITDB_TIMEOUT_S = 120.0
DEBIAN = Path("/usr/lib/postgresql")

RESERVED = frozenset(
    """config_file data_directory external_pid_file hba_file ident_file include include_dir
    include_if_exists listen_addresses log_destination log_directory log_filename logging_collector
    ssl ssl_ca_file ssl_cert_file ssl_key_file unix_socket_directories unix_socket_group
    unix_socket_permissions""".split()  # noqa: SIM905
)
DURABILITY = {
    "full": {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"},
    "os_crash_unsafe": {"fsync": "off", "synchronous_commit": "on", "full_page_writes": "on"},
    "none": {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
}
DURABILITY_NOTES = {
    "full": "each commit waits until the disk has the write-ahead log",
    "os_crash_unsafe": "each commit hands the log to the OS and never asks it to sync; "
    "a crash of the OS may not only lose commits but break the files",
    "none": "commits are written up to 3 x wal_writer_delay later; torn pages are not repaired",
}
DEFAULTS = (
    Word(
        "by default: data checksums, UTF-8, C collation",
        {},
        "initdb --data-checksums --encoding=UTF8 --no-locale: checksums as InnoDB has them",
    ),
    Word(
        "by default: room for connections", {"max_connections": "1000"}, "otherwise it would be 100"
    ),
)
LOADING = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
    "autovacuum": "off",
}
# COPY into a table made in the same transaction then writes no log at all.
LOADING_WAL = {"wal_level": "minimal", "max_wal_senders": "0"}
LOADING_WAL_NEEDS = ("wal_level", "max_wal_senders", "archive_mode", "summarize_wal")


class Postgres(ManagedSystem):
    """See the module."""

    kind = "postgres"
    account = "postgres"
    initialised = "data/PG_VERSION"
    stop_signal = signal.SIGINT  # "fast": ends sessions, then checkpoints
    driver = "postgres"
    about = "PostgreSQL, managed, from Debian's packages or from `basedir:`"

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        if basedir:
            places = [Path(basedir) / "bin", Path(basedir)]
        else:
            places = [path / "bin" for path in _of_debian()]
        server, init = program("postgres", places), program("initdb", places)
        if basedir and server and Path(basedir) not in server.parents:
            server = None
        if server is None or init is None:
            raise DynoError(
                f"no PostgreSQL server found{f' under {basedir}' if basedir else ''}",
                cause="`basedir:` is not its prefix" if basedir else "it is not installed",
                fix="run `make servers`, or `apt-get install postgresql`, or set `basedir:`",
            )
        version = version_of(host, server, "postgres", r"\) (\S+)")
        return Binaries(f"PostgreSQL {version}", {"server": server, "init": init}, host)

    def installations(self) -> Sequence[str]:
        private = [major for path in in_prefixes(self.kind) for major in _of_debian(path)]
        return [str(path) for path in (*_of_debian(), *private)]

    def resolve(self, target: TargetPlan) -> Resolved:
        portable_options.check_words(target)
        config = portable_options.settings_of(target.config, self.kind, RESERVED)
        settings: dict[str, str] = {}
        said = [word for word in DEFAULTS if not set(word.settings) & set(config)]
        for default in said:
            settings.update(default.settings)
        asked: list[Word] = []
        if target.durability is not None:
            level = target.durability
            asked.append(Word(f"durability: {level}", DURABILITY[level], DURABILITY_NOTES[level]))
        if target.memory_bytes is not None:
            asked.append(_memory(target.memory_bytes))
        for word in asked:
            portable_options.merge(self.kind, word.word, word.settings, config)
            settings.update(word.settings)
        session: tuple[str, ...] = ()
        if target.isolation is not None:
            word = isolation_word(target.isolation)
            plain = target.isolation.replace("_", " ")
            portable_options.merge(
                self.kind, word.word, {"default_transaction_isolation": plain}, config
            )
            session = (word.settings["session"],)
            asked.append(word)
        settings.update(config)
        loading = {**LOADING, **({} if set(LOADING_WAL_NEEDS) & set(config) else LOADING_WAL)}
        return Resolved(
            settings=settings,
            session_sql=session,
            words=(*said, *asked),
            load_settings={k: v for k, v in loading.items() if k not in config},
            # Nothing in postgresql.conf changes files on disk beyond these.
            data_settings={
                k: v
                for k, v in settings.items()
                if k.startswith(
                    ("default_toast", "default_table", "default_stat", "shared_preload")
                )
            },
        )

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        account = account_for("postgres")
        private_directory(directory, account)
        check_reachable(directory / "data", account)
        check_reachable(binaries.paths["init"], account)
        private_directory(directory / "data", account)
        done = run_guarded(
            binaries.host,
            account,
            [
                binaries.paths["init"],
                f"--pgdata={directory / 'data'}",
                f"--username={USER}",
                "--auth-local=peer",
                "--auth-host=scram-sha-256",
                "--data-checksums",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",  # a kept directory is synced once, after loading
            ],
            ENVIRONMENT,
            INITDB_TIMEOUT_S,
            directory / "init.log",
            directory / "data",
        )
        if done.returncode != 0:
            tail = logtail.telling(done.stdout + done.stderr)
            raise DynoError(
                f"initdb failed with status {done.returncode}:\n{tail}",
                cause="a full disk, or a broken installation",
                fix="see its messages above",
            )

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        account = account_for("postgres")
        version = binaries.version.rpartition(" ")[2].partition(".")[0]
        _check_template(template, version)
        private_directory(directory, account)
        check_reachable(directory / "data", account)
        data = directory / "data"
        copy(template, data)
        templates.own(data, account)
        data.chmod(0o700)
        # Settings of the user's server would count silently; all settings are in the experiment.
        (data / "postgresql.auto.conf").unlink(missing_ok=True)
        _make_role(binaries, directory, account)

    def configured(self, started: Started, resolved: Resolved) -> tuple[Command, Make]:
        """See `ManagedSystem.configured`."""
        directory, account = started.directory, started.account
        # A clean stop removes it; a copy of a killed server's directory may hold it.
        (directory / "data" / "postmaster.pid").unlink(missing_ok=True)
        pem = started.certificate.write(directory, account)
        me = pwd.getpwuid(os.geteuid()).pw_name
        hba = "local all all peer map=dyno\n"
        hba += "".join(
            f"host {what} all {LOOPBACK}/32 scram-sha-256\n" for what in ("all", "replication")
        )
        ident = f'dyno "{me}" {USER}\n'
        own = {
            "hba_file": str(private_file(directory / "hba.conf", hba, account)),
            "ident_file": str(private_file(directory / "ident.conf", ident, account)),
            "listen_addresses": LOOPBACK,
            "port": str(started.port),
            "unix_socket_directories": str(started.sockets),
            "ssl": "on",
            "ssl_cert_file": str(pem["cert"]),
            "ssl_key_file": str(pem["key"]),
            "log_destination": "stderr",
            "logging_collector": "off",
            "log_timezone": "UTC",
        }
        text = configuration({**own, **resolved.settings, **started.node.settings})
        path = private_file(directory / "server.conf", text, account)
        server = started.binaries.paths["server"]
        return [server, "-D", directory / "data", "-c", f"config_file={path}"], PostgresServer


def _of_debian(root: Path = Path("/")) -> list[Path]:
    """Debian's folder of each major version, the newest first."""
    found = [p for p in (root / DEBIAN.relative_to("/")).glob("*") if p.name.isdigit()]
    return sorted(found, key=lambda path: int(path.name), reverse=True)


def _check_template(template: Path, version: str) -> None:
    """DynoError unless it is a stopped data directory that this version can use."""
    if not (template / "PG_VERSION").is_file():
        raise templates.unlike(template, "PostgreSQL", "PG_VERSION")
    there = (template / "PG_VERSION").read_text().strip()
    if there != version:
        raise DynoError(
            f"{template} is a data directory of PostgreSQL {there}, and the server is {version}",
            fix=f"set `basedir:` to version {there}, or upgrade a copy with pg_upgrade",
        )
    if (template / "postmaster.pid").exists():
        raise templates.running(template, "postmaster.pid")
    for name in ("standby.signal", "recovery.signal", "backup_label"):
        if (template / name).exists():
            raise DynoError(
                f"{template} holds `{name}`: it is a replica or a backup to be recovered",
                fix="start it once as a primary, stop it, and use it then",
            )
    templates.check_files(template)


def _make_role(binaries: Binaries, directory: Path, account: Account) -> None:
    """Gives us a login in a copy of the user's directory: in single-user mode there is no login,
    and no listening socket."""
    sql = directory / "role.sql"
    exists = f"SELECT FROM pg_roles WHERE rolname = '{USER}'"
    private_file(
        sql,
        f"DO $$BEGIN IF NOT EXISTS ({exists}) THEN CREATE ROLE {USER}; END IF; END$$\n"
        f"ALTER ROLE {USER} SUPERUSER LOGIN\n",
        account,
    )
    configuration_path = private_file(directory / "single.conf", "", account)
    script = 'exec "$1" --single -D "$2" -c "config_file=$3" template1 < "$4"'
    done = run_guarded(
        binaries.host,
        account,
        [
            "/bin/sh",
            "-c",
            script,
            "sh",
            binaries.paths["server"],
            directory / "data",
            configuration_path,
            sql,
        ],
        ENVIRONMENT,
        INITDB_TIMEOUT_S,
        directory / "single.log",
        directory / "data",
    )
    sql.unlink(missing_ok=True)
    configuration_path.unlink(missing_ok=True)
    if done.returncode != 0 or "ERROR:" in done.stdout or "FATAL:" in done.stdout:
        raise DynoError(
            f"the copy of the template could not be opened:\n{logtail.telling(done.stdout)}",
            cause="the server was not stopped cleanly, or its files are damaged",
            fix="start and stop it once by itself (`pg_ctl stop -m fast`), then run again",
        )


def _memory(size_bytes: int) -> Word:
    pages = size_bytes // 8192
    return Word(
        f"memory: {portable_options.bytes_text(size_bytes)}",
        {"shared_buffers": f"{pages * 8}kB", "effective_cache_size": f"{pages * 8}kB"},
        "all of it is shared_buffers; sessions' memory and the OS page cache come on top",
    )


def isolation_word(level: str) -> Word:
    """The word `isolation`: a statement of each session."""
    notes = {
        "read_uncommitted": "PostgreSQL treats it as read committed, which is stronger than asked",
        "repeatable_read": "a snapshot for all statements; a conflicting UPDATE fails with 40001",
        "serializable": "serializable snapshot isolation: conflicts fail with 40001, to be retried",
    }
    name = portable_options.isolation_sql(level)
    statement = f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {name}"
    return Word(f"isolation: {level}", {"session": statement}, notes.get(level, ""))


def configuration(settings: Mapping[str, str]) -> str:
    """A postgresql.conf; every value quoted."""
    lines = ["# Written by dbdyno for one server; removed with it."]
    for name, value in settings.items():
        escaped = value.replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{escaped}'")
    return "\n".join(lines) + "\n"


SYSTEM = Postgres()
