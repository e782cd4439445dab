"""Whose experiment is run: what somebody else's would do is reported, and done only on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbdyno.errors import DynoError
from dbdyno.store.owner import is_ours

if TYPE_CHECKING:
    from dbdyno.experiment.types import Spec
    from dbdyno.plan.types import Plan

OPTION = "--trust"


def option() -> Callable[[Any], Any]:
    """`--trust`."""
    return click.option(
        OPTION,
        "trust",
        is_flag=True,
        help="Allow another user's run: a bundle given to --against, or a directory of"
        " another account given to --resume. Without it none of their commands, SQL or connections"
        " is used.",
    )


def refuse_base(base: str, loaded: Spec, *, trust: bool) -> None:
    """DynoError where a base that is somebody else's asks for more than to be measured."""
    from dbdyno.experiment.types import Hooks
    from dbdyno.plan.outlook.effects import effects

    asked = effects(
        [target for cell in loaded.cells for target in cell.targets],
        [(group.name, group.kind) for cell in loaded.cells for group in cell.groups],
        Hooks(),  # a base whose commands are not those of the user's own file is refused anyway
    )
    if asked and not trust:
        raise DynoError(
            f"--against {base}: somebody else's experiment asks for {_listed(asked)}",
            cause="a bundle, or the run of another account, does nothing here that you have not"
            " asked for",
            fix=f"read it first; then add {OPTION}, or use an experiment of your own",
        )


def refuse_resume(run: Path, plan: Plan, *, trust: bool) -> None:
    """DynoError for a run that somebody else has written."""
    if trust or is_ours(run):
        return
    from dbdyno.plan.outlook.effects import effects

    asked = effects(
        [target for cell in plan.cells for target in cell.targets],
        [(group.name, group.workload) for cell in plan.cells for group in cell.groups],
        plan.hooks,
    )
    more = f"; its plan asks for {_listed(asked)}" if asked else ""
    raise DynoError(
        f"{run} belongs to another account, or others may write to it{more}",
        cause="going on with it would run their plan as you, and write where they can",
        fix=f"resume it as the user who made it, or add {OPTION} if you know what it does",
    )


def _listed(asked: list[str]) -> str:
    some = "; ".join(asked[:5])
    return f"{some}; and {len(asked) - 5} more" if len(asked) > 5 else some
