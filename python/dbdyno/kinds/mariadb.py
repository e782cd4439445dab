"""MariaDB."""

from __future__ import annotations

from dbdyno.kinds import mysqlfamily
from dbdyno.kinds.counter import Amount, Counter
from dbdyno.kinds.kind import MYSQL, OF_SQL, Kind

# Of Galera: write-sets that failed certification, transactions that lost rows to an applier, those
# of them that were certified already and run again (its "Galera Status Variables").
_CONFLICTS = ("wsrep_local_cert_failures", "wsrep_local_bf_aborts", "wsrep_local_replays")
_OF_CLUSTERS: tuple[Counter, ...] = (
    Amount("certification failures/s", f"nodes.status.{_CONFLICTS[0]}"),
    Amount("rows taken by appliers/s", f"nodes.status.{_CONFLICTS[1]}"),
)

KIND = Kind(
    name="mariadb",
    title="MariaDB",
    module="mysql.mariadb",
    capabilities=OF_SQL,
    language=MYSQL,
    schemes=("mariadb", "mysql"),
    port=mysqlfamily.PORT,
    topologies=("galera", "replicas"),
    waits_for_replicas=1,
    backups=("mariabackup", "dump"),
    backups_with_logs=("mariabackup", "dump"),
    log_setting=mysqlfamily.LOG_SETTING,
    log_off_settings=mysqlfamily.LOG_OFF_SETTINGS,
    schema_changes=mysqlfamily.SCHEMA_CHANGES,
    upgrades=True,
    programs="mariadbd mysqld",
    clients="mariadb mysql",
    client_package="mariadb-client",
    start_s=2.0,
    initialise_s=4.0,
    directory_bytes=200_000_000,
    drop_schema=mysqlfamily.DROP_SCHEMA,
    sees_sessions=mysqlfamily.SEES_SESSIONS,
    open_transactions=mysqlfamily.OPEN_TRANSACTIONS,
    default_isolation=mysqlfamily.DEFAULT_ISOLATION,
    permits=mysqlfamily.PERMITS,
    example_setting=mysqlfamily.EXAMPLE_SETTING,
    counters=(*mysqlfamily.COUNTERS, *_OF_CLUSTERS),
    summed=_CONFLICTS,
)
