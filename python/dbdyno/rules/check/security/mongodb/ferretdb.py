"""FerretDB: what a connection shows of it, since it does not tell its options.

Source: FerretDB's documentation, "Authentication" and "TLS connections".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import SESSION, Facts
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.rules.check.security.settings import is_near

_DOCS = "https://docs.ferretdb.io/security/"
_LOGIN, _TLS, _ADDRESS = f"{SESSION}.login_demanded", f"{SESSION}.tls", f"{SESSION}.address"


def _open(facts: Facts) -> Iterator[Found]:
    demanded, address = facts.fact(_LOGIN), facts.fact(_ADDRESS)
    if not demanded.on:
        yield Found(
            what="clients need not log in",
            evidence=(demanded, address),
            effect="a client that reaches the port reads, writes and drops every database, as the"
            " user that FerretDB itself has in PostgreSQL",
            fix=edits("Start it with --auth, the default, or without FERRETDB_AUTH=false."),
            undo=edits("Start it with --no-auth."),
            about="auth",
            severity="" if is_near(address.text) else "critical",
        )


def _plain(facts: Facts) -> Iterator[Found]:
    tls, address = facts.fact(_TLS), facts.fact(_ADDRESS)
    if tls.text == "off" and not is_near(address.text):
        yield Found(
            what=f"it takes logins and commands from other hosts without TLS, at {address.text}",
            evidence=(tls, address),
            effect="documents and commands can be read on the way",
            fix=edits(
                "Start it with --listen-tls and its certificate and key, and --listen-addr on"
                " loopback or empty."
            ),
            undo=edits("Start it as before."),
            about="listen-addr",
        )


def _rule(
    id: str, title: str, about: str, severity: str, judge: Any, needs: tuple[str, ...], page: str
) -> Rule:
    return Rule(
        id=f"ferretdb-{id}",
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=("ferretdb >=2.0",),
        sources=("server",),
        needs=needs,
        judge=judge,
        source=_DOCS + page,
    )


RULES = (
    _rule(
        "authentication-off",
        "Clients need not log in",
        "A connection without a login is answered what needs one. Critical where dbdyno came from"
        " another host.",
        "high",
        _open,
        (_LOGIN, _ADDRESS),
        "authentication/",
    ),
    _rule(
        "plain-text",
        "Other hosts without TLS",
        "dbdyno's own connection came from another host, and is without TLS: name the address that"
        " applications use, with `--tls prefer`.",
        "medium",
        _plain,
        (_TLS, _ADDRESS),
        "tls-connections/",
    ),
)
