"""Plain files in a directory: the file system and what is below it."""

from __future__ import annotations

from dbdyno.kinds.kind import IO, POPULATE, Kind

KIND = Kind(
    name="files",
    title="plain files",
    module="files.system",
    capabilities=(POPULATE, IO),
    in_engine=True,
)
