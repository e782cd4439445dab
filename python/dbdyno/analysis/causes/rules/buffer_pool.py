"""What is read most does not fit into the server's memory."""

from __future__ import annotations

from dbdyno.analysis import describe
from dbdyno.analysis.causes.evidence import DIFFERENCE, STEP, Evidence
from dbdyno.analysis.causes.rule import Match, Rule

READS_FACTOR = 3.0
READS_MIN = 0.02  # an operation
FREE_MAX = 0.05  # of the pool: one with room is not too small but not yet warm
CUT = 0.9  # of its size elsewhere


def innodb(seen: Evidence) -> Match | None:
    """Pages that had to be read, for each operation."""
    reads = seen.get("status.Innodb_buffer_pool_reads")
    total = seen.get("status.Innodb_buffer_pool_pages_total")
    free = seen.get("status.Innodb_buffer_pool_pages_free")
    if reads is None or reads.during < READS_MIN or reads.factor < READS_FACTOR:
        return None
    if total is not None and free is not None and free.during > FREE_MAX * total.during:
        return None
    smaller = total is not None and total.during < CUT * total.otherwise
    sizes = ""
    if smaller and total is not None:
        page = seen.during("status.Innodb_page_size") or 16384.0
        mib = [describe.number(value * page / 2**20) for value in (total.during, total.otherwise)]
        sizes = f" The pool has {mib[0]} MiB there, against {mib[1]}."
    return Match(
        0.93 if smaller else 0.75,
        f"An operation reads {describe.number(reads.during)} pages from the disk {seen.here},"
        f" against {describe.number(reads.otherwise)} {seen.there}: the buffer pool is too small"
        f" for what is read.{sizes}",
        "A larger innodb_buffer_pool_size: it costs that much memory.",
        reads.metric,
    )


def postgres(seen: Evidence) -> Match | None:
    """Blocks that were not in shared buffers, for each operation."""
    reads = seen.get("status.pg_stat_database.blks_read")
    if reads is None or reads.during < READS_MIN or reads.factor < READS_FACTOR:
        return None
    return Match(
        0.7,
        f"An operation reads {describe.number(reads.during)} blocks into shared buffers"
        f" {seen.here}, against {describe.number(reads.otherwise)} {seen.there}: they are too small"
        " for what is read.",
        "Larger shared_buffers: it costs that much memory.",
        reads.metric,
    )


_CONDITION = "three times as many pages are read an operation, from a pool that has no room left"
_QUESTIONS = (STEP, DIFFERENCE)

RULES = (
    Rule(
        "buffer_pool",
        "buffer pool too small",
        _CONDITION,
        "https://mariadb.com/kb/en/innodb-buffer-pool/",
        _QUESTIONS,
        innodb,
    ),
    Rule(
        "shared_buffers",
        "shared buffers too small",
        _CONDITION,
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-SHARED-BUFFERS",
        _QUESTIONS,
        postgres,
    ),
)
