"""mongod: settings that are wrong by themselves, and what logs and profilers tell.

Sources: the MongoDB manual, "Configuration File Options", "MongoDB Server Parameters", "SCRAM",
"Database Profiler"; Percona Server for MongoDB, "Log redaction" (messages for debugging are not
redacted).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import Fact, Facts, setting_name
from dbdyno.rules.check.rule import Fix, Found, Rule, edits, setting
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


def _next_step(facts: Facts, name: str, fact: Fact) -> Fix:
    """keyFile, sendKeyFile, sendX509, x509: a step at a time, on every member before the next one.
    A member that takes certificates alone refuses one that sends its key file."""
    last = "set x509 likewise, and remove security.keyFile."
    if fact.text.lower() == "sendx509":
        return edits(f"Once all members and mongos have sendX509: {last}")
    return edits(
        f"Set {name} to sendX509 on all members and mongos, one after the other; then {last}"
    )


def _unprofiled(facts: Facts, name: str, fact: Fact) -> Fix:
    return setting(name, "off" if name == "operationProfiling.mode" else "0")


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
    right: Any = "false",
    applies: str = "mongodb",
    page: str = "",
    sources: tuple[str, ...] = ("server", "file"),
) -> Rule:
    """The default is right in every version: what is wrong was set."""
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
        sources=sources,
        default_is_right=True,
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
        effect="status of the server, and with REST documents, on a second port, 1000 above the"
        " first;"
        " logins by SCRAM do not hold there",
        page="core/security-mongodb-configuration/",
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
        sources=("file",),  # of a server `mongodb-localhost-exception-open` knows its users
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
        title="Connections are not logged",
        about="systemLog.quiet keeps connections, logins and some commands from the log.",
        effect="the log does not say who connected, nor from where",
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
        right=_next_step,
        page="tutorial/upgrade-keyfile-to-x509/",
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
        title="LDAP without TLS",
        about="security.ldap.transportSecurity is none, where tls is the default (MongoDB"
        " Enterprise,"
        " Percona Server).",
        wrong=one_of("none"),
        right="tls",
        applies="mongodb >=3.4",
        effect="what mongod and the directory say can be read on the way: with the bind method"
        " simple,"
        " the default, passwords too",
        page="core/security-ldap/",
    ),
    _switch(
        "setParameter.opensslCipherConfig",
        id="tls-ciphers-weak",
        severity="medium",
        title="Weak ciphers are offered",
        about="opensslCipherConfig names ciphers with NULL, ADH, EXPORT, RC4, DES, MD5 or LOW.",
        wrong=_weak_ciphers,
        right=None,
        effect="a connection of such a cipher can be broken, and one of NULL is not encrypted",
        page="reference/parameters/",
    ),
    _switch(
        "setParameter.ocspEnabled",
        id="tls-revocation-unchecked",
        severity="low",
        title="OCSP is turned off",
        about="It is on by default since 4.4. Lists of revoked certificates (CRLFile) do not"
        " depend on"
        " it.",
        wrong=is_off,
        right="true",
        applies="mongodb >=4.4",
        effect="a revoked certificate that no CRLFile lists is accepted until it expires; with"
        " OCSP,"
        " members must reach its responder",
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
        effect="passwords that are set meanwhile are stored with fewer rounds, and keep them until"
        " they"
        " are set again",
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
        right=_unprofiled,
        effect="values of each operation are in system.profile of its database",
        page="tutorial/manage-the-database-profiler/",
        sources=("file",),  # at a running server each database has its own level
    ),
    Rule(
        id="mongodb-log-verbose",
        pack="security",
        title="Values of clients in the log",
        about="systemLog.verbosity, or that of a component, is above 0.",
        severity="low",
        applies=("mongodb",),
        needs=("options",),
        judge=_verbose,
        source=_OPTIONS,
    ),
)
