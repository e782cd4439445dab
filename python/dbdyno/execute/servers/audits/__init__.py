"""Audits of trials, of commits and of histories: what they need before a load, and what they find
in the nodes after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from dbdyno.execute.servers.audits.commits import Commits
from dbdyno.execute.servers.audits.histories import Histories
from dbdyno.execute.servers.pool import ServerPool
from dbdyno.experiment.audit import HISTORIES
from dbdyno.plan.types import Cell
from dbdyno.store.record import TrialRecord


class Auditing(Protocol):
    """Of one load."""

    def prepare(self) -> None:
        """Before the load. DynoError if a server refuses."""

    def audited(self, record: TrialRecord, directory: Path) -> TrialRecord:
        """The record with what the audit found. `directory`: where the engine left its log."""


def of(pool: ServerPool, cell: Cell, check: Callable[[], None]) -> Auditing:
    """That of a cell. `check` is called while nodes are waited for, and raises to end that."""
    audit = Histories if cell.audit in HISTORIES else Commits
    return audit(pool, cell, check)
