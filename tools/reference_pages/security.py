"""What a server may ask of us before it is trusted."""

from __future__ import annotations

from dbdyno.systems.logins import policy
from reference_pages.markdown import code, sections, table

INTRO = """A server asks first, and is believed later: what it may ask for until then is one policy for everything that logs in, the control connections of
`dyno run`, `dyno digest` and `dyno model`, the load engine (`dyno-engine run`, trials and loading), and `dyno sysbench`. A server that asks for more ends the
login; the message says what it asked for, and what can be done. Tests lead each of these to servers that ask for everything (`tests/live/hostile/`).
Who else is trusted for what is in the [threat model](../threat-model.md)."""

WAYS = """*Without TLS* is TCP that is not encrypted: `tls: off`, and `tls: prefer` (the default on loopback) where the server says that it has no TLS, or somebody
on the way says so in its place. `tls: require` encrypts and knows nobody; `verify` and `ca:FILE` check the certificate, and are the default for other hosts."""

KEYS = """- `cleartext_password: yes` (`--cleartext-password`; `enable-cleartext-plugin` in `~/.my.cnf`): the password itself may be sent. Without TLS it is not sent
  even so.
- `server_public_key: FILE` (`--server-public-key FILE`; `server-public-key-path` in `~/.my.cnf`): without TLS, the password may be sent under this RSA key: a copy
  of `public_key.pem` from the data directory of the MySQL server. `get` (`get-server-public-key`) takes the key that the server shows: it keeps out those who
  only listen, and nobody who answers in the server's place. MySQL asks for it once after its start, or after `FLUSH PRIVILEGES`, for each account with
  caching_sha2_password; a login over TLS or the Unix socket does as well."""

SURFACE = """`dyno sysbench` takes the key from `--mysql-server-public-key=FILE` (or `get`), and clear text for MySQL from libmysqlclient's variable
`LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN=1`; to PostgreSQL it sends a clear-text password over TLS and sockets without being told to, as libpq does. Without TLS it refuses
both, as sysbench does with MySQL's client library; with MariaDB's, sysbench takes any key, and with libpq it sends the password to any server that asks."""

OWN = """Servers that dbdyno starts itself are reached over their Unix socket, or over loopback with a password that was drawn for this start; they need
no options. The client programs that read dumps (`setup:`) log in by the rules of their own."""


def page() -> str:
    """docs/reference/security.md"""
    return sections(
        "# What a server may ask of us",
        INTRO,
        WAYS,
        "## MySQL and MariaDB: plug-ins",
        _demands("mysql"),
        "## PostgreSQL: authentication requests",
        _demands("postgres"),
        _scram(),
        "## Redis: AUTH",
        _auth(),
        "## What allows more",
        KEYS,
        "## sysbench's surface",
        SURFACE,
        "## After the login",
        _answers(),
        "## Servers of our own",
        OWN,
    )


def _answers() -> str:
    return f"""One answer to a control connection has at most {policy.ANSWER_BYTES_MAX >> 20} MiB and {policy.ANSWER_ROWS_MAX:,} rows, and as a whole the time that a single wait had
before; more ends the connection. What cannot be made sense of (a version that is NULL, a counter that is a word, a row less) is an error that names the
server. `LOAD DATA LOCAL` and `COPY FROM STDIN` of a server's own wish are never answered. `DYNO_TRACEBACK=1` shows where an answer was malformed."""


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
    return table(("asks for", "learns", "without TLS", "over TLS, or a Unix socket"), rows)


def _auth() -> str:
    return f"""Redis asks for nothing: the password itself is sent in `AUTH`, or not at all. Over TLS, over a Unix socket and on this machine: {policy.AUTH.private.value}. To another machine without
TLS: {policy.AUTH.plain.value}. A reply of which nothing is kept may have any length up to Redis's own limits; of one that is kept, 64 kB are."""


def _scram() -> str:
    return f"""A request out of turn ends the login: a second one, one after SCRAM has begun, one after the login, and an end without the proof that a SCRAM server
owes, which shows that it knows the password. Mechanisms are {" and ".join(policy.SCRAM_MECHANISMS)} (the latter, which binds to the certificate, on control
connections alone), with {policy.SCRAM_ITERATIONS_MIN:,} to {policy.SCRAM_ITERATIONS_MAX:,} iterations."""
