"""A run directory: created once, written by one process at a time, read by anybody.

Layout and meaning are in ARCHITECTURE.md. A trial is complete when its `trial.json` is there: that
file is written last, after everything else of the trial has reached the disk. What an interrupted
trial left behind is moved aside on resume (the newest one of each trial is kept) and never used.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.plan.stored.consistent import TRIAL_ID
from dbdyno.plan.types import LoadThreads, Plan, TrialPlan
from dbdyno.store import manifest as manifests
from dbdyno.store import record
from dbdyno.store.lock import LOCK, Lock, holder
from dbdyno.store.manifest import CATALOGUE, COMPLETE, FAILED, INTERRUPTED, MANIFEST, RUNNING
from dbdyno.store.metrics.histogram import Tagged, read_log
from dbdyno.store.metrics.timeseries import Trace, read_trace
from dbdyno.store.record import TrialRecord
from dbdyno.store.text import files, shapes
from dbdyno.store.text.scrub import scrub

EVENTS, SAMPLES, HISTOGRAMS = "events.ndjson", "metrics.ndjson", "latency.hlog"
TRIAL, ENGINE_PLAN = "trial.json", "plan.json"
RECORD = "sysbench.ndjson"  # what `dyno sysbench --dyno-out` measured: there before its run
_STREAMS = (EVENTS, SAMPLES, HISTOGRAMS, ENGINE_PLAN)

_VOID_KEPT = 3  # directories of void attempts of one trial


class Run:
    """One run directory.

    From `create` and `resume` it holds the lock and may write; from `open` it only reads. A `with`
    block closes it; left by an exception, the run's status is set accordingly.
    """

    path: Path
    plan: Plan
    manifest: dict[str, Any]

    def __init__(self, path: Path, plan: Plan, manifest: dict[str, Any], lock: Lock | None) -> None:
        """Not called directly: see `create`, `open`, `resume`."""
        self.path = path
        self.plan = plan
        self.manifest = manifest
        self._lock = lock

    # -- life ------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path | str, plan: Plan, environment: Mapping[str, Any]) -> Run:
        """Makes a run directory for `plan` and takes its lock.

        `environment` is what the machine is (JSON-like, no secrets). DynoError if the directory is
        there and not empty, or cannot be written.
        """
        path = Path(path).absolute()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # For its owner's eyes: it holds statements, names of hosts, and output of commands.
            path.mkdir(mode=0o700, exist_ok=True)
            _refuse_used(path)
            lock = Lock(path)
        except OSError as error:
            raise DynoError(
                f"cannot make the run directory {path}: {error.strerror or error}",
                cause="its disk is full or read-only, a file is in the way, or it belongs to "
                "someone else",
                fix="name a writable place with --dir",
            ) from None
        try:
            with files.explained(path / "trials", path):
                (path / "trials").mkdir()
            manifest = manifests.new(plan, environment)
            run = cls(path, plan, manifest, lock)
            run._write_manifest()
        except FileExistsError:  # two `create` at once: the other one was first
            lock.release()
            _refuse_used(path)
            raise
        except DynoError as error:
            for entry in (path / MANIFEST, path / "trials", path / LOCK):
                with contextlib.suppress(OSError):
                    entry.rmdir() if entry.name == "trials" else entry.unlink()
            lock.release()
            why, cure = "its disk is full or fails", "free some space"
            if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EFBIG:
                why, cure = "a limit on the size of files (`ulimit -f`)", "raise the limit"
            raise DynoError(
                error.what,
                cause=f"{why}; nothing was measured yet",
                fix=f"{cure}, or name another place with --dir",
            ) from None
        except BaseException:
            lock.release()
            raise
        return run

    @classmethod
    def open(cls, path: Path | str) -> Run:
        """Opens a run for reading, also while another process works in it."""
        path = Path(path).absolute()
        manifest = manifests.read(path)
        return cls(path, manifests.plan(manifest, path), manifest, None)

    @classmethod
    def resume(cls, path: Path | str, environment: Mapping[str, Any] | None = None) -> Run:
        """Opens a run to go on with it: takes the lock and moves half-measured trials aside.

        `environment`, that of the process that resumes, is added to the manifest's history; whether
        it may differ from the first is the caller's to judge beforehand, with `Run.open`.
        """
        path = Path(path).absolute()
        cls.open(path)  # not a run: report it before a lock file is made in a strange directory
        with files.explained(path / LOCK, path):
            lock = Lock(path)
        try:
            manifest = manifests.read(path)
            run = cls(path, manifests.plan(manifest, path), manifest, lock)
            with files.explained(path / "trials", path):
                (path / "trials").mkdir(exist_ok=True)
                run._drop_temporary()
                for trial in run.plan.trials:
                    run._drop_partial(trial.id)
            manifests.add_session(manifest, environment)
            run.set_status(RUNNING)
        except BaseException:
            lock.release()
            raise
        return run

    def set_status(self, status: str, **facts: Any) -> None:
        """Records the run's state, with further `facts` for the manifest (JSON-like)."""
        if status not in (RUNNING, INTERRUPTED, COMPLETE, FAILED):
            raise ValueError(f"status {status!r}")
        self._must_write()
        reserved = {"schema_version", "plan", "environment"} & facts.keys()
        if reserved:
            raise ValueError(f"cannot be replaced: {sorted(reserved)}")
        self.manifest.update(scrub(facts))
        self.manifest["status"] = status
        self.manifest["updated_unix_s"] = time.time()
        self._write_manifest()

    def amend(
        self,
        note: str,
        *,
        blocks: int | None = None,
        decided: bool = False,
        probed: LoadThreads | None = None,
    ) -> None:
        """Adds a note to the plan, for readers of the results; with `blocks`, cuts the plan after
        so many blocks, `decided`: since all is; with `probed`, fixes a number of load threads.
        Nothing else of a plan ever changes."""
        self._must_write()
        plan = self.plan
        kept = plan.blocks if blocks is None else blocks
        trials = tuple(trial for trial in plan.trials if trial.block <= kept)
        looks = replace(plan.looks, decided_at=kept) if plan.looks and decided else plan.looks
        self.plan = replace(
            plan,
            notes=(*plan.notes, note),
            blocks=kept,
            trials=trials,
            looks=looks,
            probed=(*plan.probed, *([probed] if probed else [])),
        )
        self.manifest["plan"] = manifests.stored(self.plan)
        self.manifest["updated_unix_s"] = time.time()
        self._write_manifest()

    def spent_s(self) -> float:
        """How long earlier processes worked in the run: each from its start to the end of its last
        trial that is over (what was lost with a process that was killed does not count)."""
        starts = [float(session["started_unix_s"]) for session in self.manifest.get("sessions", [])]
        total = 0.0
        for start, end in itertools.pairwise(starts):
            theirs = [one for one in self.records() if start <= one.started_unix_s < end]
            if theirs:
                last = max(theirs, key=lambda one: one.started_unix_s)
                cell = self.plan.cells[last.cell]
                measured_s = cell.duration_s if last.measured_s is None else last.measured_s
                length_s = (cell.warmup_s + measured_s) * max(1, len(last.probes))
                total += last.started_unix_s + length_s - start
        return total

    @property
    def latest_environment(self) -> dict[str, Any]:
        """That of the process that measured the newest trial; the first one's if there is none."""
        newest = max((one.started_unix_s for one in self.records()), default=0.0)
        found: dict[str, Any] = self.manifest["environment"]
        for session in self.manifest.get("sessions", []):
            if session["started_unix_s"] <= newest:
                found = session["environment"]
        return found

    def close(self) -> None:
        """Gives the lock back. A run still marked as running becomes interrupted."""
        if self._lock is None:
            return
        try:
            if self._lock.held and self.manifest["status"] == RUNNING:
                self.set_status(INTERRUPTED)
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        # The error on its way is the one to show: a full disk must not replace it.
        with contextlib.suppress(DynoError, OSError):
            interrupted = (
                isinstance(error, KeyboardInterrupt) or getattr(error, "exit_code", 0) == 3
            )
            if self.writable and not interrupted and self.manifest["status"] == RUNNING:
                self.set_status(FAILED, failure=str(error))
            self.close()

    @property
    def writable(self) -> bool:
        """Whether this object holds the run's lock."""
        return self._lock is not None and self._lock.held

    @property
    def status(self) -> str:
        """The run's state now: a run that was killed while running counts as interrupted."""
        stored = str(self.manifest["status"])
        if stored == RUNNING and not self.writable and holder(self.path) is None:
            return INTERRUPTED
        return stored

    @property
    def pid(self) -> int | None:
        """The process that works in the run (0 if unknown), None if there is none."""
        return os.getpid() if self.writable else holder(self.path)

    @property
    def environment(self) -> dict[str, Any]:
        """The machine as the run found it when it began."""
        return dict(self.manifest["environment"])

    # -- trials ----------------------------------------------------------------------------------

    def trial_dir(self, trial: str) -> Path:
        """The directory of a trial; made if this object may write."""
        if not TRIAL_ID.fullmatch(trial):
            raise ValueError(f"not the id of a trial: {trial!r}")
        directory = self.path / "trials" / trial
        files.refuse_link(directory.parent)
        files.refuse_link(directory)
        if self.writable and not directory.is_dir():
            with files.explained(directory, self.path):
                directory.mkdir(parents=True)
        return directory

    def begin(self, trial: str, engine_plan: Mapping[str, Any] | None = None) -> Path:
        """An empty directory for a new attempt at `trial`, with `engine_plan` in it less secrets.

        What an earlier attempt left is moved aside. RuntimeError if the trial is complete.
        """
        self._must_write()
        if self.is_complete(trial):
            raise RuntimeError(f"trial {trial} is complete")
        with files.explained(self.path / "trials" / trial, self.path):
            self._drop_partial(trial)
        directory = self.trial_dir(trial)
        if engine_plan is not None:
            self.save_request(trial, engine_plan)
        return directory

    def save_request(self, trial: str, engine_plan: Mapping[str, Any]) -> None:
        """Stores what the engine is given for `trial`, less secrets."""
        self._must_write()
        path = self.trial_dir(trial) / ENGINE_PLAN
        with files.explained(path, self.path):
            files.write_atomically(path, files.dumps(scrub(dict(engine_plan))))

    def complete(self, trial: TrialRecord) -> None:
        """Makes `trial` complete, durably: its streams first, its record last."""
        self._must_write()
        directory = self.trial_dir(trial.id)
        with files.explained(directory / TRIAL, self.path):
            for path in (*directory.iterdir(), *directory.glob("probe-*/*")):
                if path.name in _STREAMS:
                    files.sync_file(path)
            files.sync_directory(directory.parent)
            text = files.dumps(scrub(record.to_json(trial)))
            files.write_atomically(directory / TRIAL, text)

    def put_probe_aside(self, trial: str, number: int) -> None:
        """Moves what the engine left of a trial's probe, one of a search, to its `probe-N`."""
        self._must_write()
        directory = self.trial_dir(trial)
        away = directory / f"probe-{number}"
        with files.explained(away, self.path):
            away.mkdir()
            for name in _STREAMS:
                if (directory / name).exists():
                    (directory / name).rename(away / name)

    def take_probe(self, trial: str, number: int) -> None:
        """Copies a probe's files back: it represents its trial."""
        self._must_write()
        directory = self.trial_dir(trial)
        chosen = directory / f"probe-{number}"
        with files.explained(chosen, self.path):
            for name in _STREAMS:
                if (chosen / name).exists():
                    with (
                        diskfiles.opened(chosen / name) as probed,
                        diskfiles.replacing(directory / name) as copy,
                    ):
                        shutil.copyfileobj(probed, copy)

    def set_aside(self, trial: TrialRecord) -> None:
        """Keeps a void attempt, with its record, as `<id>.void-N`, so that another can be made.

        The newest few of a trial are kept; `voided` reads their records.
        """
        self._must_write()
        directory = self.trial_dir(trial.id)
        with files.explained(directory / TRIAL, self.path):
            # Renamed first: between the two steps there is no trial.json under the trial's name, so
            # that a crash here can never make a void attempt pass for the final one.
            away = self._move(trial.id, "void", keep=_VOID_KEPT)
            files.write_atomically(away / TRIAL, files.dumps(scrub(record.to_json(trial))))

    def void_partial_blocks(self, why: str) -> int:
        """Sets aside, as void, the trials that are over of blocks that are not: they are measured
        again. So what changed between then and now (`why`) falls between two blocks. Returns how
        many trials that were.
        """
        self._must_write()
        over = {one.id: one for one in self.records()}
        broken = {trial.block for trial in self.plan.trials if trial.id not in over}
        spoilt = [one for one in over.values() if one.block in broken]
        for one in spoilt:
            self.set_aside(one.replace(status=record.VOID, void_reason=why))
        return len(spoilt)

    def voided(self) -> list[TrialRecord]:
        """Records of the void attempts that were set aside, in the order of the plan."""
        found = []
        for trial in self.plan.trials:
            for _, entry in sorted(self._aside(trial.id, "void").items()):
                if (entry / TRIAL).is_file():
                    found.append(self._record(trial, entry / TRIAL))
        return found

    def is_complete(self, trial: str) -> bool:
        """Whether `trial` is over and its record is on disk."""
        return (self.trial_dir(trial) / TRIAL).is_file()

    def records(self) -> list[TrialRecord]:
        """Records of all trials that are over (complete or void), in the order of the plan."""
        found = []
        for trial in self.plan.trials:
            path = self.path / "trials" / trial.id / TRIAL
            if not path.exists() and not path.is_symlink():
                continue
            self.trial_dir(trial.id)  # a link is refused
            try:
                found.append(self._record(trial, path))
            except DynoError:
                if path.exists():
                    raise
                continue  # set aside by a `--resume` just now
        return found

    def events(self, trial: str) -> list[dict[str, Any]]:
        """The engine's events of a trial; a cut-off last line is omitted."""
        return list(self.each_event(trial))

    def has_events(self, trial: str) -> bool:
        """Whether the events of a trial are among the run's files."""
        return (self.trial_dir(trial) / EVENTS).is_file()

    def samples(self, trial: str) -> list[dict[str, Any]]:
        """The samples of a trial; a cut-off last line is omitted."""
        return list(self.each_sample(trial))

    def each_event(self, trial: str) -> Iterator[dict[str, Any]]:
        """The same as `events`, read while it is asked for."""
        return files.read_ndjson(self.trial_dir(trial) / EVENTS, shapes.event)

    def each_sample(self, trial: str) -> Iterator[dict[str, Any]]:
        """The same as `samples`, read while it is asked for."""
        return files.read_ndjson(self.trial_dir(trial) / SAMPLES, shapes.sample)

    def trace(self, trial: str) -> Trace:
        """A trial over time."""
        return read_trace(trial, self.each_event(trial), self.each_sample(trial))

    def histograms(self, trial: str) -> list[Tagged]:
        """All latency histograms of a trial, as logged; none if there is no log."""
        return read_log(self.trial_dir(trial) / HISTOGRAMS)

    # -- inside ----------------------------------------------------------------------------------

    def _record(self, trial: TrialPlan, path: Path) -> TrialRecord:
        """The record in `path`, which is of an attempt at `trial`."""
        found = record.from_json(files.read_json(path), str(path))
        if (found.id, found.block, found.cell) != (trial.id, trial.block, trial.cell):
            raise DynoError(
                f"{path} is not the record of trial {trial.id} of the plan",
                cause="the file was edited or damaged, or copied from another run",
                fix="restore it from a copy, or remove it and resume the run",
            )
        return found

    def _must_write(self) -> None:
        if not self.writable:
            raise RuntimeError(f"{self.path} is open for reading only")

    def _write_manifest(self) -> None:
        path = self.path / MANIFEST
        with files.explained(path, self.path):
            files.write_atomically(path, files.dumps(self.manifest))

    def _drop_partial(self, trial: str) -> None:
        """Moves what an unfinished attempt left to `<id>.partial-N`; keeps only the newest one."""
        directory = self.path / "trials" / trial
        if (directory / TRIAL).is_file() or not directory.is_dir():
            return
        if any(directory.iterdir()):
            self._move(trial, "partial", keep=1)
        else:
            directory.rmdir()

    def _drop_temporary(self) -> None:
        """Removes the half-written files of processes that were killed."""
        for pattern in (".*.tmp", "trials/*/.*.tmp"):
            for path in self.path.glob(pattern):
                pid = diskfiles.writer_of(path.name)
                if pid is not None and not Path(f"/proc/{pid}").exists():
                    path.unlink(missing_ok=True)

    def _aside(self, trial: str, word: str) -> dict[int, Path]:
        """Directories of earlier attempts, by number."""
        name = re.compile(rf"{re.escape(trial)}\.{word}-(\d+)")
        return {
            int(match[1]): entry
            for entry in (self.path / "trials").iterdir()
            if (match := name.fullmatch(entry.name))
        }

    def _move(self, trial: str, word: str, keep: int) -> Path:
        """Renames a trial's directory to `<id>.<word>-N` and removes all but the newest `keep`."""
        directory = self.path / "trials" / trial
        older = self._aside(trial, word)
        away = directory.with_name(f"{trial}.{word}-{max(older, default=0) + 1}")
        directory.rename(away)
        for number in sorted(older)[: max(0, len(older) + 1 - keep)]:
            shutil.rmtree(older[number], ignore_errors=True)
        files.sync_directory(directory.parent)
        return away


def _refuse_used(path: Path) -> None:
    entries = sorted(one.name for one in path.iterdir() if not one.name.startswith(CATALOGUE))
    if not entries:
        return
    if MANIFEST in entries:
        raise DynoError(
            f"{path} already contains a run",
            cause="an earlier run was written there",
            fix=f"go on with it: dyno run --resume {path}; or give another directory",
        )
    if set(entries) <= {LOCK, RECORD} and holder(path) is None:
        return  # a `create` that was killed in its first moment, or has its source next to it
    raise DynoError(
        f"{path} is not empty (it has {', '.join(entries[:3])}{', ...' if entries[3:] else ''})",
        cause="a run needs its own directory; dbdyno touches only files that it created",
        fix="give another directory",
    )
