"""Sessions and TLS: what sessions do now, against what the server offers and accounts demand.

A setting says what is possible; the server's list of sessions says what is done. Sessions of this
machine do not count: they do not cross a network. Sources: the manuals' pages on encrypted
connections, performance_schema's threads, pg_stat_ssl and pg_hba.conf; RFC 8996.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dbdyno.facts.fact import Fact, Facts, Table
from dbdyno.rules.check.encryption.sessions import (
    Row,
    is_far,
    is_offered,
    is_under_tls,
    offered,
    sessions,
)
from dbdyno.rules.check.rule import Fix, Found, Rule, edits, setting
from dbdyno.rules.check.security.settings import tls_versions

_MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/"
_POSTGRES = "https://www.postgresql.org/docs/current/"
_OLD = ("SSLv3", "TLSv1", "TLSv1.0", "TLSv1.1")


def _account(row: Row) -> str:
    return f"{row['user']}@{row['host']}"


def _in_clear(facts: Facts) -> Iterator[Found]:
    offer, table = offered(facts), sessions(facts)
    clear = [row for row in table.rows if is_far(row) and not is_under_tls(row)]
    if not is_offered(offer) or not clear:
        return
    far = [row for row in table.rows if is_far(row)]
    count = sum(int(row["sessions"]) for row in clear)
    total = sum(int(row["sessions"]) for row in far)
    named = sorted({_account(row) for row in clear})
    yield Found(
        what=f"TLS is offered, and {count:,} of {total:,} sessions from other hosts are without it:"
        f" {', '.join(named[:10])}",
        evidence=(
            offer,
            *(
                Fact(_account(row), f"{row['sessions']} without TLS", table.place)
                for row in clear[:10]
            ),
        ),
        effect="statements and results of these sessions can be read on the way, whatever is"
        " encrypted"
        " at rest",
        fix=_demand(facts, clear),
        undo=_allow(facts, clear),
        about="sessions",
    )


def _demand(facts: Facts, clear: list[Row]) -> Fix:
    if facts.engine == "postgres":
        return edits(
            "Write hostssl for host in the lines of pg_hba.conf that these clients match, then"
            " SELECT pg_reload_conf(), after they connect with sslmode=verify-full."
        )
    users = sorted({str(row["user"]) for row in clear})
    return edits(
        f"Once their clients use TLS: ALTER USER ... REQUIRE SSL, of {', '.join(users[:10])};"
        " require_secure_transport = ON when all do."
    )


def _allow(facts: Facts, clear: list[Row]) -> Fix:
    if facts.engine == "postgres":
        return edits("Write host for hostssl again, then SELECT pg_reload_conf().")
    return edits("ALTER USER ... REQUIRE NONE; require_secure_transport = OFF.")


def _old_versions(facts: Facts) -> Iterator[Found]:
    table = sessions(facts)
    old = [row for row in table.rows if str(row.get("tls_version") or "") in _OLD]
    if not old:
        return
    count = sum(int(row["sessions"]) for row in old)
    is_postgres = facts.engine == "postgres"
    name = "ssl_min_protocol_version" if is_postgres else "tls_version"
    value = "TLSv1.2" if is_postgres else tls_versions(facts)
    before = facts.setting(name)
    yield Found(
        what=f"{count:,} sessions are under a version of TLS before 1.2:"
        f" {', '.join(sorted({_account(row) for row in old})[:10])}",
        evidence=tuple(
            Fact(_account(row), f"{row['sessions']} under {row['tls_version']}", table.place)
            for row in old[:10]
        ),
        effect="RFC 8996 retires these versions: their hashes and ciphers are weak",
        fix=Fix(
            settings=((name, value),),
            edits=(
                f"{_loading(facts)}; clients of before 1.2 are"
                " refused from then on, so move them first.",
            ),
        ),
        undo=setting(name, before.text),
        about="tls_version",
    )


def _loading(facts: Facts) -> str:
    if facts.engine == "postgres":
        return "SELECT pg_reload_conf()"
    if facts.engine == "mysql" and facts.version >= (8, 0, 16):
        return "ALTER INSTANCE RELOAD TLS"
    return "Restart the server"


def _demands(facts: Facts) -> tuple[list[Row], Table]:
    table = facts.table("account_tls")
    return [row for row in table.rows if row["ssl_type"]], table


def _demanded_not_offered(facts: Facts) -> Iterator[Found]:
    demanding, table = _demands(facts)
    offer = offered(facts)
    if not demanding or is_offered(offer):
        return
    yield Found(
        what=f"{len(demanding):,} accounts demand TLS, and the server has none:"
        f" {', '.join(_account(row) for row in demanding[:10])}",
        evidence=(offer, table.fact(demanding[0], "ssl_type", _account(demanding[0]))),
        effect=f"{len(demanding):,} accounts cannot log in over the network",
        fix=edits(
            "Set ssl_cert, ssl_key and ssl_ca, and restart, or ALTER INSTANCE RELOAD TLS (MySQL"
            " since"
            " 8.0.16)."
        ),
        undo=edits("Take the three settings away again."),
        about="accounts",
    )


def _demanded_by_some(facts: Facts) -> Iterator[Found]:
    """Some accounts must use TLS, others of other hosts need not, and the server does not ask."""
    demanding, table = _demands(facts)
    required = facts.setting("require_secure_transport")
    roles = {str(row["user"]) for row in _rows(facts, "accounts") if _is_role(row)}
    free = [
        row
        for row in table.rows
        if not row["ssl_type"] and is_far(row) and row["user"] and str(row["user"]) not in roles
    ]
    if required.on or not demanding or not free:
        return
    yield Found(
        what=f"{len(demanding):,} accounts demand TLS, and {len(free):,} that may come from other"
        f" hosts do not: {', '.join(_account(row) for row in free[:10])}",
        evidence=(
            required,
            *(table.fact(row, "ssl_type", _account(row)) for row in (*demanding[:2], *free[:5])),
        ),
        effect=f"a client of {len(free):,} accounts that falls back to no TLS is let in and not"
        " told",
        fix=edits(
            "ALTER USER ... REQUIRE SSL for these accounts, or require_secure_transport = ON, once"
            " no session is in the clear, of replicas and backups too."
        ),
        undo=edits("ALTER USER ... REQUIRE NONE; require_secure_transport = OFF."),
        about="accounts",
    )


def _rows(facts: Facts, name: str) -> tuple[Row, ...]:
    table = facts.tables.get(name)
    return tuple(table.rows) if table is not None else ()


def _is_role(row: Row) -> bool:
    locked = str(row.get("locked")).lower() in ("y", "1", "true")
    return locked or str(row.get("is_role")).lower() in ("y", "1", "true")


def _never_matched(facts: Facts) -> Iterator[Found]:
    ssl, table = facts.setting("ssl"), facts.table("hba")
    lines = [row for row in table.rows if row["type"] == "hostssl" and not row["error"]]
    if ssl.on or not lines:
        return
    numbers = ", ".join(str(row["line"]) for row in lines)
    yield Found(
        what=f"ssl is off, and lines {numbers} of pg_hba.conf are hostssl",
        evidence=(ssl, Fact("pg_hba.conf", f"lines {numbers}: hostssl", table.place)),
        effect=f"{len(lines)} lines match no client: it is refused, or let in by a later line"
        " without TLS",
        fix=setting("ssl", "on"),
        undo=setting("ssl", ssl.text),
        about="hostssl",
    )


def _logged_keys(facts: Facts) -> Iterator[Found]:
    """pgcrypto gets its keys as arguments, which logs of statements and of parameters show."""
    rows = facts.table("extensions")
    if not any(row["name"] == "pgcrypto" for row in rows.rows):
        return
    logged, slow = facts.setting("log_statement"), facts.setting("log_min_duration_statement")
    if logged.text not in ("all", "mod") and slow.number < 0:
        return
    parameters = facts.get("setting.log_parameter_max_length")
    yield Found(
        what="statements are logged with their values, and pgcrypto takes keys in statements",
        evidence=(
            Fact("extensions", "pgcrypto", rows.place),
            logged,
            slow,
            *((parameters,) if parameters else ()),
        ),
        effect="each call of pgp_sym_encrypt that is logged has its key with it, as a literal or"
        " as a parameter",
        fix=edits(
            "Encrypt in the application, so that no key reaches the server.",
            "Or turn these logs off for the application's role, which is then not audited: ALTER"
            " ROLE"
            " ... SET log_statement = 'none', and SET log_min_duration_statement = -1.",
        ),
        undo=edits("ALTER ROLE ... RESET log_statement, and RESET log_min_duration_statement."),
        about="pgcrypto",
    )


def _rule(
    id: str,
    title: str,
    about: str,
    severity: str,
    applies: tuple[str, ...],
    judge: Callable[[Facts], Iterator[Found]],
    source: str,
) -> Rule:
    return Rule(
        id=id,
        pack="encryption",
        title=title,
        about=about,
        severity=severity,
        applies=applies,
        sources=("server",),
        judge=judge,
        source=source,
    )


_SESSIONS = ("mysql >=5.7.9", "mariadb >=10.5.2")

RULES = (
    _rule(
        "mysql-sessions-in-the-clear",
        "Sessions from other hosts without TLS",
        "TLS is offered, and current sessions do without. In MariaDB the list of"
        " sessions needs performance_schema, which is off by default.",
        "medium",
        _SESSIONS,
        _in_clear,
        _MYSQL + "using-encrypted-connections.html",
    ),
    _rule(
        "postgres-sessions-in-the-clear",
        "Sessions from other hosts without TLS",
        "ssl is on, and pg_stat_ssl shows sessions that do without.",
        "medium",
        ("postgres >=10",),
        _in_clear,
        _POSTGRES + "ssl-tcp.html",
    ),
    _rule(
        "mysql-sessions-old-tls",
        "Sessions under TLS 1.0 or 1.1",
        "What clients use now, whatever is offered besides.",
        "medium",
        _SESSIONS,
        _old_versions,
        "https://www.rfc-editor.org/rfc/rfc8996",
    ),
    _rule(
        "postgres-sessions-old-tls",
        "Sessions under TLS 1.0 or 1.1",
        "What clients use now, whatever is offered besides.",
        "medium",
        ("postgres >=12",),
        _old_versions,
        "https://www.rfc-editor.org/rfc/rfc8996",
    ),
    _rule(
        "mysql-tls-demanded-not-offered",
        "Accounts demand TLS that the server does not have",
        "REQUIRE SSL, X509, ISSUER or SUBJECT, on a server without a certificate.",
        "high",
        ("mysql >=5.7.9", "mariadb >=10.1"),
        _demanded_not_offered,
        _MYSQL + "create-user.html",
    ),
    _rule(
        "mysql-tls-demanded-by-some",
        "Some accounts demand TLS, others do not",
        "Accounts of other hosts without REQUIRE SSL, besides accounts with it, and"
        " require_secure_transport is OFF.",
        "low",
        ("mysql >=5.7.9", "mariadb >=10.5.2"),
        _demanded_by_some,
        _MYSQL + "using-encrypted-connections.html",
    ),
    _rule(
        "postgres-hostssl-without-tls",
        "Lines of pg_hba.conf that no client matches",
        "hostssl lines while ssl is off.",
        "medium",
        ("postgres >=10",),
        _never_matched,
        _POSTGRES + "auth-pg-hba-conf.html",
    ),
    _rule(
        "postgres-pgcrypto-keys-logged",
        "Keys of pgcrypto are logged",
        "pgcrypto is there, and log_statement or log_min_duration_statement writes statements with"
        " their values.",
        "medium",
        ("postgres",),
        _logged_keys,
        _POSTGRES + "pgcrypto.html",
    ),
)
