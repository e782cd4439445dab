"""Known lines of logs: of the audit subsystem, of InnoDB, and statements with keys or passwords in
them. No line is kept or repeated; of a statement, its place is.

Sources: auditd's `audit_log_format`, signal(7), errno(3); the messages of InnoDB's os0file.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbdyno.facts import keyleaks
from dbdyno.facts.fact import EITHER, Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered

BYTES_MAX = 256 << 20
EVENTS_MAX = 1000
_HEAD = 1 << 20  # characters, of which one line must be of a log of statements
_FIELD = re.compile(r"(\w+)=(\"[^\"]*\"|\S+)")
_STAMP = re.compile(r"msg=audit\((\d+)(?:\.\d+)?:(\d+)\)")
_LOCK = re.compile(r"Unable to lock (\S+?)[,;]? error: (\d+)|Unable to lock (\S+)")
_TIME = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\s?\d{1,2}:\d\d:\d\d|\d{6}\s+\d{1,2}:\d\d:\d\d)")
SLOW, GENERAL, CSV, JSON, LINES = "slow", "general", "csvlog", "jsonlog", "stderr"
_FORMS = (  # of logs of statements: whose, and a line; a slow log may begin like a general one
    (EITHER, SLOW, re.compile(r"^# User@Host: ", re.M)),
    ("postgres", JSON, re.compile(r'^\{"timestamp":".{0,600}?"error_severity":"LOG"', re.M)),
    ("postgres", CSV, re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ [\w+-]+,.{0,300}?,LOG,", re.M)),
    ("postgres", LINES, re.compile(
        r"^.{0,200}\b(?:LOG:  (?:statement|duration|execute)|STATEMENT:  )", re.M)),
    (EITHER, GENERAL, re.compile(r"^Time\s+Id\s+Command\s+Argument", re.M)),
)  # fmt: skip
STATEMENTS, FORM = "log.statements", "log.form"
KILL = {"c000003e": {"62"}, "c00000b7": {"129"}, "40000003": {"37"}}  # x86-64, arm64, i386
EACCES, EPERM = -13, -1


def statements_of(content: str) -> tuple[str, str] | None:
    """Whose log of statements it is, and in which form; None if it is none."""
    for engine, form, line in _FORMS:
        if line.search(content, 0, _HEAD):
            return engine, form
    return None


def detect(path: Path, content: str) -> bool:
    """Records of auditd, an error log, or a log of statements."""
    return bool(
        statements_of(content)
        or re.search(r"^(node=\S+ )?type=[A-Z_]+ msg=audit\(", content, re.M)
        or re.search(r"\[(ERROR|Warning|Note|System)\]", content)
        or "Unable to lock" in content
    )


def read(path: Path, found: Gathered) -> Facts:
    """Table `events`: event, time, pid, target_pid, signal, exit, file, program, place; and that
    of `keyleaks`. Of a log of statements, whose it is, and its form."""
    content, is_whole = text.head(path, BYTES_MAX)
    if not is_whole:
        found.lacks("lines after these", f"only {BYTES_MAX >> 20} MiB are searched for known ones")
    events = list(_events(path, content))
    found.table("events", events[:EVENTS_MAX], str(path))
    if len(events) > EVENTS_MAX:
        found.lacks("events after these", f"the log has {len(events):,} of them")
    whose = statements_of(content)
    if whose is not None:
        found.add(STATEMENTS, whose[0], str(path))
        found.add(FORM, whose[1], str(path))
    raw = content.encode()
    searched = keyleaks.unescaped(raw) if whose is not None and whose[1] == JSON else raw
    keyleaks.tell(found, keyleaks.rows(str(path), searched), str(path))
    return found.facts(str(path), "log", "linux")


def _events(path: Path, content: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(content.splitlines(), 1):
        place = f"{path}:{number}:1"
        if "audit(" in line and "type=SYSCALL" in line:
            event = _syscall(line)
        elif "Unable to lock" in line:
            event = _lock(line)
        else:
            continue
        if event:
            yield {**event, "place": place}


def _syscall(line: str) -> dict[str, Any] | None:
    """A call of kill(2) that was denied. auditd writes arguments in hexadecimal."""
    fields = {name: value.strip('"') for name, value in _FIELD.findall(line)}
    arch = fields.get("arch", "c000003e")
    if fields.get("syscall") not in {*KILL.get(arch, ()), "kill"}:
        return None
    try:
        code, target, signal = int(fields["exit"]), int(fields["a0"], 16), int(fields["a1"], 16)
    except (KeyError, ValueError):
        return None
    if code not in (EACCES, EPERM):
        return None
    stamp = _STAMP.search(line)
    return {
        "event": "kill-denied",
        "time_unix_s": int(stamp[1]) if stamp else None,
        "pid": fields.get("pid"),
        "target_pid": target,
        "signal": signal,
        "exit": code,
        "program": fields.get("comm"),
    }


def _lock(line: str) -> dict[str, Any] | None:
    named = _LOCK.search(line)
    if named is None:
        return None
    stamp = _TIME.match(line)
    error = named[2]
    return {
        "event": "lock-refused",
        "time": stamp[1] if stamp else None,
        "file": (named[1] or named[3]).rstrip(",;"),
        "errno": int(error) if error else None,
    }
