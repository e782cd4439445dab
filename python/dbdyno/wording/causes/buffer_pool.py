"""What is read most does not fit into the server's memory."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import Moved
from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText


def _pool(
    here: str, there: str, reads: Moved, a_second: bool, sizes: tuple[float, float] | None
) -> str:
    said = f"An operation reads {numbers.number(reads.during)} pages from the disk"
    if a_second:
        said = f"{numbers.number(reads.during)} pages a second came from the disk"
    size = ""
    if sizes:
        mib = [numbers.number(bytes_ / 2**20) for bytes_ in sizes]
        size = f" The pool has {mib[0]} MiB there, against {mib[1]}."
    return (
        f"{said} {here}, against {numbers.number(reads.otherwise)} {there}: the buffer pool is too"
        f" small for what is read.{size}"
    )


CAUSES = {
    "buffer_pool": CauseText(
        "buffer pool too small",
        "three times as many pages are read an operation, from a pool that has no room left; in a"
        " stall it must be a smaller pool",
        "https://mariadb.com/kb/en/innodb-buffer-pool/,"
        " https://mariadb.com/kb/en/innodb-system-variables/#innodb_lru_scan_depth",
        _pool,
        "A larger innodb_buffer_pool_size: it costs that much memory.",
    ),
    "shared_buffers": CauseText(
        "shared buffers too small",
        "three times as many pages are read an operation, from a pool that has no room left",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-SHARED-BUFFERS",
        "An operation reads {reads.during:number} blocks into shared buffers {here}, against"
        " {reads.otherwise:number} {there}: they are too small for what is read.",
        "Larger shared_buffers: it costs that much memory.",
    ),
}
