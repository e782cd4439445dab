"""The redo log is full, or a checkpoint is due."""

from __future__ import annotations

from dbdyno.wording.cause import CauseText

CAUSES = {
    "log_space": CauseText(
        "redo log nearly full",
        "the checkpoint's age is 85 % of what the redo log allows, and twice as many pages are"
        " flushed as otherwise",
        "https://mariadb.com/kb/en/innodb-redo-log/,"
        " https://dev.mysql.com/doc/refman/8.4/en/innodb-redo-log.html",
        "The redo log was {full:.0%} full {here}, so that InnoDB had to flush pages:"
        " {flushed.during:number} {a_second:either a second|an operation}, against"
        " {flushed.otherwise:number} {there}.",
        "A larger redo log (innodb_log_file_size, MySQL: innodb_redo_log_capacity): it costs"
        " disk space and a longer recovery.",
    ),
    "log_buffer": CauseText(
        "log buffer full",
        "Innodb_log_waits rose, which it does not otherwise",
        "https://mariadb.com/kb/en/innodb-status-variables/#innodb_log_waits",
        "Sessions waited {waits:number} times for room in the redo log's buffer {here}, which they"
        " do not {there}.",
        "A larger innodb_log_buffer_size, which costs that much memory; or a faster disk for"
        " the log.",
    ),
    "checkpoint": CauseText(
        "checkpoint",
        "PostgreSQL began a checkpoint, or wrote twice as many buffers for one as otherwise, and"
        " the disk's requests took three times as long",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
        "A checkpoint wrote {wrote.during:number} buffers {a_second:either a second|an operation}"
        " {here}, against {wrote.otherwise:number} {there}.",
        "A larger max_wal_size and checkpoint_timeout make them rarer (longer recovery, more"
        " disk space); checkpoint_completion_target 0.9 spreads them out.",
    ),
}
