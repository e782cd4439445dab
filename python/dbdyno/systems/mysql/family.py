"""What MariaDB and MySQL share: configuration, start, login, settings, counters, plans.

Each has its own file for what differs. Sources: the two manuals' pages on server system variables,
`--init-file`, SHOW PROCESSLIST states, and `innodb_flush_log_at_trx_commit`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Completed
from dbdyno.kinds.mysql import KIND as MYSQL
from dbdyno.kinds.mysqlfamily import LOG_OFF_SETTINGS, LOG_SETTING
from dbdyno.systems import portable_options
from dbdyno.systems.base import Binaries, Copy, Resolved, TargetPlan, Word
from dbdyno.systems.mysql.managed import Family, MysqlServer
from dbdyno.systems.process import logtail, templates
from dbdyno.systems.process.account import Account, account_for, check_reachable, private_directory
from dbdyno.systems.process.account import private_file as write_private
from dbdyno.systems.process.managed import Command, Make, ManagedSystem, Started
from dbdyno.systems.process.paths import LOOPBACK

# Names that dyno writes itself; in `config:` they are an error.
RESERVED = frozenset(
    """admin_address basedir bind_address character_sets_dir daemonize datadir init_file
    lc_messages_dir local_infile log_error mysqlx pid_file plugin_dir secure_file_priv
    skip_grant_tables skip_networking socket ssl_ca ssl_cert ssl_key tmpdir user""".split()  # noqa: SIM905
)

FULL = {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON"}
DURABILITY_NOTES = {
    "full": "each commit waits until the disk has the redo log",
    "os_crash_unsafe": "each commit hands the redo log to the OS; it is synced once a second",
    "none": "the redo log is written once a second; torn pages are not repaired",
}

ROOM = Word(
    "by default: room for connections", {"max_connections": "1000"}, "otherwise it would be 151"
)
# Otherwise pages are read in the background after each start, during the first trial.
COLD = Word(
    "by default: the buffer pool is not carried over a restart",
    {
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
    },
)


def durability(level: str, config: Mapping[str, str]) -> dict[str, str]:
    """InnoDB's settings for a durability word; the binary log's too if the user switched it on."""
    wanted = {
        "full": FULL,
        "os_crash_unsafe": {**FULL, "innodb_flush_log_at_trx_commit": "2"},
        "none": {"innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "OFF"},
    }[level].copy()
    if MYSQL.writes_log(config):
        wanted["sync_binlog"] = "1" if level == "full" else "0"
    return wanted


def resolve(
    target: TargetPlan,
    memory: Callable[[int, Mapping[str, str]], tuple[dict[str, str], str]],
    defaults: Sequence[Word] = (),
) -> Resolved:
    """The words and `config` of a target as my.cnf settings. Pure.

    `memory` maps bytes to settings and a note; `defaults` hold unless `config` says otherwise.
    """
    portable_options.check_words(target)
    config = portable_options.settings_of(target.config, target.kind, RESERVED)
    for name in config:
        if name.startswith(("loose_", "skip_loose_")):
            raise DynoError(
                f"{target.kind}: `{name}`: with loose_ a server may ignore a setting silently",
                fix=f"write `{name.removeprefix('loose_')}`",
            )
    settings: dict[str, str] = {}
    said = [word for word in (ROOM, COLD, *defaults) if not _overridden(word, config)]
    for default in said:
        settings.update(default.settings)
    if target.durability is not None:
        _say(
            said,
            settings,
            config,
            target.kind,
            f"durability: {target.durability}",
            durability(target.durability, config),
            DURABILITY_NOTES[target.durability],
        )
    if target.memory_bytes is not None:
        wanted, note = memory(target.memory_bytes, config)
        word = f"memory: {portable_options.bytes_text(target.memory_bytes)}"
        _say(said, settings, config, target.kind, word, wanted, note)
    session: tuple[str, ...] = ()
    if target.isolation is not None:
        isolation = isolation_word(target.isolation)
        level = portable_options.isolation_sql(target.isolation).replace(" ", "-")
        for name in ("transaction_isolation", "tx_isolation"):
            portable_options.merge(target.kind, isolation.word, {name: level}, config)
        session = (isolation.settings["session"],)
        said.append(isolation)
    settings.update(config)
    loading = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}
    return Resolved(
        settings=settings,
        session_sql=session,
        words=tuple(said),
        # Loading is repeated if it fails; a clean stop flushes everything before a copy is taken.
        load_settings={k: v for k, v in loading.items() if k not in config},
        data_settings={k: v for k, v in settings.items() if depends_on_files(k)},
    )


def _say(
    said: list[Word],
    settings: dict[str, str],
    config: Mapping[str, str],
    kind: str,
    word: str,
    wanted: dict[str, str],
    note: str,
) -> None:
    portable_options.merge(kind, word, wanted, config)
    settings.update(wanted)
    said.append(Word(word, wanted, note))


def _overridden(word: Word, config: Mapping[str, str]) -> bool:
    """Whether the user says something about what a default would set."""
    return any(
        name in config or (name == "skip_log_bin" and {"log_bin", "disable_log_bin"} & set(config))
        for name in word.settings
    )


def isolation_word(level: str) -> Word:
    """The word `isolation`: a statement of each session."""
    statement = f"SET SESSION TRANSACTION ISOLATION LEVEL {portable_options.isolation_sql(level)}"
    return Word(f"isolation: {level}", {"session": statement}, _isolation_note(level))


def _isolation_note(level: str) -> str:
    if level == "repeatable_read":
        return "InnoDB reads from a snapshot, but UPDATE and DELETE see the newest committed rows"
    if level == "serializable":
        return "InnoDB turns each SELECT inside a transaction into a locking read"
    return ""


# Everything that is not known to be safe for files on disk belongs to a snapshot's key. Known safe:
# caches, flushing, threads, limits of sessions, logging of queries.
_SAFE = re.compile(
    r"""innodb_(buffer_pool_(?!filename)|flush|io_|read_|write_io|purge|spin|sync_|thread|adaptive|change_buff|
    lock_wait|deadlock|stats_(?!persistent)|doublewrite$|use_native_aio|log_(buffer_size|write_ahead|spin)|lru|max_dirty|
    max_purge|old_blocks|random_read|rollback_on|snapshot|table_locks|autoextend|concurrency|commit_concurrency|
    max_undo|ddl|parallel|print|monitor|status|numa|dedicated)|
    query_cache|max_|table_(open|definition)|thread_|tmp_table|join_buffer|sort_buffer|read_|net_|wait_timeout|
    interactive_timeout|lock_wait|long_query|slow_query|general_log|performance_schema|optimizer|eq_range|
    transaction_isolation$|tx_isolation$|back_log|port$|skip_name_resolve|host_cache|key_buffer|sync_binlog|
    skip_log_bin|log_(output|queries|slow|warnings|error_verbosity)|userstat|tls_|require_secure|autocommit|
    stored_program|open_files|concurrent_insert|extra_|join_cache|histogram_|use_stat_tables|event_scheduler""".replace(
        "\n", ""
    ).replace(" ", "")
)


def depends_on_files(name: str) -> bool:
    """Whether a setting may matter to files on disk (when in doubt: yes)."""
    return not _SAFE.match(name)


def configuration(settings: Mapping[str, str]) -> str:
    """A my.cnf. Values are quoted where a bare one would be cut at a comment sign."""
    lines = ["# Written by dbdyno for one server; removed with it.", "[server]"]
    for name, value in settings.items():
        is_off = portable_options.boolean(value) is False
        if name in LOG_OFF_SETTINGS and not is_off:
            lines.append(name)
        elif name == LOG_SETTING and is_off:
            lines.append(LOG_OFF_SETTINGS[0])  # its value would be taken for the name of a log
        elif re.fullmatch(r"[A-Za-z0-9_./:@+-]*", value):
            lines.append(f"{name}={value}")
        else:
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'{name}="{escaped}"')
    return "\n".join(lines) + "\n"


def data_directory(directory: Path, account: Account) -> Path:
    """The private places in a server's directory; returns the data directory itself."""
    private_directory(directory, account)
    check_reachable(directory / "data", account)
    private_directory(directory / "tmp", account)
    return private_directory(directory / "data", account)


class OfFamily(ManagedSystem):
    """What either system does like the other."""

    account = "mysql"
    initialised = "data/mysql"

    def __init__(self, family: Family) -> None:
        self._family = family

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        """A data directory from a stopped one of the user's. Each start gives us our own login by
        an init file, which needs no account that is in there."""
        _check_template(self.kind, binaries.version, template)
        account = account_for("mysql")
        data = data_directory(directory, account)
        data.rmdir()
        copy(template, data)
        templates.own(data, account)
        data.chmod(0o700)

    def configured(self, started: Started, resolved: Resolved) -> tuple[Command, Make]:
        """See `ManagedSystem.configured`."""
        directory, account, sockets = started.directory, started.account, started.sockets
        pem = started.certificate.write(directory, account)
        own = {
            **self._family.own_settings(started.binaries),
            "datadir": str(directory / "data"),
            "tmpdir": str(directory / "tmp"),
            "socket": str(sockets / MysqlServer.socket_name(started.port)),
            "pid_file": str(sockets / "pid"),
            "port": str(started.port),
            "bind_address": LOOPBACK,
            "skip_name_resolve": "ON",
            "local_infile": "ON",  # the loader sends generated bytes
            "init_file": str(sockets / "init.sql"),
            **{f"ssl_{name}": str(path) for name, path in pem.items()},
        }
        # The login is each server's own: in a binary log it would reach replicas.
        lines = ["SET SESSION sql_log_bin = 0", *started.node.init_sql]
        lines += self._family.login_sql(started.password)
        lines += started.node.account_sql
        write_private(sockets / "init.sql", "".join(f"{line};\n" for line in lines), account)
        text = configuration({**own, **resolved.settings, **started.node.settings})
        for name, settings in started.node.sections.items():
            lines = [f"{key}={value}" for key, value in settings.items()]
            text += "\n".join([f"[{name}]", *lines, ""])
        path = write_private(directory / "server.cnf", text, account)
        command: Command = [started.binaries.paths["server"], f"--defaults-file={path}"]
        return command, partial(MysqlServer, self._family)


def check_made(done: Completed, program: str) -> None:
    """DynoError where the program that makes a data directory failed."""
    if done.returncode != 0:
        tail = logtail.telling(done.stdout + done.stderr)
        raise DynoError(
            f"{program} failed with status {done.returncode}:\n{tail}",
            cause="a full disk, a wrong setting, or a broken installation",
            fix="see its messages above",
        )


def _check_template(kind: str, version: str, template: Path) -> None:
    """DynoError unless it is a stopped data directory that this server can use."""
    name = {"mariadb": "MariaDB", "mysql": "MySQL"}[kind]
    if not (template / "mysql").is_dir() or not (template / "ibdata1").is_file():
        raise templates.unlike(template, name, "ibdata1")
    # Only MySQL 8 keeps its dictionary there, only MariaDB has Aria.
    other = "mysql.ibd" if kind == "mariadb" else "aria_log_control"
    if (template / other).exists():
        made_by = "MySQL" if kind == "mariadb" else "MariaDB"
        raise DynoError(
            f"{template} is a data directory of {made_by}, not of {name}",
            fix="set the target's `kind`, or load a dump instead",
        )
    for upgraded in ("mariadb_upgrade_info", "mysql_upgrade_info"):
        path = template / upgraded
        there = path.read_text("utf-8", "replace").strip("\0\n ") if path.is_file() else ""
        if kind == "mariadb" and there and there.split(".")[:2] != version.split(".")[:2]:
            raise DynoError(
                f"{template} was last used by version {there}, and the server is {version}",
                fix="set `basedir:` to that version, or upgrade a copy with mariadb-upgrade",
            )
    if templates.is_locked(template / "ibdata1"):
        raise templates.running(template, "ibdata1")
    templates.check_files(template)
