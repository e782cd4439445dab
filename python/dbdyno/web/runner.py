"""Starts `dyno run` on this machine as a process of its own, and stops what it has started.

The process outlives the pages: a run goes on when `dyno serve` ends. One runs at a time, since two
would disturb each other's numbers.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import DEVNULL, MERGED, Process, TimedOut
from dbdyno.report.text.escaping import slug
from dbdyno.store.catalogue import identity

FOLDER = "experiments"  # below the directory of the runs: their files and logs
DRY_RUN_S = 60
LOG_BYTES = 8_000  # of the end of a log, as shown
KEPT = 20  # ended ones in the list

_DYNO = (sys.executable, "-c", "from dbdyno.cli.entry import main; main()", "run")


@dataclass(frozen=True)
class Started:
    """A run that was started here. `id`: that of its run in the catalogue."""

    id: str
    name: str
    file: Path
    log: Path
    process: Process

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self.process.poll()

    @property
    def said(self) -> str:
        """The end of its output."""
        try:
            with diskfiles.opened(self.log) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
                return file.read(LOG_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return ""


class Runner:
    """See the module. Used by several threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._started: list[Started] = []
        self._lock = threading.Lock()

    def listed(self) -> list[Started]:
        """What was started, the newest first."""
        with self._lock:
            return self._started[::-1]

    def running(self) -> Started | None:
        """What runs now."""
        return next((one for one in self.listed() if one.code is None), None)

    def dry_run(self, text: str) -> tuple[int, str]:
        """Exit code and output of `--dry-run`."""
        with tempfile.TemporaryDirectory(prefix="dyno-serve-") as place:
            file = Path(place) / "experiment.yaml"
            diskfiles.write_text(file, text)
            try:
                done = LOCAL.run([*_DYNO, file, "--dry-run"], timeout_s=DRY_RUN_S, cwd=place)
            except TimedOut:
                return 2, f"it took longer than {DRY_RUN_S} s"
        return done.returncode, (done.stdout + done.stderr).replace(f"{place}/", "").strip()

    def start(self, text: str, experiment: str) -> Started:
        """Saves the experiment and starts it. DynoError where one runs already, or nothing can be
        written."""
        with self._lock:
            if any(one.code is None for one in self._started):
                raise DynoError(
                    "a run is under way, and another one would disturb it",
                    fix="wait for its end, or stop it",
                )
            folder = self._directory / FOLDER
            name = f"{slug(experiment)}-{time.strftime('%Y%m%d-%H%M%S')}"
            file, log = folder / f"{name}.yaml", folder / f"{name}.log"
            try:
                diskfiles.make_directory(folder)
                diskfiles.write_text(file, text)
                with diskfiles.opened(log, "xb") as output:
                    process = LOCAL.start(
                        [*_DYNO, file, "--dir", self._directory / name],
                        stdin=DEVNULL,
                        stdout=output,
                        stderr=MERGED,
                        cwd=str(folder),
                    )
            except OSError as error:
                raise DynoError(
                    f"cannot start {name}: {error.strerror or error}",
                    cause="a full disk, missing permissions, or one that was started this second",
                    fix="try again",
                ) from None
            made = Started(identity(name), name, file, log, process)
            self._started = [*self._started[-KEPT:], made]
            return made

    def stop(self, run: str, *, now: bool) -> bool:
        """Ends a run that was started here: after its trial, or now. False if it was not, or is
        over."""
        for one in self.listed():
            if one.id == run and one.code is None:
                one.process.send_signal(signal.SIGTERM if now else signal.SIGINT)
                return True
        return False
