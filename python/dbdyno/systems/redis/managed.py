"""A Redis that we started: login, settings asked for, what a trial starts from, stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.systems.base import Resolved, TargetPlan, engine_target
from dbdyno.systems.process import starting
from dbdyno.systems.process.managed import Managed, Started
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.systems.process.starting import SETTLE_TIMEOUT_S
from dbdyno.systems.redis import identities
from dbdyno.systems.redis.client import ERRORS, Client, RedisError
from dbdyno.systems.redis.control import (
    TIMEOUT_S,
    RedisControl,
    key_prefix,
    log_in,
    version_in,
)
from dbdyno.systems.server_errors import answered, lost

OF_CLUSTER = ("MOVED", "ASK", "CLUSTERDOWN")  # a key belongs to another node, or to none yet


class RedisServer(RedisControl, Managed):
    """A running Redis server that we started. At its end the append-only file is synced, and a
    dump written where `save` asks for one."""

    def __init__(self, tls_port: int, started: Started) -> None:
        """`started.port` is the one without TLS."""
        RedisControl.__init__(self)
        Managed.__init__(self, started)
        self.tls_port = tls_port

    @staticmethod
    def socket_name(port: int) -> str:
        """See `Managed.socket_name`."""
        return "redis.sock"

    @answered(ERRORS)
    def wait_until_ready(self) -> None:
        """Returns once it has read its data; DynoError with the log's end if it dies."""
        starting.until_ready("Redis", self.process, self._log, _HINTS, self._log_in, ERRORS)

    def _log_in(self) -> None:
        try:
            self.ask("GET", "dbdyno")  # refused while data are read, as INFO is not
        except RedisError as error:
            # A node of a cluster says first that the key is not its own.
            if error.code not in OF_CLUSTER or self.info("persistence")["loading"] != "0":
                raise
        self.version = version_in(self.info("server"))

    def unanswered(self, error: Exception) -> DynoError:
        return lost("redis", self, error)

    def _open(self, timeout_s: float = TIMEOUT_S) -> Client:
        return log_in(Client(str(self.socket_path), timeout_s=timeout_s), "", self._password)

    def look(self, timeout_s: float, *words: str | int) -> Any:
        """The reply to one command on a connection of its own, which is not waited for longer.
        RedisError or OSError."""
        client = self._open(timeout_s)
        try:
            return client.call(*words)
        finally:
            client.close()

    def client_at(self, port: int, timeout_s: float) -> Client:
        """A connection to another program of the same topology, which has the same password.
        RedisError or OSError."""
        return log_in(Client((LOOPBACK, port), timeout_s=timeout_s), "", self._password)

    @answered(ERRORS)
    def check_settings(self, resolved: Resolved) -> None:
        """Every setting asked for is what the server says; see `verify`."""
        self.check_asked(resolved.settings)

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        tls = self._certificate.engine_tls(target.tls)
        return engine_target(
            target,
            "redis",
            self._address(target, self.port if tls == "off" else self.tls_port),
            "0",
            password=self._password,
            tls=tls,
            options={"prefix": key_prefix(database)},
        )

    @answered(ERRORS)
    def clear_identities(self, database: str) -> None:
        """Removes the identities of audited writes."""
        identities.clear(self, database)

    @answered(ERRORS)
    def count_identities(self, database: str) -> int:
        """How many identities it has."""
        return identities.count(self, database)

    def identities(self, database: str) -> Iterator[list[str]]:
        """All identities, `SESSION:N:ATTEMPT`, a part at a time. RedisError or OSError."""
        return identities.pages(self, database)

    def create_schema(self, database: str) -> None:
        """A prefix of keys, in a managed server."""

    def schemas(self) -> list[str]:
        return []

    @answered(ERRORS)
    def settle(self, database: str) -> None:
        """After loading: writes the file that the next start will read, as small as it gets."""
        client = self._open(SETTLE_TIMEOUT_S)
        try:
            if self.info("persistence")["aof_enabled"] == "0":
                client.call("SAVE")
                return
            client.call("BGREWRITEAOF")
        finally:
            client.close()
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while True:
            found = self.info("persistence")
            if found["aof_rewrite_in_progress"] == found["aof_rewrite_scheduled"] == "0":
                break
            if time.monotonic() > deadline:
                raise DynoError(
                    f"redis did not rewrite its append-only file in {SETTLE_TIMEOUT_S} s",
                    cause="a very slow disk",
                    fix=f"its log ends:\n{self.log_tail()}",
                )
            time.sleep(0.02)
        if found["aof_last_bgrewrite_status"] != "ok":
            raise DynoError(
                "redis could not rewrite its append-only file after loading",
                cause="a full disk, or not enough memory to fork",
                fix=f"its log ends:\n{self.log_tail()}",
            )


# (pattern in the log, likely cause, next step)
_HINTS = (
    (
        r"FATAL CONFIG FILE ERROR[\s\S]*>>> '([a-z0-9-]+)[^\n]*\n\s*Bad directive",
        r"this version does not know the setting `\1`",
        r"correct or remove `\1` in `config:`; of `tls-port`: use a server built with TLS",
    ),
    (
        r"FATAL CONFIG FILE ERROR[\s\S]*>>> '([a-z0-9-]+) \"?([^\n\"]*)\"?'\n\s*([^\n]+)",
        r"the value `\2` is not allowed for `\1`: \3",
        r"correct `\1` in `config:`",
    ),
    (
        r"bind: Address already in use",
        "the port is in use by another server",
        "remove `port`: dyno then chooses a free one",
    ),
    (
        r"Can't handle RDB format version",
        "the data were written by a newer Redis",
        "use that version",
    ),
    (r"Out Of Memory|Cannot allocate memory", "there is not enough memory", "load fewer records"),
    (
        r"No space left on device",
        "the disk is full",
        "free space, or set DYNO_SCRATCH to another disk",
    ),
)
