"""A stored run for programs: its trials, series, samples, histograms and verdicts."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from dbdyno.api.frames import Frame
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.plan.types import Plan
from dbdyno.share.opened import opened
from dbdyno.share.tables import TABLES, Row
from dbdyno.store.metrics.histogram import Histogram, by_tag
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run as Stored


def open(path: Path | str) -> Run:
    """The run in a run directory or a bundle, to read; also while it is running.

    DynoError if it is neither. Files of others are parsed with the rights of this process: as
    root, use `dyno export`, which gives them up (docs/decisions/privileges.md).
    """
    return Run(path)


class Run:
    """A stored run. Reads its files when asked, so a run that goes on shows its files of that
    moment.

    A bundle is unpacked into a temporary directory that lives as long as this object.
    """

    def __init__(self, path: Path | str) -> None:
        """See `open`."""
        self.path = Path(path)
        with contextlib.ExitStack() as stack:
            stack.enter_context(stored(self.path))
            self._stored = stack.enter_context(opened(self.path))
            self._ended = weakref.finalize(self, stack.pop_all().close)

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._stored.plan.name

    @property
    def question(self) -> str:
        """What the experiment asks."""
        return self._stored.plan.question

    @property
    def status(self) -> str:
        """`running`, `complete`, `interrupted` or `failed`."""
        return self._stored.status

    @property
    def levels(self) -> dict[str, list[str]]:
        """The factors with their levels."""
        return {factor.name: list(factor.levels) for factor in self._stored.plan.factors}

    @property
    def trial_ids(self) -> list[str]:
        """IDs of the trials that are over, complete or void, in the order of the plan."""
        return [record.id for record in self._stored.records()]

    def trials(self) -> Frame:
        """A row a metric of a trial: see `docs/reference/sharing.md` for the columns."""
        return self._frame("trials", None)

    def series(self, trial: str | None = None) -> Frame:
        """A row a group and interval, the warm-up included: of one trial, or of all. DynoError if
        no trial of that ID is over."""
        return self._frame("intervals", trial)

    def samples(self, trial: str | None = None) -> Frame:
        """A row a value sampled under the load (machine, servers, counters): of one trial, or of
        all. DynoError if no trial of that ID is over."""
        return self._frame("samples", trial)

    def histograms(self, trial: str) -> dict[str, Histogram]:
        """The latencies of a trial in nanoseconds, all intervals together, by tag: the group's name
        for its committed transactions, `GROUP/CLASS` for a class of them, `GROUP/!response` for
        response times of an open loop. DynoError if no trial of that ID is over."""
        self._known(trial)
        with stored(self.path):
            return by_tag(self._stored.histograms(trial))

    def result(self) -> dict[str, Any]:
        """The findings, as `result.json` holds them: analysed again, which takes seconds."""
        from dbdyno.analysis import result
        from dbdyno.wording.findings import analyse

        run = self._stored
        with stored(self.path):
            found = analyse(run.plan, run.records(), run.trace, run.histograms, void=run.voided())
            return result.to_json(found, run.plan, run)

    def verdicts(self) -> list[dict[str, Any]]:
        """The claims in the experiment's order: `text`, `say`, `verdict` (`supported`, `refuted`,
        `undecided`, `not tested here`), `ratio`, `ci_low`, `ci_high`, `p`, `parts` and more, as
        `claims` of `result.json` has them."""
        claims: list[dict[str, Any]] = self.result()["claims"]
        return claims

    def close(self) -> None:
        """Removes what a bundle was unpacked into. Nothing can be read afterwards."""
        self._ended()

    def __repr__(self) -> str:
        return f"<dbdyno run {self.path}: {self.name}, {self.status}>"

    def _frame(self, name: str, trial: str | None) -> Frame:
        if trial is not None:
            self._known(trial)
        table, run = TABLES[name], self._stored
        source = run if trial is None else _Only(run, trial)

        def rows() -> Iterator[Row]:
            with stored(self.path):
                yield from table.of(source)

        return Frame(f"{name} of {self.path}", table.columns(run.plan), rows)

    def _known(self, trial: str) -> None:
        ids = self.trial_ids
        if trial not in ids:
            raise DynoError(
                f"{self.path} has no trial {trial} that is over", fix=did_you_mean(trial, ids)
            )


class _Only:
    """One trial of a run, as tables are made from it."""

    def __init__(self, run: Stored, trial: str) -> None:
        self._run = run
        self._trial = trial

    @cached_property
    def plan(self) -> Plan:
        """The run's."""
        return self._run.plan

    def records(self) -> list[TrialRecord]:
        """That of the trial."""
        return [record for record in self._run.records() if record.id == self._trial]

    def events(self, trial: str) -> list[dict[str, Any]]:
        """As Run's."""
        return self._run.events(trial)

    def samples(self, trial: str) -> list[dict[str, Any]]:
        """As Run's."""
        return self._run.samples(trial)
