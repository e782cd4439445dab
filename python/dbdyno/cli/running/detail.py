"""How much is shown of a run while it goes: the options, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import click


class Detail(Enum):
    """How much is shown. USUAL: a panel on a terminal, else a stamped line a trial."""

    NONE = "none"
    USUAL = "usual"
    LINES = "lines"


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `-v` and `-q`; read both with `detail`."""
    verbose = click.option(
        "-v", "--verbose", is_flag=True, help="Print every interval, also into a file."
    )
    quiet = click.option("-q", "--quiet", is_flag=True, help="Show nothing until the answer.")
    return verbose(quiet(command))


def detail(*, verbose: bool, quiet: bool) -> Detail:
    """What the two options ask for. click.UsageError where they contradict each other."""
    if verbose and quiet:
        raise click.UsageError("-v shows every interval, -q nothing: give one of them")
    return Detail.LINES if verbose else Detail.NONE if quiet else Detail.USUAL
