"""An external Redis: who we are there, keys of our own, settings that are restored.

A schema of dbdyno is a prefix of keys, `dbdyno_RUN_DATA:`; its marker key says whose it is. No
other key is read, written or removed, and nothing is ever flushed.
"""

from __future__ import annotations

import json
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.external.base import External
from dbdyno.systems.external.credentials import Login
from dbdyno.systems.external.encryption import context
from dbdyno.systems.external.server import MARKER, PREFIX, Mark, Refused
from dbdyno.systems.redis.client import ERRORS, Client, RedisError
from dbdyno.systems.redis.control import (
    TIMEOUT_S,
    RedisControl,
    in_parts,
    key_prefix,
    log_in,
    version_in,
)
from dbdyno.systems.server_errors import answered, understood

_REFUSED = ("NOAUTH", "WRONGPASS", "DENIED")


@understood
class RedisRemote(RedisControl, External):
    """See the module."""

    driver = "redis"

    def __init__(self, kind: str, url: ServerUrl, login: Login, tls: str) -> None:
        RedisControl.__init__(self)
        External.__init__(self, url, login, tls)
        self._database = int(url.schema or 0)

    def _open(self) -> Client:
        login = self._login
        private = self._tls != "off" or login.is_on_this_machine
        if login.password:
            login.rules(self.place).check("redis", "AUTH", private=private)
        client = Client(
            login.socket or (login.host, login.port),
            timeout_s=TIMEOUT_S,
            tls=None if self._tls == "off" else context(self._tls),
        )
        return log_in(client, login.user, login.password, self._database)

    def unanswered(self, error: Exception) -> DynoError:
        denied = isinstance(error, RedisError) and error.code == "NOPERM"
        return DynoError(
            f"redis at {self.place}: {error}",
            cause="a command that our user may not send" if denied else "it is gone, or refuses",
            fix="see the commands in the guide `external-servers`, and the server's log",
        )

    def log_in(self) -> None:
        try:
            found = self.info("server")
        except RedisError as error:
            text = str(error)
            if error.code in _REFUSED or "AUTH" in text:
                raise Refused(text) from None
            raise
        self.version = version_in(found)
        if found.get("redis_mode") == "cluster":
            raise DynoError(
                f"redis at {self.place} is a node of a cluster",
                cause="dbdyno sends all keys to one server, and a cluster spreads them by slot",
                fix="measure a single server, or a proxy in front of the cluster",
            )

    @answered(ERRORS)
    def uptime_s(self) -> float:
        return float(self.info("server")["uptime_in_seconds"])

    def sees_all_sessions(self) -> bool:
        return True

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        options = {"prefix": key_prefix(database)}
        return self._engine_target(target, str(self._database), options=options)

    def settle(self, database: str) -> None:
        """Nothing: dbdyno must not write its files."""

    def schemas(self) -> list[str]:
        return sorted(self.marked())

    # ---- dbdyno's schemas

    @answered(ERRORS)
    def create_schema(self, database: str) -> None:
        assert self.mark is not None and database.startswith(f"{PREFIX}{self.mark.run}")
        found = self.marked().get(database)
        if found is not None and found.run == self.mark.run:
            return
        if found is not None or next(self.keys(_all_of(database)), None) is not None:
            raise _not_ours(database)
        self._write_marker(database, "")

    def _write_marker(self, schema: str, token: str) -> None:
        assert self.mark is not None
        mark = {**vars(self.mark), "made_by": "dbdyno", "token": token}
        self.ask("SET", _marker(schema), json.dumps(mark))

    def _marker_of(self, schema: str) -> dict[str, str]:
        """What the marker says; empty if there is none, or it is not of dbdyno's making."""
        text = self.ask("GET", _marker(schema))
        try:
            found = json.loads(text or "{}")
        except ValueError:
            return {}
        is_ours = isinstance(found, dict) and found.get("made_by") == "dbdyno"
        return {key: str(value) for key, value in found.items()} if is_ours else {}

    @answered(ERRORS)
    def marked(self) -> dict[str, Mark]:
        suffix = _marker("")
        found = {}
        for key in set(self.keys(f"{PREFIX}*{suffix}")):
            schema = key.removesuffix(suffix)
            if says := self._marker_of(schema):
                found[schema] = Mark(says["run"], says["experiment"], says["made"])
        return found

    @answered(ERRORS)
    def drop_schema(self, schema: str, run: str) -> None:
        """Removes its keys, and last of all the marker: what was begun can be ended."""
        if not schema.startswith(PREFIX) or self._marker_of(schema).get("run") != run:
            raise _not_ours(schema)
        marker = _marker(schema)
        for some in in_parts(key for key in self.keys(_all_of(schema)) if key != marker):
            self.ask("UNLINK", *some)
        self.ask("UNLINK", marker)

    @answered(ERRORS)
    def put_token(self, schema: str, token: str) -> None:
        self._write_marker(schema, token)

    @answered(ERRORS)
    def has_token(self, schema: str, token: str) -> bool:
        return self._marker_of(schema).get("token") == token

    # ---- replicas

    @answered(ERRORS)
    def lag_s(self) -> float:
        """Known where the link is down; else Redis reports bytes, and those only on the master."""
        found = self.info("replication")
        if found.get("role") != "slave":
            raise DynoError(f"redis at {self.place} is not a replica")
        if found["master_link_status"] != "up":
            return float(found["master_link_down_since_seconds"])
        raise DynoError(f"redis at {self.place} does not tell how long it is behind")

    # ---- existing data

    def highest_id(self, schema: str, table: str) -> int:
        raise DynoError("Redis has no tables", fix="use `kind: kv`, which loads its own records")

    # ---- settings

    @answered(ERRORS)
    def current_setting(self, name: str) -> Any:
        found = self.ask("CONFIG", "GET", _directive(name))
        if len(found) != 2:
            raise self._unsettable(name, "the server does not know it")
        return found[1]

    def assign_setting(self, name: str, value: str) -> None:
        try:
            self.ask("CONFIG", "SET", _directive(name), value)
        except RedisError as error:
            raise self._unsettable(name, str(error)) from None
        except OSError as error:
            raise self.unanswered(error) from None

    def restore_setting(self, name: str, old: Any) -> None:
        self.assign_setting(name, str(old))

    def _unsettable(self, name: str, why: str) -> DynoError:
        return DynoError(
            f"redis at {self.place}: `{name}` cannot be set",
            cause=why,
            fix="remove it from `config:`; settings that are fixed while it runs go into its file",
        )


def _marker(schema: str) -> str:
    return f"{key_prefix(schema)}{MARKER}"


def _all_of(schema: str) -> str:
    """A pattern of all keys of a schema of dbdyno, whose name has no wildcard."""
    if not schema.replace("_", "").isalnum():
        raise _not_ours(schema)
    return f"{key_prefix(schema)}*"


def _directive(name: str) -> str:
    return name.replace("_", "-")


def _not_ours(schema: str) -> DynoError:
    return DynoError(
        f"redis: keys of {schema!r} were not made by this run",
        cause="they belong to someone else, or to another run",
        fix=f"look at the key {_marker(schema)}, if it is there",
    )
