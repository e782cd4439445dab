"""Runs read for comparisons: those named, and those below a directory."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.share.below import below
from dbdyno.share.opened import opened
from dbdyno.store.catalogue import Catalogue
from dbdyno.store.run import Run

if TYPE_CHECKING:  # the analysis brings scipy: imported where it is used
    from dbdyno.analysis.between_runs import Reduced
    from dbdyno.analysis.between_runs.pooling.runs import Source
    from dbdyno.analysis.between_runs.types import LeftOut


def reduced(run: Run, name: str, metrics: Sequence[str] = ()) -> Reduced:
    """An open run as comparisons take it."""
    from dbdyno.analysis import between_runs

    return between_runs.reduce(run.plan, run.records(), run.manifest, name, run.status, metrics)


def read(path: Path, metrics: Sequence[str] = ()) -> Source:
    """A run directory or a bundle. DynoError if it cannot be read."""
    from dbdyno.analysis.between_runs.pooling.runs import Source
    from dbdyno.analysis.estimates.measured import Measured

    with stored(path), opened(path) as run:
        return Source(Measured.of(run.plan, run.records()), reduced(run, str(path), metrics))


def read_all(
    directory: Path, metrics: Sequence[str] = (), like: str | None = None
) -> tuple[list[Reduced], list[LeftOut]]:
    """The runs below a directory, through its catalogue, and what is omitted, with the reason: what
    cannot be read, and imported runs. `like`: only those with this fingerprint of their plan."""
    from dbdyno.analysis.between_runs.kept import Reducer
    from dbdyno.analysis.between_runs.types import LeftOut

    found, left_out = [], []
    places = list(below(directory))
    with (
        contextlib.closing(Catalogue(directory)) as catalogue,
        Reducer(catalogue, opened, metrics) as reducer,
    ):
        for one in places:
            try:
                with stored(one.path):
                    run = reducer.read(one.name, one.path)
            except DynoError as error:
                run = LeftOut(one.name, error.what)
            if isinstance(run, LeftOut):
                left_out.append(run)
            elif like is None or run.fingerprint == like:
                found.append(run)
    return found, left_out


def sources(path: Path) -> list[Source]:
    """The run at `path`, or those below it, for `dyno pool`. DynoError for one that cannot be
    read."""
    places = [one.path for one in below(path)] if path.is_dir() else [path]
    return [read(place) for place in places or [path]]
