"""Starts a run from a Python program."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dbdyno.api.runs import Run, open
from dbdyno.cli import studies
from dbdyno.errors import DynoError, Where
from dbdyno.experiment import load
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import PIPE
from dbdyno.store.naming import unnamed

PROGRAM = "from dbdyno.cli import entry; entry.main()"


def run(
    experiment: Path | str,
    *,
    directory: Path | str | None = None,
    set: Sequence[str] = (),
    quick: bool = False,
    scratch: Path | str | None = None,
) -> Run:
    """Runs an experiment to its end, as `dyno run` does in a process of its own, and opens the run.

    `experiment` is the path of a file or the name of a shipped study; `directory` gets the run
    (`runs/NAME-TIME`); `set` holds changes of the file, each `PATH=VALUE`; `scratch` is the
    directory of the servers' files. Progress goes to standard error.

    DynoError with what is wrong, KeyboardInterrupt where the run was interrupted: `dyno run
    --resume` goes on with it.
    """
    file = studies.find(str(experiment))
    place = Path(directory) if directory is not None else unnamed(load(file, list(set)).name)
    command = [sys.executable, "-c", PROGRAM, "run", str(file), "--json", "--dir", str(place)]
    command += [word for change in set for word in ("--set", change)]
    command += ["--quick"] if quick else []
    command += ["--scratch", str(scratch)] if scratch is not None else []
    process = LOCAL.start(command, stdout=PIPE, group="inherited")
    try:
        printed, _ = process.communicate()
    except KeyboardInterrupt:  # the terminal's, which the child has got too: it ends in its own way
        process.communicate()
        raise
    if process.returncode == 3:
        raise KeyboardInterrupt(f"interrupted; go on with: dyno run --resume {place}")
    if process.returncode != 0:
        raise _refused(printed.decode(), process.returncode)
    return open(place)


def _refused(printed: str, code: int) -> DynoError:
    """The error that the child has printed as JSON (`cli/terminal/refused.py`)."""
    found = json.loads(printed) if printed else {}
    if "error" not in found:
        return DynoError(f"dyno run ended with {code}", fix="read what it said on standard error")
    error = found["error"]
    where = error["where"] and Where(**error["where"])
    return DynoError(error["what"], where=where, cause=error["cause"], fix=error["fix"])
