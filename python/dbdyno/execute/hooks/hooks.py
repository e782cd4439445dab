"""The user's commands around trials: at fixed points of the run, and into and out of levels.

A level's commands run with all servers stopped: `undo` of those that are left, in the reverse order
of the factors, then `apply` and `wait_until` of those that are entered, in their order. What is in
force is in a journal before it begins (`store.hooklog`), and is undone however the run ends; after
`kill -9` by the process that resumes it. Cleaning up is never cut short by a first Ctrl-C.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Interrupted
from dbdyno.execute.hooks import command
from dbdyno.execute.timeline import Moment, TrialVoid
from dbdyno.experiment.targets.hooks import variable
from dbdyno.experiment.types import Hook, LevelHooks, MomentHook
from dbdyno.hosts.base import began_ticks, kill_group
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.store.hooklog import DEADLINE, LOGS, OK, STOPPED, Applied, HookLog, HookRun
from dbdyno.store.text import files
from dbdyno.store.text.scrub import scrub

IN_TRIAL = ("before_trial", "during_trial", "after_trial")
QUIET = ("wait_until", *IN_TRIAL)  # too often to report each time
LOGS_MAX = 10_000  # of one point and place: file names that are tried


class HookFailed(TrialVoid):
    """A command did not do what it should."""


class Hooks:
    """Runs the hooks of one run."""

    def __init__(self, context: ExecutionContext) -> None:
        self._run = run = context.run
        self._hooks = run.plan.hooks
        self._order = [factor.name for factor in run.plan.factors]
        self._control = context.control
        self._host = context.host
        self._say = context.say
        self._log = HookLog(run.path)
        self._hidden = hidden(run.plan)
        # Where the run was begun: paths in commands mean the same when it is resumed elsewhere.
        self._directory: str | None = run.manifest.get("directory")
        self._logging = threading.Lock()  # commands within a trial may end at the same time
        self._cell: int | None = None
        self._begun = False
        self._applied = self._log.applied() if run.writable else []

    # ---- the run

    def recover(self) -> None:
        """Undoes what a process that was killed has left in force. DynoError if that fails."""
        for level in self._applied:
            kill_group(level.group, level.group_ticks)
        if self._applied:
            self._say("undoing what an earlier process, which was killed, had applied")
        self._leave(list(self._applied))

    def before_run(self) -> None:
        """DynoError if a command fails: nothing else has begun."""
        self._begun = True
        try:
            self._all("before_run", self._hooks.before_run, self._variables())
        except HookFailed as failed:
            raise DynoError(
                str(failed),
                cause="the command itself, or what it needs; its output is in the run directory",
                fix=f"mend it, then: dyno run --resume {self._run.path}",
            ) from None

    def leave_levels(self) -> None:
        """Undoes all levels. Servers have been stopped. DynoError if one cannot be undone."""
        self._leave(list(self._applied))

    def after_run(self) -> None:
        """However the run ended, if it has begun. A command that fails is only reported."""
        if not self._begun:
            return
        try:
            self._all("after_run", self._hooks.after_run, self._variables(), patient=True)
        except HookFailed as failed:
            self._say(f"warning: {failed}")
            if self._run.writable:
                self._run.amend(f"After the run: {failed}.")

    # ---- cells and trials

    def enter(self, trial: TrialPlan, cell: Cell, stop_servers: Callable[[], None]) -> None:
        """Sees to it that the cell's levels are in force, and runs `before_cell` if it is another
        cell than before. HookFailed if it cannot be applied, DynoError if an old level stays."""
        variables = self._variables(trial, cell)
        leaving = [a for a in self._applied if cell.levels.get(a.factor) != a.level]
        staying = {a.factor for a in self._applied} - {a.factor for a in leaving}
        entering = [name for name in self._order if name not in staying and self._of(name, cell)]
        if leaving or entering:
            stop_servers()
        self._leave(leaving)
        for name in entering:
            self._apply(name, cell.levels[name], self._of(name, cell), variables)
        if self._cell != cell.index:
            self._cell = None  # until its commands have succeeded
            self._all("before_cell", self._hooks.before_cell, variables)
            self._cell = cell.index

    def before_trial(self, trial: TrialPlan, cell: Cell) -> None:
        """HookFailed if a command fails."""
        self._all("before_trial", self._hooks.before_trial, self._variables(trial, cell))

    def during_trial(self, trial: TrialPlan, cell: Cell) -> list[Moment]:
        """The commands within it; each raises HookFailed if it fails, Interrupted if stopped."""
        variables = self._variables(trial, cell)

        def moment(hook: MomentHook) -> Moment:
            what = f"{_named('during_trial', '', hook.at_s)}: `{_short(hook)}`"
            return Moment(hook.at_s, what, lambda zero_s: self._at(hook, variables, zero_s))

        return [moment(hook) for hook in self._hooks.during_trial]

    def _at(self, hook: MomentHook, variables: Mapping[str, str], zero_unix_s: float) -> None:
        _check(self._one("during_trial", hook, variables, zero_unix_s=zero_unix_s), hook)

    def after_trial(self, trial: TrialPlan, cell: Cell) -> None:
        """HookFailed if a command fails. Also for a trial that failed or was stopped."""
        variables = self._variables(trial, cell)
        self._all("after_trial", self._hooks.after_trial, variables, patient=True)

    # ---- levels

    def _of(self, factor: str, cell: Cell) -> LevelHooks | None:
        return self._hooks.levels.get(factor, {}).get(cell.levels.get(factor, ""))

    def _apply(
        self, factor: str, level: str, hooks: LevelHooks | None, variables: Mapping[str, str]
    ) -> None:
        assert hooks is not None
        entry = Applied(factor, level, variables)
        self._journal([*self._applied, entry])
        of = f"{factor}={level}"
        try:
            self._all("apply", hooks.apply, variables, of=of)
            self._all("wait_until", hooks.wait_until, variables, of=of)
        except HookFailed:
            self._leave([entry])  # it may be half in force
            raise

    def _leave(self, levels: Iterable[Applied]) -> None:
        """Undoes levels, the last factor first; the others too where one cannot be undone."""
        failures = []
        for entry in sorted(levels, key=self._place, reverse=True):
            hooks = self._hooks.levels.get(entry.factor, {}).get(entry.level, LevelHooks())
            of = f"{entry.factor}={entry.level}"
            try:
                self._all("undo", hooks.undo, entry.variables, of=of, patient=True)
            except HookFailed as failed:
                failures.append(str(failed))
                continue
            self._journal([a for a in self._applied if a.factor != entry.factor])
        if failures:
            raise DynoError(
                "; ".join(failures),
                cause="what was applied may still be in force; the command's output is in the run"
                " directory",
                fix="look at it, then: dyno run --resume"
                f" {self._run.path}, which tries to undo it first",
            )

    def _place(self, entry: Applied) -> int:
        return self._order.index(entry.factor) if entry.factor in self._order else -1

    def _journal(self, levels: list[Applied]) -> None:
        self._log.set_applied(levels)
        self._applied = levels

    # ---- commands

    def _all(
        self,
        point: str,
        hooks: Iterable[Hook],
        variables: Mapping[str, str],
        *,
        of: str = "",
        patient: bool = False,
    ) -> None:
        """Runs commands one after the other, up to the first that fails. One that is `patient`
        cleans up: it is not stopped by the user's wish to end."""
        for hook in hooks:
            if not patient:
                self._control.check()
            _check(self._one(point, hook, variables, of, patient=patient), hook)

    def _one(
        self,
        point: str,
        hook: Hook,
        variables: Mapping[str, str],
        of: str = "",
        *,
        patient: bool = False,
        zero_unix_s: float = 0.0,
    ) -> HookRun:
        """Runs one to its end and journals it. `zero_unix_s`: of a trial's clock, for a command
        that has a moment on it."""
        trial = variables.get("DYNO_TRIAL", "")
        if point not in QUIET:
            where = f" on {hook.on}" if hook.on else ""
            self._say(f"{_named(point, of)}{where}: {_short(hook)}")
        started_unix_s, begun = time.time(), time.monotonic()
        stop: Callable[[], bool] = (lambda: False) if patient else lambda: self._control.stop_now
        tries = 0
        while True:
            tries += 1
            left_s = max(0.0, hook.deadline_s - (time.monotonic() - begun))
            ended = command.run(
                hook,
                variables,
                here=self._host,
                directory=self._directory,
                hidden=self._hidden,
                deadline_s=left_s,
                stop=stop,
                began=lambda pid: self._note_group(point, of, pid),
            )
            self._note_group(point, of, 0)
            seconds = time.monotonic() - begun
            outcome = ended.outcome
            if point != "wait_until" or outcome in (OK, STOPPED, DEADLINE):
                break
            if seconds + hook.every_s > hook.deadline_s:
                outcome = DEADLINE
                break
            if not _sleep(hook.every_s, stop):
                outcome = STOPPED
                break
        done = HookRun(
            point=point,
            of=of,
            trial=trial,
            run=hook.run,
            on=hook.on,
            started_unix_s=started_unix_s,
            seconds=round(seconds, 3),
            outcome=outcome,
            exit_code=ended.exit_code,
            tries=tries,
            log="",
        )
        if isinstance(hook, MomentHook):
            started_s = round(started_unix_s - zero_unix_s, 3)
            done = replace(done, at_s=hook.at_s, started_s=started_s)
        with self._logging:
            log = self._log_file(point, of, trial)
            done = replace(done, log=str(log.relative_to(self._run.path)))
            self._keep(done, log, ended.output)
        return done

    def _note_group(self, point: str, of: str, pid: int) -> None:
        """Writes into the journal which processes bring a level about, so that they can be ended
        before it is undone. Only of what can be cut short: an `undo` is left to finish."""
        if point not in ("apply", "wait_until"):
            return
        ticks = began_ticks(pid) if pid else 0
        self._journal(
            [
                replace(a, group=pid, group_ticks=ticks) if f"{a.factor}={a.level}" == of else a
                for a in self._applied
            ]
        )

    def _log_file(self, point: str, of: str, trial: str) -> Path:
        """Where a command's output goes: with its trial if that has begun, else with the run."""
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{point}-{of}" if of else point)[:100]
        in_trial = point in IN_TRIAL
        base = self._run.trial_dir(trial) if in_trial else self._run.path
        directory = base / LOGS
        with files.explained(directory, self._run.path):
            directory.mkdir(mode=0o700, exist_ok=True)
        for number in range(1, LOGS_MAX):
            path = directory / (f"{name}.log" if number == 1 else f"{name}-{number}.log")
            if not path.exists():
                break
        return path

    def _keep(self, done: HookRun, log: Path, output: str) -> None:
        where = f" on {done.on}" if done.on else ""
        tries = f", {done.tries} tries, output of the last" if done.tries > 1 else ""
        result = "ended with status 0" if done.outcome == OK else done.reason
        head = f"$ {done.run}\n# {_named(done.point, done.of, done.at_s)}{where}"
        head += f" for {done.trial}" if done.trial else ""
        text = scrub(f"{head}: {result}, {done.seconds:.1f} s{tries}\n{output}")
        with files.explained(log, self._run.path):
            diskfiles.write_text(log, text)
        self._log.append(done)

    def _variables(
        self, trial: TrialPlan | None = None, cell: Cell | None = None
    ) -> dict[str, str]:
        """Variables that give a command the run's position."""
        found = {"DYNO_RUN": str(self._run.path)}
        if trial is not None and cell is not None:
            found |= {
                "DYNO_TRIAL": trial.id,
                "DYNO_BLOCK": str(trial.block),
                "DYNO_CELL": str(cell.index),
            }
            found |= {variable(name): level for name, level in cell.levels.items()}
        return found


def hidden(plan: Plan) -> frozenset[str]:
    """Variables of our environment that hold a password for us, and that no command is given."""
    names = (target.credentials.env for cell in plan.cells for target in cell.targets)
    return frozenset(name for name in names if name)


def _check(done: HookRun, hook: Hook) -> None:
    """Interrupted or HookFailed for a command that did not succeed."""
    if done.outcome == STOPPED:
        raise Interrupted
    if done.outcome != OK:
        raise HookFailed(
            f"{_named(done.point, done.of, done.at_s)}: `{_short(hook)}` {done.reason}"
        )


def _named(point: str, of: str, at_s: float | None = None) -> str:
    at = "" if at_s is None else f" at {at_s:g} s"
    return f"{point} of {of}" if of else f"{point}{at}"


def _short(hook: Hook) -> str:
    """A command in one line of a message."""
    text = " ".join(hook.run.split())
    return str(scrub(text if len(text) <= 100 else f"{text[:100]}..."))


def _sleep(seconds: float, stop: Callable[[], bool]) -> bool:
    """Sleeps, and returns whether to go on."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if stop():
            return False
        time.sleep(min(left, 0.1))
    return not stop()
