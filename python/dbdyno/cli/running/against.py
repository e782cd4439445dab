"""`--against BASE`: what the new version is compared with, read from wherever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli import studies
from dbdyno.cli.running.before import trusted
from dbdyno.cli.running.before.placed import placed
from dbdyno.cli.running.gate import OPTION, Gate, cannot
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Cell
from dbdyno.plan.make import check_settings
from dbdyno.plan.two_versions.against import Base
from dbdyno.plan.types import Cell as CellPlan
from dbdyno.plan.types import Plan
from dbdyno.share import bundle
from dbdyno.share.opened import opened
from dbdyno.share.redact.plan import NOTE as REDACTED
from dbdyno.store.manifest import EXPERIMENT_FILE
from dbdyno.store.run import Run

if TYPE_CHECKING:
    from dbdyno.analysis.types import Findings


def read(base: str, gate: Gate | None = None, *, trust: bool = False) -> Base:
    """The base that `--against BASE` means: an experiment's file, a shipped study, or a run (its
    directory or a bundle), whose YAML is run again with its `--set` applied. A gate may say what
    the comparison holds for a difference. DynoError, with the reason, for a base that cannot be run
    again, and for somebody else's that would do more than be measured, unless `trust`."""
    found = _read(base, trust)
    return replace(found, matters=gate.limit) if gate else found


def gate(plan: Plan, asked: Gate | None, history: Path | None) -> Callable[[Findings], int] | None:
    """`--fail-on-regression` of a plan with two versions: findings to an exit code. None where it
    was not asked for, or where a history judges. DynoError if the plan can give no verdict."""
    if asked is None or history is not None:
        return None
    from dbdyno.analysis.estimates.estimate import BLOCKS_MIN

    if plan.against is None:
        raise DynoError(
            f"{OPTION}: this run has one version only, and no history was given",
            fix="give --history DIR, or start a run with --against BASE",
        )
    if plan.quick or plan.blocks < BLOCKS_MIN:
        raise DynoError(
            f"{OPTION}: {'a quick run' if plan.quick else 'a run this short'} is never judged",
            cause=f"verdicts need {BLOCKS_MIN} blocks at least",
            fix=f"give the experiment `blocks: {BLOCKS_MIN}` or more, without --quick",
        )
    if asked.limit is not None and asked.limit != plan.against.matters:
        raise DynoError(
            f"{OPTION}={asked.limit * 100:g}%: this run was planned for"
            f" {plan.against.matters * 100:g}%",
            cause="what counts as a difference is settled before anything is measured",
            fix=f"omit the percentage: {OPTION}",
        )
    return _verdict


def _verdict(findings: Findings) -> int:
    """0 nothing is shown to be worse, 1 something is, 2 it could not be judged. Reports it on
    stderr."""
    from dbdyno.analysis.types import UNDECIDED, WORSE

    found = findings.versions
    if found is None or not found.parts:
        return cannot("no cell of the new version has a counterpart that ran")
    if found.verdict == WORSE:
        click.echo(f"regression: {found.sentence}", err=True)
        return 1
    unjudged = [part for part in found.parts if part.estimate is None or part.estimate.p is None]
    if unjudged:
        return cannot(f"{len(unjudged)} of {len(found.parts)} comparisons: {unjudged[0].why}")
    if found.verdict == UNDECIDED:
        click.echo(f"no regression shown, and none ruled out: {found.sentence}", err=True)
    return 0


def _read(base: str, trust: bool) -> Base:
    path = Path(base)
    if path.is_dir() or (path.is_file() and bundle.is_bundle(path)):
        with stored(path), opened(path) as run:
            return _of_run(run, path, trust)
    try:
        file = studies.find(base)
    except DynoError as error:
        raise DynoError(
            f"--against {base}: {error.what.removeprefix(f'{base}: ')}",
            cause=error.cause,
            fix=f"{error.fix}; or the directory or bundle of a run",
        ) from None
    loaded = load(file)
    with placed(loaded):
        check_settings(loaded)
    return Base(loaded, str(file) if path.is_file() else f"the study {base}")


def _of_run(run: Run, path: Path, trust: bool) -> Base:
    plan = run.plan
    if plan.imported is not None:
        raise _not_again(
            path,
            "its results were imported, so there is no system and no load to run",
            "name an experiment; `dyno compare` sets existing results side by side",
        )
    if REDACTED in plan.notes:
        raise _not_again(
            path,
            "it is redacted, so its settings and statements are not the ones that ran",
            "name the run itself, or the experiment's file",
        )
    if not plan.spec_text.strip():
        raise _not_again(path, "it contains no experiment", "name the experiment's file")
    loaded = load(plan.spec_text + "\n", file=_place(run))
    if path.is_file() or not trusted.is_ours(path):
        trusted.refuse_base(str(path), loaded, trust=trust)
    check_settings(loaded)
    changed = sorted(_contents(plan.cells) - _contents(loaded.cells))
    notes = []
    if changed:
        names = ", ".join(dict.fromkeys(file for file, _ in changed))
        notes.append(
            f"Since {path} was measured {names} has changed: both versions load the current data."
        )
    return Base(loaded, f"the run {path}", tuple(notes))


def _place(run: Run) -> Path:
    """Where the run's experiment file was, for the paths in it: recorded, else where it began."""
    recorded = run.manifest.get(EXPERIMENT_FILE)
    if isinstance(recorded, str):
        return Path(recorded)
    return Path(str(run.manifest.get("directory", run.path))) / f"{run.plan.name}.yaml"


def _contents(cells: Iterable[Cell | CellPlan]) -> set[tuple[str, str]]:
    """Files that targets are set up from, each with its content."""
    setups = [target.setup for cell in cells for target in cell.targets]
    return {entry for setup in setups if setup for entry in setup.hashes.items()}


def _not_again(path: Path, cause: str, fix: str) -> DynoError:
    return DynoError(f"{path} cannot be run again with a new version", cause=cause, fix=fix)
