"""A catalogue of runs: one line a run in an SQLite file, so that a thousand runs are listed without
a thousand manifests being read; and what was computed of a run, as text.

It is never the truth. A line has what the run's own files said at a certain stamp (sizes and
times); after a change of stamp the line is read again. So is what was computed. A catalogue that is
missing, damaged, of another version or somebody else's is made again, in memory if it cannot be
written. Source: sqlite.org/security.html (a database of others is never opened).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sqlite3
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.store import manifest as manifests
from dbdyno.store.annotation import ANNOTATIONS
from dbdyno.store.lock import holder
from dbdyno.store.manifest import CATALOGUE, INTERRUPTED, MANIFEST, RUNNING
from dbdyno.store.text import files

FILE = CATALOGUE
VERSION = 3  # raised whenever a line's meaning changes: older files are made again
RESULT, TRIAL = "result.json", "trial.json"
UNREADABLE = "unreadable"  # status of a run whose files cannot be read

SAID_MAX, SAY_MAX = 4, 400  # claims of a run whose words a line has, and characters of each
UNTESTED = "untested"
VERDICTS = ("supported", "refuted", "undecided", UNTESTED)

Opened = Callable[[Path], contextlib.AbstractContextManager[Path]]


@dataclass(frozen=True)
class Line:
    """A run. `verdicts`: counts by verdict, as ` supported=2 refuted=1 `; `systems`: titles."""

    id: str  # of its name: short, and safe in an address
    name: str  # path from the catalogue's directory, for people
    path: str
    stamp: str
    experiment: str = ""
    question: str = ""
    answer: str = ""
    status: str = UNREADABLE
    created_unix_s: float = 0.0
    trials: int = 0
    done: int = 0
    systems: str = ""
    verdicts: str = ""
    problem: str = ""  # why it cannot be read
    changed_ns: int = 0  # when its state changed last; 0: it is a bundle, which has none
    claims: str = "[]"  # those that have words, as JSON: verdict, whether too small, words

    @property
    def said(self) -> list[tuple[str, bool, str]]:
        """The first claims that have words: verdict, whether its size is too small to matter,
        words."""
        return [(verdict, small, say) for verdict, small, say in json.loads(self.claims)]

    @property
    def counted(self) -> dict[str, int]:
        """Claims by verdict."""
        pairs = (word.partition("=") for word in self.verdicts.split())
        return {verdict: int(count) for verdict, _, count in pairs}


@dataclass(frozen=True)
class Wanted:
    """Filters of a search; empty: anything. `words` are searched in names, questions, answers,
    systems; times are Unix seconds, `until_unix_s` is not part of it."""

    words: str = ""
    system: str = ""
    status: str = ""
    verdict: str = ""
    experiment: str = ""
    from_unix_s: float | None = None
    until_unix_s: float | None = None


# Verdicts of `analysis.types` as one word each.
_WORDS = {word: word for word in VERDICTS} | {"not tested here": UNTESTED}

_COLUMNS = [field.name for field in fields(Line)]
_TYPES = {"float": "REAL", "int": "INTEGER", "str": "TEXT"}
_LINE = ", ".join(f"{field.name} {_TYPES[str(field.type)]}" for field in fields(Line))
_TABLES = {
    "runs": f"{_LINE}, PRIMARY KEY (name), UNIQUE (id)",
    "kept": "name TEXT, what TEXT, stamp TEXT, text TEXT, PRIMARY KEY (name, what)",
}
_INNER = ("path", "stamp", "changed_ns", "claims")  # of no use to programs
_SEARCHED = ("name", "experiment", "question", "answer", "systems")


class Catalogue:
    """See the module. May be used by several threads."""

    def __init__(self, directory: Path, *, on_disk: bool = True) -> None:
        """Opens the catalogue in `directory`; one in memory where that may not be written, is a run
        itself, or is not asked for."""
        self._lock = threading.Lock()
        on_disk = on_disk and os.access(directory, os.W_OK) and not (directory / MANIFEST).exists()
        self._database = _on_disk(directory / FILE) if on_disk else None
        if self._database is None:
            self._database = sqlite3.connect(":memory:", check_same_thread=False)
            _prepare(self._database)

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._db.close()

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._database is not None
        return self._database

    def refresh(self, found: Iterable[tuple[str, Path]], opened: Opened) -> int:
        """Brings the lines up to date with the runs that were `found` (name, path), and returns how
        many were read. `opened` gives the directory of a run, or of an unpacked bundle; DynoError
        from it becomes the line's problem."""
        with self._lock:
            known = {line.name: line for line in self._select("SELECT * FROM runs", ())}
            there, fresh = set(), []
            for name, path in found:
                there.add(name)
                line, stamp = known.get(name), _stamp(path)
                if line is None or line.stamp != stamp or line.path != str(path):
                    fresh.append(_read(name, path, stamp, opened))
                elif line.status == RUNNING:
                    fresh.append(_now(line))
            gone = [(name,) for name in known.keys() - there]
            if not fresh and not gone:
                return 0
            with self._db:
                for table in ("runs", "kept"):
                    self._db.executemany(f"DELETE FROM {table} WHERE name = ?", gone)
                marks = ", ".join("?" * len(_COLUMNS))
                self._db.executemany(
                    f"INSERT OR REPLACE INTO runs VALUES ({marks})", map(astuple, fresh)
                )
            return len(fresh)

    def search(self, wanted: Wanted, *, first: int = 0, most: int = 50) -> tuple[list[Line], int]:
        """Lines that fit, the newest first, from the `first` on, at most so many; and how many fit
        in all."""
        where, values = _condition(wanted)
        with self._lock:
            total = self._db.execute(f"SELECT count(*) FROM runs{where}", values).fetchone()[0]
            order = " ORDER BY created_unix_s DESC, name LIMIT ? OFFSET ?"
            lines = self._select(f"SELECT * FROM runs{where}{order}", (*values, most, first))
        return lines, int(total)

    def run(self, identity: str) -> Line | None:
        """The line with this id."""
        with self._lock:
            return next(iter(self._select("SELECT * FROM runs WHERE id = ?", (identity,))), None)

    def experiments(self) -> list[tuple[str, int, float]]:
        """Names of experiments, with the number of their runs and when the last one began; the
        latest first."""
        with self._lock:
            return self._db.execute(
                "SELECT experiment, count(*), max(created_unix_s) AS last FROM runs"
                " WHERE problem = '' GROUP BY experiment ORDER BY last DESC"
            ).fetchall()

    def latest(self) -> Line | None:
        """The run directory whose state changed last: begun, resumed or ended."""
        order = " WHERE changed_ns > 0 ORDER BY changed_ns DESC, path DESC LIMIT 1"
        with self._lock:
            return next(iter(self._select(f"SELECT * FROM runs{order}", ())), None)

    def kept(self, name: str, what: str, stamp: str) -> str | None:
        """What was computed of a run with this `stamp` (`Catalogue.stamp`); None if nothing was."""
        statement = "SELECT text FROM kept WHERE name = ? AND what = ? AND stamp = ?"
        with self._lock:
            found = self._db.execute(statement, (name, what, stamp)).fetchone()
        return str(found[0]) if found else None

    def keep(self, found: Sequence[tuple[str, str, str, str]]) -> None:
        """Keeps what was computed: name, what it is, the run's stamp before, text. Of no effect
        where it cannot be written."""
        with self._lock, contextlib.suppress(sqlite3.Error), self._db:
            self._db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", found)

    @staticmethod
    def stamp(path: Path) -> str:
        """What changes whenever a run's manifest, result, annotations or trials do."""
        records = " ".join(
            f"{name}:{_stamp_of(path / 'trials' / name / TRIAL)}"
            for name in sorted(_complete(path))
        )
        return f"{_stamp(path)} {hashlib.blake2b(records.encode(), digest_size=16).hexdigest()}"

    def values(self, column: str) -> list[str]:
        """All values that a column has."""
        assert column in _COLUMNS
        with self._lock:
            rows = self._db.execute(f"SELECT DISTINCT {column} FROM runs ORDER BY 1").fetchall()
        return [str(row[0]) for row in rows]

    def _select(self, statement: str, values: tuple[Any, ...]) -> list[Line]:
        return [Line(*row) for row in self._db.execute(statement, values)]


def identity(name: str) -> str:
    """A run's id: of its name, so that an address outlives the catalogue."""
    return hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def _condition(wanted: Wanted) -> tuple[str, tuple[Any, ...]]:
    parts: list[tuple[str, Any]] = []
    text = " || ' ' || ".join(_SEARCHED)
    parts += [(f"{text} LIKE ? ESCAPE '\\'", _containing(w)) for w in wanted.words.split()[:20]]
    if wanted.system:
        parts.append(
            ("', ' || systems || ',' LIKE ? ESCAPE '\\'", _containing(f" {wanted.system},"))
        )
    if wanted.verdict:
        parts.append(("verdicts LIKE ? ESCAPE '\\'", _containing(f" {wanted.verdict}=")))
    parts += [(f"{name} = ?", value) for name in ("status", "experiment")
              if (value := getattr(wanted, name))]  # fmt: skip
    if wanted.from_unix_s is not None:
        parts.append(("created_unix_s >= ?", wanted.from_unix_s))
    if wanted.until_unix_s is not None:
        parts.append(("created_unix_s < ?", wanted.until_unix_s))
    if not parts:
        return "", ()
    return " WHERE " + " AND ".join(part for part, _ in parts), tuple(v for _, v in parts)


def _containing(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


# ---- one run


def _stamp(path: Path) -> str:
    """What changes whenever a run's manifest, result or annotations do."""
    places = [path] if path.is_file() else [path / MANIFEST, path / RESULT, path / ANNOTATIONS]
    return " ".join(map(_stamp_of, places))


def _stamp_of(path: Path) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return "-"
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"


def _read(name: str, path: Path, stamp: str, opened: Opened) -> Line:
    changed_ns = 0 if path.is_file() else int(stamp.partition(":")[0].strip("-") or 0)
    empty = Line(identity(name), name, str(path), stamp, changed_ns=changed_ns)
    try:
        with opened(path) as directory:
            return _described(empty, directory)
    except DynoError as error:
        return replace(empty, problem=error.what)
    except (AttributeError, KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        return replace(empty, problem=f"its content is inconsistent ({type(error).__name__})")


def _described(empty: Line, directory: Path) -> Line:
    manifest = manifests.read(directory)
    plan, result = manifest["plan"], _result(directory)
    verdicts = Counter(_WORDS.get(claim["verdict"], "") for claim in result.get("claims", []))
    counted = "".join(f" {verdict}={count}" for verdict, count in sorted(verdicts.items()))
    named = dict.fromkeys(
        kinds.of(str(target["kind"])).title for cell in plan["cells"] for target in cell["targets"]
    )
    return _now(
        replace(
            empty,
            experiment=str(plan["name"]),
            question=str(plan["question"]).strip(),
            answer=str(result.get("answer") or ""),
            status=str(manifest["status"]),
            created_unix_s=float(manifest.get("created_unix_s", 0.0)),
            trials=len(plan["trials"]),
            systems=", ".join(named),
            verdicts=counted and f"{counted} ",
            claims=json.dumps(list(itertools.islice(_said(result), SAID_MAX))),
        ),
        directory,
    )


def _said(result: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    for claim in result.get("claims", []):
        if say := str(claim.get("say") or "")[:SAY_MAX]:
            verdict = str(claim["verdict"])
            small = verdict == VERDICTS[0] and any(part["small"] for part in claim["parts"])
            yield verdict, small, say


def _result(directory: Path) -> Mapping[str, Any]:
    """A run's result.json; empty if there is none yet."""
    path = directory / RESULT
    if not path.exists():
        return {}
    found = files.read_json(path)
    return found if isinstance(found, dict) else {}


def _now(line: Line, directory: Path | None = None) -> Line:
    """The line with what changes without a new manifest: how far the run is, and whether the one
    who worked in it is still there."""
    place = directory or Path(line.path)
    status = line.status
    if status == RUNNING and holder(place) is None:
        status = INTERRUPTED
    return replace(line, status=status, done=sum(1 for _ in _complete(place)))


def _complete(place: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for entry in os.scandir(place / "trials"):
            if "." not in entry.name and os.path.isfile(os.path.join(entry.path, TRIAL)):
                yield entry.name


# ---- the file


def _on_disk(path: Path) -> sqlite3.Connection | None:
    """The database in dbdyno's file, made again if it is unusable; None where that cannot be."""
    for _ in range(2):
        try:
            _refuse_foreign(path)
            database = sqlite3.connect(path, check_same_thread=False, timeout=5)
            os.chmod(path, 0o600)
            _prepare(database)
            return database
        except (sqlite3.Error, OSError):
            with contextlib.suppress(OSError):
                path.unlink()
    return None


def _refuse_foreign(path: Path) -> None:
    """OSError for a link, a device, or a file that somebody else may have written."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if (
        not stat.S_ISREG(found.st_mode)
        or found.st_uid != os.geteuid()
        or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        or found.st_nlink > 1
    ):
        raise OSError("not a catalogue of ours")


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA trusted_schema = OFF")
    if _version(database) != VERSION:
        with database:
            database.execute("BEGIN IMMEDIATE")  # another process may be making it, too
            if _version(database) != VERSION:
                for table, columns in _TABLES.items():
                    database.execute(f"DROP TABLE IF EXISTS {table}")
                    database.execute(f"CREATE TABLE {table} ({columns})")
                database.execute(f"PRAGMA user_version = {VERSION}")
    for table in _TABLES:  # a file that was damaged shows it here
        database.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def as_json(line: Line) -> dict[str, Any]:
    """A line for programs; without where it is on this machine."""
    kept = {name: getattr(line, name) for name in _COLUMNS if name not in _INNER}
    claims = [dict(zip(("verdict", "small", "say"), one, strict=True)) for one in line.said]
    return {**kept, "verdicts": line.counted, "claims": claims}
