"""PostgreSQL. Counters: its `pg_stat_*` views."""

from __future__ import annotations

from dbdyno.kinds.counter import Amount, Quotient, Share
from dbdyno.kinds.kind import OF_SQL, POSTGRES, SKEWS, WRITE_SKEW, Kind

_DATABASE, _WAL = "status.pg_stat_database.", "status.pg_stat_wal."

KIND = Kind(
    name="postgres",
    title="PostgreSQL",
    module="postgres.system",
    capabilities=OF_SQL,
    language=POSTGRES,
    schemes=("postgres", "postgresql"),
    port=5432,
    topologies=("replicas",),
    replications=("physical", "logical"),
    waits_for_replicas=8,
    waits_for_ever=True,
    backups=("basebackup", "dump"),
    backups_with_logs=("basebackup",),
    programs="postgres",
    clients="psql",
    client_package="postgresql-client",
    start_s=1.0,
    initialise_s=2.5,
    directory_bytes=100_000_000,
    drop_schema="DROP SCHEMA {} CASCADE",
    sees_sessions="pg_read_all_stats",
    # Also of what waits for a standby at its commit ("The Statistics Collector", pg_stat_activity).
    open_transactions="SELECT pid, xact_start FROM pg_stat_activity WHERE xact_start IS NOT NULL"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
    default_isolation="read_committed",
    # "Transaction Isolation", table 13.1: read uncommitted is read committed; repeatable read is
    # snapshot isolation, in which only serialization anomalies are left.
    permits={
        "read_uncommitted": SKEWS,
        "read_committed": SKEWS,
        "repeatable_read": (WRITE_SKEW,),
    },
    example_setting="wal_compression: lz4",
    counters=(
        Share("buffer misses %", f"{_DATABASE}blks_read", (f"{_DATABASE}blks_hit",)),
        Quotient("WAL syncs/tx", (f"{_WAL}wal_sync",), "transactions"),
        Quotient("WAL kB/tx", (f"{_WAL}wal_bytes",), "transactions", 1e-3),
        Quotient("rows returned/op", (f"{_DATABASE}tup_returned",), "operations"),
        Amount("rollbacks/s", f"{_DATABASE}xact_rollback"),
        Amount("deadlocks/s", f"{_DATABASE}deadlocks"),
        Amount("temp files/s", f"{_DATABASE}temp_files"),
        Amount("checkpoints asked for/s", "status.pg_stat_bgwriter.checkpoints_req"),
    ),
)
