"""MariaDB."""

from __future__ import annotations

from dbdyno.kinds import mysqlfamily
from dbdyno.kinds.kind import MYSQL, OF_SQL, Kind

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
    programs="mariadbd mysqld",
    clients="mariadb mysql",
    client_package="mariadb-client",
    start_s=2.0,
    initialise_s=4.0,
    directory_bytes=200_000_000,
    drop_schema=mysqlfamily.DROP_SCHEMA,
    sees_sessions=mysqlfamily.SEES_SESSIONS,
    default_isolation=mysqlfamily.DEFAULT_ISOLATION,
    permits=mysqlfamily.PERMITS,
    example_setting=mysqlfamily.EXAMPLE_SETTING,
    counters=mysqlfamily.COUNTERS,
)
