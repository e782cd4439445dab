"""MySQL."""

from __future__ import annotations

from dbdyno.kinds import mysqlfamily
from dbdyno.kinds.counter import Amount, Counter
from dbdyno.kinds.kind import MYSQL, OF_SQL, Kind

# Of group replication: transactions that this member has proposed and that failed certification.
# All members certify all transactions, so that `count_conflicts_detected` of each is the group's.
_ROLLED_BACK = "replication_group_member_stats.count_transactions_local_rollback"
_OF_GROUPS: tuple[Counter, ...] = (
    Amount("certification failures/s", f"nodes.status.{_ROLLED_BACK}"),
)

KIND = Kind(
    name="mysql",
    title="MySQL",
    module="mysql.mysql",
    capabilities=OF_SQL,
    language=MYSQL,
    schemes=("mysql",),
    port=mysqlfamily.PORT,
    topologies=("replicas", "group"),
    waits_for_replicas=8,
    backups=("clone", "dump"),
    backups_with_logs=("dump",),
    log_setting=mysqlfamily.LOG_SETTING,
    log_off_settings=mysqlfamily.LOG_OFF_SETTINGS,
    schema_changes=mysqlfamily.SCHEMA_CHANGES,
    programs="mysqld",
    clients="mysql mariadb",
    client_package="default-mysql-client",
    start_s=4.0,
    initialise_s=12.0,
    directory_bytes=300_000_000,
    drop_schema=mysqlfamily.DROP_SCHEMA,
    sees_sessions=mysqlfamily.SEES_SESSIONS,
    open_transactions=mysqlfamily.OPEN_TRANSACTIONS,
    default_isolation=mysqlfamily.DEFAULT_ISOLATION,
    permits=mysqlfamily.PERMITS,
    example_setting=mysqlfamily.EXAMPLE_SETTING,
    counters=(*mysqlfamily.COUNTERS, *_OF_GROUPS),
    summed=(_ROLLED_BACK,),
)
