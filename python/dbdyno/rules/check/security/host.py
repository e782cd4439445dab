"""The server's host: who may read its files, and what its account and processes may do.

Sources: the MySQL manual, "How to Run MySQL as a Normal User" and "Security Guidelines"; the
PostgreSQL manual, "The PostgreSQL User Account"; MongoDB's "Security Checklist"; Redis security.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import HOST, Fact, Facts, Missing, Row
from dbdyno.facts.host.paths import CONFIGURATION, DATA, KEY, LOG, STATEMENT_LOG
from dbdyno.facts.host.reading import ACCOUNT, CLIENTS, FILES, PROCESSES
from dbdyno.rules.check.rule import Fix, Found, Rule, edits

_GUIDE = "https://dev.mysql.com/doc/refman/8.4/en/security-guidelines.html"
_NORMAL = "https://dev.mysql.com/doc/refman/8.4/en/changing-mysql-user.html"
_CHECKLIST = "https://www.mongodb.com/docs/manual/administration/security-checklist/"
_PROC = "https://man7.org/linux/man-pages/man5/proc.5.html"
_NO_SHELL = ("nologin", "false", "")


def _files(facts: Facts, *roles: str) -> Iterator[tuple[Row, Fact]]:
    table = facts.table(FILES)
    for row in table.rows:
        if row["role"] in roles:
            text = f"{row['mode']} {row['owner']}"
            yield row, Fact(str(row["path"]), text, str(row["place"]))


def _account(facts: Facts) -> tuple[Row, Fact]:
    table = facts.table(ACCOUNT)
    row = table.rows[0]
    return row, table.fact(row, "shell", str(row["account"]))


def _closed(row: Row, mode: str) -> Fix:
    return edits(f"chmod {mode} {row['path']}")


def _hidden(row: Row) -> Fix:
    """From others, and not from the server: if it reads the file as one of these, it does not start
    again, or starts without the file."""
    return edits(
        f"See that the server's account owns {row['path']} ({row['owner']} does), or chgrp it to"
        " the"
        " account's group.",
        f"Then chmod o-rwx {row['path']}.",
    )


def _data(facts: Facts) -> Iterator[Found]:
    for row, fact in _files(facts, DATA):
        if row["others"]:
            writes = "w" in row["others"]
            yield Found(
                what=f"every account may {_may(row)} the data directory {row['path']}",
                evidence=(fact,),
                effect="any process of the host can replace files of the server"
                if writes
                else "names of schemas and files are seen, and files in it that others may read,"
                " such as dumps and logs, can be read",
                fix=edits(
                    f"chmod o-rwx {row['path']}, once the server's socket is elsewhere: below a"
                    " closed"
                    " directory local clients of other accounts do not reach it."
                ),
                undo=_closed(row, str(row["mode"])),
                about=str(row["path"]),
                severity="critical" if writes else "low",
            )


def _may(row: Row) -> str:
    letters = str(row["others"])
    return "read and write" if letters == "rw" else {"r": "read", "w": "write"}[letters]


def _written(facts: Facts) -> Iterator[Found]:
    for row, fact in _files(facts, CONFIGURATION):
        if "w" in row["others"]:
            yield Found(
                what=f"every account may write {row['path']}",
                evidence=(fact,),
                effect="at its next start the server does what any account of the host wants",
                fix=edits(f"chmod o-w {row['path']}"),
                undo=_closed(row, str(row["mode"])),
                about=str(row["path"]),
            )


def _owned(facts: Facts) -> Iterator[Found]:
    account = str(_account(facts)[0]["account"])
    for row, fact in _files(facts, CONFIGURATION):
        if row["owner"] not in ("root", account):
            yield Found(
                what=f"{row['path']} belongs to {row['owner']}, neither root nor {account}",
                evidence=(fact,),
                effect=f"{row['owner']} decides what the server does at its next start",
                fix=edits(f"chown root {row['path']}"),
                undo=edits(f"chown {row['owner']} {row['path']}"),
                about=str(row["path"]),
            )


def _passwords(facts: Facts) -> Iterator[Found]:
    for row, fact in _files(facts, CONFIGURATION):
        if row["sensitive"] and "r" in row["others"]:
            yield Found(
                what=f"every account may read {row['path']}, which has a password in it",
                evidence=(fact,),
                effect="any process of the host may log in with it",
                fix=_hidden(row),
                undo=_closed(row, str(row["mode"])),
                about=str(row["path"]),
            )


def _keys(facts: Facts) -> Iterator[Found]:
    for row, fact in _files(facts, KEY):
        if "r" in row["others"]:
            yield Found(
                what=f"every account may read the key {row['path']}",
                evidence=(fact,),
                effect="any process of the host may stand for the server, or read what it encrypts",
                fix=Fix(edits=(*_hidden(row).edits, "Make a new key: this one may be known.")),
                undo=_closed(row, str(row["mode"])),
                about=str(row["path"]),
            )


def _logs(facts: Facts) -> Iterator[Found]:
    for row, fact in _files(facts, LOG, STATEMENT_LOG):
        if "r" in row["others"]:
            statements = row["role"] == STATEMENT_LOG
            yield Found(
                what=f"every account may read the {row['role']} {row['path']}",
                evidence=(fact,),
                effect="values of statements can be read, and passwords in them that the server"
                " does not"
                " mask"
                if statements
                else "names of accounts, hosts and schemas can be read",
                fix=edits(
                    f"chmod o-rwx {row['path']}, and create it so in logrotate; a program that"
                    " reads"
                    " it for monitoring gets the log's group."
                ),
                undo=_closed(row, str(row["mode"])),
                about=str(row["path"]),
                severity="medium" if statements else "low",
            )


def _clients(facts: Facts) -> Iterator[Found]:
    for row in facts.table(CLIENTS).rows:
        yield Found(
            what=f"every account may {_may(row)} {row['path']} of {row['account']}",
            evidence=(Fact(str(row["path"]), row["others"], str(row["place"])),),
            effect="passwords that clients keep, or statements that were typed, can be read",
            fix=edits(f"chmod 0600 {row['path']}"),
            undo=edits(f"chmod o+{row['others']} {row['path']}"),
            about=str(row["path"]),
        )


def _shell(facts: Facts) -> Iterator[Found]:
    row, fact = _account(facts)
    if row["uid"] != 0 and str(row["shell"]).rpartition("/")[2] not in _NO_SHELL:
        yield Found(
            what=f"the server's account {row['account']} has a shell: {row['shell']}",
            evidence=(fact,),
            effect="a password or key for it, set by mistake or by who broke in, lets in",
            fix=edits(
                f"See first that no job (cron, a backup, su) needs the shell of {row['account']}.",
                f"usermod -s /usr/sbin/nologin {row['account']}",
            ),
            undo=edits(f"usermod -s {row['shell']} {row['account']}"),
            about=str(row["account"]),
        )


def _root(facts: Facts) -> Iterator[Found]:
    for row in facts.table(PROCESSES).rows:
        if row["uid"] == 0:
            yield Found(
                what=f"{row['program']} ({row['pid']}) runs as root",
                evidence=(Fact("uid", 0, f"{row['place']}/status"),),
                effect="a hole in the server, or an account that writes files, is the whole host",
                fix=edits(
                    "Give it an account of its own: `user=` or User= of its unit, and chown"
                    " its data directory."
                ),
                undo=edits("Set the account back."),
                about=str(row["program"]),
            )


def _sudo(facts: Facts) -> Iterator[Found]:
    row, _ = _account(facts)
    lines, groups = row.get("sudoers"), str(row["groups"])
    if lines is None and not groups:
        raise Missing("sudoers", "/etc/sudoers cannot be read: see as root")
    if lines or groups:
        said = f"group {groups}" if groups else str(lines)
        yield Found(
            what=f"the server's account {row['account']} may become root: {said}"
            if groups
            else f"sudoers lets the server's account {row['account']} run commands as another:"
            f" {said}",
            evidence=(Fact(str(row["account"]), said, str(lines or "/etc/group")),),
            effect="a hole in the server reaches what these lines allow, mostly the whole host",
            fix=edits(
                f"Take {row['account']} out of {said}, once no job of the server (backup, failover)"
                " needs it."
            ),
            undo=edits("Put it back."),
            about=str(row["account"]),
        )


def _confined(facts: Facts) -> Iterator[Found]:
    module = facts.fact(f"{HOST}.module")
    for row in facts.table(PROCESSES).rows:
        label = str(row["label"])
        held = label and "unconfined" not in label and not label.endswith("(complain)")
        if module.text and held:
            continue
        evidence = Fact("label", label, f"{row['place']}/attr/current")
        yield Found(
            what=f"{row['program']} ({row['pid']}) is not confined: "
            + (
                f"{module.text} says `{label or 'nothing'}`"
                if module.text
                else "neither AppArmor nor SELinux is on"
            ),
            evidence=(module, evidence),
            effect="a hole in it reaches all that its account may read",
            fix=edits(
                "Load the profile or policy that the distribution has for it, first to"
                " complain only, then to enforce."
            ),
            undo=edits("Unload it."),
            about=str(row["program"]),
        )


def _rule(
    id: str, title: str, about: str, severity: str, judge: Any, source: str, *needs: str
) -> Rule:
    return Rule(
        id=f"linux-{id}",
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=("linux",),
        sources=("host",),
        needs=needs,
        judge=judge,
        source=source,
    )


RULES = (
    _rule(
        "data-directory-open",
        "A data directory for every account",
        "Others may write it (critical), or read it (low: some packages make it so).",
        "critical",
        _data,
        _GUIDE,
        FILES,
    ),
    _rule(
        "configuration-writable",
        "A configuration that every account writes",
        "Others may write a file of options.",
        "critical",
        _written,
        _GUIDE,
        FILES,
    ),
    _rule(
        "configuration-owner",
        "A configuration of another account",
        "A file of options belongs neither to root nor to the server's account.",
        "medium",
        _owned,
        _GUIDE,
        FILES,
        ACCOUNT,
    ),
    _rule(
        "password-readable",
        "A password that every account reads",
        "Others may read a file of options with a password.",
        "high",
        _passwords,
        _GUIDE,
        FILES,
    ),
    _rule(
        "key-readable",
        "A private key that every account reads",
        "Keys of TLS, of encryption, of a cluster, and files of users.",
        "high",
        _keys,
        _CHECKLIST,
        FILES,
    ),
    _rule(
        "log-readable",
        "Logs that every account reads",
        "Logs of statements (medium) and of errors (low).",
        "medium",
        _logs,
        _GUIDE,
        FILES,
    ),
    _rule(
        "client-file-readable",
        "Files of clients that every account reads",
        ".my.cnf, .pgpass and histories of clients in homes.",
        "medium",
        _clients,
        _GUIDE,
        CLIENTS,
    ),
    _rule(
        "server-account-shell",
        "The server's account has a shell",
        "PostgreSQL's packages give it one, for the scripts that run as it.",
        "low",
        _shell,
        _NORMAL,
        ACCOUNT,
    ),
    _rule(
        "server-runs-as-root",
        "The server runs as root",
        "Its process has the user number 0.",
        "high",
        _root,
        _NORMAL,
        PROCESSES,
    ),
    _rule(
        "server-account-sudo",
        "The server's account may become root",
        "It is in a group of administrators or of docker, or sudoers names it.",
        "high",
        _sudo,
        _CHECKLIST,
        ACCOUNT,
    ),
    _rule(
        "server-unconfined",
        "Nothing confines the server",
        "No profile of AppArmor (one that complains alone holds nothing) and no domain of SELinux"
        " holds its process.",
        "low",
        _confined,
        _PROC,
        PROCESSES,
        f"{HOST}.module",
    ),
)
