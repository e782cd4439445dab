"""MySQL."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.kinds import mysqlfamily

KIND = replace(
    mysqlfamily.KIND,
    name="mysql",
    title="MySQL",
    module="mysql.mysql",
    schemes=("mysql",),
    programs="mysqld",
    start_s=4.0,
    initialise_s=12.0,
    directory_bytes=300_000_000,
)
