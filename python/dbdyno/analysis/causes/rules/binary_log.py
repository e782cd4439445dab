"""The binary log changes to a new file, and what of the old one was not yet on disk goes there."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import Match, Rule
from dbdyno.analysis.causes.rules import disk
from dbdyno.wording import numbers

ROTATIONS_MIN = 0.6  # in question, as a median over stalls: most of them have one
EXPECTED_MAX = 0.3  # in such a time otherwise: a log that rotates all the time explains nothing
FLUSH_FACTOR = 3.0  # the disk takes so many times as much


def look(seen: Evidence) -> Match | None:
    """The number of the log's file rose, and the disk had to do with it."""
    file = seen.get("status.Binlog_file")
    if file is None or file.gained < ROTATIONS_MIN or file.expected > EXPECTED_MAX:
        return None
    written = seen.get("disk.write_bytes_per_s")
    if written is None:
        confidence, flushed = 0.7, ""
    elif written.peak >= FLUSH_FACTOR * written.otherwise or disk.slower(seen):
        confidence = 0.92
        flushed = (
            f"; the disk took up to {numbers.number(written.peak / 1e6)} MB a second, against"
            f" {numbers.number(written.otherwise / 1e6)} {seen.there}"
        )
    else:
        return None  # a new file, but nothing was flushed: a coincidence
    size = seen.config.get("max_binlog_size")
    now = f" (now {size})" if size else ""
    return Match(
        confidence,
        f"The binary log was rotated {seen.here}: commits waited until the old file was on the disk"
        f" and a new one begun{flushed}.",
        f"A smaller max_binlog_size{now} flushes less at a time: 64M instead of 1G cost about 4 %"
        " of throughput in a published test. Or sync_binlog of 1 or some hundred, which flushes all"
        " along.",
        "disk.write_bytes_per_s" if written is not None and not seen.on_host else file.metric,
    )


RULES = (
    Rule(
        "log_rotation",
        "binary log rotation",
        "the number of the binary log's file rose, which it hardly does otherwise, and the disk"
        " took far more",
        "https://mariadb.com/kb/en/binary-log-formats/,"
        " https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html"
        "#sysvar_max_binlog_size",
        (STALL,),
        look,
    ),
)
