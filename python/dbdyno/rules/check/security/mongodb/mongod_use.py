"""mongod: what its connections have used, by its own counters since its start.

Source: the MongoDB manual, "serverStatus" (connections, transportSecurity); DOCS-12320.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.rules.check.security.settings import or_default

_SOURCE = "https://www.mongodb.com/docs/manual/reference/command/serverStatus/"
_KEY = "transportSecurity"
_OLD, _ALL = ("1.0", "1.1"), ("1.0", "1.1", "1.2", "1.3", "unknown")
_MODE, _MIXED = "net.tls.mode", ("allowTLS", "preferTLS", "allowSSL", "preferSSL")
_CREATED = "status.connections.totalCreated"


def _counts(facts: Facts, versions: tuple[str, ...]) -> list[Fact]:
    return [fact for one in versions if (fact := facts.get(f"status.{_KEY}.{one}")) is not None]


def _old(facts: Facts) -> Iterator[Found]:
    used = [fact for fact in _counts(facts, _OLD) if fact.number > 0]
    if used:
        yield Found(
            what="connections have used "
            + " and ".join(f"TLS {fact.key[-3:]} ({fact.number:.0f})" for fact in used),
            evidence=used,
            effect="what these clients sent can be attacked (RFC 8996), and they cannot connect"
            " once the versions are disabled",
            fix=edits(
                "Update these clients (the log has their addresses), then add TLS1_0,TLS1_1 to"
                " net.tls.disabledProtocols."
            ),
            undo=edits("Put net.tls.disabledProtocols back as it was."),
            about=_KEY,
        )


def _without(facts: Facts) -> Iterator[Found]:
    mode = facts.get("setting.net.ssl.mode") or or_default(facts, _MODE, "disabled")
    if mode.text not in _MIXED:
        return
    created, counts = facts.fact(_CREATED), _counts(facts, _ALL)
    plain = created.number - sum(fact.number for fact in counts)
    if plain > 0:
        yield Found(
            what=f"{plain:.0f} of {created.number:.0f} connections were without TLS, or did not end"
            " its handshake",
            evidence=(mode, created, *counts),
            effect="TLS is offered and not demanded: what these clients and members send can be"
            " read on the way",
            fix=edits(
                "Find them in the log (connections accepted without TLS), have them use it,"
                " then set net.tls.mode to requireTLS."
            ),
            undo=edits(f"Set net.tls.mode to {mode.text} again."),
            about=_MODE,
        )


RULES = (
    Rule(
        id="mongodb-tls-old-used",
        pack="security",
        title="TLS before 1.2 was used",
        about="transportSecurity counts connections of TLS 1.0 or 1.1 since the server's start.",
        severity="medium",
        applies=("mongodb >=4.0.2",),
        sources=("server",),
        needs=(f"status.{_KEY}.1.0",),
        judge=_old,
        source=_SOURCE,
    ),
    Rule(
        id="mongodb-connections-without-tls",
        pack="security",
        title="TLS is offered, and not always used",
        about="net.tls.mode is allowTLS or preferTLS, and more connections were made than"
        " transportSecurity counts. Handshakes that failed are among them.",
        severity="low",
        applies=("mongodb >=4.0.2",),
        sources=("server",),
        needs=("options", f"status.{_KEY}.1.2", _CREATED),
        judge=_without,
        source=_SOURCE,
    ),
)
