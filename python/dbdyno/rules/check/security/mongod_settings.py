"""mongod.conf: settings that are wrong by themselves, and what logs and profilers tell.

Sources: the MongoDB manual, "Configuration File Options", "MongoDB Server Parameters", "SCRAM",
"Database Profiler"; Percona Server for MongoDB, "Log redaction" (messages for debugging are not
redacted).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import Fact, Facts, setting_name
from dbdyno.rules.check.rule import Found, Rule, setting
from dbdyno.rules.check.security.settings import is_off, is_on, one_of, rule

_MANUAL = "https://www.mongodb.com/docs/manual/"
_OPTIONS = _MANUAL + "reference/configuration-options/"
_VERBOSITY = re.compile(r"systemLog\.(component\..+\.)?verbosity")
_WEAK = {"NULL", "ENULL", "ANULL", "ADH", "EXP", "EXPORT", "RC4", "DES", "3DES", "LOW", "MD5"}


def _fewer(most: int) -> Any:
    return lambda fact: fact.number < most


def _weak_ciphers(fact: Fact) -> bool:
    """OpenSSL's list: what begins with ! or - is taken away."""
    kept = [word for word in re.split(r"[:, ]+", fact.text) if word and word[0] not in "!-"]
    return any(part.upper() in _WEAK for word in kept for part in re.split(r"[-+]", word))


def _others_write(fact: Fact) -> bool:
    """A mode in octal digits, as the file has it."""
    digits = fact.text.strip()
    return bool(digits) and digits[-1] in "2367"


def _verbose(facts: Facts) -> Iterator[Found]:
    for fact in facts.settings():
        name = setting_name(fact)
        if _VERBOSITY.fullmatch(name) and fact.number > 0:
            yield Found(
                what=f"messages for debugging are logged: {name} is {fact.text}",
                evidence=(fact,),
                effect="commands and values of clients are in the log, also with"
                " security.redactClientLogData",
                fix=setting(name, "0"),
                undo=setting(name, fact.text),
                about=name,
            )


def _switch(
    *names: str,
    id: str,
    title: str,
    about: str,
    severity: str,
    effect: str,
    wrong: Any = is_on,
    right: str | None = "false",
    applies: str = "mongodb",
    page: str = "",
) -> Rule:
    return rule(
        *names,
        id=f"mongodb-{id}",
        title=title,
        about=about,
        severity=severity,
        applies=(applies,),
        wrong=wrong,
        right=right,
        effect=effect,
        source=_MANUAL + page if page else _OPTIONS,
        sources=("file",),
    )


RULES = (
    _switch(
        "net.tls.allowInvalidCertificates",
        "net.ssl.allowInvalidCertificates",
        id="tls-any-certificate",
        title="Any certificate will do",
        about="allowInvalidCertificates is for tests.",
        severity="high",
        effect="TLS does not show who the other end is",
    ),
    _switch(
        "net.tls.allowInvalidHostnames",
        "net.ssl.allowInvalidHostnames",
        id="tls-any-host",
        title="A certificate of any host will do",
        about="allowInvalidHostnames: members do not compare names.",
        severity="medium",
        effect="any certificate of the same authority stands for any member",
    ),
    _switch(
        "net.http.enabled",
        "httpinterface",
        "rest",
        "net.http.RESTInterfaceEnabled",
        id="http-interface",
        title="The interface by HTTP is on",
        about="It was removed by 3.6.",
        severity="high",
        applies="mongodb <3.6",
        effect="it answers without TLS, and its REST part without a login",
    ),
    _switch(
        "setParameter.enableTestCommands",
        id="test-commands",
        title="Commands for tests",
        about="enableTestCommands is for the server's own tests.",
        severity="high",
        effect="commands that stop, empty or change the server are there",
        right=None,
    ),
    _switch(
        "setParameter.enableLocalhostAuthBypass",
        id="localhost-exception",
        title="The localhost exception is on",
        severity="low",
        about="It lets the first user be made without a login; said outright, it stays.",
        effect="while there is no user, any process of the host makes itself the first",
    ),
    _switch(
        "security.transitionToAuth",
        id="transition-to-auth",
        severity="medium",
        title="Logins are not demanded yet",
        about="A step on the way to authorization, which is left after it.",
        effect="members and clients come in with or without a login",
        applies="mongodb >=3.4",
        right=None,
    ),
    _switch(
        "net.wireObjectCheck",
        "objcheck",
        id="documents-unchecked",
        severity="medium",
        title="Documents are not checked",
        wrong=is_off,
        right="true",
        about="wireObjectCheck is off.",
        effect="a client's malformed BSON reaches the files",
    ),
    _switch(
        "systemLog.quiet",
        "quiet",
        id="log-quiet",
        severity="low",
        title="Logins are not logged",
        about="systemLog.quiet keeps connections from the log.",
        effect="0 connections can be found afterwards",
    ),
    _switch(
        "net.tls.allowConnectionsWithoutCertificates",
        "net.ssl.allowConnectionsWithoutCertificates",
        "net.ssl.weakCertificateValidation",
        id="tls-without-client-certificate",
        severity="low",
        title="TLS without certificates of clients",
        about="allowConnectionsWithoutCertificates.",
        effect="a password alone lets in, from any machine",
    ),
    _switch(
        "security.clusterAuthMode",
        "clusterAuthMode",
        id="cluster-auth-in-transition",
        severity="low",
        title="Members still accept key files",
        about="clusterAuthMode is sendKeyFile or sendX509: steps on the way from key files to"
        " certificates, which are left after it.",
        wrong=one_of("sendkeyfile", "sendx509"),
        right="x509",
        effect="who has the key file is a member of the cluster, certificates or not",
    ),
    _switch(
        "net.unixDomainSocket.filePermissions",
        id="socket-for-all",
        severity="medium",
        title="A socket for every account",
        wrong=_others_write,
        right="0700",
        about="net.unixDomainSocket.filePermissions lets others write; the default is 0700.",
        effect="every account of the host reaches the server",
    ),
    _switch(
        "security.ldap.transportSecurity",
        id="ldap-plain-text",
        severity="high",
        title="Passwords go to LDAP in clear",
        about="security.ldap.transportSecurity is none (MongoDB Enterprise, Percona Server).",
        wrong=one_of("none"),
        right="tls",
        applies="mongodb >=3.4",
        effect="passwords of users are read between mongod and the directory",
    ),
    _switch(
        "setParameter.opensslCipherConfig",
        id="tls-ciphers-weak",
        severity="medium",
        title="Weak ciphers are offered",
        about="opensslCipherConfig names ciphers with NULL, ADH, EXPORT, RC4, DES, MD5 or LOW.",
        wrong=_weak_ciphers,
        right=None,
        effect="connections can be read afterwards, or are not encrypted at all",
        page="reference/parameters/",
    ),
    _switch(
        "setParameter.ocspEnabled",
        id="tls-revocation-unchecked",
        severity="low",
        title="Revoked certificates are accepted",
        about="OCSP is turned off; it is on by default since 4.4.",
        wrong=is_off,
        right="true",
        applies="mongodb >=4.4",
        effect="a stolen certificate lets in until it expires",
        page="reference/parameters/",
    ),
    _switch(
        "setParameter.scramSHA256IterationCount",
        id="scram-sha-256-few-rounds",
        severity="low",
        title="Stored passwords are quick to guess",
        about="scramSHA256IterationCount is below its default, 15000.",
        wrong=_fewer(15000),
        right="15000",
        applies="mongodb >=4.0",
        effect="of users created since then; each guess at a stolen key costs less",
        page="core/security-scram/",
    ),
    _switch(
        "operationProfiling.mode",
        "profile",
        id="profiler-all",
        severity="low",
        title="The profiler keeps every operation",
        about="operationProfiling.mode is all.",
        wrong=one_of("all", "2"),
        right="off",
        effect="values of queries are in system.profile of each database, and in the log",
        page="tutorial/manage-the-database-profiler/",
    ),
    Rule(
        id="mongodb-log-verbose",
        pack="security",
        title="Values of clients in the log",
        about="systemLog.verbosity, or that of a component, is above 0.",
        severity="low",
        applies=("mongodb",),
        sources=("file",),
        needs=("options",),
        judge=_verbose,
        source=_OPTIONS,
    ),
)
