"""The redo log is full or a checkpoint is due: pages must be written before work can go on."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule
from dbdyno.analysis.causes.rules import disk

FULL = 0.85  # of the log: InnoDB flushes in earnest from 7/8
FLUSH_FACTOR = 2.0
SCORE_MIN = 4.0

_AGES = (
    ("status.Innodb_checkpoint_age", "status.Innodb_checkpoint_max_age"),
    ("status.Innodb_redo_log_logical_size", "status.Innodb_redo_log_capacity_resized"),
)
_FLUSHED = "status.Innodb_buffer_pool_pages_flushed"
_STARTED = (
    *("status.pg_stat_bgwriter.checkpoints_timed", "status.pg_stat_bgwriter.checkpoints_req"),
    *("status.pg_stat_checkpointer.num_timed", "status.pg_stat_checkpointer.num_requested"),
)
_WRITTEN = (
    "status.pg_stat_bgwriter.buffers_checkpoint",
    "status.pg_stat_checkpointer.buffers_written",
)


def innodb(seen: Evidence) -> Match | None:
    """The log is nearly full, and many more pages are flushed than otherwise."""
    for age_name, limit_name in _AGES:
        age, limit = seen.get(age_name), seen.get(limit_name)
        flushed = seen.get(_FLUSHED)
        if age is None or limit is None or limit.during <= 0 or flushed is None:
            continue
        full = age.peak / limit.during
        more = flushed.during >= FLUSH_FACTOR * flushed.otherwise and flushed.score >= SCORE_MIN
        if full >= FULL and more:
            return Match(
                0.78,
                age.metric,
                {"full": full, "flushed": flushed, "a_second": seen.question == STALL},
            )
    return None


def log_buffer(seen: Evidence) -> Match | None:
    """Sessions waited for room in the log buffer."""
    waits = seen.get("status.Innodb_log_waits")
    if waits is None or seen.question != STALL or waits.gained < 1 or waits.expected >= 0.3:
        return None
    return Match(0.6, waits.metric, {"waits": waits.gained})


def postgres(seen: Evidence) -> Match | None:
    """A checkpoint began, or wrote, and the disk was busy with it."""
    started = sum(seen.gained(name) for name in _STARTED)
    wrote = max((one for name in _WRITTEN for one in seen.named(name)), key=_score, default=None)
    if wrote is None or not disk.slower(seen):
        return None
    writes = wrote.during >= FLUSH_FACTOR * wrote.otherwise and wrote.score >= SCORE_MIN
    if seen.question == STALL and started < 0.6 and not writes:
        return None
    if seen.question != STALL and not writes:
        return None
    return Match(0.74, wrote.metric, {"wrote": wrote, "a_second": seen.question == STALL})


def _score(one: object) -> float:
    return float(getattr(one, "score", 0.0))


RULES = (
    Rule("log_space", ANY, innodb),
    Rule("log_buffer", (STALL,), log_buffer),
    Rule("checkpoint", ANY, postgres),
)
