"""The facts of a needle: a value written to a server, and where its directory holds it in the
clear."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dbdyno.execute.needle import searching, writing
from dbdyno.execute.needle.searching import Searched
from dbdyno.execute.needle.writing import Written
from dbdyno.experiment.types import Credentials
from dbdyno.facts.fact import Facts
from dbdyno.facts.gathered import Gathered

SETTLE_S = 2.0  # for what the server writes in the background
_PATHS = (
    *("innodb_log_group_home_dir", "innodb_undo_directory", "innodb_data_home_dir"),
    "innodb_tmpdir",
)
_FILES = ("log_bin_basename", "relay_log_basename", "general_log_file", "slow_query_log_file")


def facts(
    url: str, credentials: Credentials, tls: str | None, server: Facts, directory: Facts
) -> Facts:
    """Those of the directory, with the table `needle` (class, path, place) and facts `needle.*`.
    DynoError if the server does not take the value."""
    with writing.written(url, credentials, tls) as written:
        time.sleep(SETTLE_S)
        places = list(_directories(server, Path(directory.subject)))
        found = searching.search(places, written.needle, written.since_unix_s)
    return _with(directory, written, found)


def _directories(server: Facts, directory: Path) -> Iterator[Path]:
    """The data directory, and where settings put files outside of it."""
    yield directory
    for name in (*_PATHS, *_FILES):
        fact = server.get(f"setting.{name}")
        if fact is None or not fact.text:
            continue
        path = directory / fact.text  # a relative one begins at the data directory
        path = path.parent if name in _FILES else path
        if path.is_dir() and path != directory:
            yield path


def _with(directory: Facts, written: Written, found: Searched) -> Facts:
    made = Gathered()
    place = f"{found.files} files, {found.bytes} bytes"
    made.table("needle", found.rows, place)
    made.add("needle.table", written.table, "CREATE TABLE in a schema of dbdyno")
    made.add("needle.bytes", found.bytes, place, "bytes")
    lacking = [*found.lacking, *([written.lacking] if written.lacking else [])]
    if lacking:
        made.lacks("needle in some files", "; ".join(lacking)[:500])
    late = made.facts(directory.subject, directory.source, directory.engine)
    return replace(
        directory,
        facts={**directory.facts, **late.facts},
        tables={**directory.tables, **late.tables},
        missing={**directory.missing, **late.missing},
    )
