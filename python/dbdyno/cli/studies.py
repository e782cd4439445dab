"""Where the shipped studies are: in the package once installed, next to it in a checkout."""

from __future__ import annotations

import difflib
from pathlib import Path

import dbdyno
from dbdyno.errors import DynoError

_PACKAGE = Path(dbdyno.__file__).parent
_PLACES = (_PACKAGE / "_studies", _PACKAGE.parent.parent / "studies")


def directory() -> Path:
    """The folder of shipped studies."""
    for place in _PLACES:
        if place.is_dir():
            return place
    raise DynoError("no studies are installed", fix="give the path of an experiment file")


def names() -> list[str]:
    """Names that `dyno run NAME` accepts."""
    return sorted(path.stem for path in directory().glob("*.yaml"))


def find(experiment: str) -> Path:
    """The file that `dyno run EXPERIMENT` means: a path if there is one, else a shipped study."""
    path = Path(experiment)
    if path.is_file():
        return path
    if path.is_dir():
        raise DynoError(
            f"{experiment} is a directory, and an experiment is a file",
            cause="the directory of a run, perhaps",
            fix=f"`dyno run --resume {experiment}` continues a run; `dyno run FILE` starts one",
        )
    study = directory() / f"{experiment}.yaml"
    if study.is_file() and study.parent == directory():
        return study
    if experiment in {one.stem for one in imported()}:
        raise DynoError(
            f"{experiment} is about existing results: it is imported, not run",
            fix=f"`dyno import --experiment {experiment}`",
        )
    close = difflib.get_close_matches(experiment, names(), n=1)
    raise DynoError(
        f"{experiment}: no such file, and no study of that name",
        cause=f"did you mean {close[0]}?" if close else "",
        fix=f"give the path of an experiment, or one of: {', '.join(names())}",
    )


def imported() -> list[Path]:
    """The shipped experiments on results that are imported."""
    return sorted((directory() / "imported").glob("*.yaml"))


def find_imported(experiment: str) -> Path:
    """The file that `dyno import --experiment EXPERIMENT` means: a path if there is one, else a
    shipped one whose results are imported."""
    path = Path(experiment)
    if path.is_file():
        return path
    shipped = {one.stem: one for one in imported()}
    if experiment in shipped:
        return shipped[experiment]
    runs = f"`dyno run {experiment}` runs the study of that name; " if experiment in names() else ""
    raise DynoError(
        f"{experiment}: no such file, and no shipped experiment on imported results of that name",
        fix=f"{runs}give the path of an experiment, or one of: {', '.join(shipped)}",
    )
