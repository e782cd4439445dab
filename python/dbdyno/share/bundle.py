"""A run in one file: a zip archive with what is needed to draw its report elsewhere.

The same run gives the same bytes: entries are sorted, have one date and one mode, and hold only
what is final (records, events, samples, histograms; no locks, logs or half-measured trials).

A bundle comes from strangers: only names from a fixed list are taken (so no `..`, no absolute path,
no link, nothing twice), and counts and sizes are bounded while unpacking, whatever headers say.
Source: PKWARE's APPNOTE 6.3; Python's `zipfile`, "Decompression pitfalls".
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dbdyno import __version__, diskfiles
from dbdyno.errors import DynoError
from dbdyno.store.annotation import ANNOTATIONS
from dbdyno.store.manifest import MANIFEST
from dbdyno.store.run import ENGINE_PLAN, EVENTS, HISTOGRAMS, SAMPLES, TRIAL, Run
from dbdyno.store.text import files

MARK = "dbdyno-bundle.json"  # first in the archive: says what it is
BUNDLE_VERSION = 1

ENTRIES_MAX = 200_000
ENTRY_BYTES_MAX = 4 << 30
TOTAL_BYTES_MAX = 32 << 30
RATIO_MAX = 60  # of unpacked to packed; streams of real runs have 8 to 20, zeros have 1,000
FREE_BYTES = 16 << 20  # of a small one, whatever its ratio

_PIECE = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that the format knows
_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}"
_TRIAL_FILES = (TRIAL, ENGINE_PLAN, EVENTS, SAMPLES, HISTOGRAMS)
_LOG = r"hooks/[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
_ALLOWED = re.compile(
    rf"{re.escape(MARK)}|manifest\.json|result\.json|annotations\.json|hooks\.ndjson|{_LOG}|trials/{_ID}/{_LOG}"
    rf"|trials/{_ID}/(?:{'|'.join(map(re.escape, _TRIAL_FILES))})"
    rf"|trials/{_ID}\.void-[0-9]{{1,6}}/{re.escape(TRIAL)}"
)


def pack(run: Run, to: Path, *, redacted: bool = False) -> int:
    """Writes the bundle of a run to `to`, whole or not at all; returns its size in bytes. An
    existing file is replaced only if it is a bundle itself."""
    if to.exists() and not is_bundle(to):
        raise DynoError(
            f"{to} exists and is not a bundle",
            cause="dbdyno replaces no file that it did not write",
            fix="name another file",
        )
    try:
        with (
            diskfiles.replacing(to) as made,
            zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        ):
            mark = {"bundle_version": BUNDLE_VERSION, "dbdyno": __version__, "redacted": redacted}
            archive.writestr(_entry(MARK), files.dumps(mark))
            for name in members(run):
                with diskfiles.opened(run.path / name) as reading:
                    entry = _entry(name)
                    # Decides on the 64-bit form.
                    entry.file_size = os.fstat(reading.fileno()).st_size
                    with archive.open(entry, "w") as writing:
                        shutil.copyfileobj(reading, writing, _PIECE)
    except OSError as error:
        raise DynoError(
            f"cannot write {to}: {error.strerror or error}",
            cause="its directory does not exist, is full or is not writable; or a file of"
            " the run is none",
            fix="name another file",
        ) from None
    return to.stat().st_size


def members(run: Run) -> list[str]:
    """Names of the files of a run that a bundle holds, sorted: of trials that are over, and the
    records of attempts that were void."""
    found = [MANIFEST]
    found += [
        name for name in ("result.json", "hooks.ndjson", ANNOTATIONS) if (run.path / name).is_file()
    ]
    logs = [*run.path.glob("hooks/*"), *run.path.glob("trials/*/hooks/*")]
    names = [path.relative_to(run.path).as_posix() for path in logs if path.is_file()]
    found += [name for name in names if _ALLOWED.fullmatch(name)]
    for record in run.records():
        place = f"trials/{record.id}"
        found += [f"{place}/{n}" for n in _TRIAL_FILES if (run.path / place / n).is_file()]
    for path in run.path.glob(f"trials/*.void-*/{TRIAL}"):
        name = path.relative_to(run.path).as_posix()
        if _ALLOWED.fullmatch(name):
            found.append(name)
    return sorted(found)


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle of some version."""
    try:
        with diskfiles.opened(path, links=True) as file:
            # dbdyno's bundles begin with the mark's entry; the directory of another may be of any
            # size.
            head = file.read(30 + len(MARK))
            return head[:4] == b"PK\x03\x04" and head[30:] == MARK.encode()
    except OSError:
        return False


def unpack(path: Path, directory: Path) -> None:
    """Unpacks a bundle into an empty directory. DynoError for anything else than a bundle, and for
    one that is damaged, too large, or holds what it should not; `directory` is then undefined."""
    try:
        with diskfiles.opened(path, links=True) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            size = os.fstat(file.fileno()).st_size
            left = min(TOTAL_BYTES_MAX, max(FREE_BYTES, RATIO_MAX * size))
            _check(path, entries, left)
            _check_version(path, archive)
            for entry in entries:
                target = directory / entry.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as reading, diskfiles.opened(target, "xb") as writing:
                    left -= _copy(path, entry, reading, writing, min(left, ENTRY_BYTES_MAX))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, RuntimeError, ValueError) as error:
        # zipfile says RuntimeError of what is encrypted or packed in a way it does not know.
        raise _refused(path, f"is not a bundle, or damaged ({error})") from None
    except zlib.error as error:
        raise _refused(path, f"is damaged ({error})") from None
    except OSError as error:
        raise DynoError(
            f"cannot unpack {path}: {error.strerror or error}",
            cause="no permission, or no space where temporary files go",
            fix="set TMPDIR to a place with room",
        ) from None
    (directory / MARK).unlink()


def _check(path: Path, entries: list[zipfile.ZipInfo], most: int) -> None:
    if len(entries) > ENTRIES_MAX:
        raise _refused(path, f"has more than {ENTRIES_MAX:,} entries")
    if not entries or entries[0].filename != MARK:
        raise _refused(path, "is no bundle of dbdyno: the mark is missing")
    seen: set[str] = set()
    for entry in entries:
        name = entry.filename
        if not _ALLOWED.fullmatch(name):
            raise _refused(path, f"holds {name!r}, which is not part of a bundle")
        if name in seen:
            raise _refused(path, f"holds {name!r} twice")
        if entry.flag_bits & 0x1:
            raise _refused(path, f"holds {name!r} encrypted")
        if entry.file_size > ENTRY_BYTES_MAX:
            raise _refused(path, f"holds {name!r} of {entry.file_size:,} bytes")
        seen.add(name)
    if sum(entry.file_size for entry in entries) > most:
        raise _refused(path, f"unpacks to more than {most / 2**20:,.0f} MiB")


def _check_version(path: Path, archive: zipfile.ZipFile) -> None:
    with archive.open(MARK) as file:
        try:
            mark = json.loads(file.read(_PIECE))
            version = mark["bundle_version"]
        except (ValueError, KeyError, TypeError):
            raise _refused(path, "has a broken mark") from None
    if version != BUNDLE_VERSION:
        raise DynoError(
            f"{path} is a bundle of version {version}; this dbdyno reads {BUNDLE_VERSION}",
            cause=f"it was written by dbdyno {mark.get('dbdyno', 'of another version')}",
            fix="read it with that version",
        )


def _copy(
    path: Path, entry: zipfile.ZipInfo, reading: IO[bytes], writing: IO[bytes], limit: int
) -> int:
    """Copies at most what was announced: `zipfile` checks the sum, we the size."""
    size = 0
    for piece in _pieces(reading):
        size += len(piece)
        if size > min(limit, entry.file_size):
            raise _refused(path, f"holds more in {entry.filename!r} than it says")
        writing.write(piece)
    return size


def _pieces(reading: IO[bytes]) -> Iterator[bytes]:
    while piece := reading.read(_PIECE):
        yield piece


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, on any system
    entry.external_attr = 0o644 << 16
    return entry


def _refused(path: Path, why: str) -> DynoError:
    return DynoError(
        f"{path} {why}",
        cause="another file, a transfer that was cut off, or a forgery",
        fix="ask for it again; `dyno report RUN --bundle FILE` writes one",
    )
