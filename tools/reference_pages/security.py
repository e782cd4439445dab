"""The demands of servers during login, and the policy for each."""

from __future__ import annotations

from dbdyno.systems.logins import policy
from reference_pages.markdown import code, sections, table

INTRO = """During login, a server makes demands before it has proved its identity. One policy limits these demands for all connections: the control connections of
`dyno run`, `dyno digest` and `dyno model`, the load engine (`dyno-engine run`, trials and loading), and `dyno sysbench`. A demand beyond the policy ends the
login; the message names the demand and possible remedies. Tests connect each program to servers that make every demand (`tests/live/hostile/`).
The [threat model](../threat-model.md) describes all other trust relationships."""

WAYS = """*Without TLS* means unencrypted TCP: `tls: off`, and `tls: prefer` (the default on loopback) if the server, or an attacker on the network path, reports
that it has no TLS. `tls: require` encrypts without authentication of the server; `verify` and `ca:FILE` check the certificate. `verify` is the default for other hosts."""

KEYS = """- `cleartext_password: yes` (`--cleartext-password`; `enable-cleartext-plugin` in `~/.my.cnf`): the password may be sent in cleartext over TLS or a Unix
  socket, but not over unencrypted TCP.
- `server_public_key: FILE` (`--server-public-key FILE`; `server-public-key-path` in `~/.my.cnf`): without TLS, the password may be sent encrypted with this RSA key: a
  copy of `public_key.pem` from the data directory of the MySQL server. `get` (`get-server-public-key`) requests the key from the server: it protects against passive
  eavesdroppers, but not against an impersonated server. MySQL requires it once after its start, or after `FLUSH PRIVILEGES`, for each account with
  caching_sha2_password; a login over TLS or the Unix socket has the same effect."""

SURFACE = """`dyno sysbench` takes the key from `--mysql-server-public-key=FILE` (or `get`), and permission for cleartext passwords with MySQL from libmysqlclient's variable
`LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN=1`. To PostgreSQL it sends a cleartext password over TLS and sockets without an option, like libpq. Without TLS it refuses
both, like sysbench with MySQL's client library. With MariaDB's library, sysbench accepts any key, and with libpq it sends the password to any server that requests it."""

MONGODB = """`dyno check` chooses, of the mechanisms that the server lists for the account, SCRAM-SHA-256, else SCRAM-SHA-1: both give a proof that only fits this login, with or without
TLS, within the limits of iterations above, and the server must prove that it knows the password too. An account with other mechanisms only (PLAIN, X.509, GSSAPI) cannot log in."""

OWN = """dbdyno connects to managed servers over their Unix socket, or over loopback with a random password for this start; they need
no options. The client programs that load dumps (`setup:`) log in by their own rules."""


def page() -> str:
    """docs/reference/security.md"""
    return sections(
        "# Security of logins",
        INTRO,
        WAYS,
        "## MySQL and MariaDB: plug-ins",
        _demands("mysql"),
        "## PostgreSQL: authentication requests",
        _demands("postgres"),
        _scram(),
        "## Redis: AUTH",
        _auth(),
        "## MongoDB and FerretDB: mechanisms",
        MONGODB,
        "## Options that permit more",
        KEYS,
        "## Options of dyno sysbench",
        SURFACE,
        "## After the login",
        _answers(),
        "## Managed servers",
        OWN,
    )


def _answers() -> str:
    return f"""One answer to a control connection has at most {policy.ANSWER_BYTES_MAX >> 20} MiB and {policy.ANSWER_ROWS_MAX:,} rows, and the timeout applies to the complete
answer; a longer one ends the connection. A malformed answer (a NULL version, a counter that is not a number, a missing row) is an error that names the
server. Requests of a server for `LOAD DATA LOCAL` or `COPY FROM STDIN` are never answered. `DYNO_TRACEBACK=1` shows where an answer was malformed."""


def _demands(protocol: policy.Protocol) -> str:
    rows = [
        (
            code(demand.name) if "other" not in demand.name else demand.name,
            demand.gives,
            demand.plain.value,
            demand.private.value,
        )
        for demand in policy.DEMANDS
        if demand.protocol == protocol
    ]
    return table(("demand", "revealed", "without TLS", "over TLS or a Unix socket"), rows)


def _auth() -> str:
    return f"""Redis makes no demands: `AUTH` sends the password in cleartext. Over TLS, over a Unix socket and on this machine: {policy.AUTH.private.value}. To another machine without
TLS: {policy.AUTH.plain.value}. A reply that is discarded may have any length up to Redis's own limits; a reply that is stored, at most 64 kB."""


def _scram() -> str:
    return f"""An authentication request in the wrong order ends the login: a second request, a request during SCRAM or after the login, and the end of SCRAM without the
server's signature, which proves that the server knows the password. Mechanisms are {" and ".join(policy.SCRAM_MECHANISMS)} (the latter, with channel binding to the certificate, only on
control connections), with {policy.SCRAM_ITERATIONS_MIN:,} to {policy.SCRAM_ITERATIONS_MAX:,} iterations."""
