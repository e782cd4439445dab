"""`--against BASE`: what the new version is compared with, read from wherever it is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dbdyno import spec
from dbdyno.cli import studies
from dbdyno.errors import DynoError
from dbdyno.plan.against import Base
from dbdyno.plan.types import Cell as CellPlan
from dbdyno.share import bundle
from dbdyno.share.opened import opened
from dbdyno.share.redact.plan import NOTE as REDACTED
from dbdyno.spec.types import Cell
from dbdyno.store.run import Run

FILE = "experiment_file"  # in a run's manifest: where its YAML stood


def read(base: str) -> Base:
    """The base that `--against BASE` means: an experiment's file, a shipped study, or a run (its
    directory or a bundle), whose YAML is run again with its `--set` applied. DynoError, with the
    reason, for one that cannot be run again."""
    path = Path(base)
    if path.is_dir() or (path.is_file() and bundle.is_bundle(path)):
        with opened(path) as run:
            return _of_run(run, path)
    try:
        file = studies.find(base)
    except DynoError as error:
        raise DynoError(
            f"--against {base}: {error.what.removeprefix(f'{base}: ')}",
            cause=error.cause,
            fix=f"{error.fix}; or the directory or bundle of a run",
        ) from None
    return Base(spec.load(file), str(file) if path.is_file() else f"the study {base}")


def _of_run(run: Run, path: Path) -> Base:
    plan = run.plan
    if plan.imported is not None:
        raise _not_again(
            path,
            "its results were imported, so there is no system and no load to run",
            "name an experiment; `dyno compare` sets results that are there side by side",
        )
    if REDACTED in plan.notes:
        raise _not_again(
            path,
            "it is redacted, so its settings and statements are not the ones that ran",
            "name the run itself, or the experiment's file",
        )
    if not plan.spec_text.strip():
        raise _not_again(path, "it holds no experiment", "name the experiment's file")
    loaded = spec.load(plan.spec_text + "\n", file=_place(run))
    changed = sorted(_contents(plan.cells) - _contents(loaded.cells))
    notes = []
    if changed:
        names = ", ".join(dict.fromkeys(file for file, _ in changed))
        notes.append(
            f"Since {path} was measured {names} has changed: what is there now is loaded for both"
            " versions."
        )
    return Base(loaded, f"the run {path}", tuple(notes))


def _place(run: Run) -> Path:
    """Where the run's experiment stood, for the paths in it: recorded, else where it was started."""
    recorded = run.manifest.get(FILE)
    if isinstance(recorded, str):
        return Path(recorded)
    return Path(str(run.manifest.get("directory", run.path))) / f"{run.plan.name}.yaml"


def _contents(cells: Iterable[Cell | CellPlan]) -> set[tuple[str, str]]:
    """Files that targets are set up from, each with what it held."""
    setups = [target.setup for cell in cells for target in cell.targets]
    return {entry for setup in setups if setup for entry in setup.hashes.items()}


def _not_again(path: Path, cause: str, fix: str) -> DynoError:
    return DynoError(f"{path} cannot be run again beside a new version", cause=cause, fix=fix)
