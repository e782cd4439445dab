"""What a server may ask of us before it is trusted: one table, for control connections, the load
engine and `sysbench` alike.

The engine holds the same rows in `engine/drivers/src/policy.rs`; tests/live/hostile/ puts every row
to both, and docs/reference/security.md is made of it. Sources: the MySQL manual, "Pluggable
Authentication"; MariaDB's "Authentication Plugins"; PostgreSQL's "Message Formats"; RFC 5802, 7677.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from dbdyno.errors import DynoError

Protocol = Literal["mysql", "postgres", "redis"]

SCRAM_ITERATIONS_MIN = 4096  # RFC 7677, section 4: with fewer, guessing the password is too cheap
SCRAM_ITERATIONS_MAX = 100_000  # with more, a server makes its clients work without end
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-256-PLUS")
ROUNDS_MAX = 16  # replies to one login: more is a server that will not come to an end
PUBLIC_KEY_BYTES_MAX = 1 << 16
ANSWER_BYTES_MAX = 64 << 20  # to one statement of a control connection
ANSWER_ROWS_MAX = 1_000_000
TAKE_KEY = "get"  # `server_public_key:` takes the key that the server shows


class Answer(Enum):
    """What a server gets that asks."""

    GIVEN = "yes"
    NAMED = "with `cleartext_password: yes`"
    KEYED = "with `server_public_key:`, under that RSA key"
    REFUSED = "no"


@dataclass(frozen=True)
class Demand:
    """One thing that a server may ask for during a login."""

    protocol: Protocol
    name: str  # as the protocol calls it: a plug-in, a number
    gives: str  # what the server learns
    plain: Answer  # over TCP without TLS
    private: Answer  # over TLS, or a Unix socket


_PROOF = "a proof that only fits this login"
_PASSWORD = "the password itself"

DEMANDS = (
    Demand("mysql", "mysql_native_password", _PROOF, Answer.GIVEN, Answer.GIVEN),
    Demand("mysql", "client_ed25519", _PROOF, Answer.GIVEN, Answer.GIVEN),
    Demand("mysql", "caching_sha2_password", _PROOF, Answer.GIVEN, Answer.GIVEN),
    Demand(
        "mysql", "caching_sha2_password, full authentication", _PASSWORD, Answer.KEYED, Answer.GIVEN
    ),
    Demand("mysql", "sha256_password", _PASSWORD, Answer.KEYED, Answer.GIVEN),
    Demand("mysql", "mysql_clear_password", _PASSWORD, Answer.REFUSED, Answer.NAMED),
    Demand("mysql", "dialog", _PASSWORD, Answer.REFUSED, Answer.REFUSED),
    Demand("mysql", "mysql_old_password", "a weak proof", Answer.REFUSED, Answer.REFUSED),
    Demand("mysql", "any other plug-in", "", Answer.REFUSED, Answer.REFUSED),
    Demand("postgres", "0, no authentication", "nothing", Answer.GIVEN, Answer.GIVEN),
    Demand("postgres", "3, clear-text password", _PASSWORD, Answer.REFUSED, Answer.NAMED),
    Demand("postgres", "5, MD5", _PROOF, Answer.GIVEN, Answer.GIVEN),
    Demand("postgres", "10, SCRAM-SHA-256", _PROOF, Answer.GIVEN, Answer.GIVEN),
    Demand("postgres", "any other method", "", Answer.REFUSED, Answer.REFUSED),
)
# Redis asks for nothing: AUTH is sent by the client, or not at all. This machine counts as private.
AUTH = Demand("redis", "AUTH", _PASSWORD, Answer.NAMED, Answer.GIVEN)
FULL = "caching_sha2_password, full authentication"  # the server does not know the proof yet


@dataclass(frozen=True)
class LoginRules:
    """What the user allows one server, which `place` and `user` name in messages."""

    place: str
    user: str
    cleartext: bool = False  # `cleartext_password: yes`
    server_key: str = ""  # `get`, or the PEM text of a key that is pinned

    def engine(self) -> dict[str, Any]:
        """The `login` of an engine target, where anything is allowed."""
        key = {"server_public_key": _engine_key(self.server_key)} if self.server_key else {}
        allowed = key | ({"cleartext_password": True} if self.cleartext else {})
        return {"login": allowed} if allowed else {}

    def check(self, protocol: Protocol, name: str, *, private: bool) -> None:
        """DynoError unless a server that asks for `name` may have it."""
        demand = demand_of(protocol, name)
        answer = demand.private if private else demand.plain
        allowed: Mapping[Answer, bool] = {
            Answer.GIVEN: True,
            Answer.NAMED: self.cleartext,
            Answer.KEYED: bool(self.server_key),
            Answer.REFUSED: False,
        }
        if not allowed[answer]:
            raise self.refusal(_wants(protocol, name, demand, private), _fix(demand, answer))

    def refusal(self, what: str, fix: str, cause: str = "") -> DynoError:
        """The error for a server that is not trusted with `what` it wants."""
        return DynoError(
            f"the login of {self.user} at {self.place} was ended: {what}",
            cause=cause
            or "the account's own method, or a server (or somebody on the way to it) that collects "
            "passwords",
            fix=fix,
        )


def _engine_key(key: str) -> str | dict[str, str]:
    return key if key == TAKE_KEY else {"pem": key}


def demand_of(protocol: Protocol, name: str) -> Demand:
    """The row for what a server asks for; the protocol's last row is for all others."""
    rows = [row for row in (*DEMANDS, AUTH) if row.protocol == protocol]
    return next((row for row in rows if row.name == name), rows[-1])


def _wants(protocol: Protocol, name: str, demand: Demand, private: bool) -> str:
    asks = f"plug-in {name}" if protocol == "mysql" else f"authentication {name}"
    gives = f", which takes {demand.gives}" if demand.gives else ""
    return f"the server asks for {asks}{gives}" + (
        "" if private else ", over a connection without TLS"
    )


def _fix(demand: Demand, answer: Answer) -> str:
    if answer is Answer.NAMED:
        return "if this server may have the password, say `cleartext_password: yes`"
    if answer is Answer.KEYED:
        return (
            "use `tls: require` (or verify), or a Unix socket; or name the server's RSA key: "
            "`server_public_key: FILE`, or `get` to take the one that it shows"
        )
    if demand.private is Answer.NAMED:
        return "use `tls: require` (or verify) or a Unix socket, with `cleartext_password: yes`"
    known = {
        "mysql": "caching_sha2_password, mysql_native_password or ed25519; of PAM with "
        "pam_use_cleartext_plugin=ON, which asks for mysql_clear_password",
        "postgres": "scram-sha-256 in pg_hba.conf",
        "redis": "AUTH",
    }
    return f"use an account with {known[demand.protocol]}"
