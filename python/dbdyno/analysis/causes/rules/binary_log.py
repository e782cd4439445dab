"""The binary log changes to a new file, and what of the old one was not yet on disk goes there."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import Match, Rule
from dbdyno.analysis.causes.rules import disk

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
        confidence, flushed = 0.7, {}
    elif written.peak >= FLUSH_FACTOR * written.otherwise or disk.slower(seen):
        confidence = 0.92
        flushed = {"peak": written.peak, "otherwise": written.otherwise}
    else:
        return None  # a new file, but nothing was flushed: a coincidence
    return Match(
        confidence,
        "disk.write_bytes_per_s" if written is not None and not seen.on_host else file.metric,
        {"size": seen.config.get("max_binlog_size"), **flushed},
    )


RULES = (Rule("log_rotation", (STALL,), look),)
