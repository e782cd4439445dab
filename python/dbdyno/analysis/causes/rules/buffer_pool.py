"""What is read most does not fit into the server's memory."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import DIFFERENCE, STALL, STEP, Evidence, Moved
from dbdyno.analysis.causes.rule import Match, Rule

READS_FACTOR = 3.0
READS_MIN = 0.02  # an operation
MISSES_MIN = 0.01  # of the pages asked for
FREE_MAX = 0.05  # of the pool: one with room is not too small but not yet warm
KEPT_FREE = (
    1536  # pages, however small the pool: InnoDB throws others out for them (LRU scan depth)
)
CUT = 0.9  # of its size elsewhere


def innodb(seen: Evidence) -> Match | None:
    """Pages that had to be read, for each operation. A stall is not attributed to them, unless the
    pool is smaller in it: else somebody read pages that no session had needed."""
    reads = seen.get("status.Innodb_buffer_pool_reads")
    total = seen.get("status.Innodb_buffer_pool_pages_total")
    free = seen.get("status.Innodb_buffer_pool_pages_free")
    if reads is None or reads.factor < READS_FACTOR or not _many(seen, reads):
        return None
    size = total.during if total is not None else 0.0
    if size and free is not None and free.during > max(FREE_MAX * size, KEPT_FREE):
        return None
    smaller = total is not None and total.during < CUT * total.otherwise
    if seen.question == STALL and not smaller:
        return None
    sizes = None
    if smaller and total is not None:
        page = seen.during("status.Innodb_page_size") or 16384.0
        sizes = [pages * page for pages in (total.during, total.otherwise)]
    return Match(
        0.93 if smaller else 0.75,
        reads.metric,
        {"reads": reads, "a_second": seen.question == STALL, "sizes": sizes},
    )


def _many(seen: Evidence, reads: Moved) -> bool:
    if seen.question != STALL:
        return reads.during >= READS_MIN
    asked = seen.during("status.Innodb_buffer_pool_read_requests")
    return asked > 0 and reads.during >= MISSES_MIN * asked


def postgres(seen: Evidence) -> Match | None:
    """Blocks that were not in shared buffers, for each operation."""
    reads = seen.get("status.pg_stat_database.blks_read")
    if reads is None or reads.during < READS_MIN or reads.factor < READS_FACTOR:
        return None
    return Match(0.7, reads.metric, {"reads": reads})


RULES = (
    Rule("buffer_pool", (STALL, STEP, DIFFERENCE), innodb),
    Rule("shared_buffers", (STEP, DIFFERENCE), postgres),
)
