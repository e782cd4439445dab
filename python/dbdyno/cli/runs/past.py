"""Runs read for comparisons: those named, and those below a directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.share.below import below
from dbdyno.share.opened import opened
from dbdyno.store.run import Run

if TYPE_CHECKING:  # the analysis brings scipy: imported where it is used
    from dbdyno.analysis.between_runs import Reduced
    from dbdyno.analysis.between_runs.pooling.runs import Source
    from dbdyno.analysis.between_runs.types import LeftOut


def reduced(run: Run, name: str, metrics: Sequence[str] = ()) -> Reduced:
    """An open run as comparisons take it."""
    from dbdyno.analysis import between_runs

    return between_runs.reduce(run.plan, run.records(), run.manifest, name, run.status, metrics)


def read(path: Path, metrics: Sequence[str] = ()) -> Reduced:
    """A run directory or a bundle."""
    with stored(path), opened(path) as run:
        return reduced(run, str(path), metrics)


def read_all(
    directory: Path, metrics: Sequence[str] = (), like: str | None = None
) -> tuple[list[Reduced], list[LeftOut]]:
    """The runs below a directory, and what is omitted, with the reason: what cannot be read, and
    imported runs. `like`: only those with this fingerprint of their plan."""
    from dbdyno.analysis.between_runs import comparability
    from dbdyno.analysis.between_runs.types import LeftOut

    found, left_out = [], []
    for one in below(directory):
        try:
            with stored(one.path), opened(one.path) as run:
                if why := comparability.no_history(run.plan):
                    left_out.append(LeftOut(one.name, why))
                elif like is None or comparability.fingerprint(run.plan) == like:
                    found.append(reduced(run, one.name, metrics))
        except DynoError as error:
            left_out.append(LeftOut(one.name, error.what))
    return found, left_out


def sources(path: Path) -> list[Source]:
    """The run at `path`, or those below it, for `dyno pool`. DynoError for one that cannot be
    read."""
    from dbdyno.analysis.between_runs.pooling.runs import Source
    from dbdyno.analysis.estimates.measured import Measured

    places = [one.path for one in below(path)] if path.is_dir() else [path]
    found = []
    for place in places or [path]:
        with stored(place), opened(place) as run:
            measured = Measured.of(run.plan, run.records())
            found.append(Source(measured, reduced(run, str(place))))
    return found
