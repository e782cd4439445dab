"""What is asked of any Redis server: settings, counters, sessions.

A schema of dbdyno's own is a prefix of keys: `NAME:` and what follows. Source: Redis documentation,
the pages of INFO, CONFIG GET, CLIENT LIST and SCAN.
"""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Host
from dbdyno.systems import verify
from dbdyno.systems.base import Refusal
from dbdyno.systems.process.starting import CONTROL_TIMEOUT_S
from dbdyno.systems.redis.client import ERRORS, Client, RedisError
from dbdyno.systems.redis.settings import plain
from dbdyno.systems.server_errors import answered
from dbdyno.systems.sql_files import Importer

KEYS_A_CALL = 1000
TOGETHER = 200  # commands that are sent before their replies are read

# Of INFO, what is counted from the server's start. All else that is a number is a level.
_COUNTED = re.compile(
    r"total_(?!system_memory)\w+|used_cpu_\w+|(expired|evicted)_keys|evicted_clients|sync_\w+"
    r"|keyspace_(hits|misses)|rejected_connections|\w+_processed|aof_(delayed_fsync|rewrites)"
    r"|rdb_saves|lazyfreed_objects|unexpected_error_replies|expire_cycle_cpu_milliseconds"
    r"|reply_buffer_\w+|active_defrag_(key_)?(hits|misses)|expired_time_cap_reached_count"
    r"|acl_access_denied_\w+|dump_payload_sanitizations"
)
_SECTIONS = ("clients", "memory", "persistence", "stats", "cpu")


class RedisControl(ABC):
    """A server with a control connection, opened when it is needed."""

    kind = "redis"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: Client | None = None

    # ---- asking

    @abstractmethod
    def _open(self) -> Client:
        """A new connection, logged in."""

    @abstractmethod
    def unanswered(self, error: Exception) -> DynoError:
        """The error for a client's."""

    def ask(self, *words: str | int) -> Any:
        """The reply to one command, on the connection that is kept. RedisError or OSError."""
        [reply] = self.ask_each([words])
        return reply

    def ask_each(self, commands: Sequence[Sequence[str | int]]) -> list[Any]:
        """The replies to several commands, sent in parts without waiting for each. RedisError or
        OSError."""
        found: list[Any] = []
        with self._lock:
            for start in range(0, len(commands), TOGETHER):
                found += self._together(commands[start : start + TOGETHER])
        for reply in found:
            if isinstance(reply, RedisError):
                raise reply
        return found

    def _together(self, commands: Sequence[Sequence[str | int]]) -> list[Any]:
        """The replies to commands sent at once; refusals are RedisErrors, not raised. A kept
        connection that the server has closed meanwhile is made again: sentinels close those of a
        server that they promote."""
        is_kept = self._client is not None
        try:
            if self._client is None:
                self._client = self._open()
            for words in commands:
                self._client.send(words)
            return [self._client.reply() for _ in commands]
        except ConnectionError:
            self._drop()
            if not is_kept:
                raise
        except BaseException:  # what comes next on it would answer this
            self._drop()
            raise
        return self._together(commands)

    def close_connection(self) -> None:
        """Closes the kept connection."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def info(self, *sections: str) -> dict[str, str]:
        """Sections of INFO, by name."""
        found: dict[str, str] = {}
        section = ""
        for line in str(self.ask("INFO", *(sections if len(sections) == 1 else ()))).splitlines():
            name, colon, value = line.partition(":")
            if line.startswith("#"):
                section = line.removeprefix("#").strip().lower()
            elif colon and section in sections:
                found[name] = value
        return found

    def keys(self, pattern: str) -> Iterator[str]:
        """All keys that match, some perhaps twice, without keeping the server from its work."""
        cursor = "0"
        while True:
            cursor, found = self.ask("SCAN", cursor, "MATCH", pattern, "COUNT", KEYS_A_CALL)
            yield from found
            if cursor == "0":
                return

    # ---- records of one field, which are strings

    @answered(ERRORS)
    def set_records(self, database: str, store: str, value: str) -> None:
        """Gives all records of a store that this node may write the same value."""
        for some in in_parts(self.keys(f"{key_prefix(database)}{store}:*")):
            self.ask_each([("SET", key, value) for key in some])

    @answered(ERRORS)
    def records_unlike(self, database: str, store: str, value: str) -> int:
        """How many records of a store have another value on this node."""
        with suppress(RedisError):  # of a server that is in no cluster
            self.ask("READONLY")  # else a replica sends us to its primary
        return sum(
            found != value
            for some in in_parts(self.keys(f"{key_prefix(database)}{store}:*"))
            for found in self.ask_each([("GET", key) for key in some])
        )

    # ---- what every server has

    @answered(ERRORS)
    def settings(self) -> dict[str, str]:
        flat = self.ask("CONFIG", "GET", "*")
        found = dict(zip(flat[::2], flat[1::2], strict=True))
        return {name: "" if _is_secret(name) else value for name, value in sorted(found.items())}

    @answered(ERRORS)
    def counters(self) -> dict[str, float]:
        return {
            name: number
            for name, value in self.info(*_SECTIONS).items()
            if (number := _number(value)) is not None
        }

    def gauges(self) -> frozenset[str]:
        return frozenset(name for name in self.counters() if not _COUNTED.fullmatch(name))

    def cycles(self, per_s: Mapping[str, float]) -> dict[str, float]:
        """None that its counters foretell."""
        return {}

    @answered(ERRORS)
    def sessions_by_state(self) -> dict[str, int]:
        """Other sessions by their last command, those that wait in a blocking one apart."""
        states: Counter[str] = Counter()
        for line in str(self.ask("CLIENT", "LIST")).splitlines():
            about = dict(word.partition("=")[::2] for word in line.split(" "))
            if not about["cmd"].startswith("client"):  # this question is one
                states["blocked" if "b" in about["flags"] else about["cmd"]] += 1
        return dict(states)

    def explain(self, database: str, sql: str) -> str:
        raise _no_sql()

    def run(self, database: str, statements: Sequence[str]) -> list[tuple[Any, ...]]:
        raise _no_sql()

    def refusals(
        self, database: str, session: Sequence[str], statements: Sequence[str]
    ) -> list[Refusal]:
        """None: it has no SQL."""
        return []

    def importer(self, database: str, host: Host) -> Importer:
        raise _no_sql()

    def check_asked(self, settings: Mapping[str, str]) -> None:
        """DynoError unless these are the values that the server uses."""
        effective = {name.replace("-", "_"): plain(text) for name, text in self.settings().items()}
        asked = {name: plain(text) for name, text in settings.items()}
        verify.check(self.kind, asked, effective, aliases={})

    def answers(self) -> bool:
        """Whether it answers at all."""
        try:
            return bool(self.ask("PING"))
        except RedisError as error:
            return error.code in ("NOPERM", "LOADING", "BUSY")
        except OSError:
            return False


def log_in(client: Client, user: str, password: str, database: int = 0) -> Client:
    """The same connection, logged in; closed if that fails."""
    try:
        client.log_in(user, password, database)
    except BaseException:
        client.close()
        raise
    return client


TIMEOUT_S = float(CONTROL_TIMEOUT_S)


def in_parts(keys: Iterable[str]) -> Iterator[list[str]]:
    """Keys in lists that one command can take."""
    part: list[str] = []
    for key in keys:
        part.append(key)
        if len(part) == KEYS_A_CALL:
            yield part
            part = []
    if part:
        yield part


def key_prefix(schema: str) -> str:
    """What the keys of a schema begin with."""
    return f"{schema}:"


def version_in(info: Mapping[str, str]) -> str:
    """The version of a server by the section `server` of its INFO. Valkey's `redis_version` is that
    of the Redis that it is compatible with."""
    valkey = info.get("valkey_version")
    return f"{valkey}-Valkey" if valkey else info["redis_version"]


def _is_secret(name: str) -> bool:
    return name in ("requirepass", "masterauth", "tls-key-file-pass", "tls-client-key-file-pass")


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _no_sql() -> DynoError:
    return DynoError("Redis takes no SQL", fix="use workloads that need none, such as `kind: kv`")
