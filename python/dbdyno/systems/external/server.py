"""What is asked of an external server, beyond what is asked of one that we started.

Such a server belongs to somebody else. We own the schemas that carry our mark and were made by this
run, and the settings whose old values we have written down; the rest is only read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from dbdyno.errors import DynoError
from dbdyno.systems.base import Server

PREFIX = "dbdyno_"  # of every schema of dbdyno
MARKER = "dbdyno_marker"  # the table in it that says so


@dataclass(frozen=True)
class Mark:
    """Whose a marked schema is."""

    run: str  # identifies the run: hexadecimal digits
    experiment: str
    made: str  # when, UTC


class RemoteServer(Server, Protocol):
    """An external server."""

    kind: str  # what it is, which need not be what its URL calls it
    place: str  # host and port, or socket
    remark: str  # notes on the login; empty: nothing
    mark: Mark | None  # put into schemas that `create_schema` makes

    def log_in(self) -> None:
        """Opens the control connection and learns version and kind. Refused, or DynoError."""

    def unanswered(self, error: Exception) -> DynoError:
        """The error for a client library's."""

    def uptime_s(self) -> float:
        """Seconds since its start."""

    def sees_all_sessions(self) -> bool:
        """Whether `sessions_by_state` shows more than sessions of our own user."""

    def marked(self) -> dict[str, Mark]:
        """Schemas that dbdyno has made, whichever run it was."""

    def drop_schema(self, schema: str, run: str) -> None:
        """Drops a schema that this run has made; DynoError for any other."""

    def put_token(self, schema: str, token: str) -> None:
        """Writes a word into the marker of dbdyno's schema, for replicas to be waited for."""

    def has_token(self, schema: str, token: str) -> bool:
        """Whether that word is here by now."""

    def lag_s(self) -> float:
        """How far it is behind the server that it replicates, seconds; DynoError if it cannot
        say."""

    def highest_id(self, schema: str, table: str) -> int:
        """The largest `id` of a table that has the columns id, k, c, pad; DynoError if it has
        not, or is not there."""

    def current_setting(self, name: str) -> Any:
        """The value of a setting that can be changed while it runs, as JSON; whatever
        `restore_setting` needs. DynoError if there is no such setting."""

    def assign_setting(self, name: str, value: str) -> None:
        """Changes a setting for the whole server; DynoError if that is not possible."""

    def restore_setting(self, name: str, old: Any) -> None:
        """Brings back what `current_setting` saw."""

    def check_asked(self, settings: dict[str, str]) -> None:
        """DynoError unless these are the values that the server uses."""


class Refused(Exception):
    """The server does not let this user in with this password; `args[0]` says in which words."""
