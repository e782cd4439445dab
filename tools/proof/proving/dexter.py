"""What dexter would make for a workload, which asks PostgreSQL's planner about hypothetical
indexes: it gets a private server with the workload's data, and a statement of each class with the
values that the load sends.

Sources: dexter's README and CHANGELOG (https://github.com/ankane/dexter) on its connection options,
`--input-format sql` and what it prints; HypoPG's documentation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.proof.proving.measuring import FOUND, Workload
from tools.proof.row import Effort
from tools.proof.runs import place

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.execute.engine.job import Event
from dbdyno.experiment import load
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.workloads.mix import PREPARED
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.types import Cell, TrialPlan
from dbdyno.prove.bench import bench
from dbdyno.store.record import TrialRecord

DEXTER = "dexter"
SEED = 7
TIMEOUT_S = 600.0
_FOUND = re.compile(r"^Index found: (\S+) \((.+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Choice:
    """`statements`: CREATE INDEX; `version`: dexter's, empty if it was not asked; `missing`: why it
    could not be."""

    statements: tuple[str, ...] = ()
    version: str = ""
    missing: str = ""

    @property
    def sets(self) -> Mapping[str, tuple[str, ...]]:
        """What it has found, to be measured next to other sets."""
        return {DEXTER: self.statements} if self.version else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """For the row: why it is not there."""
        return (f"dexter: not tested here ({self.missing})",) if self.missing else ()

    def ratio(self, speeds: Mapping[str, float]) -> str:
        """The end of a sentence on the found set's throughput."""
        if not self.version:
            return ""
        return f", {speeds[FOUND] / speeds[DEXTER]:.2f} times that of dexter {self.version}"


def choice(effort: Effort, workload: Workload, kind: str) -> Choice:
    """What dexter chooses; it knows PostgreSQL alone. RuntimeError with what it says, if it
    fails."""
    if kind != "postgres":
        return Choice()
    found = shutil.which("dexter")
    if found is None:
        return Choice(missing="it is not installed: it comes as Ruby's gem pgdexter")
    effort.say(f"    {workload.name}: dexter")
    text = f"{workload.text}blocks: 1\nwarmup: 300ms\nduration: 1s\ninterval: 100ms\n"
    plan = make(load(text), Machine.read())
    with bench(plan, effort.engine, _Silent(), place(effort)) as made:
        cell = plan.cells[0]
        made.start(cell)
        statements = made.loaded(SEED).statements.values()
        made.start(cell)  # the load has changed data
        try:
            made.build("CREATE EXTENSION hypopg")
        except DynoError as error:
            return Choice(missing=f"HypoPG, which it asks, is not installed: {error.what}")
        target = cell.targets[0]
        resolved = systems.load(target.kind).resolve(target)
        reached = made.server.engine_target(target, resolved, made.database)
        return Choice(
            indexes(_asked(effort, found, reached, statements)), _said(found, "--version")
        )


def _asked(effort: Effort, found: str, reached: dict[str, object], sql: Iterable[str]) -> str:
    file = effort.scratch / "dexter.sql"
    file.write_text("".join(f"{each};\n" for each in sql if sqltext.keyword(each) in PREPARED))
    address = reached["address"]
    assert isinstance(address, dict)
    options = {
        "-h": address["tcp"]["host"],
        "-p": address["tcp"]["port"],
        "-U": reached["user"],
        "-d": reached["database"],
        "--input-format": "sql",
    }
    words = [str(word) for pair in options.items() for word in pair]
    return _said(found, *words, str(file), PGPASSWORD=str(reached["password"]))


def _said(found: str, *words: str, **variables: str) -> str:
    done = subprocess.run(
        [found, *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"dexter ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout.strip()


def indexes(said: str) -> tuple[str, ...]:
    """CREATE INDEX statements from what dexter prints."""
    return tuple(
        f"CREATE INDEX dexter_{number} ON {table} ({columns})"
        for number, (table, columns) in enumerate(_FOUND.findall(said), 1)
    )


class _Silent:
    """Hears of nothing that is measured: dexter only asks."""

    def say(self, message: str) -> None:
        """Not shown."""

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None:
        """There are none."""

    def on_event(self, event: Event) -> None:
        """Of loading."""

    def on_record(self, record: TrialRecord, *, over: bool) -> None:
        """There are none."""

    def on_failure(self, what: str) -> None:
        """Errors are raised."""
