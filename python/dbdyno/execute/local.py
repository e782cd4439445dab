"""Runs a plan on this machine, from its first incomplete trial to its last.

Order comes from the plan alone. Each hard combination's servers are started afresh once a block;
cells whose trials change data start every trial from the loaded snapshot. A trial that does not
meet `require:`, or whose engine failed, is void, kept, and run again at most twice. Where the
budget does not hold another block, or all is decided, the plan is cut short there, with the reason.
The user's commands around all this are `hooks`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.errors import DynoError
from dbdyno.execute import disk_full, statements
from dbdyno.execute.budget import Budget
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Interrupted
from dbdyno.execute.faulting import trial_faults
from dbdyno.execute.hooks.hooks import HookFailed, Hooks
from dbdyno.execute.servers.external import ExternalServers
from dbdyno.execute.servers.pool import ServerPool
from dbdyno.execute.timeline import TrialVoid
from dbdyno.execute.trial import Trial
from dbdyno.experiment.claims.conditions import unmet
from dbdyno.plan.types import Cell, TrialPlan
from dbdyno.store.record import TrialRecord
from dbdyno.systems.process.scratch import Scratch

ATTEMPTS = 3  # the first and two more


@dataclass
class _Standing:
    """What the running servers are, and whether their data is still as loaded."""

    hard: str | None = None
    block: int = 0
    fresh: bool = False


class LocalExecution:
    """Executes the incomplete trials of a run. `execute()` returns the run's status."""

    def __init__(self, context: ExecutionContext) -> None:
        self._context = context
        self._run = context.run
        self._control = context.control
        self._listener = context.listener
        self._standing = _Standing()
        self._around = Hooks(context)
        self._checked = False  # whether servers were asked about the user's SQL
        self.not_undone: tuple[str, ...] = ()  # on external servers, in sentences

    def execute(self) -> str:
        """`complete`, or `interrupted` when the user stopped it; raises DynoError where going on
        is useless. Complete trials are on disk in every case."""
        self._around.recover()
        trial_faults.recover(self._run.plan)
        waiting = self._waiting()
        if not waiting:
            self.not_undone = tuple(ExternalServers.finish(self._context))
            return "complete"
        trial_faults.check(self._run.plan)
        try:
            self._around.before_run()
            return self._with_servers(waiting)
        except Interrupted:
            return "interrupted"
        finally:
            self._around.after_run()

    def _with_servers(self, waiting: Sequence[TrialPlan]) -> str:
        explained = {record.cell for record in self._run.records() if record.explain}
        with Scratch(self._context.scratch, self._context.host) as scratch:
            pool = ServerPool(self._context, scratch)
            trial = Trial(self._context, pool, self._around, explained)
            try:
                pool.recover()
                return self._all(waiting, pool, trial)
            except DynoError as error:
                self._listener.on_failure(error.what)
                raise
            finally:
                with contextlib.ExitStack() as last:  # each, whatever becomes of those before
                    last.callback(self._around.leave_levels)
                    # A level may be the file system that the scratch lies on.
                    last.callback(scratch.withdraw)
                    last.callback(self._leave, pool)

    def _leave(self, pool: ServerPool) -> None:
        """Stops the servers; of external ones, says what could not be undone."""
        self.not_undone = tuple(pool.close())
        for problem in self.not_undone:
            self._listener.say(problem)
            self._run.amend(problem)

    def _waiting(self) -> list[TrialPlan]:
        done = {record.id for record in self._run.records()}
        return [trial for trial in self._run.plan.trials if trial.id not in done]

    def _all(self, waiting: Sequence[TrialPlan], pool: ServerPool, trial: Trial) -> str:
        limit_s, spent_s = self._run.plan.budget_s, self._run.spent_s()
        budget = Budget(limit_s, spent_s, lambda: pool.loaded_s)
        first_of = {planned.block: planned.id for planned in reversed(self._run.plan.trials)}
        for planned in waiting:
            if self._control.stop_after_trial:
                return "interrupted"
            begins = first_of[planned.block] == planned.id
            if begins and planned.block > 1 and (reason := self._context.decided(self._run)):
                self._run.amend(reason, blocks=planned.block - 1, decided=True)
                self._listener.say(reason)
                return "complete"
            if begins and not budget.holds_another() and planned.block > 1:
                self._cut(planned.block - 1)
                return "complete"
            self._one(planned, self._run.plan.cells[planned.cell], pool, trial)
        return "complete"

    def _cut(self, blocks: int) -> None:
        """Ends the plan after so many blocks."""
        plan = self._run.plan
        note = (
            f"The budget of {plan.budget_s:g} s does not hold another block: the run ends after"
            f" {blocks} of {plan.blocks}."
        )
        self._run.amend(note, blocks=blocks)
        self._listener.say(note)

    def _one(self, planned: TrialPlan, cell: Cell, pool: ServerPool, trial: Trial) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            self._listener.on_trial(planned, cell, attempt)
            if self._attempt(planned, cell, pool, trial, last=attempt == ATTEMPTS):
                return
            self._control.check()
            self._standing = _Standing()  # whatever spoilt it, the next attempt starts clean

    def _attempt(
        self, planned: TrialPlan, cell: Cell, pool: ServerPool, trial: Trial, *, last: bool
    ) -> bool:
        """Measures a trial and puts its record on disk; False if another attempt follows."""
        try:
            self._around.enter(planned, cell, lambda: self._stop_servers(pool))
        except HookFailed as failed:
            self._run.begin(planned.id)
            return self._keep(_void(planned, str(failed)), last=last)
        self._ready(planned, cell, pool)
        self._control.check()
        self._check_statements(cell, pool)
        if trial.probe(cell, planned):
            self._standing.fresh = False
            self._ready(planned, cell, pool)  # the trial starts from what the state asks for
        with self._control.trial():
            self._run.begin(planned.id)
            record = self._surrounded(planned, cell, trial)
            self._standing.fresh = False
            if cell.faults:  # what has crashed, or was changed, is no start for another trial
                self._standing = _Standing()
            return self._keep(record, last=last)

    def _check_statements(self, cell: Cell, pool: ServerPool) -> None:
        """Reports mistakes in the user's SQL, as long as nothing was measured: later on, a trial
        that cannot be measured is void."""
        if self._checked or self._run.records():
            return
        self._checked = True
        plan = self._run.plan
        alike = [one for one in plan.cells if one.hard == cell.hard]
        statements.check(cell, alike, plan.hooks, pool.deployments)

    def _surrounded(self, planned: TrialPlan, cell: Cell, trial: Trial) -> TrialRecord:
        """The trial between its commands; void if one of them fails. The last ones run whatever
        became of it: they may clean up after the first."""
        try:
            self._around.before_trial(planned, cell)
            record = trial.measure(cell, planned)
        except TrialVoid as failed:
            record = _void(planned, str(failed))
        except BaseException:
            with contextlib.suppress(HookFailed):  # its log names it
                self._around.after_trial(planned, cell)
            raise
        try:
            self._around.after_trial(planned, cell)
        except HookFailed as failed:
            reasons = [reason for reason in (record.void_reason, str(failed)) if reason]
            record = record.replace(status="void", void_reason="; ".join(reasons))
        return record

    def _stop_servers(self, pool: ServerPool) -> None:
        pool.withdraw()
        self._standing = _Standing()

    def _keep(self, record: TrialRecord, *, last: bool) -> bool:
        """Puts a record on disk; False if another attempt follows."""
        if record.status == "complete":
            reasons = unmet(self._run.plan.require, record.metrics, record.bounds)
            if reasons:
                record = record.replace(status="void", void_reason="; ".join(reasons))
        over = last or record.status == "complete"
        if over:
            self._run.complete(record)
        else:
            self._run.set_aside(record)
        self._listener.on_record(record, over=over)
        return over

    def _ready(self, planned: TrialPlan, cell: Cell, pool: ServerPool) -> None:
        """Sees to it that the cell's servers run on the data that the state asks for."""
        standing = self._standing
        same = standing.hard == cell.hard and standing.block == planned.block
        unspoilt = standing.fresh or (cell.state.data == "reuse" and cell.state.cache == "warm")
        if same and unspoilt and pool.fits(cell) and pool.alive():
            pool.adopt(cell)
            return
        try:
            pool.start(cell)
        except (DynoError, OSError) as met:
            self._control.check()
            levels = ", ".join(f"{name}={level}" for name, level in cell.levels.items())
            error = met if isinstance(met, DynoError) else disk_full.of_write(met)
            error = disk_full.recognised(error, pool.scratch, cell.targets)
            raise DynoError(
                f"{levels}: {error.what}" if levels else error.what,
                where=error.where,
                cause=error.cause,
                fix=error.fix,
            ) from None
        self._standing = _Standing(cell.hard, planned.block, fresh=True)


def _void(planned: TrialPlan, reason: str) -> TrialRecord:
    """The record of a trial that nothing was measured of."""
    return TrialRecord(
        id=planned.id,
        block=planned.block,
        cell=planned.cell,
        status="void",
        started_unix_s=time.time(),
        metrics={},
        void_reason=reason,
    )
