"""The redo log is full, or a checkpoint is due."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import Moved
from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText, always


def _full(here: str, there: str, full: float, flushed: Moved, a_second: bool) -> str:
    return (
        f"The redo log was {full:.0%} full {here}, so that InnoDB had to flush pages:"
        f" {numbers.number(flushed.during)} {_each(a_second)}, against"
        f" {numbers.number(flushed.otherwise)} {there}."
    )


def _buffer(here: str, there: str, waits: float) -> str:
    return (
        f"Sessions waited {numbers.number(waits)} times for room in the redo log's buffer {here},"
        f" which they do not {there}."
    )


def _wrote(here: str, there: str, wrote: Moved, a_second: bool) -> str:
    return (
        f"A checkpoint wrote {numbers.number(wrote.during)} buffers {_each(a_second)} {here},"
        f" against {numbers.number(wrote.otherwise)} {there}."
    )


def _each(a_second: bool) -> str:
    return "a second" if a_second else "an operation"


CAUSES = {
    "log_space": CauseText(
        "redo log nearly full",
        "the checkpoint's age is 85 % of what the redo log allows, and twice as many pages are"
        " flushed as otherwise",
        "https://mariadb.com/kb/en/innodb-redo-log/,"
        " https://dev.mysql.com/doc/refman/8.4/en/innodb-redo-log.html",
        _full,
        always(
            "A larger redo log (innodb_log_file_size, MySQL: innodb_redo_log_capacity): it costs"
            " disk space and a longer recovery."
        ),
    ),
    "log_buffer": CauseText(
        "log buffer full",
        "Innodb_log_waits rose, which it does not otherwise",
        "https://mariadb.com/kb/en/innodb-status-variables/#innodb_log_waits",
        _buffer,
        always(
            "A larger innodb_log_buffer_size, which costs that much memory; or a faster disk for"
            " the log."
        ),
    ),
    "checkpoint": CauseText(
        "checkpoint",
        "PostgreSQL began a checkpoint, or wrote twice as many buffers for one as otherwise, and"
        " the disk's requests took three times as long",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
        _wrote,
        always(
            "A larger max_wal_size and checkpoint_timeout make them rarer (longer recovery, more"
            " disk space); checkpoint_completion_target 0.9 spreads them out."
        ),
    ),
}
