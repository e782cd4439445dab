"""The runs of a proof: experiments written, made to fit the time, measured, and judged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.running.before.installed import described, missing
from dbdyno.cli.running.before.placed import placed
from dbdyno.cli.running.carry_out import begun, measure
from dbdyno.cli.running.detail import Detail
from dbdyno.cli.running.finish import nothing_measured
from dbdyno.cli.terminal import output
from dbdyno.cli.trying import timing
from dbdyno.errors import DynoError
from dbdyno.execute.control import Interrupted
from dbdyno.execute.engine.job import Event
from dbdyno.experiment import load, load_seeded
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.prove import experiment
from dbdyno.prove.experiment import Lengths, Proof
from dbdyno.store.manifest import INTERRUPTED
from dbdyno.store.record import TrialRecord

if TYPE_CHECKING:
    from dbdyno.analysis.types import Findings

# Blocks of a run that selects, at most: it ends when decided, so that time is left for others.
_SELECTING = (12, 10, 8, 6, 5)
_FIRST = Lengths(3, 0.5, 1.0, 0.2)  # until a plan says what time there is


_SPARE = 1.2  # of the time that loading, copying and starting took so far


@dataclass
class Pace:
    """What is done between trials, and before the first one, over its estimate, which is high on
    purpose. One that is three times too high leaves half of the blocks."""

    times: float = 1.0

    def seen(self, took_s: float, estimated_s: float) -> None:
        """The last time counts."""
        if estimated_s > 0:
            self.times = _SPARE * took_s / estimated_s


@dataclass(frozen=True)
class Measuring:
    """`path`, `file`: of the run that answers, and of its experiment; `until_s`: when all should
    be over, on the monotonic clock."""

    path: Path
    file: Path
    scratch: Path
    detail: Detail
    blocks: int | None
    until_s: float
    pace: Pace = field(default_factory=Pace)

    def say(self, message: str) -> None:
        """A sentence for the user, on stderr."""
        if self.detail is not Detail.NONE:
            click.echo(message, err=True)

    @property
    def listener(self) -> _Listener:
        """Of what is not measured."""
        return _Listener(self)

    def claim_file(self) -> None:
        """Makes the file of the experiment; another one of its name is left alone."""
        with output.explained(self.file):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            try:
                self.file.touch(exist_ok=False)
            except FileExistsError:
                raise DynoError(
                    f"{self.file} already exists",
                    cause="an earlier proof had the same --dir",
                    fix="give another --dir, or remove the file",
                ) from None

    def step(self, number: int) -> Path:
        """Directory of a run on the way."""
        return self.path.with_name(f"{self.path.name}-{number}")

    def plan(self, proof: Proof) -> Plan:
        """The plan of a proof that is not run yet."""
        loaded = load(experiment.text(proof, self.file, _FIRST), file=self.file)
        with placed(loaded):
            return make(loaded, Machine.read(), available=missing)

    def text(self, proof: Proof, share: float = 1.0) -> str:
        """The experiment, whose trials fit into a share of the time that is left."""
        total_s = max(0.0, self.until_s - time.monotonic()) * share
        plan = self.plan(proof)
        until_decided = proof.selects and not self.blocks
        numbers = _SELECTING if until_decided else timing.BLOCKS
        times = timing.choose(plan, total_s, self.blocks, numbers, self.pace.times)
        if not times.fits:
            self.say(
                f"too short a --time for {len(plan.cells)} variants with their data: it takes about"
                f" {times.total_s:.0f} s"
            )
        lengths = Lengths(
            times.blocks, times.warmup_s, times.duration_s, times.interval_s, until_decided
        )
        return experiment.text(proof, self.file, lengths)

    def measured(self, proof: Proof, path: Path, share: float = 1.0) -> Findings:
        """Runs a proof, and leaves its experiment, its run and its report. Interrupted by Ctrl-C;
        DynoError if nothing could be measured."""
        file = self.file if path == self.path else self.file.with_name(f"{path.name}.yaml")
        with output.explained(file):
            file.write_text(self.text(proof, share), encoding="utf-8")
        self.say(f"experiment: {file}")
        loaded = load_seeded(file)
        begun_s = time.monotonic()
        with placed(loaded):
            plan = make(loaded, Machine.read(), available=missing)
            with begun(file, plan, described(plan, self.scratch), path) as run:
                status, _ = measure(run, self.scratch, self.detail)
                if status == INTERRUPTED:
                    self.say(f"go on with: dyno run --resume {path}")
                    raise Interrupted
                from dbdyno.report import Report  # scipy comes with it
                from dbdyno.wording.findings import analyse

                records = run.records()
                self._paced(plan, records, time.monotonic() - begun_s)
                findings = analyse(plan, records, run.trace, run.histograms, void=run.voided())
                Report(run, findings).write()
                if said := nothing_measured(run, records):
                    raise DynoError(said, fix=f"see {path}/report.html")
                return findings

    def _paced(self, plan: Plan, records: Sequence[TrialRecord], took_s: float) -> None:
        """Learns from a run how long all takes but its load."""
        if not records:
            return
        cells = {cell.index: cell for cell in plan.cells}
        load_s = sum(estimate.trial_s(cells[one.cell]) for one in records)
        blocks = len(records) / len(plan.cells)
        # Trials that failed took less than their length.
        self.pace.seen(max(0.0, took_s - load_s), estimate.overhead_s(plan.cells, blocks))


class _Listener:
    """Says what happens before anything is measured."""

    def __init__(self, measuring: Measuring) -> None:
        self.say = measuring.say

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None:
        """There are none."""

    def on_event(self, event: Event) -> None:
        """Of loading: not shown."""

    def on_record(self, record: TrialRecord, *, over: bool) -> None:
        """There are none."""

    def on_failure(self, what: str) -> None:
        """Errors are raised."""
