"""The main job, from an experiment file to a verdict."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import click

from dbdyno.cli import studies
from dbdyno.cli.running import against as bases
from dbdyno.cli.running import gate as gates
from dbdyno.cli.running import trend
from dbdyno.cli.running.before import schema_checks, trusted
from dbdyno.cli.running.before.dry_run import show as show_plan
from dbdyno.cli.running.before.installed import described, missing
from dbdyno.cli.running.before.password_commands import revealed
from dbdyno.cli.running.before.placed import placed
from dbdyno.cli.running.before.validate import check as check_file
from dbdyno.cli.running.carry_out import Manner, begun, carried_out
from dbdyno.cli.running.detail import detail
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.execute import environment
from dbdyno.execute.engine import job
from dbdyno.execute.faulting.trial_faults import impossible
from dbdyno.experiment import load, load_seeded
from dbdyno.imports import read_head
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.share import listen
from dbdyno.store.hooklog import HookLog
from dbdyno.store.record import ELSEWHERE
from dbdyno.store.run import Run
from dbdyno.systems.process.scratch import scratch_root


def carry_out(
    experiment: str | None,
    check: bool,
    with_schema: bool,
    dry_run: bool,
    quick: bool,
    resume: Path | None,
    mix_environments: bool,
    overrides: tuple[str, ...],
    directory: Path | None,
    scratch: Path | None,
    metrics_listen: tuple[str, int] | None,
    write_to: tuple[str, ...],
    trust: bool,
    strict: bool,
    decisive: bool,
    against: str | None,
    history: Path | None,
    reference: Path | None,
    gate: gates.Gate | None,
    as_json: bool,
    list_studies: bool,
    verbose: bool,
    quiet: bool,
) -> int:
    """What `dyno run` does; its exit code."""
    _refuse_together(quick, against, history, reference, gate, resume)
    if with_schema and not (check or dry_run):
        raise click.UsageError("--with-schema is for --check and --dry-run")
    manner = Manner(detail(verbose=verbose, quiet=quiet), strict, decisive, as_json)
    if list_studies:
        return _list(as_json)
    if resume is not None:
        if experiment or overrides or quick or write_to or against:
            raise click.UsageError("--resume uses the plan of the run: remove other options")
        reopened, scratch = _reopen(resume, mix_environments, scratch, trust)
        with reopened, _endpoint(metrics_listen) as endpoint:
            judge = bases.gate(reopened.plan, gate, history)
            code = carried_out(reopened, scratch, manner, endpoint, judge)
            return trend.after(reopened, code, history, reference, gate, as_json)
    if not experiment:
        raise click.UsageError("name an experiment, or see --list")

    if check:
        return check_file(experiment, overrides, as_json, against, trust, with_schema=with_schema)
    file = studies.find(experiment)
    loaded = load_seeded(file, overrides)
    base = None if against is None else bases.read(against, gate, trust=trust)
    with placed(loaded):
        if not dry_run:
            job.find()  # what is missing is reported before a directory is made
        plan = make(
            loaded,
            Machine.read(),
            quick=quick,
            available=missing,
            impossible=impossible,
            write_to=write_to,
            base=base,
            runs=not dry_run,
        )
        scratch = scratch_root(scratch)
        if dry_run:
            found = schema_checks.found(loaded, asks=with_schema)
            warned = [*map(_in_a_line, found.refused), *found.warnings]
            return show_plan(plan, environment.checks(plan, scratch), as_json, write_to, warned)
        judge = bases.gate(plan, gate, history)
        facts = described(plan, scratch)
        trend.announce(history, plan, facts)
        with _endpoint(metrics_listen) as endpoint, begun(file, plan, facts, directory) as created:
            code = carried_out(created, scratch, manner, endpoint, judge)
            return trend.after(created, code, history, reference, gate, as_json)


def _in_a_line(refused: DynoError) -> str:
    return f"{refused.where}: {refused.what}" if refused.where else refused.what


def _refuse_together(
    quick: bool,
    against: str | None,
    history: Path | None,
    reference: Path | None,
    gate: gates.Gate | None,
    resume: Path | None,
) -> None:
    """Options that contradict each other, or that say nothing alone."""
    if gate and history is None and against is None and resume is None:
        raise click.UsageError(
            f"{gates.OPTION} needs something to judge by: --against BASE or --history DIR"
        )
    if reference and history is None:
        raise click.UsageError("--reference needs --history DIR: its runs say how much runs differ")
    if against and history:
        raise click.UsageError(
            "--against judges within this run's blocks, --history between runs: give one of them"
        )
    if quick and (history or gate):
        which = "--history" if history else gates.OPTION
        raise click.UsageError(f"a quick run is never judged: omit --quick or {which} out")


def _endpoint(
    address: tuple[str, int] | None,
) -> contextlib.AbstractContextManager[listen.Endpoint | None]:
    return listen.Endpoint(*address) if address else contextlib.nullcontext()


def _reopen(
    path: Path, mix_environments: bool, scratch: Path | None, trust: bool
) -> tuple[Run, Path]:
    """A run to go on with, and where its servers keep their files: where they did, unless told
    otherwise. Refuses another machine, moment or storage unless told otherwise."""
    with stored(path):
        before = Run.open(path)
        trusted.refuse_resume(path, before.plan, trust=trust)
        plan = revealed(before)
        latest = before.latest_environment
        recorded = Path(latest["scratch"]) if "scratch" in latest else None
    scratch = scratch_root(scratch or recorded)
    now = described(plan, scratch)
    changed = environment.differences(latest, now)
    if changed and not mix_environments:
        applied = ", ".join(f"{each.factor}={each.level}" for each in HookLog(path).applied())
        still = f"; and {applied} is still applied, from a process that was killed"
        raise DynoError(
            f"{path} was measured in another environment ({'; '.join(changed)})"
            f"{still if applied else ''}",
            cause="trials before and after would not be comparable within a block",
            fix="start a new run, or add --mix-environments: the broken block is then run again"
            f"{', once that is undone' if applied else ''}",
        )
    reopened = Run.resume(path, now)
    reopened.plan = plan
    if changed:
        what = "; ".join(changed)
        reopened.void_partial_blocks(f"{ELSEWHERE}{what}")
        if reopened.records():
            block = max(record.block for record in reopened.records()) + 1
            reopened.amend(f"Another environment from block {block} on: {what}.")
    return reopened, scratch


def _list(as_json: bool) -> int:
    """Prints the shipped studies: those that run, then those on existing results."""
    runs = [_listed(name, load(studies.find(name)).question, "run") for name in studies.names()]
    imports = [
        _listed(path.stem, read_head(path).model.question, "import --experiment")
        for path in studies.imported()
    ]
    if as_json:
        json.dump([*runs, *imports], sys.stdout, indent=1)
        click.echo()
        return 0
    width = max(len(entry["name"]) for entry in (*runs, *imports))
    for entry in runs:
        click.echo(f"{entry['name']:<{width}}  {entry['question']}")
    click.echo("\nOn published results, by `dyno import --experiment NAME`:")
    for entry in imports:
        click.echo(f"{entry['name']:<{width}}  {entry['question']}")
    return 0


def _listed(name: str, question: str, command: str) -> dict[str, str]:
    return {"name": name, "question": question.strip(), "command": f"dyno {command} {name}"}
