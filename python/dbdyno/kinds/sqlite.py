"""SQLite: a library in the engine's own process."""

from __future__ import annotations

from dbdyno.kinds.counter import Amount
from dbdyno.kinds.kind import OF_SQL, Kind

_MIB = 1 / 1048576.0

KIND = Kind(
    name="sqlite",
    title="SQLite",
    module="sqlite.system",
    capabilities=OF_SQL,
    in_engine=True,
    counters=(
        Amount("database MiB", "status.database_bytes", _MIB),
        Amount("WAL MiB", "status.wal_bytes", _MIB),
    ),
)
