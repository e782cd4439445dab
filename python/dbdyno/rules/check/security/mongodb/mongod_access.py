"""mongod: who gets in, and what is on the wire, by its file or by what it tells while it runs.

Omitted settings have mongod's defaults: no authorization, JavaScript on, and since 3.6
only the loopback address. A running server also shows whether it demands a login.
Source: the MongoDB manual, "Security Checklist" and "Configuration File Options".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.rules.check.rule import Found, Rule, edits, setting
from dbdyno.rules.check.security import settings

_MANUAL = "https://www.mongodb.com/docs/manual/"
_MODES, _REQUIRED = ("net.tls.mode", "net.ssl.mode", "sslMode"), ("requireTLS", "requireSSL")


def _get(facts: Facts, *names: str) -> Fact | None:
    found = (facts.get(f"setting.{name}") for name in names)
    return next((fact for fact in found if fact is not None), None)


def _is_router(facts: Facts) -> bool:
    return _get(facts, "sharding.configDB", "configdb") is not None


def authorizes(facts: Facts) -> bool:
    """Whether clients must log in: as it was seen, else as the settings say."""
    if (demanded := facts.get("session.login_demanded")) is not None:
        return demanded.on
    if _get(facts, "security.keyFile", "keyFile", "security.clusterAuthMode", "clusterAuthMode"):
        return True
    asked = _get(facts, "security.authorization")
    return asked is not None and asked.text == "enabled"


def _bind(facts: Facts) -> tuple[Fact, bool]:
    """The setting, and whether other hosts reach it. Missing: that depends on the version."""
    every = _get(facts, "net.bindIpAll", "bind_ip_all")
    if every is not None and every.on:
        return every, True
    bind = _get(facts, "net.bindIp", "bind_ip")
    if bind is not None:
        return bind, not settings.is_near(bind.text)
    if not facts.version:
        raise Missing("version", "before 3.6 the default was all addresses: see --engine")
    return settings.or_default(facts, "net.bindIp"), facts.version < (3, 6)


def _authorization(facts: Facts) -> Iterator[Found]:
    seen = facts.get("session.login_demanded")
    if seen is None:
        facts.table("options")  # missing: neither is known
    if authorizes(facts) or _in_transition(facts):
        return
    if seen is not None and not facts.tells_options:
        yield _open_to_all(seen)
        return
    router = _is_router(facts)
    name = "security.keyFile" if router else "security.authorization"
    fact = _get(facts, "security.authorization", "noauth") or settings.or_default(facts, name)
    yield Found(
        what="clients need not log in: "
        + (
            "there is no keyFile"
            if router
            else f"{name} is {fact.text or 'not set, and disabled by default'}"
        ),
        evidence=(fact, *([seen] if seen else [])),
        effect=_OPEN,
        fix=edits("Set security.keyFile on all members.") if router else setting(name, "enabled"),
        undo=setting(name, fact.text or None),
        about=name,
    )


_OPEN = "a client that reaches the port reads, writes and drops every database"


def _open_to_all(seen: Fact) -> Found:
    return Found(
        what="clients need not log in: a connection without a login was answered what only an"
        " administrator may ask",
        evidence=(seen,),
        effect=_OPEN,
        fix=setting("security.authorization", "enabled"),
        undo=setting("security.authorization", None),
        about="security.authorization",
    )


def _in_transition(facts: Facts) -> bool:
    """`mongodb-transition-to-auth` says so."""
    step = _get(facts, "security.transitionToAuth")
    return facts.is_server and step is not None and step.on


def _wide(facts: Facts) -> Iterator[Found]:
    fact, far = _bind(facts)
    wide = far and (
        fact.value is None or fact.key.endswith(("All", "all")) or settings.is_wide(fact.text)
    )
    if wide:
        yield Found(
            what=f"it listens on all addresses: {fact.key.partition('.')[2]} is"
            f" {fact.text or 'not set'}",
            evidence=(fact,),
            effect="every network of the host reaches the port, if no firewall stops it",
            fix=edits("Set net.bindIp to the addresses that clients and members use."),
            undo=edits("Put the line back as it was."),
            severity="low" if authorizes(facts) else "high",
        )


def _tls(facts: Facts) -> Iterator[Found]:
    bind, far = _bind(facts)
    mode = _get(facts, *_MODES)
    if far and (mode is None or mode.text not in _REQUIRED):
        shown = mode or settings.or_default(facts, "net.tls.mode")
        yield Found(
            what=f"other hosts connect without TLS: net.tls.mode is {shown.text or 'not set'}",
            evidence=(shown, bind),
            effect="documents and commands can be read on the way",
            fix=edits(
                "Set net.tls.mode to requireTLS, and its certificateKeyFile and CAFile; go"
                " through allowTLS and preferTLS while clients change."
            ),
            undo=edits("Set net.tls.mode back."),
            about="net.tls.mode",
        )


def _script(facts: Facts) -> Iterator[Found]:
    name = "security.javascriptEnabled"
    fact = _get(facts, name, "noscripting") or settings.or_default(facts, name)
    off = fact.key.endswith("noscripting")
    if fact.value is None or fact.on != off:
        yield Found(
            what=f"JavaScript runs in the server: {name} is {fact.text or 'not set, and on'}",
            evidence=(fact,),
            effect="what is injected into $where, $function or mapReduce runs there",
            fix=setting(name, "false"),
            undo=setting(name, fact.text or None),
        )


def _mechanisms(facts: Facts) -> Iterator[Found]:
    fact = _get(facts, "setParameter.authenticationMechanisms")
    if fact is not None and "MONGODB-CR" in fact.text:
        yield Found(
            what=f"logins by MONGODB-CR are allowed: {fact.text}",
            evidence=(fact,),
            effect="MD5 hashes that log in as they are; 4.0 removed them",
            fix=edits("Remove MONGODB-CR from setParameter.authenticationMechanisms."),
            undo=setting("setParameter.authenticationMechanisms", fact.text),
        )


def _sha_1(facts: Facts) -> Iterator[Found]:
    fact = _get(facts, "setParameter.authenticationMechanisms")
    if facts.is_server and not _chosen(facts, "setParameter.authenticationMechanisms"):
        return  # the default: of its users `mongodb-user-sha-1-alone` has more to say
    named = fact.text.replace(",", " ").split() if fact is not None else []
    if fact is None or "SCRAM-SHA-1" not in named:
        return
    kept = [one for one in named if one not in ("SCRAM-SHA-1", "SCRAM-SHA-256")]
    yield Found(
        what=f"logins by SCRAM-SHA-1 are allowed: {fact.text}",
        evidence=(fact,),
        effect="stolen keys, which begin with an MD5, are faster to guess than those of"
        " SCRAM-SHA-256",
        fix=edits(
            "Give each user keys of SCRAM-SHA-256 (db.updateUser with its password), then set"
            f" setParameter.authenticationMechanisms to {','.join(['SCRAM-SHA-256', *kept])}."
        ),
        undo=setting("setParameter.authenticationMechanisms", fact.text),
        about="SCRAM-SHA-1",
    )


def _chosen(facts: Facts, name: str) -> bool:
    """Whether a server was started with an option, whatever its value is now."""
    return any(row["name"] == name for row in facts.table("options").rows)


def _plain(facts: Facts) -> Iterator[Found]:
    fact = _get(facts, "setParameter.authenticationMechanisms")
    if fact is None or "PLAIN" not in fact.text.replace(",", " ").split():
        return
    mode = _get(facts, *_MODES) or settings.or_default(facts, _MODES[0])
    if mode.text not in _REQUIRED:
        yield Found(
            what="logins by PLAIN without TLS that is required",
            evidence=(fact, mode),
            effect="passwords of the directory can be read on the way",
            fix=edits("Set net.tls.mode to requireTLS, or take PLAIN from the mechanisms."),
            undo=edits("Set net.tls.mode back."),
            about="PLAIN",
        )


def _protocols(facts: Facts) -> Iterator[Found]:
    fact = _get(facts, "net.tls.disabledProtocols", "net.ssl.disabledProtocols")
    if fact is None:
        return
    missing = [one for one in ("TLS1_0", "TLS1_1") if one not in fact.text]
    if missing:
        name = fact.key.partition(".")[2]
        yield Found(
            what=f"{' and '.join(missing)} are offered: {name} is {fact.text}",
            evidence=(fact,),
            effect="an attacker between both ends can bring them down to it (RFC 8996)",
            fix=setting(name, "TLS1_0,TLS1_1"),
            undo=setting(name, fact.text),
        )


def rule(
    id: str,
    title: str,
    about: str,
    severity: str,
    judge: Any,
    page: str,
    applies: str = "mongodb",
    needs: tuple[str, ...] = ("options",),
    sources: tuple[str, ...] = ("server", "file"),
) -> Rule:
    """A rule of MongoDB, whose source is a page of its manual."""
    return Rule(
        id=f"mongodb-{id}",
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=(applies,),
        sources=sources,
        needs=needs,
        judge=judge,
        source=_MANUAL + page,
    )


RULES = (
    rule(
        "authorization-off",
        "Clients need not log in",
        "No security.authorization, and no keyFile, which turns it on; of a running server, that a"
        " connection without a login is answered what needs a privilege.",
        "high",
        _authorization,
        "administration/security-checklist/",
        needs=(),
    ),
    rule(
        "listens-everywhere",
        "The server listens on all addresses",
        "bindIp with 0.0.0.0 or ::,"
        " bindIpAll, or no bindIp before 3.6. Of low severity with authorization.",
        "high",
        _wide,
        "administration/security-checklist/",
    ),
    rule(
        "tls-not-required",
        "Other hosts without TLS",
        "net.tls.mode is not requireTLS, and other hosts reach the port.",
        "medium",
        _tls,
        "tutorial/configure-ssl/",
    ),
    rule(
        "javascript-enabled",
        "JavaScript in the server",
        "Few applications need it; it is on by default.",
        "low",
        _script,
        "core/server-side-javascript/",
    ),
    rule(
        "challenge-response",
        "MONGODB-CR is allowed",
        "A mechanism of before 3.0.",
        "medium",
        _mechanisms,
        "core/security-scram/",
    ),
    rule(
        "scram-sha-1",
        "Logins by SCRAM-SHA-1",
        "authenticationMechanisms was set, and names SCRAM-SHA-1.",
        "low",
        _sha_1,
        "core/security-scram/",
        "mongodb >=4.0",
    ),
    rule(
        "plain-without-tls",
        "Passwords are sent in clear",
        "authenticationMechanisms has PLAIN, and net.tls.mode is not requireTLS.",
        "high",
        _plain,
        "reference/parameters/",
    ),
    rule(
        "tls-old",
        "TLS before 1.2 is offered",
        "disabledProtocols is without TLS 1.0 or 1.1.",
        "medium",
        _protocols,
        "tutorial/configure-ssl/",
    ),
)
