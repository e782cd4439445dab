"""Two servers on one data directory, and what keeps them apart.

InnoDB locks `ibdata1` by fcntl(2). Init scripts of old asked `kill(pid, 0)` whether a server lives:
where a policy of SELinux denies that, the answer is EACCES and says nothing, so a second server is
started. Sources: kill(2), fcntl(2), the MySQL manual, "Running Multiple MySQL Instances".
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Found, Rule, edits

_MULTIPLE = "https://dev.mysql.com/doc/refman/8.0/en/multiple-servers.html"
_LOCKED = 11  # EAGAIN: another process has the lock
_EACCES = -13  # by a policy; EPERM would say that the process lives


def _kill_denied(facts: Facts) -> Iterator[Found]:
    events = facts.table("events")
    denied = [row for row in events.rows if row.get("event") == "kill-denied"]
    probes = [row for row in denied if row.get("signal") == 0 and row.get("exit") == _EACCES]
    if not probes:
        return
    first = probes[0]
    stamp = first.get("time_unix_s")
    when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(stamp)) if stamp else "at no known time"
    pid = first["target_pid"]
    yield Found(
        what=f"kill({pid}, 0) was denied (EACCES, {when}): the question whether process {pid} lives"
        " got no answer",
        evidence=tuple(
            Fact(f"kill({row['target_pid']}, 0)", row["exit"], str(row["place"]))
            for row in probes[:5]
        ),
        effect=f'{len(probes)} such answers in this log; a script that takes them for "not running"'
        " starts a second server on the same files",
        fix=edits(
            f"See what process {pid} is, and which domain asked: ps -Z -p {pid}.",
            "Let the service manager watch the server (systemd), instead of a script with kill.",
            "Allow signull from that one domain to the server's after reading the rule; do not load"
            " a module of audit2allow unread: it allows all that was denied.",
        ),
        undo=edits("Remove the rule: semodule -r NAME."),
        about=str(first.get("program") or ""),
    )


def _lock_refused(facts: Facts) -> Iterator[Found]:
    events = facts.table("events")
    by_file: dict[str, list[Fact]] = {}
    for row in events.rows:
        if row.get("event") == "lock-refused" and row.get("errno") in (_LOCKED, None):
            by_file.setdefault(str(row["file"]), []).append(events.fact(row, "errno", "lock"))
    for file, facts_of in sorted(by_file.items()):
        yield Found(
            what=f"a server could not lock {file}: another one has it",
            evidence=tuple(facts_of[:5]),
            effect=f"{len(facts_of)} refusals; the second server was kept out here, and tables of"
            " engines without such a lock (MyISAM) are not protected",
            fix=edits(
                f"Find the process that holds it: lsof {file}, or dyno check DATADIR as root.",
                "Stop one of the two; if they are meant to be two, give each a datadir, socket and"
                " port of its own.",
            ),
            undo=edits("Nothing to undo: nothing was changed."),
            about=file,
        )


def _holders(facts: Facts) -> Iterator[Found]:
    table = facts.table("holders")
    if len(table.rows) < 2:
        return
    named = ", ".join(f"{row['program']} ({row['pid']})" for row in table.rows)
    yield Found(
        what=f"{len(table.rows)} processes have {table.rows[0]['file']} open: {named}",
        evidence=tuple(
            Fact(str(row["program"]), row["pid"], str(row["place"])) for row in table.rows
        ),
        effect="if both write, the tablespace is corrupted: each has its own buffer pool and log",
        fix=edits(
            "Let no client write, and see which of them has the lock: lslocks.",
            "Stop the one without it (SIGTERM), then check tables of the other: mysqlcheck.",
        ),
        undo=edits("Nothing to undo: nothing was changed."),
    )


def _shared(all_facts: Sequence[Facts]) -> Iterator[Found]:
    """Several running servers that name one directory of one machine."""
    by_place: dict[tuple[str, str], list[tuple[Facts, Fact]]] = {}
    for facts in all_facts:
        directory, host = facts.setting("datadir"), facts.setting("hostname")
        key = (host.text, directory.text.rstrip("/"))
        by_place.setdefault(key, []).append((facts, directory))
    for (machine, path), several in by_place.items():
        identities = {_identity(one) for one, _ in several}
        if len(identities) < 2:
            continue  # one server, reached twice
        names = ", ".join(one.subject for one, _ in several)
        yield Found(
            what=f"{len(identities)} servers of {machine} have the datadir {path}: {names}",
            evidence=tuple(directory for _, directory in several),
            effect="if both write, the tablespace is corrupted",
            fix=edits("Stop all but one, and give each a datadir of its own."),
            undo=edits("Nothing to undo: nothing was changed."),
            about=f"{machine}:{path}",
            subject=names,
        )


def _identity(facts: Facts) -> str:
    return facts.setting("pid_file").text + " " + facts.setting("port").text


def _instances(facts: Facts) -> Iterator[Found]:
    """[mysqld1] and [mysqld2] of mysqld_multi in one file."""
    table = facts.table("options")
    by_value: dict[tuple[str, str], list[Fact]] = {}
    groups: dict[tuple[str, str], set[str]] = {}
    for row in table.rows:
        group, name = str(row["group"]), str(row["name"])
        if name in ("datadir", "socket", "port") and group.startswith("mysqld"):
            if not group.removeprefix("mysqld").isdigit():
                continue
            key = (name, str(row["value"]).rstrip("/"))
            by_value.setdefault(key, []).append(table.fact(row, "value", f"[{group}] {name}"))
            groups.setdefault(key, set()).add(group)
    for (name, value), evidence in by_value.items():
        if len(groups[name, value]) < 2:
            continue
        listed = ", ".join(f"[{group}]" for group in sorted(groups[name, value]))
        yield Found(
            what=f"{listed} share {name} {value}",
            evidence=tuple(evidence),
            effect="the second of them does not start, or both write to the same files"
            if name == "datadir"
            else "the second of them does not start",
            fix=edits(f"Give each group a {name} of its own."),
            undo=edits(f"Write the old {name} back."),
            about=name,
            severity="critical" if name == "datadir" else "high",
        )


RULES = (
    Rule(
        id="linux-liveness-check-denied",
        pack="platform",
        title="A liveness check got no answer",
        about="An audit record says that kill(pid, 0) was denied: the program that asked cannot"
        " tell a dead server from a living one.",
        severity="high",
        applies=("linux",),
        sources=("log",),
        needs=("events",),
        judge=_kill_denied,
        source="https://man7.org/linux/man-pages/man2/kill.2.html",
    ),
    Rule(
        id="innodb-lock-refused",
        pack="platform",
        title="A second server on the same files",
        about="InnoDB could not lock its files: another server has them open.",
        severity="high",
        applies=("linux",),
        sources=("log",),
        needs=("events",),
        judge=_lock_refused,
        source=_MULTIPLE,
    ),
    Rule(
        id="mysql-datadir-two-processes",
        pack="platform",
        title="Two processes hold one data directory",
        about="More than one process has the system tablespace open.",
        severity="critical",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("holders",),
        judge=_holders,
        source=_MULTIPLE,
    ),
    Rule(
        id="mysql-datadir-two-servers",
        pack="platform",
        title="Two servers on one data directory",
        about="Servers given together name the same data directory on the same host.",
        severity="critical",
        applies=("mysql", "mariadb"),
        sources=("server",),
        needs=("setting.datadir", "setting.hostname"),
        judge_all=_shared,
        source=_MULTIPLE,
    ),
    Rule(
        id="mysql-instances-share",
        pack="platform",
        title="Instances of one file share a directory, socket or port",
        about="Groups [mysqld1], [mysqld2] of mysqld_multi with the same datadir, socket or port.",
        severity="high",
        applies=("mysql", "mariadb"),
        sources=("file",),
        needs=("options",),
        judge=_instances,
        source="https://dev.mysql.com/doc/refman/8.0/en/mysqld-multi.html",
    ),
)
