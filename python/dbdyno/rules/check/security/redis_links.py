"""Redis: TLS, replicas, the bus of a cluster, and Sentinel.

Sources: the Redis documentation, "TLS", "Replication" and "High availability with Redis Sentinel",
and the comments of redis.conf and sentinel.conf.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Found, edits, setting
from dbdyno.rules.check.security.redis_access import DOCS, redis_rule
from dbdyno.rules.check.security.settings import is_near, or_default, rule

_OLD = ("tlsv1", "tlsv1.1")


def _source(facts: Facts) -> Fact | None:
    """`replicaof` of another host, if it has one."""
    for name in ("replicaof", "slaveof"):
        fact = facts.get(f"setting.{name}")
        if fact is not None and fact.text and not is_near(fact.text.split()[0]):
            return fact
    return None


def _replica_plain(facts: Facts) -> Iterator[Found]:
    source, tls = _source(facts), or_default(facts, "tls-replication", "no")
    if source is not None and not tls.on:
        yield Found(
            what=f"it replicates from {source.text} without TLS",
            evidence=(source, tls),
            effect="the password and every write can be read on the way",
            fix=edits(
                "Set tls-port and a certificate at the source. Then on this server, in one step,"
                " set"
                " tls-replication yes, its certificate and CA, and replicaof with that port: alone"
                " it"
                " cuts the link."
            ),
            undo=setting("tls-replication", tls.value),
        )


def _cluster_plain(facts: Facts) -> Iterator[Found]:
    cluster, bus = (
        or_default(facts, "cluster-enabled", "no"),
        or_default(facts, "tls-cluster", "no"),
    )
    if not cluster.on or bus.on:
        return
    bind = facts.setting("bind")
    if not is_near(bind.text):
        yield Found(
            what="the bus of the cluster is without TLS",
            evidence=(cluster, bus, bind),
            effect="who reaches the bus port can send messages of nodes: it has no login; what"
            " nodes"
            " send can be read on the way",
            fix=edits(
                "Set tls-cluster yes and certificates on all nodes, in one maintenance window: a"
                " node"
                " with it and one without do not hear each other, and each takes the other for"
                " failed."
            ),
            undo=setting("tls-cluster", bus.value),
        )


def _no_certificate(facts: Facts) -> Iterator[Found]:
    port, clients = or_default(facts, "tls-port", "0"), or_default(facts, "tls-auth-clients", "yes")
    if port.number and clients.text in ("no", "optional"):
        yield Found(
            what=f"clients need no certificate: `tls-auth-clients` is {clients.text}",
            evidence=(port, clients),
            effect="a password alone lets in; with `yes`, the default, a certificate is needed too",
            fix=setting("tls-auth-clients", "yes"),
            undo=setting("tls-auth-clients", clients.text),
        )


def _source_open(facts: Facts) -> Iterator[Found]:
    source, word = _source(facts), or_default(facts, "masterauth")
    if source is None or word.text:
        return
    link = facts.get("status.master_link_status")
    if link is not None and link.text != "up":
        return  # it may be refused, for want of the password
    tls = or_default(facts, "tls-replication", "no")
    yield Found(
        what=f"it logs in at {source.text} without a password: `masterauth` is empty",
        evidence=(source, word, *([link] if link else [])),
        effect="any host that reaches the source"
        + (", and has a certificate that it accepts," if tls.on else "")
        + " reads all keys"
        if link
        else "the source needs no password, or the replica does not get in",
        fix=edits(
            "Since 6.0: make a user for replicas at the source (+psync +replconf +ping), set"
            " masteruser and masterauth at the replicas, and last the default user's password at"
            " the source. Before: masterauth and requirepass right after each other: a replica that"
            " connects in between is refused."
        ),
        undo=setting("masterauth", None),
        about="masterauth",
        severity="low" if tls.on else "medium",
    )


def _sentinel_lines(facts: Facts, directive: str) -> Iterator[tuple[list[str], Fact]]:
    """Words behind `sentinel DIRECTIVE`, and the line."""
    options = facts.table("options")
    for row in options.rows:
        words = str(row["value"] or "").split()
        if row["name"] == "sentinel" and words and words[0].lower() == directive:
            yield words[1:], options.fact(row, "value", f"sentinel {directive}")


def _scripts(facts: Facts) -> Iterator[Found]:
    for words, fact in _sentinel_lines(facts, "deny-scripts-reconfig"):
        if words[:1] == ["no"]:
            yield Found(
                what="clients of Sentinel may set the scripts that it runs",
                evidence=(fact,),
                effect="SENTINEL SET and a failover run any program as Sentinel's account",
                fix=edits("Set `sentinel deny-scripts-reconfig yes`, the default."),
                undo=edits("Put the line back."),
                about="deny-scripts-reconfig",
            )


def _sentinel_open(facts: Facts) -> Iterator[Found]:
    known = {words[0] for words, _ in _sentinel_lines(facts, "auth-pass") if words}
    for words, fact in _sentinel_lines(facts, "monitor"):
        if len(words) >= 2 and words[0] not in known and not is_near(words[1]):
            yield Found(
                what=f"Sentinel logs in at {words[0]} ({words[1]}) without a password",
                evidence=(fact,),
                effect="the servers need no password, or no failover works",
                fix=edits(
                    "Give the servers a password, and each Sentinel `sentinel auth-pass"
                    f" {words[0]}`"
                    " at once, since it takes a server that refuses it for down; since 6.0 a user"
                    " of"
                    f" its own and `sentinel auth-user {words[0]}`."
                ),
                undo=edits("Take the lines away."),
                about=words[0],
            )


RULES = (
    redis_rule(
        "replication-plain-text",
        "A replica without TLS",
        "replicaof names another host, and tls-replication is off.",
        "low",
        _replica_plain,
        applies="redis >=6.0",
        page="security/encryption/",
    ),
    redis_rule(
        "cluster-bus-plain-text",
        "The bus of a cluster without TLS",
        "cluster-enabled without tls-cluster, on an address that others reach.",
        "low",
        _cluster_plain,
        applies="redis >=6.0",
        page="security/encryption/",
    ),
    redis_rule(
        "tls-without-client-certificate",
        "TLS without certificates of clients",
        "tls-auth-clients is no or optional.",
        "low",
        _no_certificate,
        applies="redis >=6.0",
        page="security/encryption/",
    ),
    rule(
        "tls-protocols",
        id="redis-tls-old",
        title="TLS before 1.2 is offered",
        about="tls-protocols names TLSv1 or TLSv1.1; the default has neither.",
        severity="medium",
        applies=("redis >=6.0",),
        wrong=lambda fact: bool({*fact.text.lower().split()} & {*_OLD}),
        right="TLSv1.2 TLSv1.3",
        effect="an attacker between both ends can bring them down to it (RFC 8996)",
        source=DOCS + "security/encryption/",
    ),
    redis_rule(
        "source-without-password",
        "A replica that needs no password",
        "replicaof names another host, and masterauth is empty.",
        "medium",
        _source_open,
        page="replication/",
    ),
    redis_rule(
        "sentinel-scripts-open",
        "Sentinel's scripts can be set",
        "`sentinel deny-scripts-reconfig no` in a file of Sentinel.",
        "high",
        _scripts,
        ("options",),
        "redis >=5.0",
        ("file",),
        "sentinel/",
    ),
    redis_rule(
        "sentinel-without-password",
        "Sentinel logs in without a password",
        "`sentinel monitor` of another host without `sentinel auth-pass`.",
        "medium",
        _sentinel_open,
        ("options",),
        "redis >=2.8",
        ("file",),
        "sentinel/",
    ),
    rule(
        "acllog-max-len",
        id="redis-refusals-not-logged",
        title="Refused logins are not kept",
        about="acllog-max-len is 0: ACL LOG keeps no failed login and no refused command.",
        severity="low",
        applies=("redis >=6.0",),
        wrong=lambda fact: fact.number == 0,
        right="128",
        effect="ACL LOG shows no failed login and no refused command",
        source=DOCS + "security/acl/",
    ),
)
