"""A run is carried out: its directory, its trials as they go, its end. What `dyno run`, `dyno try`
and the pilot of `dyno plan` have in common."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import RenderableType

from dbdyno.cli.running.before.machine_checks import checked
from dbdyno.cli.running.detail import Detail
from dbdyno.cli.running.finish import conclude, decided, steady_from
from dbdyno.cli.running.live import Live
from dbdyno.cli.terminal import login
from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Control
from dbdyno.execute.engine import job
from dbdyno.execute.listener import Listener, Several
from dbdyno.execute.local import LocalExecution
from dbdyno.plan import cpus
from dbdyno.plan.two_versions.differences import differences
from dbdyno.plan.types import Plan
from dbdyno.share import listen
from dbdyno.store.manifest import EXPERIMENT_FILE, INTERRUPTED, RUNNING
from dbdyno.store.naming import unnamed
from dbdyno.store.run import Run
from dbdyno.wording.plurals import count

if TYPE_CHECKING:
    from dbdyno.analysis.types import Findings
    from dbdyno.report import Report


@dataclass(frozen=True)
class Manner:
    """How a run is shown while it goes, and how it ends. `answer`: what is printed of its report;
    None: what `dyno report` prints."""

    detail: Detail = Detail.USUAL
    strict: bool = False
    decisive: bool = False
    as_json: bool = False
    answer: Callable[[Report], RenderableType] | None = None


@contextlib.contextmanager
def begun(
    file: Path, plan: Plan, facts: Mapping[str, Any], directory: Path | None
) -> Iterator[Run]:
    """A new run: its directory is there, and says how it was begun."""
    with Run.create(directory or unnamed(plan.name), plan, facts) as created:
        created.set_status(
            RUNNING,
            command=["dyno", *login.without_commands(sys.argv[1:])],
            directory=str(Path.cwd()),
            **{EXPERIMENT_FILE: str(file.absolute())},
        )
        yield created


def carried_out(
    run_: Run,
    scratch: Path | None,
    manner: Manner,
    endpoint: listen.Endpoint | None = None,
    judge: Callable[[Findings], int] | None = None,
) -> int:
    """Measures the missing trials of the run, draws its report, prints the answer; the exit
    code."""
    status, not_undone = measure(run_, scratch, manner.detail, endpoint)
    gate = None if status == INTERRUPTED else judge
    code = conclude(
        run_,
        strict=manner.strict,
        decisive=manner.decisive,
        as_json=manner.as_json,
        gate=gate,
        answer=manner.answer,
    )
    if not_undone:
        raise not_put_back(run_, not_undone)
    if status == INTERRUPTED:
        click.echo(f"interrupted; go on with: dyno run --resume {run_.path}", err=True)
        return 3
    return code


def not_put_back(run_: Run, what: Sequence[str]) -> DynoError:
    """The error for what a run could not undo on external servers."""
    return DynoError(
        "; ".join(what),
        cause="a privilege was revoked, or the server is gone",
        fix=f"correct that; then dyno run --resume {run_.path} restores the rest",
    )


def measure(
    run_: Run, scratch: Path | None, detail: Detail, endpoint: listen.Endpoint | None = None
) -> tuple[str, tuple[str, ...]]:
    """Runs the missing trials of a run; its status, and what could not be undone on external
    servers, in sentences."""
    binary = job.find()
    records = run_.records()
    listeners: list[Listener] = []
    if endpoint is not None:
        metrics = listen.Live(run_.plan, run_.path.name, len(records))
        endpoint.serve(lambda open_metrics: metrics.text(open_metrics=open_metrics))
        listeners.append(metrics)
    with Live(run_.plan, records, run_.path / "run.log", detail) as live:
        live.say(f"run directory: {run_.path}")
        for note in (*_opening(run_.plan), *checked(run_)):
            live.say(note)
        if endpoint is not None:
            live.say(f"metrics: {endpoint.url}")
        news = Several([live, *listeners])
        with Control(live.say) as control:
            judge = steady_from(run_.plan)
            context = ExecutionContext(run_, binary, control, news, scratch, decided, judge)
            execution = LocalExecution(context)
            status = execution.execute()
    run_.set_status(status)
    return status, execution.not_undone


def _opening(plan: Plan) -> list[str]:
    """What the user should know before the first trial."""
    cells, blocks, trials = len(plan.cells), plan.blocks, len(plan.trials)
    notes = [f"{count(cells, 'cell')} x {count(blocks, 'block')} = {count(trials, 'trial')}"]
    if plan.looks is not None:
        notes[0] += f" at most; ends once all is decided, from block {plan.looks.first} on"
    for where, generator, servers in cpus.said(plan):
        at = f"CPUs at {where}" if where else "CPUs"
        if generator:
            notes.append(f"{at}: generator {_cpus(generator)}, servers {_cpus(servers)}")
        elif any(target.url is None for cell in plan.cells for target in cell.targets):
            notes.append(f"{at}: generator and servers share all of them")
    notes += [f"differs: {difference}" for difference in differences(plan)]
    notes += [f"skipped: {s.what}: {s.why} ({s.fix})" for s in plan.skipped]
    notes += [f"note: {note}" for note in plan.notes]
    return notes


def _cpus(cpus: tuple[int, ...]) -> str:
    return ",".join(str(cpu) for cpu in cpus)
