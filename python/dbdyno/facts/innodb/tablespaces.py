"""What InnoDB's data files in a directory hold, by `dyno-engine tablespace`: totals of all files,
and the rows of those that rules can have something to say about.

Memory does not grow with the number of files: of each criterion only the first rows are kept, and
the totals count all. Files are only read; nothing is locked.

`disk_gain_bytes` is the least that a rebuild gives back to the file system: what is
allocated less the whole new file. Of a sparse file, or on a file system that compresses,
`gain_bytes` (of the file's length) would promise space that was never taken.
"""

from __future__ import annotations

import heapq
import json
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.facts.gathered import Gathered
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import PIPE, Process
from dbdyno.installed import find

Progress = Callable[[int, int | None], None]  # bytes read, bytes in all
Event = Mapping[str, Any]
Row = dict[str, Any]
ROWS_MAX = 100  # of each criterion
SCHEMAS_MAX = 1000
PAGES_MAX = 20  # damaged pages that are listed, of a file
SMALL_EXTENTS = 32  # a file up to this grows by one extent at a time
NO_TABLESPACE = "is not a tablespace"  # what the engine says of a file whose pages do not verify
UNREAD = "unread files"  # a key of what is missing
_SUMS = ("apparent_bytes", "allocated_bytes", "free_bytes", "disk_gain_bytes", "corrupt_pages")
_CODED = re.compile(r"@([0-9a-f]{4})")
_PART = re.compile(r"#p#", re.IGNORECASE)
_LEFT = re.compile(r"#sql", re.IGNORECASE)
_FULLTEXT = re.compile(r"fts_[0-9a-f]{16}_", re.IGNORECASE)


class Space:
    """Sums and rows of all files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sums = dict.fromkeys(("files", "skipped", *_SUMS), 0)
        self._kept = {"kept_files": 0, "kept_bytes": 0, "kept_used_bytes": 0, "jump_files": 0}
        self._schemas: dict[str, dict[str, int]] = {}
        self._top = {
            name: _Top() for name in ("allocated_bytes", "disk_gain_bytes", "lsn", "corrupt_pages")
        }
        self._shared: list[Row] = []
        self._skipped: list[Row] = []
        self.lsns: list[int] = []

    def add(self, event: Event) -> None:
        """An event of the engine."""
        if event["event"] == "skipped":
            self._sums["skipped"] += 1
            row = {"path": self._near(event["path"]), "reason": event["what"]}
            if len(self._skipped) < ROWS_MAX:
                self._skipped.append({**row, "place": event["path"]})
        elif event["event"] == "tablespace":
            self._file(event["tablespace"])

    def _file(self, file: Mapping[str, Any]) -> None:
        row = row_of(file, self._near(file["path"]))
        self._sums["files"] += 1
        self.lsns.append(row["lsn"])
        schema = self._schemas.setdefault(row["schema"], dict.fromkeys(("files", *_SUMS), 0))
        schema["files"] += 1
        for name in _SUMS:
            self._sums[name] += row[name]
            schema[name] += row[name]
        self._count_kept(file, row)
        for name, top in self._top.items():
            if row[name] > 0:
                top.add(row[name], row)
        if row["kind"] not in ("table", "partition") and len(self._shared) < ROWS_MAX:
            self._shared.append(row)

    def _count_kept(self, file: Mapping[str, Any], row: Row) -> None:
        """Extents that the server keeps free in files of small tables."""
        if row["kind"] not in ("table", "partition"):
            return
        page, extent = file["format"]["physical_page_bytes"], file["format"]["extent_pages"]
        size = row["apparent_bytes"]
        if size < page * extent:
            self._kept["jump_files"] += 1
        elif size <= SMALL_EXTENTS * page * extent and row["free_extent_bytes"]:
            self._kept["kept_files"] += 1
            self._kept["kept_bytes"] += row["free_extent_bytes"]
            self._kept["kept_used_bytes"] += size - row["free_bytes"]

    def put(self, found: Gathered) -> None:
        """The facts."""
        place = f"dyno-engine tablespace {self._directory}"
        for name, value in (self._sums | self._kept).items():
            found.add(f"space.{name}", value, place, "bytes" if name.endswith("bytes") else "")
        rows = {row["path"]: row for row in self._shared}
        for top in self._top.values():
            rows |= {row["path"]: row for row in top.rows()}
        found.table("tablespaces", rows.values(), place)
        found.table("skipped_files", self._skipped, place)
        biggest = sorted(self._schemas.items(), key=lambda one: -one[1]["allocated_bytes"])
        schemas = [{"schema": name, **sums} for name, sums in biggest[:SCHEMAS_MAX]]
        found.table("schemas", schemas, place)
        unread = [row for row in self._skipped if not row["reason"].startswith(NO_TABLESPACE)]
        if unread:
            first = f"{unread[0]['path']}: {unread[0]['reason']}"
            found.lacks(UNREAD, f"{len(unread)} files or directories, such as {first}")

    def _near(self, path: str) -> str:
        return path.removeprefix(f"{self._directory}/")


class _Top:
    """The rows with the highest numbers."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Row]] = []
        self._numbers = count()

    def add(self, number: int, row: Row) -> None:
        entry = (number, next(self._numbers), row)
        if len(self._heap) < ROWS_MAX:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def rows(self) -> list[Row]:
        return [row for *_, row in sorted(self._heap, reverse=True)]


def row_of(file: Mapping[str, Any], path: str) -> Row:
    """What rules need of a file, from the engine's document."""
    page, free, rebuilt = file["format"]["physical_page_bytes"], file["free"], file["rebuild"]
    taken = min(file["apparent_bytes"], file["allocated_bytes"])
    gain = max(0, taken - rebuilt["bytes"]) if rebuilt["bytes"] is not None else 0
    schema, table, partition = named(path) if file["kind"] in ("table", "partition") else ("",) * 3
    leaves = [one["levels"][0] for one in file["indexes"] if one["is_clustered"] and one["levels"]]
    used, usable = (sum(one[f"{name}_bytes"] for one in leaves) for name in ("record", "usable"))
    listed = file["corrupt"]["listed"][:PAGES_MAX]
    return {
        "path": path,
        "kind": file["kind"],
        "schema": schema,
        "table": table,
        "partition": partition,
        "apparent_bytes": file["apparent_bytes"],
        "allocated_bytes": file["allocated_bytes"],
        "free_bytes": free["bytes"],
        "free_extent_bytes": (free["extent_pages"] + free["beyond_limit_pages"]) * page,
        "reserved_bytes": free["reserved_pages"] * page,
        "leaf_fill": round(used / usable, 4) if usable else None,
        "rebuild_bytes": rebuilt["bytes"],
        "gain_bytes": rebuilt["gain_bytes"],
        "disk_gain_bytes": gain,
        "rebuild_unknown": rebuilt["unknown"],
        "next_growth_bytes": file["next_growth_bytes"],
        "lsn": file["lsn"]["max"] if file["lsn"] else 0,
        "page_bytes": page,
        "corrupt_pages": file["corrupt"]["pages"],
        "corrupt_listed": ", ".join(f"{one['page']} ({' '.join(one['faults'])})" for one in listed),
        "place": file["path"],
    }  # fmt: skip


def named(path: str) -> tuple[str, str, str]:
    """Schema, table and partition of `db/t@002d1#p#p0.ibd`: (db, t-1, p0). The table is empty where
    no statement can name it: what an ALTER TABLE left, parts of full-text indexes, and
    names that MySQL wrote in a code of its own (MySQL manual, "Mapping of Identifiers to File
    Names")."""
    parts = path.split("/")
    schema = _decoded(parts[-2]) if len(parts) > 1 else ""
    table, *partition = _PART.split(parts[-1].removesuffix(".ibd"))
    if _LEFT.match(table) or _FULLTEXT.match(table):
        return schema, "", ""
    table = _decoded(table)
    first = partition[0].partition("#")[0] if partition else ""
    return schema, "" if "@" in table + schema + first else table, first


def _decoded(name: str) -> str:
    return _CODED.sub(lambda one: chr(int(one[1], 16)), name)


def scan(
    paths: Sequence[Path], takers: Sequence[Callable[[Event], None]], progress: Progress | None
) -> None:
    """Hands each event of the engine, about files and all that are below directories, to all
    `takers`. DynoError if it does not come to an end. Ctrl-C ends the engine too."""
    ended = False
    with tempfile.TemporaryFile() as stderr:
        command: list[str | Path] = [find(), "tablespace", "--", *paths]
        try:
            process = LOCAL.start(command, stdout=PIPE, stderr=stderr)
        except OSError as error:
            raise DynoError(f"dyno-engine cannot be started: {error.strerror}") from None
        try:
            for event in _events(process):
                if event["event"] == "progress" and progress is not None:
                    progress(event["bytes"], event["bytes_total"])
                ended = ended or event["event"] == "end"
                for take in takers:
                    take(event)
            code = process.wait()
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
        stderr.seek(0)
        said = stderr.read()[-500:].decode("utf-8", "replace").strip()
    if not ended:
        raise DynoError(f"dyno-engine tablespace ended with exit code {code}: {said}")


def _events(process: Process) -> Iterator[Event]:
    assert process.stdout is not None
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:  # a line that a dying engine left half-written
            continue
        yield event
