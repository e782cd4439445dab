"""No database: the engine answers itself."""

from __future__ import annotations

from dbdyno.kinds.kind import ALL, Kind

KIND = Kind(
    name="null",
    title="null",
    module="null",
    capabilities=ALL,
    stores_data=False,
    in_engine=True,
)
