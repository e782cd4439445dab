"""MariaDB."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.kinds import mysqlfamily

KIND = replace(
    mysqlfamily.KIND,
    name="mariadb",
    title="MariaDB",
    module="mysql.mariadb",
    schemes=("mariadb", "mysql"),
    programs="mariadbd mysqld",
    start_s=2.0,
    initialise_s=4.0,
    directory_bytes=200_000_000,
)
