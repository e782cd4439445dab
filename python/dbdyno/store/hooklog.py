"""What commands of the user's were run around the trials, and which levels are still in force.

`hooks.ndjson` has a line for each command that ended. `applied.json` is a journal: a level is
written there, durably, before its `apply` runs and leaves it after its `undo`, so that a process
that is killed in between leaves word of what the next one has to undo.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.plan.stored import json as plan_json
from dbdyno.store.text import files
from dbdyno.store.text.scrub import scrub

RUNS, APPLIED, LOGS = "hooks.ndjson", "applied.json", "hooks"

# Where a command's output may be: the report links to it, and a bundle holds it.
_NAME = r"hooks/[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
LOG = re.compile(rf"(?:trials/[A-Za-z0-9][A-Za-z0-9_-]{{0,79}}/)?{_NAME}")

OK = "ok"
FAILED = "failed"  # ended with another status than 0
DEADLINE = "deadline"  # killed: it took too long
STOPPED = "stopped"  # killed: the user did not want to wait


@dataclass(frozen=True)
class HookRun:
    """One command and how it ended."""

    point: str  # before_run, during_trial, ...; of a level: apply, undo, wait_until
    of: str  # the level as `factor=level`; empty for the other points
    trial: str  # the ID of the trial that it was run for; empty for those of the run
    run: str
    on: str | None
    started_unix_s: float
    seconds: float
    outcome: str  # OK | FAILED | DEADLINE | STOPPED
    exit_code: int | None  # negative: ended by that signal; None: killed by us
    tries: int  # more than one for wait_until only
    log: str  # its output: a path within the run directory
    at_s: float | None = None  # of `during_trial`: the second of the measured time that was asked
    started_s: float | None = None  # and the one at which it began

    @property
    def reason(self) -> str:
        """Why it did not succeed, in a phrase."""
        if self.outcome == DEADLINE:
            return f"was not done after {self.seconds:.0f} s"
        if self.outcome == STOPPED:
            return "was stopped"
        if self.exit_code is not None and self.exit_code < 0:
            return f"was ended by signal {-self.exit_code}"
        if self.on and self.exit_code == 255:
            return "ended with status 255: ssh's own, no connection, or the command's"
        return f"ended with status {self.exit_code}"


@dataclass(frozen=True)
class Applied:
    """A level whose `apply` has begun and whose `undo` has not ended. `variables` are those that
    its commands were given, `group` the process group of a command that runs, 0 if none does."""

    factor: str
    level: str
    variables: Mapping[str, str] = field(default_factory=dict)
    group: int = 0
    group_ticks: int = 0  # when that group's leader began: numbers of processes are used again


class HookLog:
    """Both files of one run directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, done: HookRun) -> None:
        """Adds a command that has ended. DynoError if it cannot be written."""
        path = self._path / RUNS
        facts = asdict(done)
        if done.at_s is None:
            del facts["at_s"], facts["started_s"]
        line = json.dumps(scrub(facts), ensure_ascii=False, separators=(",", ":"))
        with files.explained(path, self._path):
            _end_line(path)
            with diskfiles.opened(path, "ab") as file:
                file.write(f"{line}\n".encode())

    def runs(self) -> list[HookRun]:
        """All commands that have ended, in order."""
        path = self._path / RUNS
        try:
            found = [plan_json.decode(HookRun, one, "a command") for one in files.read_ndjson(path)]
            return [replace(one, log=one.log if LOG.fullmatch(one.log) else "") for one in found]
        except DynoError as error:
            raise DynoError(
                f"{path} cannot be read: {error.what}",
                cause="another version of dbdyno wrote it, or it was edited or damaged",
                fix="restore it from a copy, or remove it: only its lines in the report are lost",
            ) from None

    def applied(self) -> list[Applied]:
        """The levels in force, as far as is known."""
        path = self._path / APPLIED
        if not path.exists():
            return []
        value = files.read_json(path)
        try:
            if not isinstance(value, list):
                raise ValueError("it is no list")
            return [plan_json.decode(Applied, one, "a level") for one in value]
        except (ValueError, DynoError) as error:
            raise DynoError(
                f"{path} cannot be read: {getattr(error, 'what', error)}",
                cause="another version of dbdyno wrote it, or it was edited",
                fix="undo the changes that it lists by hand, then remove it",
            ) from None

    def set_applied(self, levels: Sequence[Applied]) -> None:
        """Replaces the levels in force, durably."""
        path = self._path / APPLIED
        with files.explained(path, self._path):
            if levels or path.exists():
                files.write_atomically(path, files.dumps([asdict(level) for level in levels]))


def _end_line(path: Path) -> None:
    """Drops the half of a line that a writer who was killed, or a full disk, has left."""
    if not path.exists():
        return
    text = diskfiles.read(path, files.STREAM_BYTES_MAX)
    if text and not text.endswith(b"\n"):
        with diskfiles.opened(path, "ab") as file:
            file.truncate(text.rfind(b"\n") + 1)
