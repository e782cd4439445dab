"""What MariaDB and MySQL have in common. Counters: `SHOW GLOBAL STATUS`."""

from __future__ import annotations

from dbdyno.kinds.counter import Amount, Counter, Quotient, Share
from dbdyno.kinds.kind import SKEWS, UNCOMMITTED

_READS = ("key", "first", "last", "next", "prev", "rnd", "rnd_next")
# Of look-ups in the query cache, not of Com_select: MariaDB counts hits there too, MySQL did not.
_CACHE, _POOL = "status.Qcache_", "status.Innodb_buffer_pool_"

PORT = 3306
DROP_SCHEMA = "DROP DATABASE {}"
SEES_SESSIONS = "PROCESS"
# Also of what waits for a replica at its commit. Thread 0 is the server's own.
OPEN_TRANSACTIONS = (
    "SELECT trx_mysql_thread_id, trx_started FROM information_schema.innodb_trx"
    " WHERE trx_mysql_thread_id NOT IN (0, connection_id())"
)
SCHEMA_CHANGES = ("pt-online-schema-change",)
DEFAULT_ISOLATION = "repeatable_read"
# "Transaction Isolation Levels" and "Consistent Nonlocking Reads": repeatable read reads a
# snapshot, and writes to what is committed by then, so that it permits lost updates.
PERMITS = {
    "read_uncommitted": (*SKEWS, *UNCOMMITTED),
    "read_committed": SKEWS,
    "repeatable_read": SKEWS,
}
LOG_SETTING = "log_bin"
LOG_OFF_SETTINGS = ("skip_log_bin", "disable_log_bin")
EXAMPLE_SETTING = "innodb_flush_method: O_DIRECT"
COUNTERS: tuple[Counter, ...] = (
    Share("query cache hits %", f"{_CACHE}hits", (f"{_CACHE}inserts", f"{_CACHE}not_cached")),
    Amount("query cache prunes/s", f"{_CACHE}lowmem_prunes"),
    Quotient("buffer pool misses %", (f"{_POOL}reads",), f"{_POOL}read_requests", 100),
    Amount("fsyncs/s", "status.Innodb_data_fsyncs"),
    Quotient("fsyncs/tx", ("status.Innodb_data_fsyncs",), "transactions"),
    Quotient(
        "row reads/op",
        tuple(f"status.Handler_read_{name}" for name in _READS),
        "operations",
        made_of="Handler_read_*",
    ),
    Amount("row lock waits/s", "status.Innodb_row_lock_waits"),
    Amount("deadlocks/s", "status.Innodb_deadlocks"),
    Amount("log waits/s", "status.Innodb_log_waits"),
    Amount("disk temp tables/s", "status.Created_tmp_disk_tables"),
    Amount("threads running", "status.Threads_running"),
)
