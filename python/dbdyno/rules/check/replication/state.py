"""Sources and replicas one by one: who may write, how far behind, and what a crash loses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.rule import Fix, Found, Rule, edits, setting, statements

LAG_S, LONG_LAG_S = 60, 600
_MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/"


def _writable(facts: Facts) -> Iterator[Found]:
    fact = facts.setting("read_only")
    if facts.is_replica and fact.text.upper() in ("OFF", "0"):
        values = [("read_only", "ON")]
        if facts.get("setting.super_read_only"):
            values.append(("super_read_only", "ON"))
        yield Found(
            what="a replica that everybody may write to",
            evidence=(fact,),
            effect="each write is an errant transaction: data differs, and it cannot be promoted",
            fix=Fix(settings=tuple(values)),
            undo=setting("read_only", fact.text),
        )


def _super_writable(facts: Facts) -> Iterator[Found]:
    read_only, fact = facts.setting("read_only"), facts.setting("super_read_only")
    if facts.is_replica and read_only.on and not fact.on:
        yield Found(
            what="a replica that administrators may write to",
            evidence=(read_only, fact),
            effect="read_only does not hold for SUPER and CONNECTION_ADMIN: a repair or a script of"
            " theirs is an errant transaction",
            fix=setting("super_read_only", "ON"),
            undo=setting("super_read_only", "OFF"),
        )


def _lag(facts: Facts) -> Iterator[Found]:
    table = facts.table("replicas")
    for row in table.rows:
        behind = row.get("seconds_behind_source")
        if behind is not None and int(behind) >= LAG_S:
            yield Found(
                what=f"{behind} s behind {row['source_host']}:{row['source_port']}",
                evidence=(table.fact(row, "seconds_behind_source"),),
                effect=f"reads are up to {behind} s old, and a promotion waits as long or loses it",
                fix=edits(
                    "See which thread is behind; more parallel workers, smaller transactions,"
                    " and primary keys on all tables are the usual answers."
                ),
                undo=edits("Nothing to undo."),
                about=f"{row['source_host']}:{row['source_port']}",
                severity="high" if int(behind) >= LONG_LAG_S else "medium",
            )


def _stopped(facts: Facts) -> Iterator[Found]:
    table = facts.table("replicas")
    for row in table.rows:
        threads = ("replica_io_running", "replica_sql_running")
        stopped = [name for name in threads if str(row[name]) != "Yes"]
        if stopped:
            numbers = [str(row[one]) for one in ("last_io_errno", "last_sql_errno") if row[one]]
            known = f", error {', '.join(numbers)}" if any(n != "0" for n in numbers) else ""
            yield Found(
                what=f"replication from {row['source_host']}:{row['source_port']} does not run:"
                f" {', '.join(f'{name} is {row[name]}' for name in stopped)}{known}",
                evidence=tuple(table.fact(row, name) for name in stopped),
                effect="it falls behind by each transaction from now on",
                fix=edits("Mend what SHOW REPLICA STATUS says, then START REPLICA."),
                undo=statements("STOP REPLICA"),
                about=f"{row['source_host']}:{row['source_port']}",
            )


def _format(facts: Facts) -> Iterator[Found]:
    log, fact = facts.setting("log_bin"), facts.setting("binlog_format")
    if log.on and fact.text.upper() == "STATEMENT":
        yield Found(
            what="statements are logged instead of rows",
            evidence=(log, fact),
            effect="statements whose result depends on time, order or the server give other data at"
            " replicas; MySQL has deprecated the format by 8.0.34",
            fix=setting("binlog_format", "ROW"),
            undo=setting("binlog_format", fact.text),
        )


def _lasting(facts: Facts, name: str, effect: str) -> Iterator[Found]:
    log, fact = facts.setting("log_bin"), facts.setting(name)
    if log.on and fact.text != "1":
        replica = facts.is_replica
        yield Found(
            what=f"{name} is {fact.text} on a {'replica' if replica else 'source'}",
            evidence=(log, fact),
            effect=effect,
            fix=setting(name, "1"),
            undo=setting(name, fact.text),
            severity="low" if replica else "medium",
        )


def _sync(facts: Facts) -> Iterator[Found]:
    effect = (
        "a crash of the host loses the end of the binary log that InnoDB has committed, or leaves"
        " replicas with transactions that the source has not"
    )
    return _lasting(facts, "sync_binlog", effect)


def _flush(facts: Facts) -> Iterator[Found]:
    effect = (
        "a crash of the host loses up to 1 s of commits, or more, which replicas may have already"
    )
    return _lasting(facts, "innodb_flush_log_at_trx_commit", effect)


def _twice(all_facts: Sequence[Facts]) -> Iterator[Found]:
    by: dict[str, Facts] = {}
    for facts in all_facts:
        fact = facts.setting("server_id")
        uuid = facts.get("setting.server_uuid")
        other = by.setdefault(fact.text, facts)
        theirs = other.get("setting.server_uuid")
        same = other is facts or (uuid and theirs and uuid.value == theirs.value)
        if not same and fact.text != "0":
            yield Found(
                what=f"{other.subject} and {facts.subject} have one server_id, {fact.text}",
                evidence=(other.setting("server_id"), fact),
                effect="a replica skips events of its own id, and the source ends the connection of"
                " one of two replicas with one id",
                fix=edits(f"Give {facts.subject} a server_id of its own."),
                undo=setting("server_id", fact.text),
                about=fact.text,
                subject=facts.subject,
            )


def _rule(
    id: str,
    title: str,
    about: str,
    severity: str,
    judge: Any,
    *needs: str,
    applies: tuple[str, ...] = ("mysql", "mariadb"),
    page: str,
    **more: Any,
) -> Rule:
    return Rule(
        id=f"mysql-{id}",
        pack="replication",
        title=title,
        about=about,
        severity=severity,
        applies=applies,
        sources=("server",),
        needs=needs,
        judge=judge,
        source=_MANUAL + page,
        **more,
    )


_READ_ONLY = "server-system-variables.html#sysvar_super_read_only"
RULES = (
    _rule(
        "replica-writable",
        "A replica without read_only",
        "A server that replicates and takes writes of its own.",
        "medium",
        _writable,
        "replicas",
        "setting.read_only",
        page="server-system-variables.html#sysvar_read_only",
    ),
    _rule(
        "replica-super-writable",
        "A replica without super_read_only",
        "read_only is on, and administrators write in spite of it. MariaDB has no such setting.",
        "medium",
        _super_writable,
        "replicas",
        "setting.read_only",
        "setting.super_read_only",
        applies=("mysql >=5.7.8",),
        page=_READ_ONLY,
    ),
    _rule(
        "replica-lag",
        "A replica that is behind",
        f"From {LAG_S} s; of high severity from {LONG_LAG_S} s.",
        "medium",
        _lag,
        "replicas",
        page="replication-administration-status.html",
    ),
    _rule(
        "replica-stopped",
        "Replication does not run",
        "One of its two threads does not run.",
        "high",
        _stopped,
        "replicas",
        page="replication-administration-status.html",
    ),
    _rule(
        "binlog-format-statement",
        "Statements in the binary log",
        "binlog_format is STATEMENT. MariaDB's MIXED is left alone.",
        "medium",
        _format,
        "setting.log_bin",
        "setting.binlog_format",
        page="replication-formats.html",
    ),
    _rule(
        "sync-binlog",
        "The binary log is not synchronised",
        "sync_binlog is not 1 and the binary log is on. MariaDB's default is 0.",
        "medium",
        _sync,
        "setting.log_bin",
        "setting.sync_binlog",
        page="replication-options-binary-log.html#sysvar_sync_binlog",
    ),
    _rule(
        "flush-log-at-commit",
        "Commits are not flushed",
        "innodb_flush_log_at_trx_commit is not 1 and the binary log is on.",
        "medium",
        _flush,
        "setting.log_bin",
        "setting.innodb_flush_log_at_trx_commit",
        page="innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit",
    ),
    _rule(
        "server-id-twice",
        "One server_id for two servers",
        "Of all targets of a command.",
        "high",
        None,
        "setting.server_id",
        page="replication-options.html#sysvar_server_id",
        judge_all=_twice,
    ),
)
