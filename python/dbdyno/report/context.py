"""What the sections of a run's report are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dbdyno.analysis.types import Findings
from dbdyno.plan.types import Plan
from dbdyno.report import layout
from dbdyno.report.layout import Layout
from dbdyno.report.trials.read import Trials, read
from dbdyno.store import annotation
from dbdyno.store.annotation import Annotations
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run
from dbdyno.wording import names


@dataclass(frozen=True)
class Context:
    """A run and its findings. Its files are read once, when the first section asks for them."""

    run: Run
    findings: Findings

    @property
    def plan(self) -> Plan:
        return self.run.plan

    @cached_property
    def records(self) -> list[TrialRecord]:
        return self.run.records()

    @cached_property
    def complete(self) -> list[TrialRecord]:
        """The records that count, those of a cell together."""
        return sorted((r for r in self.records if r.status == COMPLETE), key=lambda r: r.cell)

    @cached_property
    def annotations(self) -> Annotations:
        return annotation.read(self.run.path)

    @cached_property
    def layout(self) -> Layout:
        return layout.choose(self.plan, self.findings)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return names.groups_of(self.plan)

    @cached_property
    def trials(self) -> Trials:
        """Histograms and series of all trials."""
        return read(self.run, self.records)
