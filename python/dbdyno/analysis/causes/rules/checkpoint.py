"""The redo log is full or a checkpoint is due: pages must be written before work can go on."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule
from dbdyno.analysis.causes.rules import disk
from dbdyno.wording import numbers

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
                f"The redo log was {full:.0%} full {seen.here}, so that InnoDB had to flush pages:"
                f" {numbers.number(flushed.during)} {_each(seen)}, against"
                f" {numbers.number(flushed.otherwise)} {seen.there}.",
                "A larger redo log (innodb_log_file_size, MySQL: innodb_redo_log_capacity): it"
                " costs disk space and a longer recovery.",
                age.metric,
            )
    return None


def log_buffer(seen: Evidence) -> Match | None:
    """Sessions waited for room in the log buffer."""
    waits = seen.get("status.Innodb_log_waits")
    if waits is None or seen.question != STALL or waits.gained < 1 or waits.expected >= 0.3:
        return None
    return Match(
        0.6,
        f"Sessions waited {numbers.number(waits.gained)} times for room in the redo log's buffer"
        f" {seen.here}, which they do not {seen.there}.",
        "A larger innodb_log_buffer_size, which costs that much memory; or a faster disk for the"
        " log.",
        waits.metric,
    )


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
    return Match(
        0.74,
        f"A checkpoint wrote {numbers.number(wrote.during)} buffers {_each(seen)} {seen.here},"
        f" against {numbers.number(wrote.otherwise)} {seen.there}.",
        "A larger max_wal_size and checkpoint_timeout make them rarer (longer recovery, more disk"
        " space); checkpoint_completion_target 0.9 spreads them out.",
        wrote.metric,
    )


def _score(one: object) -> float:
    return float(getattr(one, "score", 0.0))


def _each(seen: Evidence) -> str:
    return "a second" if seen.question == STALL else "an operation"


RULES = (
    Rule(
        "log_space",
        "redo log nearly full",
        "the checkpoint's age is 85 % of what the redo log allows, and twice as many pages are"
        " flushed as otherwise",
        "https://mariadb.com/kb/en/innodb-redo-log/,"
        " https://dev.mysql.com/doc/refman/8.4/en/innodb-redo-log.html",
        ANY,
        innodb,
    ),
    Rule(
        "log_buffer",
        "log buffer full",
        "Innodb_log_waits rose, which it does not otherwise",
        "https://mariadb.com/kb/en/innodb-status-variables/#innodb_log_waits",
        (STALL,),
        log_buffer,
    ),
    Rule(
        "checkpoint",
        "checkpoint",
        "PostgreSQL began a checkpoint, or wrote twice as many buffers for one as otherwise, and"
        " the disk's requests took three times as long",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
        ANY,
        postgres,
    ),
)
