"""The words of an experiment as settings of Redis.

Sources: Redis documentation, "Redis persistence", and the comments of redis.conf (units,
`maxmemory`, `appendfsync`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbdyno.errors import DynoError
from dbdyno.systems import portable_options
from dbdyno.systems.base import Resolved, TargetPlan, Word

RESERVED = frozenset(
    """bind daemonize dir include logfile loglevel pidfile protected_mode requirepass aclfile user
    supervised syslog_enabled tls_port tls_cert_file tls_key_file tls_ca_cert_file tls_ca_cert_dir
    tls_auth_clients unixsocket unixsocketperm rename_command loadmodule cluster_enabled replicaof
    slaveof masterauth masteruser cluster_config_file cluster_port""".split()  # noqa: SIM905
)
DURABILITY = {
    "full": {"appendonly": "yes", "appendfsync": "always", "save": ""},
    "os_crash_unsafe": {"appendonly": "yes", "appendfsync": "no", "save": ""},
    "none": {"appendonly": "no", "save": ""},
}
DURABILITY_NOTES = {
    "full": "each write waits until the disk has the append-only file",
    "os_crash_unsafe": "each write is in the OS before it is answered, and is never synced; "
    "Redis's own middle way is config: {appendonly: yes, appendfsync: everysec}",
    "none": "no append-only file and no snapshots: a restart finds what was loaded, and no more",
}
# Which of the two files a start reads, and their format.
_OF_DATA = frozenset(
    """aof_use_rdb_preamble appenddirname appendfilename appendonly databases dbfilename rdbchecksum
    rdbcompression""".split()  # noqa: SIM905
)
# A load may lose everything: it is done again then.
LOADING = {"appendfsync": "no", "save": "", "maxmemory": "0"}
_UNITS = {"k": 10**3, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30}
_SIZE = re.compile(r"(\d+)([kmg]b?)", re.IGNORECASE)


def plain(value: str) -> str:
    """`64mb` -> `67108864`: here `m` is a million, and `mb` is not. Anything else as it is."""
    size = _SIZE.fullmatch(value.strip())
    return str(int(size[1]) * _UNITS[size[2].lower()]) if size else value


def resolve(target: TargetPlan) -> Resolved:
    """A managed target. DynoError for what Redis cannot honour."""
    portable_options.check_words(target)
    refuse_sql_words(target)
    config = portable_options.settings_of(target.config, target.kind, RESERVED)
    said: list[Word] = []
    if target.durability is not None:
        level = target.durability
        said.append(Word(f"durability: {level}", DURABILITY[level], DURABILITY_NOTES[level]))
    if target.memory_bytes is not None:
        said.append(
            Word(
                f"memory: {portable_options.bytes_text(target.memory_bytes)}",
                {"maxmemory": str(target.memory_bytes)},
                "of keys, values and buffers; writes beyond it are refused, unless "
                "`maxmemory-policy` evicts others",
            )
        )
    settings: dict[str, str] = {}
    for word in said:
        portable_options.merge(target.kind, word.word, word.settings, config)
        settings.update(word.settings)
    settings.update(config)
    return Resolved(
        settings=settings,
        session_sql=(),
        words=tuple(said),
        load_settings={k: v for k, v in LOADING.items() if k not in config},
        data_settings={k: v for k, v in settings.items() if k in _OF_DATA},
    )


def refuse_sql_words(target: TargetPlan) -> None:
    """DynoError for keys of a target that mean nothing without SQL."""
    for key, given in (
        ("isolation", target.isolation is not None),
        ("session", bool(target.session)),
        ("protocol", target.protocol != "prepared"),
    ):
        if given:
            raise DynoError(
                f"target `{target.name}`: `{key}` means nothing to Redis",
                cause="it has no SQL, no transactions that are isolated, and no settings of a "
                "session",
                fix=f"leave `{key}` out",
            )


def configuration(settings: Mapping[str, str]) -> str:
    """A redis.conf; every value quoted."""
    lines = ["# Written by dbdyno for one server; removed with it."]
    for name, value in settings.items():
        lines.append(f"{name.replace('_', '-')} {_quoted(name, value)}")
    return "\n".join(lines) + "\n"


def _quoted(name: str, value: str) -> str:
    # A directive of several words takes them apart.
    words = (
        value.split()
        if " " in value and name in ("save", "client_output_buffer_limit")
        else [value]
    )
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return " ".join(f'"{word}"' for word in escaped)
