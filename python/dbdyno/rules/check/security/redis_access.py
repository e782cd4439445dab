"""Redis: who gets in, from where, and which commands are left open.

Sources: the Redis documentation, "Redis security" and "ACL", and the comments of redis.conf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Missing, Row
from dbdyno.rules.check.rule import Fix, Found, Rule, edits, setting, statements
from dbdyno.rules.check.security import settings
from dbdyno.rules.check.security.settings import one_of, rule

DOCS = "https://redis.io/docs/latest/operate/oss_and_stack/management/"
_CONF = "https://redis.io/docs/latest/operate/oss_and_stack/management/config-file/"
_KEEP = "Keep it: ACL SAVE with an aclfile, else CONFIG REWRITE; a restart forgets it otherwise."


def _users(facts: Facts) -> Iterator[tuple[Row, Fact]]:
    """Users that may log in."""
    table = facts.table("acl_users")
    for row in table.rows:
        if row["enabled"]:
            words = [name for name in ("nopass", "all_keys", "all_commands") if row[name]]
            passwords = int(row["hashes"]) + int(row.get("clear") or 0)
            text = f"{row['name']}: {' '.join(['on', *words])}, {passwords} passwords"
            yield row, Fact("user", text, str(row.get("place") or table.place))


def _default_open(facts: Facts) -> Iterator[tuple[Fact, ...]]:
    """What shows that a client needs no password, if so. Before 6 there is but one password."""
    has_acl = facts.version >= (6,) if facts.is_server else "acl_users" in facts.tables
    rows = facts.table("acl_users").rows if has_acl else ()
    if (facts.is_server and has_acl) or any(row["name"] == "default" for row in rows):
        for row, fact in _users(facts):
            if row["name"] == "default" and row["nopass"]:
                yield (fact,)
        return
    if facts.get("setting.aclfile") and not facts.is_server:
        raise Missing("acl_users", "users of an aclfile are not read: see the server itself")
    word = settings.or_default(facts, "requirepass")
    if not word.text:
        yield (word,)


def _far(facts: Facts) -> str:
    """What other hosts can do. Since 7.0 CONFIG SET dir is refused by default."""
    wide = "any host that reaches the port reads and writes all keys"
    if facts.version and facts.version < (7,):
        return f"{wide}, and replaces files of the server's account by CONFIG SET dir"
    return wide


def _open(facts: Facts) -> Iterator[Found]:
    bind, protected = facts.setting("bind"), facts.setting("protected-mode")
    near = settings.is_near(bind.text)
    for evidence in _default_open(facts):
        far = not near and not protected.on
        yield Found(
            what="a client without a password is the default user",
            evidence=(*evidence, bind, protected),
            effect=_far(facts) if far else "any process of this host reads and writes all keys",
            fix=edits(
                "Since 6.0: make users with passwords, move clients, replicas (masteruser,"
                " masterauth) and Sentinels to them, and last ACL SETUSER default resetpass >(a"
                " password).",
                "Before: set requirepass and the password of all these together, in a maintenance"
                " window: who sends none, or one too early, is refused.",
                _KEEP,
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
            effect="passwords, keys and values can be read on the way",
            fix=edits(
                "Set tls-port and the certificate, move clients, replicas and Sentinels to it, then"
                " port 0."
            ),
            undo=setting("port", port.text),
        )


def _no_password(facts: Facts) -> Iterator[Found]:
    for row, fact in _users(facts):
        if row["name"] != "default" and row["nopass"]:
            yield Found(
                what=f"user {row['name']} logs in with any password",
                evidence=(fact,),
                effect="who knows the name has its rights",
                fix=Fix(
                    statements=(f"ACL SETUSER {row['name']} resetpass >(a password)",),
                    edits=(_KEEP,),
                ),
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
                fix=Fix(
                    statements=(f"ACL SETUSER {row['name']} -@dangerous -@admin",),
                    edits=(
                        "First see that it is not the user of replicas or Sentinel, and that its"
                        " clients need none of these: KEYS, INFO and SORT are among @dangerous.",
                        _KEEP,
                    ),
                ),
                undo=statements(f"ACL SETUSER {row['name']} +@all"),
                about=str(row["name"]),
            )


def _administers(facts: Facts) -> Iterator[Found]:
    for row, fact in _users(facts):
        may = str(row.get("administers") or "")
        if row["name"] != "default" and may and not row["all_commands"]:
            yield Found(
                what=f"user {row['name']} may administer the server: {may}",
                evidence=(fact, Fact("commands", may, fact.place)),
                effect="its password changes settings and users, stops the server or empties it",
                fix=edits(
                    f"If {row['name']} is an application's: ACL SETUSER {row['name']}"
                    f" {' '.join(f'-{one}' for one in may.split())}; tools need subcommands only,"
                    " such as +config|get.",
                    _KEEP,
                ),
                undo=statements(
                    f"ACL SETUSER {row['name']} {' '.join(f'+{one}' for one in may.split())}"
                ),
                about=str(row["name"]),
            )


def _clear(facts: Facts) -> Iterator[Found]:
    for row, fact in _users(facts):
        if row.get("clear"):
            yield Found(
                what=f"the file has the password of user {row['name']} itself",
                evidence=(fact,),
                effect="who reads the file or a copy of it logs in; a hash of a long random"
                " password does not let in",
                fix=edits(
                    "Write #SHA-256 in hexadecimal digits instead of >password, or move users to an"
                    " aclfile, where ACL SAVE writes hashes."
                ),
                undo=edits("Put the line back."),
                about=str(row["name"]),
            )


def _ignored(facts: Facts) -> Iterator[Found]:
    word, users = facts.get("setting.requirepass"), facts.get("setting.aclfile")
    if word and word.text and users and users.text:
        yield Found(
            what="requirepass has no effect: an aclfile is loaded",
            evidence=(word, users),
            effect="the default user is as the aclfile says, and without a line there it needs no"
            " password",
            fix=edits("Give `user default` a line in the aclfile, and remove requirepass."),
            undo=edits("Put the line back."),
            about="requirepass",
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


def redis_rule(
    id: str,
    title: str,
    about: str,
    severity: str,
    judge: Any,
    needs: tuple[str, ...] = (),
    applies: str = "redis",
    sources: tuple[str, ...] = ("server", "file"),
    page: str = "security/",
) -> Rule:
    """A rule of this pack; `page`: of the manual, below `DOCS`."""
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
        source=DOCS + page,
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
    redis_rule(
        "default-user-open",
        "No password",
        "The default user without one. Critical where other hosts reach it; of low severity where"
        " protected-mode or bind keeps them out.",
        "critical",
        _open,
        _WIRE,
    ),
    redis_rule(
        "protected-mode-off",
        "protected-mode is off",
        "It refuses other hosts while the default user has no password.",
        "medium",
        _unprotected,
        _WIRE,
        "redis >=3.2",
    ),
    redis_rule(
        "listens-everywhere",
        "The server listens on all addresses",
        "No bind, or one that is `*`.",
        "low",
        _wide,
        ("setting.bind",),
    ),
    redis_rule(
        "plain-text",
        "Other hosts without TLS",
        "A port without TLS on an address that others reach.",
        "low",
        _plain,
        ("setting.port", "setting.bind"),
        "redis >=6.0",
    ),
    redis_rule(
        "user-without-password",
        "A user without a password",
        "nopass of another user than default: any password will do.",
        "high",
        _no_password,
        ("acl_users",),
        "redis >=6.0",
    ),
    redis_rule(
        "user-may-everything",
        "A user with all commands",
        "+@all without anything taken away.",
        "low",
        _everything,
        ("acl_users",),
        "redis >=6.0",
    ),
    redis_rule(
        "user-administers",
        "A user who may administer",
        "@admin, @dangerous, or whole commands such as CONFIG, ACL, MODULE and REPLICAOF, without"
        " +@all. Sentinel's own user needs some of them.",
        "low",
        _administers,
        ("acl_users",),
        "redis >=6.0",
    ),
    redis_rule(
        "password-in-clear",
        "A user's password in the file",
        "`user` lines with >password. Files may have #hash instead.",
        "low",
        _clear,
        ("acl_users",),
        "redis >=6.0",
        ("file",),
    ),
    redis_rule(
        "requirepass-ignored",
        "A password that is not in force",
        "requirepass and aclfile together: by the comments of redis.conf it is ignored.",
        "high",
        _ignored,
        ("options",),
        "redis >=6.0",
        ("file",),
    ),
    redis_rule(
        "renamed-command",
        "Commands renamed in place of ACLs",
        "rename-command, which ACLs have replaced.",
        "low",
        _renamed,
        ("options",),
        "redis >=6.0",
        ("file",),
    ),
    redis_rule(
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
