"""The binary log changes to a new file."""

from __future__ import annotations

from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText


def _rotated(
    here: str, there: str, size: str | None, peak: float | None = None, otherwise: float = 0.0
) -> str:
    flushed = ""
    if peak is not None:
        flushed = (
            f"; the disk took up to {numbers.number(peak / 1e6)} MB a second, against"
            f" {numbers.number(otherwise / 1e6)} {there}"
        )
    return (
        f"The binary log was rotated {here}: commits waited until the old file was on the disk and"
        f" a new one begun{flushed}."
    )


def _cure(size: str | None, **_rest: float) -> str:
    now = f" (now {size})" if size else ""
    return (
        f"A smaller max_binlog_size{now} flushes less at a time: 64M instead of 1G cost about 4 %"
        " of throughput in a published test. Or sync_binlog of 1 or some hundred, which flushes all"
        " along."
    )


CAUSES = {
    "log_rotation": CauseText(
        "binary log rotation",
        "the number of the binary log's file rose, which it hardly does otherwise, and the disk"
        " took far more",
        "https://mariadb.com/kb/en/binary-log-formats/,"
        " https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html#sysvar_max_binlog_size",
        _rotated,
        _cure,
    ),
}
