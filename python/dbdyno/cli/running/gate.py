"""`--fail-on-regression`: a comparison as a gate for continuous integration.

A gate that cannot judge neither passes nor says "worse": it ends with 2, as all that the user must
change something about does. So does one that would have missed the loss that it was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dbdyno.analysis.between_runs.types import Compared

_MATTERS = "matters"
OPTION = "--fail-on-regression"
UNDECIDED = "--fail-on-undecided"
SUSPECTED = 4  # the exit code of a run that is worse while no second one confirms it


@dataclass(frozen=True)
class Gate:
    """`limit`: a share; None: what the experiment says `matters`."""

    limit: float | None


def option(help_text: str) -> Callable[[Any], Any]:
    """The option; its value is a Gate, or None where it was not given."""
    return click.option(
        OPTION,
        "gate",
        is_flag=False,
        flag_value=_MATTERS,
        default=None,
        metavar="[PCT]",
        callback=_gate,
        help=help_text,
    )


def of_verdicts(command: Any) -> Any:
    """`--strict` and `--fail-on-undecided`: exit codes by the verdicts of claims."""
    undecided = click.option(
        UNDECIDED,
        "decisive",
        is_flag=True,
        help="Exit with 2 if a claim is neither refuted nor supported, or nothing is claimed.",
    )
    strict = click.option("--strict", is_flag=True, help="Exit with 1 if a claim is refuted.")
    return strict(undecided(command))


def verdict(compared: Compared) -> int:
    """The exit code: 0 nothing is worse, 1 something is and a second run confirms it, 2 it is
    undecided, 4 one run alone is worse. stderr says why, and how often chance does that."""
    from dbdyno.analysis import between_runs
    from dbdyno.wording import runs

    if compared.judged:
        suspected, confirmed = between_runs.a_month(len(compared.before))
        click.echo(
            f"{OPTION}: by chance, with a run each night, at most {suspected:.2g} a month are"
            f" suspected and {confirmed:.2g} confirmed",
            err=True,
        )
    if compared.regressions:
        click.echo(f"regression, confirmed by a second run, {_where(compared, True)}", err=True)
        return 1
    if compared.suspected:
        click.echo(
            f"regression suspected {_where(compared, False)}; one disturbed run would do: measure"
            " once more, into the same history",
            err=True,
        )
        return SUSPECTED
    if why := runs.failing(compared):
        return cannot(why)
    return 0


def _where(compared: Compared, confirmed: bool) -> str:
    rows = compared.regressions if confirmed else compared.suspected
    first = rows[0]
    at = " ".join(f"{name}={level}" for name, level in first.at.items())
    over = f"over {first.cells} cells" if first.cells > 1 else f"at {at}" if at else ""
    where = f"{first.metric} {over}".strip()
    return f"in {len(rows)} of {len(compared.rows)} rows, the first {where}"


def cannot(why: str) -> int:
    """The exit code if there is nothing to judge by; stderr says why."""
    click.echo(f"{OPTION} is inconclusive: {why}", err=True)
    return 2


def _gate(_: click.Context, parameter: click.Parameter, value: str | None) -> Gate | None:
    if value is None:
        return None
    if value == _MATTERS:
        return Gate(None)
    try:
        share = float(value.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < 10:
        raise click.BadParameter(
            f"{value!r} is not a percentage: write {OPTION}=5%, or put {OPTION} last",
            param=parameter,
        )
    return Gate(share)
