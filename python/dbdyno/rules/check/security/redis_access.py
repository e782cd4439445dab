"""Redis: who gets in, from where, and which commands are left open.

Sources: the Redis documentation, "Redis security" and "ACL", and the comments of redis.conf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.rules.check.rule import Found, Rule, edits, setting, statements
from dbdyno.rules.check.security import settings
from dbdyno.rules.check.security.settings import one_of, rule

_MANUAL = "https://redis.io/docs/latest/operate/oss_and_stack/management/security/"
_CONF = "https://redis.io/docs/latest/operate/oss_and_stack/management/config-file/"


def _users(facts: Facts) -> Iterator[tuple[Mapping[str, Any], Fact]]:
    """Users that may log in."""
    table = facts.table("acl_users")
    for row in table.rows:
        if row["enabled"]:
            words = [name for name in ("nopass", "all_keys", "all_commands") if row[name]]
            text = f"{row['name']}: {' '.join(['on', *words])}, {row['hashes']} passwords"
            yield row, Fact("user", text, table.place)


def _default_open(facts: Facts) -> Iterator[tuple[Fact, ...]]:
    """What shows that a client needs no password, if so. Before 6 there is but one password."""
    if not facts.is_server or facts.version < (6,):
        word = facts.get("setting.requirepass")
        if word is None and not facts.is_server:
            if facts.get("setting.user") or facts.get("setting.aclfile"):
                raise Missing("acl_users", "users of a file are not read: see the server itself")
            word = Fact("setting.requirepass", None, facts.table("options").place)
        word = word or facts.setting("requirepass")
        if not word.text:
            yield (word,)
        return
    for row, fact in _users(facts):
        if row["name"] == "default" and row["nopass"]:
            yield (fact,)


def _open(facts: Facts) -> Iterator[Found]:
    bind, protected = facts.setting("bind"), facts.setting("protected-mode")
    near = settings.is_near(bind.text)
    for evidence in _default_open(facts):
        far = not near and not protected.on
        yield Found(
            what="a client without a password is the default user",
            evidence=(*evidence, bind, protected),
            effect="any host that reaches the port reads and writes all keys, and replaces files of"
            " the server's account by CONFIG SET dir"
            if far
            else "any process of this host reads and writes all keys",
            fix=edits(
                "Set requirepass, or give the default user a password: ACL SETUSER default"
                " resetpass >(a password)."
            ),
            undo=setting("requirepass", None),
            about="default",
            severity="critical" if far else "low",
        )


def _unprotected(facts: Facts) -> Iterator[Found]:
    protected, bind = facts.setting("protected-mode"), facts.setting("bind")
    if not protected.on and not settings.is_near(bind.text):
        yield Found(
            what="protected-mode is off, and it listens for other hosts",
            evidence=(protected, bind),
            effect="without a password of the default user, other hosts are let in at once",
            fix=setting("protected-mode", "yes"),
            undo=setting("protected-mode", protected.text),
        )


def _wide(facts: Facts) -> Iterator[Found]:
    bind = facts.setting("bind")
    if settings.is_wide(bind.text) or not bind.text:
        yield Found(
            what=f"it listens on all addresses: `bind` is {bind.text or 'empty'}",
            evidence=(bind,),
            effect="every network of the host reaches the port, if no firewall stops it",
            fix=edits("Bind the addresses that clients use."),
            undo=setting("bind", bind.text),
        )


def _plain(facts: Facts) -> Iterator[Found]:
    port, bind = facts.setting("port"), facts.setting("bind")
    if port.number and not settings.is_near(bind.text):
        yield Found(
            what=f"port {port.text} is without TLS, and it listens for other hosts",
            evidence=(port, bind),
            effect="passwords, keys and values are read on the way",
            fix=edits("Set tls-port and the certificate, then port 0."),
            undo=setting("port", port.text),
        )


def _no_password(facts: Facts) -> Iterator[Found]:
    for row, fact in _users(facts):
        if row["name"] != "default" and row["nopass"]:
            yield Found(
                what=f"user {row['name']} logs in with any password",
                evidence=(fact,),
                effect="who knows the name has its rights",
                fix=statements(f"ACL SETUSER {row['name']} resetpass >(a password)"),
                undo=statements(f"ACL SETUSER {row['name']} nopass"),
                about=str(row["name"]),
            )


def _everything(facts: Facts) -> Iterator[Found]:
    for row, fact in _users(facts):
        every = row["all_commands"] and not row["takes_away"]
        if row["name"] != "default" and every:
            yield Found(
                what=f"user {row['name']} may send every command",
                evidence=(fact,),
                effect="FLUSHALL, CONFIG, DEBUG and MODULE among them",
                fix=statements(f"ACL SETUSER {row['name']} -@dangerous -@admin"),
                undo=statements(f"ACL SETUSER {row['name']} +@all"),
                about=str(row["name"]),
            )


def _renamed(facts: Facts) -> Iterator[Found]:
    options = facts.table("options")
    for row in options.rows:
        if row["name"] == "rename-command":
            yield Found(
                what="a command is renamed, which is no protection since there are ACLs",
                evidence=(options.fact(row, "name", "rename-command"),),
                effect="the new name is in the file, in MONITOR and in the clients; replicas and"
                " tools that send the command fail",
                fix=edits("Take the command from users: user NAME ... -COMMAND, without the line."),
                undo=edits("Put the line back."),
                about=str(row["place"]).rpartition("/")[2],
            )


def _socket(facts: Facts) -> Iterator[Found]:
    path, mode = facts.setting("unixsocket"), facts.setting("unixsocketperm")
    if path.text and mode.text and mode.text[-1:] in "2367":
        yield Found(
            what=f"every account of the host may use the socket: mode {mode.text}",
            evidence=(path, mode),
            effect="protected-mode and bind do not hold for it",
            fix=setting("unixsocketperm", "770"),
            undo=setting("unixsocketperm", mode.text),
        )


def _rule(
    id: str,
    title: str,
    about: str,
    severity: str,
    judge: Any,
    needs: tuple[str, ...],
    applies: str = "redis",
    sources: tuple[str, ...] = ("server", "file"),
) -> Rule:
    return Rule(
        id=f"redis-{id}",
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=(applies,),
        sources=sources,
        needs=needs,
        judge=judge,
        source=_MANUAL,
    )


def _local(name: str, what: str, effect: str, severity: str) -> Rule:
    return rule(
        name,
        id=f"redis-{name}",
        title=f"{what} can be used",
        about=f"{name} is yes; `local` allows it to this host, and `no` is the default since 7.0.",
        severity=severity,
        applies=("redis >=7.0",),
        wrong=one_of("yes"),
        right="no",
        effect=effect,
        source=_CONF,
    )


_WIRE = ("setting.bind", "setting.protected-mode")
RULES = (
    _rule(
        "default-user-open",
        "No password",
        "The default user without one. Critical where other hosts reach it; of low severity where"
        " protected-mode or bind keeps them out.",
        "critical",
        _open,
        _WIRE,
    ),
    _rule(
        "protected-mode-off",
        "protected-mode is off",
        "It refuses other hosts while the default user has no password.",
        "medium",
        _unprotected,
        _WIRE,
        "redis >=3.2",
    ),
    _rule(
        "listens-everywhere",
        "The server listens on all addresses",
        "No bind, or one that is `*`.",
        "low",
        _wide,
        ("setting.bind",),
    ),
    _rule(
        "plain-text",
        "Other hosts without TLS",
        "A port without TLS on an address that others reach.",
        "low",
        _plain,
        ("setting.port", "setting.bind"),
        "redis >=6.0",
    ),
    _rule(
        "user-without-password",
        "A user without a password",
        "nopass of another user than default: any password will do.",
        "high",
        _no_password,
        ("acl_users",),
        "redis >=6.0",
        ("server",),
    ),
    _rule(
        "user-may-everything",
        "A user with all commands",
        "+@all without anything taken away.",
        "low",
        _everything,
        ("acl_users",),
        "redis >=6.0",
        ("server",),
    ),
    _rule(
        "renamed-command",
        "Commands renamed in place of ACLs",
        "rename-command, which ACLs have replaced.",
        "low",
        _renamed,
        ("options",),
        "redis >=6.0",
        ("file",),
    ),
    _rule(
        "socket-for-all",
        "A socket for every account",
        "unixsocketperm lets others write.",
        "medium",
        _socket,
        ("setting.unixsocket", "setting.unixsocketperm"),
    ),
    _local("enable-debug-command", "DEBUG", "DEBUG stops, slows or crashes the server", "medium"),
    _local("enable-module-command", "MODULE LOAD", "a user with it runs any library", "high"),
    _local(
        "enable-protected-configs",
        "CONFIG SET dir",
        "a user with CONFIG writes the dump where the server's account may write",
        "high",
    ),
    rule(
        "acl-pubsub-default",
        id="redis-channels-open",
        title="New users see all channels",
        about="acl-pubsub-default is allchannels, which was the default until 7.0.",
        severity="low",
        applies=("redis >=6.2",),
        wrong=one_of("allchannels"),
        right="resetchannels",
        effect="each new user reads and writes every channel",
        source=_CONF,
    ),
)
