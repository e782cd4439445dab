"""The files that are given, directories opened, each read by its format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.imports import formats
from dbdyno.imports.formats import pgbench_log
from dbdyno.imports.found import Found, plausible
from dbdyno.imports.text import Text

FILES_MAX = 10_000
RESULTS_MAX = 20_000
_THREAD_LOG = re.compile(r"(.+\.\d+)\.\d+")  # pgbench_log.PID.THREAD next to pgbench_log.PID


@dataclass(frozen=True)
class Source:
    """A file that was read."""

    path: Path
    sha256: str
    tool: str


@dataclass(frozen=True)
class Collected:
    """All results in the order of the files, the files, and what was omitted with why."""

    results: tuple[Found, ...]
    sources: tuple[Source, ...]
    skipped: tuple[tuple[Path, str], ...]


def collect(
    paths: Sequence[Path], columns: Mapping[str, str], *, skip_bad: bool = False
) -> Collected:
    """Reads all files. A bad one is a DynoError, or with `skip_bad` omitted and listed; DynoError
    if nothing is left."""
    results: list[Found] = []
    sources: list[Source] = []
    errors: list[tuple[Path, DynoError]] = []
    for texts in _grouped(list(_files(paths))):
        try:
            found = _read(texts, columns)
        except DynoError as error:
            errors.append((texts[0].path, error))
            continue
        results += found
        sources += [Source(text.path, text.sha256(), found[0].tool) for text in texts]
        if len(results) > RESULTS_MAX:
            raise DynoError(f"more than {RESULTS_MAX} results", fix="import them in several runs")
    if errors and (not skip_bad or not results):
        raise _refused(errors, bool(results))
    skipped = tuple((path, _why(error)) for path, error in errors)
    return Collected(tuple(results), tuple(sources), skipped)


def _why(error: DynoError) -> str:
    """A message next to a file's name, so without it."""
    return f"line {error.where.line}: {error.what}" if error.where else error.what


def _refused(errors: Sequence[tuple[Path, DynoError]], some: bool) -> DynoError:
    first = errors[0][1]
    more = [str(path) for path, _ in errors[1:]]
    what = first.what
    if more:
        named = ", ".join(more[:5]) + (", ..." if len(more) > 5 else "")
        what += f" ({len(more)} more file{'s' * (len(more) > 1)} cannot be imported: {named})"
    fix = first.fix
    if some:  # else nothing would be left
        fix += "; " * bool(fix) + "`--skip-bad` skips such files and lists them"
    return DynoError(what, where=first.where, cause=first.cause, fix=fix)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Files as given, directories opened (sorted by name, hidden entries omitted)."""
    count = 0
    for path in paths:
        if path.is_dir():
            found = sorted(_below(path), key=natural)
            if not found:
                raise DynoError(f"{path} has no file", fix="give the directory of the results")
        elif path.is_file():
            found = [path]
        else:
            raise DynoError(
                f"{path}: no such file" if not path.exists() else f"{path} is no regular file",
                fix="give files of results, or a directory of them",
            )
        count += len(found)
        if count > FILES_MAX:
            raise DynoError(f"more than {FILES_MAX} files", fix="import them in several runs")
        yield from found


def _below(directory: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(directory):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for name in names:
            path = Path(folder) / name
            if not name.startswith(".") and path.is_file():
                yield path


def natural(path: Path | str) -> list[tuple[int, int, str]]:
    """Sorts `run-9` before `run-10`."""
    parts = re.split(r"(\d+)", str(path))
    return [(1, int(p[:18]), "") if p.isdecimal() else (0, 0, p) for p in parts]


def _grouped(paths: Sequence[Path]) -> list[list[Text]]:
    """Logs of the threads of one pgbench together, all else alone; each file once."""
    unique = list(dict.fromkeys(path.absolute() for path in paths))
    shown = dict(zip((path.absolute() for path in paths), paths, strict=True))
    groups: dict[Path, list[Text]] = {}
    for path in unique:
        found = _THREAD_LOG.fullmatch(path.name)
        first = path.with_name(found[1]) if found else path
        groups.setdefault(first if first in shown else path, []).append(Text(shown[path]))
    return list(groups.values())


def _read(texts: Sequence[Text], columns: Mapping[str, str]) -> list[Found]:
    try:
        if len(texts) > 1 and all(pgbench_log.FORMAT.recognises(text.head()) for text in texts):
            results = [pgbench_log.together(texts)]
        else:
            results = [found for text in texts for found in formats.read(text, columns)]
        for found in results:
            plausible(found)
    except DynoError:
        raise
    except Exception as error:  # whatever a tool's text does to a reader, it is the text's
        said = (str(error).splitlines() or [""])[0][:150]
        raise texts[0].error(1, f"its numbers are inconsistent: {said}") from error
    return results
